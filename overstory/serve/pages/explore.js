// One dataset's tree: as a picture, as a list, and one node of it at a time.

import { get } from "./api.js";
import { el, fill, plural, said } from "./dom.js";
import { nodePanel } from "./node.js";
import { picture } from "./picture.js";
import { search } from "./search.js";
import { treeList } from "./tree.js";

export async function explore(view, asked, here) {
  const id = here.dataset;
  const base = `/v1/datasets/${encodeURIComponent(id)}`;
  const generation = here.query.g;
  const source = {
    link: (node) => `#/${id}/tree/${node}${generation ? `?g=${generation}` : ""}`,
    documentLink: (one, quote) => `#/${id}/document/${one.document_id}?${new URLSearchParams({ chunk: one.chunk_id, quote })}`,
    tree: (node, depth, offset) => get(`${base}/tree`, { node, depth, offset, generation }),
    node: (node) => get(`${base}/nodes/${node}`, { generation }),
    history: (node) => get(`${base}/nodes/${node}/history`),
    search: (q) => get(`${base}/search`, { q, generation }),
  };
  return showTree(view, source, here.rest, asked, none);
}

/** Draw a source's tree into a view; shared with the page that is one file. */
export async function showTree(view, source, wanted, asked, none) {
  const [dataset, top] = await Promise.all([asked, source.tree(undefined, 3)]);
  if (!top.tree) return void fill(view, none(dataset));
  const finding = search(source);
  const parts = { picture: el("section", { class: "sheet picture", "aria-label": "The tree as a picture" }), tree: el("nav", { class: "sheet tree", "aria-label": "The tree as a list" }), node: el("article", { class: "sheet", "aria-live": "polite" }) };
  const select = (node) => { if (location.hash === source.link(node)) open(node); else location.hash = source.link(node); };
  const drawing = picture(parts.picture, source, select);
  const list = treeList(parts.tree, source, top.tree, select);
  const root = top.tree.id;
  let opened = 0;

  async function open(key) {
    const mine = ++opened;
    fill(finding.hits);
    const [node, branch] = await Promise.all([source.node(key), key === root ? top : source.tree(key, 3)]);
    if (mine !== opened) return;
    drawing.draw(node, branch.tree);
    nodePanel(parts.node, source, node, branch);
    list.reveal(node);
  }

  fill(view,
    el("div", { class: "row heading" },
      el("h1", {}, said(dataset.status.name.slice(0, 200))),
      el("span", { class: "chip" }, `generation ${top.generation}${top.generation === dataset.status.generation ? "" : ", not the served one"}`),
      dataset.status.summaries !== undefined && el("span", { class: "chip" }, `${plural(dataset.status.summaries, "summary", "summaries")} covered`),
      dataset.status.pending > 0 && el("span", { class: "chip warn" }, `${dataset.status.pending} pending`),
      el("span", { class: "grow" }), finding.form),
    finding.hits,
    parts.picture,
    el("p", { class: "dim small" }, "Each row summarises the row below it; the lowest one holds a summary for every chunk of a document. Hatched: degraded or stale."),
    el("div", { class: "explore" }, parts.tree, parts.node));
  await open(wanted || root);
  const leave = () => {};
  leave.update = (here) => open(here.rest || root);
  return leave;
}

function none(dataset) {
  return el("div", { class: "sheet" }, el("h2", {}, "This dataset has no index yet"),
    el("p", {}, dataset.text_summaries ? "Its documents are read; the tree over them is still to be grown." : "It holds nothing to summarise yet: add documents first."),
    el("p", {}, el("a", { href: `#/${dataset.status.id}/builds` }, "Grow it")));
}
