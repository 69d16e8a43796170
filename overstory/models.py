"""What Overstory stores: rows (plain dataclasses, cheap by the hundred thousand) and small records.

A row belongs to one dataset and has a `key`, under which a store keeps exactly one row of its kind.
Structural edges are not rows, they follow from fields: a summary is `made_from` its `chunk_id`, a chunk
`contains` its `mentions`, a child is `summarized_in` the bucket that names it in `child_ids`.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from overstory import ids
from overstory.errors import GenerationNotFoundError

Vector: TypeAlias = NDArray[np.float32]
"""float32, shape (dimensions,), length 1."""
Vectors: TypeAlias = NDArray[np.float32]
"""float32, shape (n, dimensions), rows of length 1."""

OPEN_END = 2**53 - 1
"""`valid_to` of a row that nothing has replaced yet (the largest integer every store keeps exactly)."""
DEFAULT_WEIGHT = 0.5
COMPLETE, DEGRADED, INCOMPLETE, BEGUN, FORGETTING = "complete", "degraded", "incomplete", "begun", "forgetting"
UNFINISHED = (DEGRADED, INCOMPLETE, BEGUN)
"""States of documents that the next improve finishes."""


# --- what a chunk says -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """An entity as one chunk speaks of it, in the chunk's spelling."""

    name: str
    type: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A relation as one chunk states it; `source` and `target` are names of mentions of the same chunk."""

    source: str
    name: str
    target: str
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkGraph:
    """What was extracted from one chunk; entities and edges that several chunks share are derived from it."""

    mentions: tuple[Mention, ...] = ()
    relations: tuple[Relation, ...] = ()


# --- what a bucket says ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    name: str
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One sentence that stands alone, with what it rests on."""

    text: str
    inputs: tuple[str, ...]
    """`Fact.key` of the facts of the children, or the id of a TextSummary, that it was written from."""
    summary_ids: tuple[UUID, ...]
    """The TextSummaries that it rests on in the end, through all levels."""
    occurred_at: str = ""
    """ISO 8601 date or time of the latest input, empty when none is dated."""
    superseded: bool = False
    """A later fact says otherwise: this one is history."""
    order: str = ""
    """Sorts facts of one date: document and position of the first input."""

    @property
    def key(self) -> str:
        return ids.text_hash(self.text)[:16]


@lru_cache(maxsize=10_000)
def instant(occurred_at: str) -> str:
    """What an ISO 8601 date or time sorts by: a time with an offset as UTC, whatever else as it is."""
    try:
        moment = datetime.fromisoformat(occurred_at)
        return moment.astimezone(UTC).isoformat() if moment.tzinfo else occurred_at
    except (ValueError, OverflowError):  # no date, or one that UTC would put outside the calendar
        return occurred_at


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaContent:
    """The structure of a bucket's or the root's text."""

    categories: tuple[Category, ...] = ()
    facts: tuple[Fact, ...] = ()


