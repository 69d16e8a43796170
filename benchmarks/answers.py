"""Does the map make better contexts? Rankings, evidence at equal tokens, changing state, time; one table, one run.

    python benchmarks/answers.py [--data FOLDER] [--lane hashing] [--sets hotpotqa,supersede] [--writer MODEL]

Figures are of the questions with odd places; what that is worth as held-out data says `docs/evidence.md`. Intervals are paired bootstrap intervals of 95 %. The sets lie in `qa/` of the folder that `--data` or OVERSTORY_TEST_DATA names; without them it says so and ends.
"""

import argparse
import asyncio
import dataclasses
import os
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import question_sets
from measuring import Table, percentile
from question_sets import MULTI_HOP, SETS, Question, QuestionSet

BUDGETS = (500, 1_000, 2_000)
BROAD = ("qmsum", "earnings", "beam")
PLAIN = {"include_global_context_index": True}
ADAPTIVE = {**PLAIN, "global_context_index_mode": "adaptive"}
ROUNDS = 1_000
_SENTENCE = re.compile(r"(?<=[.!?。])\s+|\n+")
_WORD = re.compile(r"\w+")


def interval(values: Sequence[float]) -> str:
    """The mean with its bootstrap interval."""
    chooser, n = random.Random(0), len(values)
    means = sorted(sum(chooser.choices(values, k=n)) / n for _ in range(ROUNDS))
    return f"{statistics.fmean(values):+.3f} [{means[int(0.025 * ROUNDS)]:+.3f}, {means[int(0.975 * ROUNDS) - 1]:+.3f}]"


def reported(questions: Sequence[Question]) -> list[Question]:
    """Those that figures are of: with gold, at odd places."""
    return [question for place, question in enumerate(q for q in questions if q.gold) if place % 2]


# --- rankings --------------------------------------------------------------------------------------


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
    found = await ranking.find_candidates(scene, material, worded)
    documents = await opened.tenant.get(Document, sorted({chunk.document_id for chunk in found.chunks}))
    sources = {document.id: document.source for document in documents}
    weights = ranking.WEIGHTS.get(opened.dataset.embedding_model, ranking.DEFAULT_WEIGHTS)
    without_graph = dataclasses.replace(weights, graph=0, bridge=0)
    without_bridges = dataclasses.replace(weights, bridge=0)
    scores = {
        "BM25": np.where(found.words > 0, found.words, -found.distances),
        "vector": -found.distances,
        "fusion": ranking.fused_scores(found, question.text, without_graph),
        "fusion + PageRank": ranking.fused_scores(found, question.text, without_bridges),
        "fusion + PageRank + bridges": ranking.fused_scores(found, question.text, weights),
    }
    ranked = {
        name: list(dict.fromkeys(sources[found.chunks[i].document_id] for i in np.argsort(-values, kind="stable")))
        for name, values in scores.items()
    }
    by_id = {chunk.id: sources[chunk.document_id] for chunk in found.chunks}
    hits = ranking.best(found, question.text, weights, len(found.chunks))
    ranked["all of it, current first"] = list(dict.fromkeys(by_id[hit.key] for hit in hits))
    return ranked


def recall_at(ranked: Sequence[str], gold: frozenset[str], k: int = 5) -> float:
    return len(gold.intersection(ranked[:k])) / len(gold)


def reciprocal_rank(ranked: Sequence[str], gold: frozenset[str]) -> float:
    return next((1 / place for place, one in enumerate(ranked[:10], 1) if one in gold), 0.0)


def current_first(ranked: Sequence[str], question: Question) -> float:
    """Whether the value that holds ranks before every superseded one."""
    places = {one: place for place, one in enumerate(ranked)}
    best = min((places[one] for one in question.gold if one in places), default=len(ranked))
    return float(best < min((places[one] for one in question.stale if one in places), default=len(ranked) + 1))


