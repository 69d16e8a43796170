// The tree as a list that opens by keyboard: arrows move and open, Enter selects, Home and End jump.

import { el, fill, flawed, kindOf, said } from "./dom.js";

const PAGE = 200;

export function treeList(place, source, root, select) {
  const items = new Map();
  const list = el("ul", { role: "tree", "aria-label": "Summaries" });
  let current = null;
  list.append(item(root));
  fill(place, list);
  list.addEventListener("keydown", onKey);
  current = items.get(root.id).row;
  current.tabIndex = 0;

  function item(node) {
    const leaf = !node.children;
    const twist = el("span", { class: "twist", "aria-hidden": "true" }, leaf ? "" : "▸");
    const row = el("li", { role: "treeitem", tabindex: -1, "aria-expanded": leaf ? undefined : "false", "aria-selected": "false", "data-id": node.id },
      el("div", { class: "item", title: `${kindOf(node)}${node.children ? `, ${node.children} below` : ""}` },
        twist, flawed(node) && el("span", { class: "flaw", "aria-label": "degraded or stale" }, "◆"), said(node.title, { class: "title" })));
    const state = { node, row, twist, group: null, loaded: false };
    row.firstChild.addEventListener("click", (event) => { if (event.target === twist) toggle(state); else select(node.id); });
    items.set(node.id, state);
    if (node.below) grow(state, node.below, node.below.length < node.children ? node.below.length : null);
    return row;
  }

  function grow(state, nodes, next) {
    if (!state.group) state.row.append(state.group = el("ul", { role: "group", hidden: true }));
    state.loaded = true;
    state.group.append(...nodes.map((one) => items.get(one.id)?.row ?? item(one)));
    if (next !== null) {
      const more = el("li", { role: "none" }, el("button", { type: "button", onclick: async () => {
        const found = await source.tree(state.node.id, 1, next);
        more.remove();
        grow(state, found.tree.below, found.cut ? next + PAGE : null);
      } }, `${state.node.children - next} more …`));
      state.group.append(more);
    }
  }

  async function expand(state) {
    if (!state.node.children) return;
    if (!state.loaded) {
      state.loaded = true;
      const found = await source.tree(state.node.id, 1);
      grow(state, found.tree.below || [], found.cut ? (found.tree.below || []).length : null);
    }
    open(state, true);
  }

  function open(state, yes) {
    if (!state.group) return;
    state.group.hidden = !yes;
    state.row.setAttribute("aria-expanded", String(yes));
    state.twist.textContent = yes ? "▾" : "▸";
  }

  const isOpen = (state) => state.group && !state.group.hidden;
  const toggle = (state) => (isOpen(state) ? open(state, false) : expand(state));

  function focus(row) {
    current.tabIndex = -1;
    current = row;
    row.tabIndex = 0;
    row.focus();
  }

  function onKey(event) {
    const state = items.get(event.target.dataset?.id);
    if (!state) return;
    const shown = [...list.querySelectorAll('[role="treeitem"]')].filter((row) => row.offsetParent);
    const at = shown.indexOf(state.row);
    const keys = {
      ArrowDown: () => shown[at + 1] && focus(shown[at + 1]),
      ArrowUp: () => shown[at - 1] && focus(shown[at - 1]),
      Home: () => focus(shown[0]),
      End: () => focus(shown[shown.length - 1]),
      ArrowRight: () => (isOpen(state) ? shown[at + 1] && focus(shown[at + 1]) : expand(state)),
      ArrowLeft: () => (isOpen(state) ? open(state, false) : focus(state.row.parentElement.closest('[role="treeitem"]') || state.row)),
      Enter: () => select(state.node.id),
      " ": () => select(state.node.id),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }

  /** Open the list down to a node, and select it. */
  async function reveal(node) {
    for (const above of node.path) {
      const state = items.get(above.id);
      if (state) await expand(state);
    }
    list.querySelector('[aria-selected="true"]')?.setAttribute("aria-selected", "false");
    const state = items.get(node.id);
    if (!state) return;
    state.row.setAttribute("aria-selected", "true");
    current.tabIndex = -1;
    current = state.row;
    current.tabIndex = 0;
    await expand(state);
    const box = place.getBoundingClientRect();
    const line = state.row.firstChild.getBoundingClientRect();
    if (line.top < box.top || line.bottom > box.bottom) place.scrollTop += line.top - box.top - box.height / 3;
  }

  return { reveal };
}
