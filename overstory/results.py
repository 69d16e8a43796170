"""What the public calls return."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from uuid import UUID

from overstory.models import Fact, Usage

if TYPE_CHECKING:
    from overstory.indexing.tree.verification import Violation


COMPLETED_WITH_ERRORS = "CompletedWithErrors"
"""The state of a run that is done, but with degraded texts, skipped documents, or stopped at a cap."""


class SearchType(StrEnum):
    """How `recall` looks for an answer."""

    GRAPH_COMPLETION = "GRAPH_COMPLETION"
    HYBRID_COMPLETION = "HYBRID_COMPLETION"
    GRAPH_COMPLETION_COT = "GRAPH_COMPLETION_COT"
    GRAPH_COMPLETION_DECOMPOSITION = "GRAPH_COMPLETION_DECOMPOSITION"
    GRAPH_COMPLETION_CONTEXT_EXTENSION = "GRAPH_COMPLETION_CONTEXT_EXTENSION"
    GRAPH_SUMMARY_COMPLETION = "GRAPH_SUMMARY_COMPLETION"
    TRIPLET_COMPLETION = "TRIPLET_COMPLETION"
    TEMPORAL = "TEMPORAL"
    RAG_COMPLETION = "RAG_COMPLETION"
    CHUNKS = "CHUNKS"
    CHUNKS_LEXICAL = "CHUNKS_LEXICAL"
    SUMMARIES = "SUMMARIES"


class DocumentStatus(StrEnum):
    ADDED = "added"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentOutcome:
    """What became of one source."""

    source: str
    document_id: UUID | None
    status: DocumentStatus
    reason: str = ""
    """Why it was skipped."""


class IndexStatus(StrEnum):
    PUBLISHED = "published"
    UNCHANGED = "unchanged"
    """Nothing to do: the served generation is up to date."""
    EMPTY = "empty"
    """The dataset has nothing to summarise; no generation has a root."""
    SKIPPED = "skipped"
    FAILED = "failed"
    STOPPED = "stopped"
    """A cap was reached; what is written is kept for the next run."""
    STARTED = "started"
    """A Prefect run does it in the background: `run_id`, `run_url`, and `datasets.run_status` tells how it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelReport:
    """One level of a build; the root is the highest."""

    level: int
    buckets: int
    written: int = 0
    reused: int = 0
    degraded: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexResult:
    status: IndexStatus
    reason: str = ""
    generation: int = 0
    """The generation that is served now, 0 for none."""
    buckets: int = 0
    written: int = 0
    """Texts written anew, the root included."""
    reused: int = 0
    degraded: int = 0
    """Texts of the served generation that are extractive fallbacks."""
    model_calls: int = 0
    """Texts asked of the model, without repeated tries."""
    usage: Usage = field(default_factory=Usage)
    levels: tuple[LevelReport, ...] = ()
    seconds: float = 0.0
    run_id: str = ""
    """Of the Prefect run that does the work in the background."""
    run_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus:
    """How a run on the Prefect server stands."""

    run_id: str
    name: str
    state: str
    """Scheduled, Pending, Running, Completed, CompletedWithErrors, Failed, Cancelled, Crashed, …"""
    message: str
    """How it went, in one line."""
    ended: bool
    started_at: datetime | None
    ended_at: datetime | None
    run_url: str

    @property
    def in_part(self) -> bool:
        """It is done, but not all went well."""
        return self.state == COMPLETED_WITH_ERRORS


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelPreview:
    """What one level of a build will take; tokens and cost are ceilings, without repeated tries."""

    level: int
    is_root: bool
    buckets: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexPreview:
    """What bringing the index up to date would take, before anything is paid."""

    model: str
    buckets: int
    """Of the finished tree, without the root."""
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    """At most; None when no price is known for the model."""
    levels: tuple[LevelPreview, ...]
    incomplete_documents: int = 0
    """Documents that would be finished first; their chunks cost calls too."""
    written_by: str = ""
    """The model of the index that is served, empty where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberResult:
    dataset: str
    dataset_id: UUID
    """Where nothing could be read, the id that a new dataset of this name would have: none was made."""
    documents: tuple[DocumentOutcome, ...]
    chunks: int
    """Chunks read anew; of other documents too, where an earlier run had left them."""
    model_calls: int
    """Of all that was done, the index included."""
    degraded: int = 0
    """Chunks whose graph and summary were written by rules since the model's could not be used."""
    usage: Usage = field(default_factory=Usage)
    writer: str = ""
    embedder: str = ""
    seconds: float = 0.0
    index: IndexResult | None = None
    """Of the index that was brought up to date with it; None where there is none, or it was not asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImproveResult:
    dataset: str
    index: IndexResult | None
    """None when the index was not asked for."""
    preview: IndexPreview | None = None
    """With `preview=True`: what the index would take; nothing was done then."""
    completed_chunks: int = 0
    """Chunks that an earlier run had left without graph, summary or vectors."""
    warnings: tuple[str, ...] = ()
    model_calls: int = 0
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetProof:
    """Where words were looked for, and where they were found."""

    words: int
    """How many were looked for."""
    rows: dict[str, int]
    """Rows read per kind, of all generations."""
    generations: tuple[int, ...]
    """Those that are kept."""
    files: dict[str, int]
    """Bytes read per file; empty where a server keeps the files."""
    words_in_files: int
    """How many words were looked for in the files: not short ones, nor those inside of other documents' words or of
    what the files hold besides: names of tables and of datasets, conversations about others."""
    found: tuple[str, ...]
    """Where one was found; nowhere is what forgetting promises."""
    words_found: tuple[str, ...] = ()
    """Which were found there."""

    @property
    def forgotten(self) -> bool:
        return not self.found


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairResult:
    """What was mended without a model."""

    dataset: str
    documents: int = 0
    """Whose forgetting had stopped half-way."""
    rows: int = 0
    """Index rows that no generation sees."""
    marks: int = 0
    """Index rows that a generation which was never published had opened or closed."""
    children: int = 0
    """Child ids that led nowhere."""
    pending: int = 0
    """Changes that concern nothing."""
    chunks: int = 0
    """Without a document, with their summaries."""
    summaries: int = 0
    """Without a chunk."""
    entities: int = 0
    """That no chunk names."""
    edges: int = 0
    """That no chunk names, or without an end."""
    labels: int = 0
    """That no chunk names."""
    violations: tuple["Violation", ...] = ()
    """What is left."""
    advice: str = ""
    """What mends the rest: `improve`, or `rebuild`; empty when the index is sound and up to date."""

    @property
    def mended(self) -> int:
        counts = (self.documents, self.rows, self.marks, self.children, self.pending, self.chunks, self.summaries)
        return sum((*counts, self.entities, self.edges, self.labels))


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetResult:
    dataset: str
    documents: int
    chunks: int
    entities: int
    """Entities that nothing else supports."""
    edges: int
    stale: int = 0
    """Served index texts that were cut and wait for the next improve."""
    withheld: int = 0
    """Index texts not served until then."""
    proof: ForgetProof | None = None
    """With `prove=True`: that the documents' own words are nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetStatus:
    """One dataset at a glance."""

    name: str
    id: UUID
    documents: int
    incomplete: int
    """Documents that the next improve finishes."""
    chunks: int
    entities: int
    edges: int
    embedding_model: str
    embedding_dimensions: int
    generation: int
    """Served now, 0 for none."""
    generations: tuple[int, ...]
    """Kept for rollback, the served one included."""
    level_sizes: tuple[int, ...]
    bucketing_strategy: str
    max_bucket_size: int
    built_at: datetime | None
    model: str
    summaries: int
    """Covered by the served generation."""
    pending: int
    """Summaries that are new, changed or gone since."""
    degraded: int
    stale: int
    """Served texts cut by a forgetting, or withheld, until the next improve."""
    unpublished: int
    """Builds that stopped; the next one of their kind goes on from them."""
    held_by: str
    """Who holds the dataset now, empty when nobody does."""
    store: dict[str, str | int] = field(default_factory=dict)
    forgetting: int = 0
    """Documents whose forgetting was begun: nobody is shown them, the next `forget` or `improve` removes them."""
    pending_covered: int = 0
    """Beside them, those that the served generation covers as they are and the next improve places again, as after
    a rollback."""
    degraded_reasons: dict[str, int] = field(default_factory=dict)
    """Why texts of the index are degraded, each reason with the number of texts."""
    incomplete_reasons: dict[str, int] = field(default_factory=dict)
    """Why chunks of incomplete documents were read by rules, of the first thousand."""

    @property
    def needs_improving(self) -> bool:
        """Whether an improve with the index would change anything."""
        behind = (self.pending, self.pending_covered, self.incomplete, self.forgetting, self.stale, self.degraded)
        return any(behind)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentEntry:
    """One document, as `datasets.documents` lists them."""

    id: UUID
    source: str
    title: str
    occurred_at: str
    node_set: tuple[str, ...]
    chunks: int
    state: str
    """`complete`; `degraded` where rules read chunks in place of the model; `incomplete`, or `begun` as long as no version
    of it has ever been read: the next improve finishes these three."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryEntry:
    """The summary of one chunk, as `datasets.summaries` gives them."""

    id: UUID
    text: str
    source: str
    """The document's; empty when it is gone."""
    occurred_at: str
    degraded: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEntry:
    """A bucket or the root, as `datasets.tree` lists them: from the root down."""

    id: UUID
    level: int
    is_root: bool
    text: str
    child_ids: tuple[UUID, ...]
    degraded: str
    stale: bool
    withheld: bool
    model: str
    facts: tuple[Fact, ...] = ()


