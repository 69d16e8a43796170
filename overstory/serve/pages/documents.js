// A document, the chunk that was asked for in the middle, the sentence that says it marked.

import { get } from "./api.js";
import { el, fill, said } from "./dom.js";

export async function documents(view, asked, here) {
  const dataset = await asked;
  const base = `/v1/datasets/${dataset.status.id}/documents/${here.rest}`;
  const { chunk, quote } = here.query;
  const text = el("div", { class: "doc", dir: "auto" });
  const found = await get(base, { chunk, quote: quote?.slice(0, 4000) });
  let first = found.offset;
  let last = found.offset + found.chunks.length;
  const earlier = el("button", { type: "button", onclick: async () => {
    const offset = Math.max(0, first - 30);
    const more = await get(base, { offset, limit: Math.max(1, first - offset) });
    text.prepend(...more.chunks.map((one) => block(one, chunk)));
    first = offset;
    update();
  } }, "Earlier text");
  const later = el("button", { type: "button", onclick: async () => {
    const more = await get(base, { offset: last });
    text.append(...more.chunks.map((one) => block(one, chunk)));
    last += more.chunks.length;
    update();
  } }, "Later text");
  const update = () => { earlier.hidden = first === 0; later.hidden = last >= found.total; };
  text.append(...found.chunks.map((one) => block(one, chunk)));
  update();
  fill(view,
    el("p", {}, el("button", { type: "button", onclick: () => history.back() }, "‹ Back")),
    el("article", { class: "sheet" },
      el("h1", {}, said((found.title || found.source).slice(0, 300))),
      el("p", { class: "row" }, el("span", { class: "chip" }, said(found.source.slice(0, 300))), found.occurred_at && el("span", { class: "chip" }, found.occurred_at), found.node_set.map((tag) => el("span", { class: "chip" }, said(tag)))),
      quote && el("p", { class: "dim" }, "Looking for: ", said(`“${quote.slice(0, 400)}”`)),
      earlier, text, later));
  (text.querySelector("mark") || text.querySelector(".wanted"))?.scrollIntoView({ block: "center" });
}

function block(chunk, wanted) {
  return el("div", { class: chunk.id === wanted ? "chunk wanted" : "chunk", dir: "auto" }, chunk.parts.map((part) => (part.marked ? el("mark", {}, part.text) : part.text)));
}