# --- rows ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    id: UUID
    dataset_id: UUID
    source: str
    """What the caller knows it by: path, URL, or a key of their own."""
    title: str = ""
    content_hash: str
    occurred_at: str = ""
    """ISO 8601: a date, or a time with its offset; empty when unknown."""
    node_set: tuple[str, ...] = ()
    chunk_ids: tuple[UUID, ...] = ()
    """In the order of the text."""
    importance_weight: float = DEFAULT_WEIGHT
    state: str = INCOMPLETE
    """`complete` when all chunks have graph, summary and vectors, `degraded` when some of them are fallbacks; else
    `incomplete`, or `begun` as long as no version of it has ever been read. `forgetting` while it is being removed: whoever
    comes next finishes that."""

    @property
    def key(self) -> UUID:
        return self.id


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentChunk:
    id: UUID
    dataset_id: UUID
    document_id: UUID
    text: str
    position: int
    """0 for the first chunk of its document."""
    occurred_at: str = ""
    node_set: tuple[str, ...] = ()
    graph: ChunkGraph | None = None
    """None until it was extracted."""
    mentions: tuple[UUID, ...] = ()
    """Ids of the entities, edges and relationship labels that its graph names."""
    importance_weight: float = DEFAULT_WEIGHT
    feedback_weight: float = DEFAULT_WEIGHT

    @property
    def key(self) -> UUID:
        return self.id


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSummary:
    id: UUID
    dataset_id: UUID
    document_id: UUID
    chunk_id: UUID
    text: str
    position: int
    """The position of its chunk."""
    occurred_at: str = ""
    node_set: tuple[str, ...] = ()
    entity_ids: tuple[UUID, ...] = ()
    """The entities of its chunk: what buckets are planned from."""
    model: str = ""
    """Who wrote it."""
    degraded: str = ""
    """Why the model's own text could not be used; empty when it could."""
    importance_weight: float = DEFAULT_WEIGHT
    feedback_weight: float = DEFAULT_WEIGHT

    @property
    def key(self) -> UUID:
        return self.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    id: UUID
    dataset_id: UUID
    name: str
    type: str = ""
    description: str = ""
    chunk_id: UUID
    """The chunk whose spelling and description these are: the first that named it, or one that is about it."""
    importance_weight: float = DEFAULT_WEIGHT
    feedback_weight: float = DEFAULT_WEIGHT

    @property
    def key(self) -> UUID:
        return self.id

    @property
    def is_subject(self) -> bool:
        """Whether the words that tell of it begin with its name, as those of a text about it do."""
        return ids.fold(self.description).startswith(ids.normalize_name(self.name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    id: UUID
    dataset_id: UUID
    source_id: UUID
    relationship_name: str
    target_id: UUID
    edge_text: str = ""
    chunk_id: UUID
    """The chunk whose words `edge_text` are."""
    importance_weight: float = DEFAULT_WEIGHT
    feedback_weight: float = DEFAULT_WEIGHT

    @property
    def key(self) -> UUID:
        return self.id


class LeanEdge(NamedTuple):
    """What a question needs of an edge: a tuple, since it may look at thousands of them."""

    key: UUID
    dataset_id: UUID
    source_id: UUID
    relationship_name: str
    target_id: UUID
    edge_text: str
    importance_weight: float
    feedback_weight: float

    @classmethod
    def of(cls, edge: Edge) -> "LeanEdge":
        return cls(*[getattr(edge, name) for name in cls._fields])


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationshipLabel:
    """One relationship name of a dataset, so that a question can be compared with it once for all its edges."""

    id: UUID
    dataset_id: UUID
    name: str

    @property
    def key(self) -> UUID:
        return self.id


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalContextSummary:
    """One version of a bucket summary or of the root: seen by readers of `valid_from <= generation < valid_to`.

    While its generation is being built, `valid_to` equals `valid_from`: nobody sees it.
    """

    id: UUID
    dataset_id: UUID
    level: int
    """0 directly over TextSummaries; the root is one above the top buckets."""
    is_root: bool = False
    child_ids: tuple[UUID, ...]
    """TextSummaries at level 0, else buckets of the level below; in the order of events."""
    content: AreaContent
    text: str
    """The rendering of `content`; empty when `withheld`."""
    valid_from: int
    valid_to: int = OPEN_END
    fingerprint: str
    """What it was written from: prompt version, model, children in order with their texts."""
    model: str
    degraded: str = ""
    stale: bool = False
    """Something below was forgotten; its facts were cut, the text has not been rewritten yet."""
    withheld: bool = False
    """Not served until it has been rewritten."""

    @property
    def key(self) -> UUID:
        return ids.row_key(self.id, self.valid_from)

    def rests_on(self, summaries: frozenset[UUID]) -> bool:
        """Whether one of these is directly below it, or under one of its facts."""
        return not summaries.isdisjoint(self.child_ids) or any(
            not summaries.isdisjoint(fact.summary_ids) for fact in self.content.facts
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingChange:
    """A summary that the index has yet to look at: it is new, has changed, or is gone.

    Written before the change itself and removed after the publish that took it in, so that no change is missed.
    """

    summary_id: UUID
    dataset_id: UUID

    @property
    def key(self) -> UUID:
        return self.summary_id


Row: TypeAlias = (
    Document | DocumentChunk | TextSummary | Entity | Edge | RelationshipLabel | GlobalContextSummary | PendingChange
)
KINDS: tuple[type[Row], ...] = (
    Document,
    DocumentChunk,
    TextSummary,
    Entity,
    Edge,
    RelationshipLabel,
    GlobalContextSummary,
    PendingChange,
)
VECTOR_KINDS: tuple[type[Row], ...] = (DocumentChunk, TextSummary, Entity, RelationshipLabel, GlobalContextSummary)
"""Kinds whose rows have a vector."""
TEXT_KINDS: tuple[type[Row], ...] = (DocumentChunk, TextSummary, Entity)
"""Kinds that full-text search reads: `text`, or `name` and `description`."""
FINDABLE: dict[type[Row], tuple[str, ...]] = {
    Document: ("source", "node_set", "state"),
    DocumentChunk: ("document_id", "node_set", "mentions"),
    TextSummary: ("document_id", "node_set", "entity_ids"),
    Entity: ("chunk_id",),
    Edge: ("source_id", "target_id", "relationship_name", "chunk_id"),
    RelationshipLabel: (),
    GlobalContextSummary: ("id", "child_ids", "fingerprint"),
    PendingChange: (),
}
"""Fields by which a store finds rows without reading them all."""


HEAVY: dict[str, dict[str, Any]] = {
    Document.__name__: {"chunk_ids": (), "node_set": ()},
    DocumentChunk.__name__: {"graph": None, "node_set": ()},
    TextSummary.__name__: {"entity_ids": (), "node_set": ()},
    GlobalContextSummary.__name__: {"content": AreaContent()},
}
"""By kind, the fields that cost most of a row's reading, with what stands for them where they were not asked for."""


# --- conversations ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One question of a conversation with its answer."""

    question: str
    answer: str
    dataset_ids: tuple[UUID, ...] = ()
    """Those that it was answered from."""


# --- records of a dataset --------------------------------------------------------------------------


class Permission(StrEnum):
    READ = "read"
    WRITE = "write"
    DELETE = "delete"
    SHARE = "share"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    id: UUID
    name: str
    owner_id: UUID
    created_at: datetime
    embedding_model: str
    embedding_dimensions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One published state of the index."""

    number: int
    root_id: UUID | None
    """None when the dataset had nothing to summarise."""
    bucketing_strategy: str
    max_bucket_size: int
    placement_distance_threshold: float
    min_overlap: float
    level_sizes: tuple[int, ...]
    """Buckets per level, level 0 first, without the root."""
    summaries: int
    """TextSummaries that it covers."""
    degraded: int
    model: str
    prompt_version: str
    embedding_model: str
    embedding_dimensions: int
    built_at: datetime
    model_calls: int = 0
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """A build that has begun and not published; its rows are at generation `number` and nobody reads them."""

    number: int
    purpose: str
    """`improve`, or `rebuild`: only a build of the same purpose adopts its finished rows."""
    started_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Which generation of a dataset is served. One write of it publishes, another one rolls back."""

    dataset_id: UUID
    serving: int = 0
    """Number of the served generation, 0 for none."""
    generations: tuple[Generation, ...] = ()
    """Those kept, oldest first."""
    last_number: int = 0
    """The highest number ever given to a generation, published or not."""
    unpublished: tuple[Build, ...] = ()
    """Builds that were begun and neither published nor swept."""
    token: int = 0
    """Fencing number of the lease under which it was written; a lower one is refused."""

    @property
    def current(self) -> Generation | None:
        return next((g for g in self.generations if g.number == self.serving), None)

    def generation(self, number: int | None) -> Generation | None:
        """A kept generation; for None the served one, or None when nothing was published.

        Raises:
            GenerationNotFoundError: it is not kept.
        """
        if number is None:
            return self.current
        kept = {g.number: g for g in self.generations}
        if number not in kept:
            raise GenerationNotFoundError(number, sorted(kept))
        return kept[number]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to write one dataset, until `expires_at` unless renewed."""

    dataset_id: UUID
    holder: str
    token: int
    """Grows with every new holder; 1 for the first."""
    acquired_at: datetime
    expires_at: datetime


class Hit(NamedTuple):
    """One row found by a search."""

    key: UUID
    score: float
    """Vector search: cosine distance in [0, 2], lower is better. Full text: BM25 above 0, higher is better."""


@dataclass(slots=True, kw_only=True)
class Usage:
    """What model calls took. Adds up with `+=`."""

    calls: int = 0
    retries: int = 0
    """Calls beyond the first for the same text, not part of `calls`."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = field(default=None)
    """None while no call had a known price."""

    def __iadd__(self, other: "Usage") -> "Usage":
        self.calls += other.calls
        self.retries += other.retries
        self.prompt_tokens += other.prompt_tokens
        self.completion_tokens += other.completion_tokens
        if other.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + other.cost_usd
        return self