# --- recall ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Triplet:
    """One connection of the fragment; `score` is lower for a better one."""

    source: str
    relationship_name: str
    target: str
    source_id: UUID
    target_id: UUID
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A chunk or a summary with where it comes from."""

    id: UUID
    document_id: UUID
    source: str
    text: str
    """As far as the context gives it."""
    score: float
    occurred_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaEvidence:
    """A bucket or the root that went into the prelude."""

    id: UUID
    level: int
    is_root: bool
    text: str
    distance: float
    """From the question; 0 for what was not compared with it: the root, and every area of the adaptive prelude."""
    stale: bool
    degraded: str
    sources: tuple[str, ...] = ()
    """Documents that its facts rest on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """How current the map was that an answer used."""

    generation: int = 0
    built_at: datetime | None = None
    model: str = ""
    summaries: int = 0
    """Summaries that the generation covers."""
    pending: int = 0
    """Summaries that are new, changed or gone since."""
    degraded: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    triplets: tuple[Triplet, ...] = ()
    passages: tuple[Passage, ...] = ()
    descriptions: tuple[Passage, ...] = ()
    """Of entities: sentences that are given of chunks which are not. `id` and `document_id` are theirs."""
    root: AreaEvidence | None = None
    areas: tuple[AreaEvidence, ...] = ()
    prelude_tokens: int = 0
    context_tokens: int = 0
    notes: tuple[str, ...] = ()
    """What a reader should know: `prelude unavailable: …`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallResult:
    text: str
    """The answer; with `only_context` the whole user prompt; for CHUNKS, CHUNKS_LEXICAL and SUMMARIES the passages
    found."""
    dataset: str
    dataset_id: UUID
    query: str
    query_type: SearchType
    route: str = ""
    """Why this search type: what the automatic choice went by; empty when the caller named it."""
    evidence: Evidence
    freshness: Freshness
    usage: Usage = field(default_factory=Usage)
    value: Any = None
    """The validated object when a `response_model` was given."""
    quoted: tuple[str, ...] = ()
    """The documents that an answer without a model quotes, in the order of its quotes."""

    @property
    def references(self) -> tuple[str, ...]:
        """The documents behind the answer, by source key: quoted ones, those of local evidence, then of the index."""
        areas = (*([self.evidence.root] if self.evidence.root else []), *self.evidence.areas)
        local = (passage.source for passage in (*self.evidence.passages, *self.evidence.descriptions))
        return tuple(dict.fromkeys([*self.quoted, *local, *(source for area in areas for source in area.sources)]))

    @property
    def generation(self) -> int:
        """The generation of the index that was read, 0 for none."""
        return self.freshness.generation
