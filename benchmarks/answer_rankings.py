"""Which passages come first: recall@5 and MRR@10 by each way of ranking, and whether the value that holds does."""

import dataclasses
import statistics
from collections.abc import Sequence

from benchmarks.measuring import Table, interval
from benchmarks.question_sets import MULTI_HOP, Question, QuestionSet

BASE = "BM25"
"""With the texts that share no word behind it, by vector: so many are ranked in every row."""


async def rankings(question: Question) -> dict[str, list[str]]:
    """The sources of the best chunks by each way of ranking."""
    import numpy as np

    from overstory import access
    from overstory.models import Document, DocumentChunk, Permission
    from overstory.runtime import current_runtime
    from retrieval import ranking
    from retrieval.passages import by_words
    from retrieval.projections import matching
    from retrieval.question import make_question
    from retrieval.scene import QueryVector, Scene

    runtime = await current_runtime()
    opened = await access.find_dataset(runtime, question.dataset, None, Permission.READ)
    scene = Scene(
        question=make_question(question.text, "HYBRID_COMPLETION"),
        dataset=opened.dataset,
        tenant=opened.tenant,
        generation=None,
        vector=QueryVector(runtime.embedder, question.text),
        writer=runtime.writer,
    )
    material = await matching(opened.tenant, await scene.vector.get(), 100)
    worded = await by_words(scene, DocumentChunk, ranking.CANDIDATES)
    weights = ranking.weights_of(opened.dataset)
    found = await ranking.find_candidates(scene, material, worded, weights)
    documents = await opened.tenant.get(Document, sorted({chunk.document_id for chunk in found.chunks}))
    sources = {document.id: document.source for document in documents}
    without_steps = dataclasses.replace(weights, bridge=0, shared=0)
    without_graph = dataclasses.replace(without_steps, graph=0)
    scores = {
        BASE: np.where(found.words > 0, found.words, -found.distances),
        "vector": -found.distances,
        "fusion": ranking.fused_scores(found, question.text, without_graph),
        "fusion + PageRank": ranking.fused_scores(found, question.text, without_steps),
        "fusion + PageRank + second steps": ranking.fused_scores(found, question.text, weights),
    }
    ranked = {
        name: list(dict.fromkeys(sources[found.chunks[i].document_id] for i in np.argsort(-values, kind="stable")))
        for name, values in scores.items()
    }
    return {**ranked, "graph": await answered(question, "GRAPH_COMPLETION"), "hybrid": await answered(question)}


async def answered(question: Question, query_type: str = "HYBRID_COMPLETION") -> list[str]:
    """The sources of the passages that a type of question gives; a prelude changes nothing in them."""
    from overstory import recall

    found = await recall(question.text, query_type, datasets=question.dataset, top_k=50, only_context=True)
    return list(dict.fromkeys(passage.source for one in found for passage in one.evidence.passages))


def recall_at(ranked: Sequence[str], gold: frozenset[str], k: int = 5) -> float:
    return len(gold.intersection(ranked[:k])) / len(gold)


def reciprocal_rank(ranked: Sequence[str], gold: frozenset[str]) -> float:
    return next((1 / place for place, one in enumerate(ranked[:10], 1) if one in gold), 0.0)


def current_first(ranked: Sequence[str], question: Question) -> float:
    """Whether the value that holds was found, before every superseded one."""
    first = next((one for one in ranked if one in question.gold or one in question.stale), None)
    return float(first in question.gold)


async def measure_rankings(table: Table, lane: str, loaded: Sequence[QuestionSet]) -> None:
    pooled: dict[str, list[tuple[float, float]]] = {}
    for one in loaded:
        asked = [question for question in one.questions if question.gold]
        ranked = [(await rankings(question), question) for question in asked]
        for system in ranked[0][0] if ranked else ():
            recalls = [(recall_at(r[system], q.gold), recall_at(r[BASE], q.gold)) for r, q in ranked]
            mrr = statistics.fmean(reciprocal_rank(r[system], q.gold) for r, q in ranked)
            _add(table, f"{lane} {one.name} ({len(asked)}) {system}", recalls, mrr)
            if one.name in MULTI_HOP:
                pooled.setdefault(system, []).extend(recalls)
            changed = [current_first(r[system], q) for r, q in ranked if q.stale]
            if one.name == "supersede" and changed:
                what = f"{lane} supersede ({len(changed)}) {system}: current before stale"
                table.add(what, f"{statistics.fmean(changed):.3f}", ">= .9")
    for system, recalls in pooled.items():
        _add(table, f"{lane} multi-hop pooled ({len(recalls)}) {system}", recalls)


def _add(table: Table, what: str, recalls: Sequence[tuple[float, float]], mrr: float | None = None) -> None:
    mean = statistics.fmean(recall for recall, _ in recalls)
    against = interval([recall - base for recall, base in recalls])
    figures = f"{mean:.3f}" if mrr is None else f"{mean:.3f}, {mrr:.3f}"
    said = "" if what.endswith(BASE) else f"against {BASE} {against}"
    table.add(f"{what}: recall@5{'' if mrr is None else ', MRR@10'}", figures, said)