async def measure_rankings(table: Table, lane: str, loaded: Sequence[QuestionSet]) -> None:
    pooled: dict[str, list[float]] = {}
    for one in loaded:
        chosen = reported(one.questions)
        ranked = [await rankings(question) for question in chosen]
        for system in ranked[0]:
            recalls = [recall_at(r[system], q.gold) for r, q in zip(ranked, chosen, strict=True)]
            mrr = statistics.fmean(reciprocal_rank(r[system], q.gold) for r, q in zip(ranked, chosen, strict=True))
            against = [a - recall_at(r["BM25"], q.gold) for a, r, q in zip(recalls, ranked, chosen, strict=True)]
            table.add(
                f"{lane} {one.name} ({len(chosen)}) {system}: recall@5, MRR@10",
                f"{statistics.fmean(recalls):.3f}, {mrr:.3f}",
                "" if system == "BM25" else f"against BM25 {interval(against)}",
            )
            if one.name in MULTI_HOP:
                pooled.setdefault(system, []).extend(recalls)
            changed = [(r[system], q) for r, q in zip(ranked, chosen, strict=True) if q.stale]
            if one.name == "supersede" and changed:
                share = statistics.fmean(current_first(*pair) for pair in changed)
                table.add(f"{lane} supersede ({len(changed)}) {system}: current before stale", f"{share:.3f}", ">= .9")
    for system, recalls in pooled.items():
        table.add(
            f"{lane} multi-hop pooled ({len(recalls)}) {system}: recall@5", f"{statistics.fmean(recalls):.3f}", ">= .73"
        )


# --- contexts at equal tokens ----------------------------------------------------------------------


SYSTEMS: dict[str, tuple[str, dict[str, Any] | None]] = {
    "nearest chunks": ("RAG_COMPLETION", None),
    "graph": ("GRAPH_COMPLETION", None),
    "graph + plain prelude": ("GRAPH_COMPLETION", PLAIN),
    "graph + adaptive prelude": ("GRAPH_COMPLETION", ADAPTIVE),
    "hybrid": ("HYBRID_COMPLETION", None),
    "hybrid + plain prelude": ("HYBRID_COMPLETION", PLAIN),
    "hybrid + adaptive prelude": ("HYBRID_COMPLETION", ADAPTIVE),
}


async def context_of(question: Question, system: str, budget: int) -> str:
    from overstory import recall

    query_type, config = SYSTEMS[system]
    found = await recall(
        question.text,
        query_type,
        datasets=question.dataset,
        top_k=50,
        only_context=True,
        context_token_budget=budget,
        retriever_specific_config=config,
    )
    return found[0].text.partition("context:\n\n")[2] if found else ""


class Gold:
    """The gold passages of one question as sentences, and the words of its answer."""

    def __init__(self, question: Question, texts: dict[str, str]) -> None:
        passages = [[plain(s) for s in _SENTENCE.split(texts[g]) if len(s) > 25] for g in sorted(question.gold)]
        self.passages = [sentences for sentences in passages if sentences]
        self.answer = set(_WORD.findall(" ".join(question.answers).casefold()))
        best = [
            max(s, key=lambda sentence: len(self.answer.intersection(_WORD.findall(sentence)))) for s in self.passages
        ]
        self.key = max(best, key=lambda s: len(self.answer.intersection(_WORD.findall(s))), default="")

    def judge(self, context: str) -> tuple[float, float, float]:
        """Share of gold passages of which a sentence is in the context; whether all are; whether the key one is."""
        seen = plain(context)
        touched = [any(sentence in seen for sentence in sentences) for sentences in self.passages]
        return statistics.fmean(touched), float(all(touched)), float(self.key in seen)


def plain(text: str) -> str:
    return " ".join(text.replace("\\", "").split()).casefold()


