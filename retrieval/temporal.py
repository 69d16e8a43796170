"""TEMPORAL: what is dated, or speaks of a date, in the time that a question names; in the order of time.

## Passages in the order of time
source: minutes.md, 2026-05-03
<chunk>
"""

import asyncio
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from overstory.ids import uuid_of
from overstory.models import Document, DocumentChunk, Hit, instant
from overstory.results import Evidence, Passage
from overstory.tokens import estimate_tokens
from overstory.waves import wave

from .context import least_budget
from .dates import AskedTime, asked_time, names_date
from .passages import by_words, fit_shortened, near, read_passages, render_passage
from .projections import UNREAD, in_node_set, nearest
from .scene import Findings, Scene

IN_ORDER: Final = "## Passages in the order of time"
MAX_DATED: Final = 20_000
"""Chunks of dated documents that are compared with a question at most."""
_CANDIDATES: Final = 100
_NO_DATE = "the question names no date: the nearest passages, in the order of time"
_NOTHING_DATED = "nothing is dated in the time that the question names: the nearest passages instead"


async def temporal(scene: Scene) -> Findings:
    time = asked_time(scene.question.query_text)
    hits = await _in_time(scene, time) if time else []
    notes = () if hits else (_NOTHING_DATED if time else _NO_DATE,)
    if not hits:
        hits = await near(scene, DocumentChunk, scene.question.top_k)
    passages = await read_passages(scene, DocumentChunk, hits)
    kept, text = _fit(passages, scene.question.context_token_budget)
    evidence = Evidence(passages=kept, context_tokens=estimate_tokens(text), notes=notes if text else ())
    least = 0 if text else least_budget(lambda budget: _fit(passages, budget)[1])
    return Findings(context=text, evidence=evidence, least_tokens=least)


async def _in_time(scene: Scene, time: AskedTime) -> list[Hit]:
    """The nearest chunks of documents of that time, and those that speak of it."""
    async with wave() as group:
        dated = group.create_task(_dated(scene, time))
        speaking = group.create_task(_speaking(scene, time))
    keys = sorted({*dated.result(), *speaking.result()})
    return await nearest(scene.tenant, DocumentChunk, keys, await scene.vector.get(), scene.question.top_k)


async def _dated(scene: Scene, time: AskedTime) -> list[UUID]:
    documents = [
        uuid_of(key)
        async for batch in scene.tenant.batches(Document, ["key", "occurred_at"])
        for key, date in zip(batch["key"].to_pylist(), batch["occurred_at"].to_pylist(), strict=True)
        if time.covers(date)
    ]
    keys = await scene.tenant.find(DocumentChunk, "document_id", documents, limit=MAX_DATED) if documents else []
    return await _inside(scene, keys)


async def _inside(scene: Scene, keys: Sequence[UUID]) -> list[UUID]:
    question = scene.question
    if not question.node_names:
        return list(keys)
    inside = set(await in_node_set(scene.tenant, DocumentChunk, question.node_names, question.every_node_name))
    return [key for key in keys if key in inside]


async def _speaking(scene: Scene, time: AskedTime) -> list[UUID]:
    """Among the chunks that come near the question or share its words: those that name one of the dates."""
    async with wave() as group:
        searches = [
            group.create_task(near(scene, DocumentChunk, _CANDIDATES)),
            group.create_task(by_words(scene, DocumentChunk, _CANDIDATES)),
        ]
    keys = list(dict.fromkeys(hit.key for search in searches for hit in search.result()))
    chunks = await scene.tenant.get(DocumentChunk, keys, without=UNREAD[DocumentChunk])
    return await asyncio.to_thread(lambda: [chunk.id for chunk in chunks if names_date(chunk.text, time)])


def _fit(passages: Sequence[Passage], budget_tokens: int | None) -> tuple[tuple[Passage, ...], str]:
    """The best passages that a budget has room for, in the order of time."""
    for count in range(len(passages), 0, -1):
        kept = _by_time(passages[:count])
        if budget_tokens is None or estimate_tokens(_render(kept)) <= budget_tokens:
            return kept, _render(kept)
    return fit_shortened(passages[0], lambda one: _render([one]), budget_tokens or 0) if passages else ((), "")


def _by_time(passages: Sequence[Passage]) -> tuple[Passage, ...]:
    """Those without a date come last, best first."""
    return tuple(sorted(passages, key=lambda passage: (not passage.occurred_at, instant(passage.occurred_at))))


def _render(passages: Sequence[Passage]) -> str:
    return f"{IN_ORDER}\n" + "\n\n---\n\n".join(map(render_passage, passages))
