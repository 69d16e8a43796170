// Adding documents and growing the tree: what it would take, and how far it is.

import { get, post, upload } from "./api.js";
import { el, fill, money, number, plural, said, when } from "./dom.js";

const BUSY_MS = 1000;
const IDLE_MS = 5000;

export async function builds(view, asked) {
  const dataset = await asked;
  const id = dataset.status.id;
  const live = el("section", { "aria-live": "polite" });
  const told = el("div", { "aria-live": "polite" });
  const pending = el("p", { class: "dim" });
  const wait = { timer: 0, gone: false, busy: null };

  async function poll() {
    clearTimeout(wait.timer);
    const found = await get(`/v1/datasets/${id}/builds`);
    if (wait.gone) return;
    fill(live, current(found), found.jobs.filter((job) => job.state !== "running").map(ended));
    const busy = Boolean(found.held_by) || found.jobs.some((job) => job.state === "running");
    if (busy !== wait.busy && !busy) fill(pending, waiting((await get(`/v1/datasets/${id}`)).status));
    wait.busy = busy;
    wait.timer = setTimeout(poll, busy ? BUSY_MS : IDLE_MS);
  }

  const work = (start) => async (event) => {
    event.preventDefault();
    fill(told);
    try {
      await start(event);
    } catch (problem) {
      fill(told, el("div", { class: "sheet problem", role: "alert" }, problem.message));
    }
    await poll();
  };
  const preview = work(async () => fill(told, previewed(await post("/v1/preview", { dataset: id }))));
  const grow = work(() => post("/v1/improve", { dataset: id, background: true }));
  const files = el("input", { type: "file", multiple: true, required: true, "aria-label": "Files" });
  const add = work(async () => {
    const form = new FormData();
    for (const file of files.files) form.append("files", file, file.name);
    fill(told, remembered(await upload(`/v1/remember/files?dataset=${id}`, form)));
  });

  fill(view,
    dataset.may_write && el("div", { class: "two" },
      el("section", { class: "sheet" }, el("h2", {}, "Bring the tree up to date"), pending,
        el("div", { class: "row" }, el("button", { type: "button", onclick: preview }, "What would it take?"), el("button", { type: "button", class: "primary", onclick: grow }, "Build"))),
      el("form", { class: "sheet", onsubmit: add }, el("h2", {}, "Add documents"), el("p", { class: "dim" }, "The same name with another content is an update."), el("div", { class: "row" }, files, el("button", {}, "Read them")))),
    told, live);
  fill(pending, waiting(dataset.status));
  await poll();
  return () => { wait.gone = true; clearTimeout(wait.timer); };
}

function waiting(status) {
  const since = status.generation ? ` since generation ${status.generation}` : "";
  return status.pending ? `${plural(status.pending, "summary", "summaries")} new, changed or gone${since}. Readers go on reading the old tree until the new one is whole.` : `Nothing has changed${since}.`;
}

const spent = (job) => (job.calls ? `${plural(job.calls, "call")}, ${money(job.cost_usd)}` : "no model called");

function current(found) {
  const running = found.jobs.filter((job) => job.state === "running");
  if (running.length) return running.map(going);
  if (!found.held_by) return el("p", { class: "dim" }, "Nothing is being written now.");
  return el("div", { class: "sheet" }, el("h2", {}, "Another process is writing"), el("p", { class: "dim" }, found.held_by),
    found.elsewhere.map((one) => el("p", {}, `${one.is_root ? "root" : `level ${one.level}`}: ${plural(one.rows, "text")} stored`)));
}

function going(job) {
  const seconds = (Date.now() - new Date(job.started_at)) / 1000;
  const done = job.stages.reduce((sum, one) => sum + Math.min(one.done, one.total), 0);
  const total = job.stages.reduce((sum, one) => sum + one.total, 0);
  const left = done > 0 ? Math.max(0, Math.round(seconds * (total / done - 1))) : null;
  return el("div", { class: "sheet" },
    el("h2", {}, `Running: ${job.verb}`),
    job.stages.map((one) => el("div", { class: "row small" },
      el("span", { style: { width: "11rem" } }, one.name),
      el("div", { class: "meter grow", role: "progressbar", "aria-label": one.name, "aria-valuenow": one.done, "aria-valuemax": one.total }, el("i", { style: { width: `${one.total ? (100 * one.done) / one.total : 0}%` } })),
      el("span", { class: "dim" }, `${number(one.done)} of ${number(one.total)}${Object.entries(one.counts).filter(([, n]) => n).map(([name, n]) => `, ${n} ${name}`).join("")}`))),
    el("p", { class: "dim small" }, `${spent(job)}, ${plural(Math.round(seconds), "second")} so far${left === null ? "" : `, about ${plural(left, "second")} left`}`),
    runLink(job));
}

function ended(job) {
  const index = job.verb === "rebuild" ? job.result : job.result?.index;
  return el("div", { class: job.error ? "sheet problem" : "sheet" },
    el("div", { class: "row" }, el("strong", {}, `${job.verb}: ${index ? index.status : job.state}`), el("span", { class: "dim small" }, when(job.ended_at)), index?.degraded > 0 && el("span", { class: "chip warn" }, `${index.degraded} degraded`)),
    job.error && el("p", {}, job.error.detail),
    index?.reason && el("p", {}, index.reason),
    index?.levels?.length > 0 && levels(index.levels),
    el("p", { class: "dim small" }, spent(job)),
    runLink(job));
}

const runLink = (job) => /^https?:\/\//.test(job.run_url) && el("p", {}, el("a", { href: job.run_url, rel: "noopener" }, "Its run in the Prefect UI"));

function levels(rows) {
  const top = Math.max(...rows.map((row) => row.level));
  return el("table", {}, el("thead", {}, el("tr", {}, ["level", "texts", "written", "reused", "degraded", "tokens", "seconds"].map((name, i) => el("th", { class: i && "n" }, name)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, el("td", {}, row.level === top ? "root" : row.level), [row.buckets, row.written, row.reused, row.degraded, row.prompt_tokens + row.completion_tokens, row.seconds.toFixed(1)].map((value) => el("td", { class: "n" }, typeof value === "string" ? value : number(value)))))));
}

function previewed(found) {
  return el("div", { class: "sheet" }, el("h2", {}, "What it would take"),
    el("p", {}, found.calls ? `${plural(found.calls, "text")} to write with ${found.model}, at most ${number(found.prompt_tokens + found.completion_tokens)} tokens, ${money(found.cost_usd)}.` : "Nothing: the tree is up to date."),
    found.incomplete_documents > 0 && el("p", {}, `${plural(found.incomplete_documents, "document")} would be finished first.`),
    found.levels.length > 0 && el("table", {}, el("thead", {}, el("tr", {}, ["level", "texts", "calls", "tokens at most"].map((name, i) => el("th", { class: i && "n" }, name)))),
      el("tbody", {}, found.levels.map((row) => el("tr", {}, el("td", {}, row.is_root ? "root" : row.level), [row.buckets, row.calls, row.prompt_tokens + row.completion_tokens].map((value) => el("td", { class: "n" }, number(value))))))));
}

function remembered(result) {
  return el("div", { class: "sheet" }, el("h2", {}, "Read"), el("ul", {}, result.documents.map((one) => el("li", {}, said(one.source.slice(0, 200)), `: ${one.status}`, one.reason && ` (${one.reason})`))));
}
