// Which view the address names.

import { get } from "./api.js";
import { ask } from "./ask.js";
import { builds } from "./builds.js";
import { documents } from "./documents.js";
import { el, fill, said } from "./dom.js";
import { explore } from "./explore.js";
import { home } from "./home.js";

const VIEWS = { tree: ["Tree", explore], ask: ["Ask", ask], builds: ["Builds", builds], document: [null, documents] };
const view = document.getElementById("view");
let leave = null;
let shown = "";

/** The parts of the address after `#`: dataset, view, rest, and its query. */
function place() {
  const [path, query] = location.hash.slice(1).split("?");
  const [dataset, name = "tree", rest] = path.split("/").filter(Boolean).map(decodeURIComponent);
  return { dataset, name: name in VIEWS ? name : "tree", rest, query: Object.fromEntries(new URLSearchParams(query)) };
}

async function show() {
  const here = place();
  const target = `${here.dataset}/${here.name}`;
  if (leave?.update && target === shown) return leave.update(here);
  leave?.();
  leave = null;
  shown = target;
  fill(view, el("p", { class: "dim", role: "status" }, "Loading …"));
  try {
    const asked = here.dataset && get(`/v1/datasets/${encodeURIComponent(here.dataset)}`).then((dataset) => tabs(dataset, here.name));
    if (!asked) tabs(null);
    const opened = asked ? await VIEWS[here.name][1](view, asked, here) : await home(view);
    if (`${place().dataset}/${place().name}` === target) leave = opened;
    else opened?.();
  } catch (problem) {
    failed(problem);
  }
}

function failed(problem) {
  const id = problem.told?.request_id;
  fill(view, el("div", { class: "sheet problem", role: "alert" }, el("h2", {}, problem.told?.title || "Something went wrong"), el("p", {}, problem.message), id && el("p", { class: "dim small" }, `Request ${id}`)));
}

function tabs(dataset, current) {
  const bar = document.getElementById("tabs");
  document.title = dataset ? `${dataset.status.name} · Overstory` : "Overstory";
  fill(bar);
  if (!dataset) return null;
  const links = Object.entries(VIEWS).filter(([, [label]]) => label).map(([name, [label]]) =>
    el("a", { href: `#/${dataset.status.id}/${name}`, "aria-current": name === current && "page" }, label));
  fill(bar, said(dataset.status.name, { class: "name", title: dataset.status.name.slice(0, 300) }), ...links);
  return dataset;
}

function theme() {
  const kept = localStorage.getItem("overstory-theme");
  if (kept) document.documentElement.dataset.theme = kept;
  document.getElementById("theme").addEventListener("click", () => {
    const dark = document.documentElement.dataset.theme
      ? document.documentElement.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    localStorage.setItem("overstory-theme", document.documentElement.dataset.theme);
  });
}

window.addEventListener("hashchange", show);
window.addEventListener("unhandledrejection", (event) => failed(event.reason));
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); view.focus(); });
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  const search = document.querySelector("[data-slash]");
  if (search) { event.preventDefault(); search.focus(); }
});
theme();
await show();
get("/v1/me").then((me) => fill(document.getElementById("who"), me.key_required ? me.user : `version ${me.version}, written by ${me.writer}`)).catch(() => {});
