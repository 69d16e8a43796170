// The tree as a picture: the node and those above it in rows, three levels below it, each as wide as what it holds.

import { el, fill, flawed, kindOf, visible } from "./dom.js";

const HUES = [152, 205, 36, 282, 340, 95, 235, 15, 180, 60, 310, 125];

export function picture(place, source, select) {
  function draw(node, branch) {
    const rows = node.path.map((above) => bar(above, "above"));
    if (node.kind !== "summary") rows.push(cell({ ...branch, ...briefOf(node), below: branch.below }, 150, 0, true));
    else rows.push(bar(node, "summary", true));
    fill(place, rows);
  }

  const briefOf = ({ id, kind, level, title, children, degraded, stale, withheld }) => ({ id, kind, level, title, children, degraded, stale, withheld });

  function bar(node, kind, current = false) {
    return el("div", { class: `cell ${kind}`, style: { "--hue": 150, "--deep": 0 } }, button(node, current));
  }

  function cell(node, hue, deep, current = false) {
    const below = node.below || [];
    return el("div", { class: `cell ${node.kind}`, style: { "flex": `${weight(node)} 1 0`, "--hue": hue, "--deep": deep } },
      button(node, current),
      below.length > 0 && el("div", { class: "under" }, below.map((one, i) => cell(one, deep ? hue : HUES[i % HUES.length], deep + 1))));
  }

  function button(node, current) {
    return el("button", { type: "button", class: flawed(node) && "flawed", "aria-current": current && "true", dir: "auto", title: visible(`${kindOf(node)}: ${node.title}`), onclick: () => select(node.id) }, node.title);
  }

  return { draw };
}

/** How wide a node is beside its siblings: what is below it, as far as it is loaded. */
function weight(node) {
  return node.below?.length ? node.below.reduce((sum, one) => sum + weight(one), 0) : Math.max(1, node.children || 1);
}
