// Asking the server.

let key = sessionStorage.getItem("overstory-key") || "";

export class Problem extends Error {
  constructor(told) {
    super(told.detail || told.title || "The server does not answer.");
    this.told = told;
  }
}

export const get = (path, query = {}) => ask(path + queryOf(query));
export const post = (path, form) => ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(form) });
export const upload = (path, form) => ask(path, { method: "POST", body: form });

/** Server-sent events of a POST: calls `on[event](data)` for each. */
export async function stream(path, form, on) {
  const answer = await request(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(form) });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const events = text.split("\n\n");
    text = events.pop();
    for (const one of events) {
      const [event, data] = one.split("\n").map((line) => line.slice(line.indexOf(":") + 2));
      if (event === "error") throw new Problem(JSON.parse(data));
      on[event]?.(JSON.parse(data));
    }
  }
}

async function ask(path, options) {
  return (await request(path, options)).json();
}

async function request(path, options = {}) {
  for (;;) {
    const headers = key ? { ...options.headers, Authorization: `Bearer ${key}` } : options.headers;
    const answer = await fetch(path, { ...options, headers });
    if (answer.ok) return answer;
    const told = await answer.json().catch(() => ({ status: answer.status, title: answer.statusText }));
    if (answer.status !== 401) throw new Problem(told);
    await askForKey();
  }
}

let asking = null;

function askForKey() {
  asking ??= new Promise((resolve) => {
    const dialog = document.getElementById("key-dialog");
    const input = document.getElementById("key-input");
    input.value = "";
    dialog.addEventListener("close", () => {
      key = input.value.trim();
      sessionStorage.setItem("overstory-key", key);
      asking = null;
      resolve();
    }, { once: true });
    dialog.showModal();
  });
  return asking;
}

function queryOf(query) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `?${new URLSearchParams(given)}` : "";
}
