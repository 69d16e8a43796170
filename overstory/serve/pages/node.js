// One node: what it says, where each fact comes from, what is below it, and what it said before.

import { el, fill, kindOf, marks, plural, said, when } from "./dom.js";

export function nodePanel(place, source, node, branch) {
  fill(place,
    node.path.length > 0 && el("p", { class: "crumbs dim" }, node.path.map((above) => [el("a", { href: source.link(above.id), dir: "auto" }, above.kind === "root" ? "root" : above.title), " › "])),
    el("h2", { class: "node-title" }, node.kind === "root" ? "This dataset is about" : said(node.title)),
    el("p", { class: "row" }, el("span", { class: "chip" }, kindOf(node)), node.children > 0 && el("span", { class: "chip" }, `${plural(node.children, node.level === 0 ? "summary" : "area", node.level === 0 ? "summaries" : "areas")} below`), node.model && el("span", { class: "chip" }, `written by ${node.model}`), marks(node)),
    node.withheld && el("p", {}, "This text rests on something that was forgotten. It is not served until the next improve has rewritten it."),
    node.kind === "summary" ? summary(source, node) : area(source, node),
    below(source, branch),
    node.kind !== "summary" && el("details", {}, el("summary", {}, "The text as a model reads it"), el("pre", { class: "sheet", dir: "auto" }, node.text)),
    node.kind !== "summary" && source.history && historyOf(source, node));
}

function summary(source, node) {
  return [
    el("p", { dir: "auto" }, node.text),
    el("p", {}, "Summary of a chunk of ", linked(source.documentLink(node, node.text), node.source || "its document"), node.occurred_at && ` (${node.occurred_at})`)];
}

const linked = (href, text) => (href ? el("a", { href, class: "source" }, said(text)) : said(text));

function area(source, node) {
  return [
    node.categories.length > 0 && el("dl", { class: "topics" }, node.categories.map((one) => [el("dt", { dir: "auto" }, one.name), el("dd", {}, said(one.topics.join(", ")))])),
    node.facts.length > 0 && el("h3", {}, "Facts"),
    el("ul", { class: "facts" }, node.facts.map((fact) => el("li", { class: fact.superseded && "old" },
      el("div", { class: "said", dir: "auto" }, fact.text),
      el("div", { class: "sources dim" },
        fact.superseded && el("span", {}, "earlier, no longer so"),
        fact.occurred_at && el("time", {}, fact.occurred_at.slice(0, 10)),
        fact.sources.map((one) => linked(source.documentLink(one, fact.text), one.source || "a document")),
        fact.more_sources > 0 && `and ${fact.more_sources} more`))))];
}

function below(source, branch) {
  const nodes = branch.tree?.below || [];
  if (!nodes.length) return null;
  const left = branch.tree.children - nodes.length;
  return [el("h3", {}, "Below it"), el("ul", { class: "children" }, nodes.map((one) =>
    el("li", {}, el("a", { href: source.link(one.id) }, el("strong", {}, said(one.title)), " ", marks(one), el("br"), el("span", { class: "dim small", dir: "auto" }, one.source ? `${one.source}: ${one.line}` : one.line))))),
    left > 0 && el("p", { class: "dim small" }, `and ${left} more, in the list`), el("p", {})];
}

function historyOf(source, node) {
  const body = el("div", {});
  const details = el("details", { class: "history" }, el("summary", {}, "History: what changed between two generations"), body);
  details.addEventListener("toggle", async () => {
    if (!details.open || body.firstChild) return;
    fill(body, el("p", { class: "dim" }, "Loading …"));
    const { versions } = await source.history(node.id);
    fill(body, versions.length > 1 ? compare(versions) : el("p", { class: "dim" }, `Only one text is kept: that of ${generations(versions[0])}, built ${when(versions[0].built_at)}.`));
  });
  return details;
}

const generations = (version) => `generation ${version.generations.join(", ")}`;

function compare(versions) {
  const choices = () => versions.map((one, i) => el("option", { value: i }, `${generations(one)}, ${when(one.built_at)}`));
  const left = el("select", { "aria-label": "Earlier text" }, choices());
  const right = el("select", { "aria-label": "Later text" }, choices());
  left.value = versions.length - 2;
  right.value = versions.length - 1;
  const sides = el("div", { class: "two diff" });
  const draw = () => fill(sides, side(versions[left.value], versions[right.value], "gone"), side(versions[right.value], versions[left.value], "new"));
  left.addEventListener("change", draw);
  right.addEventListener("change", draw);
  draw();
  return [el("div", { class: "two" }, left, right), sides];
}

function side(version, other, mark) {
  const there = new Set(other.facts);
  return el("ul", { class: "facts" }, version.facts.map((fact) => el("li", { class: there.has(fact) ? undefined : mark, dir: "auto" }, fact)));
}
