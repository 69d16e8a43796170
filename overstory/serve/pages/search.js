// Searching in the tree.

import { el, fill, kindOf, said } from "./dom.js";

export function search(source) {
  const input = el("input", { type: "search", placeholder: "Search in the tree  ( / )", "aria-label": "Search in the tree", "data-slash": true, maxlength: 1000 });
  const hits = el("div", { "aria-live": "polite" });
  const form = el("form", { class: "row", role: "search" }, input, el("button", {}, "Search"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!input.value.trim()) return fill(hits);
    const found = await source.search(input.value);
    const close = () => { fill(hits); input.focus(); };
    const nodes = [...found.areas.slice(0, 5), ...found.summaries.slice(0, 10)];
    fill(hits, el("div", { class: "sheet" },
      el("div", { class: "row" }, el("strong", {}, nodes.length ? "Found" : "Nothing was found"), el("span", { class: "grow" }), el("button", { type: "button", onclick: close }, "Close")),
      el("ul", { class: "hits" }, nodes.map((node) => el("li", {}, el("a", { href: source.link(node.id) }, said(node.title), el("span", { class: "dim small" }, ` · ${kindOf(node)}${node.source ? `, ${node.source}` : ""}`)))))));
  });
  input.addEventListener("keydown", (event) => { if (event.key === "Escape") { input.value = ""; fill(hits); } });
  return { form, hits };
}
