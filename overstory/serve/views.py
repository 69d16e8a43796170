"""What answers say: forms of datasets, of the tree and of documents, made for whoever looks at them."""

from dataclasses import replace
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from overstory.models import Category, Generation
from overstory.results import DatasetStatus, RecallResult

Kind = Literal["root", "area", "summary"]
LEAF_LEVEL = -1


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str = Field(description="`urn:overstory:problem:CODE`")
    title: str
    status: int
    detail: str = Field(description="For people: what to change, or what to do.")
    code: str = Field(description="The name of the error, such as `DatasetNotFoundError`.")
    transient: bool = Field(description="The same request may succeed later.")
    request_id: str
    data: dict[str, Any] = Field(default_factory=dict, description="What the error carries.")


class Me(BaseModel):
    """Who asks, and how this server is set."""

    user: str
    key_required: bool
    version: str
    writer: str
    search_types: list[str]


class DatasetView(BaseModel):
    """A dataset at a glance."""

    status: DatasetStatus
    own: bool
    may_write: bool
    text_summaries: int
    """Those that an index could cover."""
    model_calls: int
    """Of the kept generations."""
    cost_usd: float | None
    """Of the kept generations; None where no price is known."""


def without_place(status: DatasetStatus) -> DatasetStatus:
    """Where files lie is nobody's business who asks over a network."""
    return replace(status, store={name: value for name, value in status.store.items() if name != "place"})


class GenerationsView(BaseModel):
    serving: int
    generations: list[Generation]
    """Oldest first."""


class NodeBrief(BaseModel):
    """A node of the tree as a list shows it."""

    id: UUID
    kind: Kind
    level: int
    """0 for areas directly over summaries, -1 for summaries."""
    title: str
    line: str
    """Its first words."""
    children: int
    occurred_at: str = ""
    source: str = ""
    """The document of a summary."""
    degraded: str = ""
    stale: bool = False
    withheld: bool = False


class Branch(NodeBrief):
    """A node with what is below it, as far as it was asked for."""

    below: "list[Branch] | None" = None
    """None where it was not loaded."""


class TreeView(BaseModel):
    generation: int
    """0 where there is no index."""
    tree: Branch | None
    offset: int
    """Of the first child."""
    cut: bool
    """Whether children were left out for their number: ask for them by node."""


class SourceView(BaseModel):
    """A summary that a fact rests on, with its document."""

    summary_id: UUID
    chunk_id: UUID
    document_id: UUID
    source: str
    position: int
    occurred_at: str


class FactView(BaseModel):
    key: str
    text: str
    occurred_at: str
    superseded: bool
    sources: list[SourceView]
    more_sources: int


class NodeView(NodeBrief):
    """A node with all that it says."""

    generation: int
    text: str
    model: str
    path: list[NodeBrief]
    """From the root to its parent."""
    categories: list[Category] = []
    facts: list[FactView] = []
    document_id: UUID | None = None
    chunk_id: UUID | None = None


class Version(BaseModel):
    """A node as kept generations see it."""

    generations: list[int]
    built_at: datetime
    text: str
    facts: list[str]
    children: int
    model: str
    degraded: str
    stale: bool
    withheld: bool


class HistoryView(BaseModel):
    id: UUID
    versions: list[Version]
    """Oldest first; generations in which there was no such node are in none."""


class TextPart(BaseModel):
    text: str
    marked: bool


class ChunkView(BaseModel):
    id: UUID
    position: int
    parts: list[TextPart]


class DocumentView(BaseModel):
    id: UUID
    source: str
    title: str
    occurred_at: str
    node_set: list[str]
    state: str
    chunks: list[ChunkView]
    offset: int
    total: int


class SearchView(BaseModel):
    areas: list[NodeBrief]
    """By nearness of meaning."""
    summaries: list[NodeBrief]
    """By the words that they share with the question."""


class PromptPart(BaseModel):
    """A part of a prompt; all of them laid end to end are the prompt."""

    kind: Literal["frame", "root", "area", "node", "connection", "passage", "text"]
    text: str
    tokens: int
    nodes: list[UUID] = []
    """What it came from: areas, chunks, summaries, entities."""


class RecallView(BaseModel):
    result: RecallResult
    parts: list[PromptPart] = []
    tokens: int = 0


class RecallAnswer(BaseModel):
    results: list[RecallView]


class SessionForgotten(BaseModel):
    erased: bool
    """Whether there was such a conversation."""


class StageView(BaseModel):
    name: str
    total: int
    done: int
    counts: dict[str, int]


class JobView(BaseModel):
    """Work that this server does, or has done."""

    id: str
    verb: str
    dataset: str
    dataset_id: UUID
    state: Literal["running", "done", "failed"]
    started_at: datetime
    ended_at: datetime | None
    stages: list[StageView]
    calls: int
    cost_usd: float
    run_url: str = ""
    result: dict[str, Any] | None = None
    error: Problem | None = None


class LevelRows(BaseModel):
    """How many texts of a level a build that is going on has stored."""

    level: int
    is_root: bool
    rows: int


class BuildsView(BaseModel):
    held_by: str
    """Who holds the dataset, empty when nobody does."""
    jobs: list[JobView]
    """Of this server, the newest first."""
    elsewhere: list[LevelRows]
    """Of a build that another process does."""
