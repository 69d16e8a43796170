"""What a search type works with, and what it gives back."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TypeAlias

from overstory.models import Dataset, Generation, Usage, Vector
from overstory.results import Evidence
from overstory.stores.contract import Tenant
from overstory.writer import Embedder, Writer

from .question import Question


class QueryVector:
    """The vector of the question: embedded once, however many searches wait for it."""

    def __init__(self, embedder: Embedder, text: str) -> None:
        self._embedder, self._text = embedder, text
        self._vector: asyncio.Task[Vector] | None = None

    async def get(self) -> Vector:
        if self._vector is None:
            self._vector = asyncio.create_task(self._embed())
        return await asyncio.shield(self._vector)

    async def _embed(self) -> Vector:
        vector: Vector = (await self._embedder.embed([self._text]))[0]
        return vector


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What a search type found; `context` is empty when that is nothing."""

    context: str
    evidence: Evidence
    answered: bool = True
    """A model answers from the context; False: the context is the result."""


Strategy: TypeAlias = Callable[[Scene], Coroutine[None, None, Findings]]
