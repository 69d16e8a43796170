"""The writer that needs no model: what it writes are sentences of the texts themselves, chosen by rules."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from overstory.models import ChunkGraph, Usage
from overstory.offline.answers import answer_prompt
from overstory.offline.areas import extractive_area
from overstory.offline.entities import find_entities
from overstory.offline.relations import find_relations
from overstory.offline.sentences import sentences_of
from overstory.offline.summaries import summarize_chunk
from overstory.settings import OFFLINE
from overstory.writer import AreaDraft, AreaTask, ChunkInput, ChunkReading

__all__ = ["OfflineWriter", "extractive_area", "read_text"]

_MOST_INPUT_TOKENS = 16_000
"""Rules have no window; more would only take longer."""
_LONG_TEXT = 20_000
"""Characters from which the work is moved to a thread: for less, the way there and back costs more than it."""


class OfflineWriter:
    """Extracts and quotes, never invents; the same input gives the same output on every machine.

    No model is called, so `Usage` stays at zero.
    """

    @property
    def model(self) -> str:
        return OFFLINE

    @property
    def prompt_version(self) -> str:
        return "offline-1"

    @property
    def input_tokens(self) -> int:
        return _MOST_INPUT_TOKENS

    @property
    def calls_a_chunk(self) -> int:
        return 1

    async def read_chunk(self, chunk: ChunkInput) -> ChunkReading:
        if len(chunk.text) > _LONG_TEXT:
            return await asyncio.to_thread(read_text, chunk.text)
        return read_text(chunk.text)

    async def write_area(
        self, task: AreaTask, problems: Sequence[str], usage: Usage, *, again: bool = False
    ) -> AreaDraft:
        """The same proposal every time: there is nothing that another try would change."""
        if sum(len(given.text) for given in task.inputs) > _LONG_TEXT:
            return await asyncio.to_thread(extractive_area, task)
        return extractive_area(task)

    def token_ceiling(self, task: AreaTask) -> tuple[int, int]:
        return 0, 0

    def cost_usd(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        return 0.0

    def text_ceiling_usd(self) -> float | None:
        return 0.0

    async def answer(self, prompt: str, *, system_prompt: str | None, usage: Usage) -> AsyncIterator[str]:
        """Quote the sentences of the context that fit the question, and say that they are quotations."""
        yield await asyncio.to_thread(answer_prompt, prompt)


def read_text(text: str) -> ChunkReading:
    """The graph and the summary of one chunk by rules."""
    sentences = sentences_of(text)
    found = find_entities(sentences)
    return ChunkReading(
        graph=ChunkGraph(mentions=found.mentions, relations=find_relations(found)),
        summary=summarize_chunk(sentences),
        model=OFFLINE,
        usage=Usage(),
    )