async def random_sentences(question: Question, texts: dict[str, str], budget: int) -> str:
    """The control: three quarters of local evidence, then sentences drawn at random."""
    from overstory.tokens import estimate_tokens

    context = await context_of(question, "hybrid", budget - budget // 4)
    sentences = [s for text in texts.values() for s in _SENTENCE.split(text) if len(s) > 25]
    random.Random(question.id).shuffle(sentences)
    for sentence in sentences:
        if estimate_tokens(f"{context}\n- {sentence}") > budget:
            break
        context = f"{context}\n- {sentence}"
    return context


async def measure_contexts(table: Table, lane: str, loaded: Sequence[QuestionSet], limit: int) -> None:
    groups = {
        "multi-hop": [one for one in loaded if one.name in MULTI_HOP],
        "broad": [one for one in loaded if one.name in BROAD],
        "changing state": [one for one in loaded if one.name == "supersede"],
    }
    for group, sets in groups.items():
        asked = [
            (q, one.text_of(q.dataset)) for one in sets for q in reported(one.questions) if q.dataset in one.passages
        ]
        random.Random(1).shuffle(asked)
        asked = [(q, texts) for q, texts in asked[:limit] if Gold(q, texts).passages]
        for budget in BUDGETS if asked else ():
            await _measure_budget(table, f"{lane} {group} ({len(asked)}) at {budget:,}", asked, budget)


async def _measure_budget(
    table: Table, label: str, asked: Sequence[tuple[Question, dict[str, str]]], budget: int
) -> None:
    judged: dict[str, list[tuple[float, float, float]]] = {}
    for question, texts in asked:
        gold = Gold(question, texts)
        for system in SYSTEMS:
            judged.setdefault(system, []).append(gold.judge(await context_of(question, system, budget)))
        control = await random_sentences(question, texts, budget)
        judged.setdefault("hybrid + random sentences", []).append(gold.judge(control))
    for system, rows in judged.items():
        means = [statistics.fmean(column) for column in zip(*rows, strict=True)]
        local = judged["graph" if system.startswith("graph") else "hybrid"]
        gains = [[a[i] - b[i] for a, b in zip(rows, local, strict=True)] for i in (1, 2)]
        told = "" if rows is local else f"all {interval(gains[0])}, key {interval(gains[1])}"
        table.add(f"{label}: {system}: touched, all, key", ", ".join(f"{mean:.2f}" for mean in means), told)


# --- time ------------------------------------------------------------------------------------------


async def measure_time(table: Table, lane: str, loaded: Sequence[QuestionSet]) -> None:
    from overstory import recall

    largest = max(loaded, key=lambda one: max(map(len, one.passages.values())))
    dataset = max(largest.passages, key=lambda name: len(largest.passages[name]))
    questions = [q.text for q in largest.questions if q.dataset == dataset][:40]
    for system, (query_type, config) in SYSTEMS.items():
        times, tokens = [], []
        for text in questions:
            begun = time.perf_counter()
            found = await recall(
                text, query_type, datasets=dataset, only_context=True, retriever_specific_config=config
            )
            times.append((time.perf_counter() - begun) * 1000)
            tokens += [one.evidence.context_tokens for one in found]
        size = len(largest.passages[dataset])
        table.add(
            f"{lane} {dataset}, {size:,} passages, {system}: p50 / p95",
            f"{percentile(times[3:], 0.5):.1f} / {percentile(times[3:], 0.95):.1f} ms",
            f"{statistics.fmean(tokens):,.0f} tokens",
        )


# --- a writer --------------------------------------------------------------------------------------


async def measure_answers(table: Table, writer: str, lane: str, loaded: Sequence[QuestionSet], limit: int) -> None:
    """Share of questions whose answer the writer gives, word for word, from each context."""
    from overstory import recall

    asked = [q for one in loaded for q in reported(one.questions) if q.answers and q.dataset in one.passages][:limit]
    for system, (query_type, config) in SYSTEMS.items():
        right = []
        for question in asked:
            found = await recall(question.text, query_type, datasets=question.dataset, retriever_specific_config=config)
            said = plain(found[0].text) if found else ""
            right.append(float(any(plain(answer) in said for answer in question.answers)))
        table.add(f"{lane} answers by {writer} ({len(asked)}), {system}", f"{statistics.fmean(right):.3f}")


# --- the run ---------------------------------------------------------------------------------------


async def measure(table: Table, lane: str, arguments: argparse.Namespace) -> None:
    loaded = [question_sets.load(name, arguments.data / "qa") for name in arguments.sets.split(",")]
    for one in loaded:
        await question_sets.remember_all(one)
    await measure_rankings(table, lane, loaded)
    await measure_contexts(table, lane, loaded, arguments.questions)
    await measure_time(table, lane, loaded)
    if arguments.writer:
        os.environ["LLM_MODEL"] = arguments.writer
        await measure_answers(table, arguments.writer, lane, loaded, arguments.questions)
        del os.environ["LLM_MODEL"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=os.environ.get("OVERSTORY_TEST_DATA") or None, help="holds qa/")
    parser.add_argument("--lane", choices=["hashing", "minilm"], action="append")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--questions", type=int, default=90, help="of each group, for contexts and answers")
    parser.add_argument("--home", type=Path, help="keep the datasets here, and use those that are here")
    parser.add_argument("--writer", help="a litellm model name: how often it answers right from each context")
    arguments = parser.parse_args()
    if arguments.data is None or not (arguments.data / "qa").is_dir():
        where = f"There are no question sets in {arguments.data}" if arguments.data else "No question sets are named"
        print(f"{where}: name the folder that holds qa/ with --data or OVERSTORY_TEST_DATA.")
        return
    table = Table("answers")
    for lane in arguments.lane or ["hashing", "minilm"]:
        with tempfile.TemporaryDirectory() as fresh:
            os.environ |= {"EMBEDDING_MODEL": lane, "OVERSTORY_HOME": str((arguments.home or Path(fresh)) / lane)}
            asyncio.run(measure(table, lane, arguments))
    table.write()


if __name__ == "__main__":
    main()
