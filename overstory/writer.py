"""What writes: the seam between indexing and whoever extracts graphs and writes summaries.

Two implementations: `offline.OfflineWriter` (rules, no model) and `model_writer.ModelWriter` (any litellm model).
A writer proposes; `indexing.gate` decides what may be stored.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from overstory.models import Category, ChunkGraph, Usage, Vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkInput:
    """One chunk to read."""

    text: str
    title: str = ""
    """Of its document."""
    occurred_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkReading:
    """What a chunk says: its graph and its summary, from one call where one model does both."""

    graph: ChunkGraph
    summary: str
    model: str
    usage: Usage
    degraded: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaInput:
    """One numbered input of a bucket or the root: a chunk's summary, or one fact of a child."""

    number: int
    """From 1, in the order of events."""
    key: str
    """Id of the TextSummary, or `Fact.key` of the child's fact."""
    text: str
    child_id: UUID
    summary_ids: tuple[UUID, ...]
    occurred_at: str = ""
    superseded: bool = False
    order: str = ""
    """Document and position, for facts of one date."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaTask:
    """What to write: the text of one bucket, or of the root."""

    is_root: bool
    level: int
    inputs: tuple[AreaInput, ...]
    categories: tuple[Category, ...] = ()
    """The children's categories, merged; empty at level 0."""
    entities: tuple[str, ...] = ()
    """Names of the entities below, the most frequent first (level 0 and above)."""
    max_tokens: int
    """About how long the text may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftFact:
    text: str
    inputs: tuple[int, ...]
    """`AreaInput.number` of those that it rests on."""
    superseded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaDraft:
    """What a writer proposes for an area; nothing of it is trusted yet."""

    categories: tuple[Category, ...]
    facts: tuple[DraftFact, ...]


class Writer(Protocol):
    @property
    def model(self) -> str:
        """Who writes bucket and root texts: `offline`, or the litellm name of the model."""
        ...

    @property
    def prompt_version(self) -> str:
        """Changes whenever the same inputs could be written differently: prompts or rules."""
        ...

    @property
    def input_tokens(self) -> int:
        """How long the inputs of one area may be in all."""
        ...

    @property
    def calls_a_chunk(self) -> int:
        """How many calls `read_chunk` makes, repeated tries left out; those of rules count as one."""
        ...

    async def read_chunk(self, chunk: ChunkInput) -> ChunkReading:
        """Extract the graph of a chunk and summarise it.

        Raises:
            ModelError: by its kind; a model's unusable answer is replaced by rules and marked `degraded`.
        """
        ...

    async def write_area(
        self, task: AreaTask, problems: Sequence[str], usage: Usage, *, again: bool = False
    ) -> AreaDraft:
        """Propose the content of a bucket or the root.

        Args:
            problems: why the last proposal was refused, for another try; empty at first.
            usage: what the call took is added here, also when it fails.
            again: another try for an area that was asked for before; counted as a retry.

        Raises:
            ModelInputTooLongError: it does not fit the model's window, in spite of `input_tokens`.
            ModelOutputError: the answer can't be read as a draft.
            ModelError: the call failed.
        """
        ...

    def token_ceiling(self, task: AreaTask) -> tuple[int, int]:
        """At most how many tokens writing an area takes: of the prompt, and of the answer. (0, 0) without a model."""
        ...

    def cost_usd(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """What so many tokens cost; None when no price is known, 0 without a model."""
        ...

    def text_ceiling_usd(self) -> float | None:
        """What the calls for one chunk or area cost at most, each tried once; None when a price is not known."""
        ...

    def answer(self, prompt: str, *, system_prompt: str | None, usage: Usage) -> AsyncIterator[str]:
        """Answer a prompt, piece by piece."""
        ...


class Embedder(Protocol):
    @property
    def model(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Turn texts into vectors.

        Args:
            texts: any number, none of them blank, each cut to the model's limit.

        Returns:
            float32, shape (len(texts), dimensions), rows of length 1, in the order of `texts`.

        Raises:
            ModelUnavailableError: the service did not answer; another try may help.
            ModelInputError: the service refused the texts; another try will not.
        """
        ...
