// A question, answered without and with the map, side by side, with the prompts that a model reads.

import { get, post, stream } from "./api.js";
import { el, fill, number, plural, said } from "./dom.js";

const KINDS = { root: "world summary", area: "relevant areas", node: "nodes", connection: "connections", passage: "passages", text: "other evidence", frame: "question and headings" };
const READ_THE_MAP = ["GRAPH_COMPLETION", "HYBRID_COMPLETION"];

export async function ask(view, asked, here) {
  const dataset = await asked;
  const me = await get("/v1/me");
  const question = el("textarea", { rows: 2, required: true, maxlength: 32000, "aria-label": "Question", "data-slash": true, placeholder: "What do you want to know?" });
  const type = el("select", { "aria-label": "How to look for an answer" }, me.search_types.map((one) => el("option", { value: one }, one)));
  const topK = el("input", { type: "number", min: 1, max: 1000, value: 15, "aria-label": "Connections or passages" });
  const areas = el("input", { type: "number", min: 0, max: 50, value: 3, "aria-label": "Areas of the map" });
  const budget = el("input", { type: "number", min: 50, max: 1000000, placeholder: "none", "aria-label": "Token budget" });
  const go = el("button", { class: "primary" }, "Ask");
  const sides = [side("Without the map", "local evidence alone"), side("With the map", "the root and the nearest areas stand in front")];
  const form = el("form", { class: "sheet" },
    question,
    el("div", { class: "row" }, el("label", { class: "small" }, "Type ", type), el("label", { class: "small" }, "Top ", topK), el("label", { class: "small" }, "Areas ", areas), el("label", { class: "small" }, "Token budget ", budget), el("span", { class: "grow" }), go));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    go.disabled = true;
    const common = { query_text: question.value, query_type: type.value, datasets: [dataset.status.id], top_k: Number(topK.value), ...(budget.value && { context_token_budget: Number(budget.value) }) };
    const map = { include_global_context_index: true, global_context_index_top_k: Number(areas.value) };
    await Promise.all([sides[0].ask(dataset, common), sides[1].ask(dataset, { ...common, retriever_specific_config: map })]);
    go.disabled = false;
  });
  question.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit(); });
  type.addEventListener("change", () => sides[1].explain(READ_THE_MAP.includes(type.value) ? "" : `${type.value} never reads the map: both sides are the same.`));
  fill(view, form,
    el("p", { class: "dim small" }, me.writer === "offline" ? "No model is set (LLM_MODEL): answers are sentences of the context, chosen by rules." : `Answers are written by ${me.writer}.`),
    el("div", { class: "two" }, sides.map((one) => one.element)));
  question.value = here.query.q || "";
  question.focus();
  if (question.value) form.requestSubmit();
}

function side(title, hint) {
  const note = el("p", { class: "dim small" }, hint);
  const answer = el("div", { class: "answer", dir: "auto", "aria-live": "polite" });
  const prompt = el("div", {});
  const element = el("section", { class: "sheet", "aria-label": title }, el("h2", {}, title), note, answer, prompt);

  async function ask(dataset, form) {
    fill(answer, el("span", { class: "dim" }, "…"));
    fill(prompt);
    try {
      const explained = post("/v1/recall", { ...form, only_context: true, explain: true });
      let text = "";
      let result = null;
      await stream("/v1/recall", { ...form, stream: true }, { piece: (piece) => fill(answer, (text += piece.text)), result: (whole) => { result = whole; } });
      if (!result) fill(answer, el("span", { class: "dim" }, "Nothing in this dataset has to do with that."));
      const [found] = (await explained).results;
      if (found) fill(prompt, told(result, found), drawn(dataset, found));
    } catch (problem) {
      fill(answer, el("span", { class: "chip bad" }, problem.told?.title || "failed"), " ", problem.message);
    }
  }

  return { element, ask, explain: (text) => fill(note, text || hint) };
}

function told(result, found) {
  const notes = found.result.evidence.notes;
  const usage = result?.usage;
  return el("p", { class: "row small dim" },
    el("span", {}, plural(found.tokens, "token"), " of prompt"),
    usage?.calls > 0 && el("span", {}, `${plural(usage.calls, "call")}, ${number(usage.prompt_tokens + usage.completion_tokens)} tokens paid`),
    found.result.freshness.generation > 0 && el("span", {}, `generation ${found.result.freshness.generation}`),
    notes.map((note) => el("span", { class: "chip warn" }, note)));
}

function drawn(dataset, found) {
  const sums = {};
  for (const part of found.parts) sums[part.kind] = (sums[part.kind] || 0) + part.tokens;
  const kinds = Object.keys(KINDS).filter((kind) => sums[kind]);
  return el("details", { open: true }, el("summary", {}, "The prompt, as it is sent"),
    el("div", { class: "stack", "aria-hidden": "true" }, kinds.map((kind) => el("i", { class: `k-${kind}`, style: { flex: `${sums[kind]} 1 0` } }))),
    el("div", { class: "legend" }, kinds.map((kind) => el("span", {}, el("i", { class: `k-${kind}` }), `${KINDS[kind]}: ${number(sums[kind])} tokens`))),
    el("pre", { class: "prompt", tabindex: 0, "aria-label": "Prompt" }, found.parts.map((part) => [
      el("span", { class: `part k-${part.kind}`, dir: "auto", title: `${KINDS[part.kind]}, ${plural(part.tokens, "token")}${part.nodes.length ? `, from ${part.nodes.join(", ")}` : ""}` }, part.text),
      from(dataset, found.result, part)])));
}

/** Where a part came from, as links. */
function from(dataset, result, part) {
  if (!part.nodes.length || part.kind === "connection") return null;
  const passages = new Map(result.evidence.passages.map((one) => [one.id, one]));
  const links = part.nodes.slice(0, 3).map((id) => {
    const passage = passages.get(id);
    if (part.kind === "root" || part.kind === "area") return el("a", { href: `#/${dataset.status.id}/tree/${id}` }, "in the tree");
    if (passage) return el("a", { href: `#/${dataset.status.id}/document/${passage.document_id}?${new URLSearchParams({ chunk: id, quote: passage.text.slice(0, 300) })}` }, said(passage.source || "document"));
    return null;
  }).filter(Boolean);
  return links.length ? el("span", { class: "from" }, " ↗ ", links, "\n") : null;
}
