// The datasets, a card each.

import { get } from "./api.js";
import { el, fill, money, number, plural, said, when } from "./dom.js";

export async function home(view) {
  const datasets = await get("/v1/datasets");
  fill(view,
    el("h1", {}, "Your datasets"),
    el("p", { class: "lead" }, "Overstory reads your documents and grows a tree of summaries over them, up to one root. Open a dataset to read its tree from the top, follow a fact down to the sentence that says it, and see what the map adds to an answer."),
    datasets.length ? el("ul", { class: "cards" }, datasets.map(card)) : empty());
}

function card(dataset) {
  const { status } = dataset;
  const covered = dataset.text_summaries ? Math.min(1, (status.summaries || 0) / dataset.text_summaries) : 0;
  const link = `#/${status.id}/tree`;
  return el("li", { class: "sheet" },
    el("h2", {}, el("a", { href: link }, said(status.name.slice(0, 120)))),
    el("div", { class: "row" },
      status.generation ? el("span", { class: "chip" }, `generation ${status.generation}`) : el("span", { class: "chip warn" }, "no index yet"),
      !dataset.own && el("span", { class: "chip" }, "shared with you"),
      status.degraded > 0 && el("span", { class: "chip warn" }, `${number(status.degraded)} degraded`),
      status.stale > 0 && el("span", { class: "chip warn" }, `${number(status.stale)} stale`),
      status.held_by && el("span", { class: "chip" }, "being written")),
    el("dl", { class: "facts-of" },
      pair("holds", `${plural(status.documents, "document")}, ${plural(status.chunks, "chunk")}`),
      pair("graph", `${plural(status.entities, "entity", "entities")}, ${plural(status.edges, "connection")}`),
      pair("tree", status.level_sizes.length ? `${status.level_sizes.map(number).reverse().join(" → ")} areas under the root` : "–"),
      pair("built", status.built_at ? `${when(status.built_at)}, by ${status.model}` : "–"),
      pair("cost", dataset.model_calls ? `${plural(dataset.model_calls, "call")}, ${money(dataset.cost_usd)}` : "no model was called")),
    el("div", { class: "row small" },
      el("div", { class: "meter grow", role: "meter", "aria-label": "covered by the index", "aria-valuenow": Math.round(100 * covered), "aria-valuemin": 0, "aria-valuemax": 100 }, el("i", { style: { width: `${100 * covered}%` } })),
      el("span", { class: "dim" }, `${Math.round(100 * covered)} % covered${status.pending ? `, ${number(status.pending)} pending` : ""}`)));
}

const pair = (name, value) => [el("dt", {}, name), el("dd", {}, said(value))];

function empty() {
  return el("div", { class: "sheet" }, el("h2", {}, "There is none yet"), el("p", {}, "Two commands make one:"),
    el("pre", {}, "overstory remember path/to/your/files --dataset mine\noverstory improve --dataset mine --index"));
}
