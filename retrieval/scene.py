"""What a search type works with, and what it gives back."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from overstory.models import Dataset, Generation, Usage, Vector, Vectors
from overstory.offline.answers import GivenMap
from overstory.results import Evidence
from overstory.settings import OFFLINE
from overstory.stores.contract import Tenant
from overstory.telemetry import Kind, step
from overstory.writer import Embedder, Writer

from .question import Question


class QueryVector:
    """The vector of one text out of several that are embedded in one call, once, however many searches wait for it."""

    def __init__(self, embedder: Embedder, text: str, batch: "_Batch | None" = None, place: int = 0) -> None:
        self._embedder = embedder
        self._batch, self._place = batch or _Batch(embedder, [text]), place

    async def get(self) -> Vector:
        vector: Vector = (await self._batch.get())[self._place]
        return vector

    def others(self, texts: Sequence[str]) -> "list[QueryVector]":
        """The vectors of other texts, of the same embedder."""
        return query_vectors(self._embedder, texts)


def query_vectors(embedder: Embedder, texts: Sequence[str]) -> list[QueryVector]:
    """The vectors of several texts, all embedded in one call when the first is asked for."""
    batch = _Batch(embedder, texts)
    return [QueryVector(embedder, text, batch, place) for place, text in enumerate(texts)]


class _Batch:
    def __init__(self, embedder: Embedder, texts: Sequence[str]) -> None:
        self._embedder, self._texts = embedder, texts
        self._vectors: asyncio.Task[Vectors] | None = None

    async def get(self) -> Vectors:
        if self._vectors is None:
            self._vectors = asyncio.create_task(self._embed())
        return await asyncio.shield(self._vectors)

    @step(Kind.RECALL, "embed question")
    async def _embed(self) -> Vectors:
        return await self._embedder.embed(self._texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One question before one dataset."""

    question: Question
    dataset: Dataset
    tenant: Tenant
    generation: Generation | None
    """Of the index: the served one, or the one asked for; None when nothing was published."""
    vector: QueryVector
    writer: Writer
    usage: Usage = field(default_factory=Usage)

    @property
    def why_silent(self) -> str:
        """Why no model is asked; empty where one may be."""
        if self.question.only_context:
            return "only_context calls no model"
        return "no language model is configured" if self.writer.model == OFFLINE else ""

    async def ask(self, prompt: str, system_prompt: str) -> str:
        """The model's reply, as a whole."""
        pieces = self.writer.answer(prompt, system_prompt=system_prompt, usage=self.usage)
        return "".join([piece async for piece in pieces]).strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What a search type found; `context` is empty when that is nothing."""

    context: str
    evidence: Evidence
    answered: bool = True
    """A model answers from the context; False: the context is the result."""
    given_map: Callable[[], GivenMap] = GivenMap
    """What of the context the map is, for an answer without a model."""
    least_tokens: int = 0
    """Where the budget has no room for any local evidence, or for anything, of what was found: the least one that has."""


Strategy: TypeAlias = Callable[[Scene], Coroutine[None, None, Findings]]
