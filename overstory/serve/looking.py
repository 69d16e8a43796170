"""Reading the tree of a dataset for whoever looks at it: a node, what is below and above it, where its facts come from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from overstory import access, ids
from overstory.errors import DocumentNotFoundError
from overstory.indexing.hiding import hide_forgetting
from overstory.layout import retrieval
from overstory.models import (
    Document,
    DocumentChunk,
    Fact,
    Generation,
    GlobalContextSummary,
    Manifest,
    Permission,
    TextSummary,
)
from overstory.runtime import OpenDataset, Runtime
from overstory.serve.marking import mark
from overstory.serve.missing import NotThereError
from overstory.serve.views import (
    LEAF_LEVEL,
    Branch,
    ChunkView,
    DocumentView,
    FactView,
    HistoryView,
    NodeBrief,
    NodeView,
    SearchView,
    SourceView,
    TreeView,
    Version,
)
from overstory.stores.contract import Tenant

MOST_NODES = 600
"""In one answer; what is left out is asked for by node."""
_FACT_SOURCES = 6
_LINE_CHARACTERS = 200
_TITLE_TOPICS = 4
_FOUND = 20
_HIGHEST = 64
"""No tree is higher; a damaged one ends here."""


class NodeNotFoundError(NotThereError):
    """The tree has no such node."""

    def __init__(self, node: UUID, generation: int) -> None:
        self.node, self.generation = node, generation
        super().__init__(f"Generation {generation} has no node {node}.")


@dataclass(frozen=True, slots=True)
class Look:
    """One dataset at one generation; nothing is seen of documents that are being forgotten."""

    opened: OpenDataset
    tenant: Tenant
    manifest: Manifest
    generation: Generation | None

    @property
    def number(self) -> int:
        return self.generation.number if self.generation else 0

    async def areas(self, keys: Sequence[UUID]) -> dict[UUID, GlobalContextSummary]:
        rows = await self.tenant.areas(keys, self.number) if keys and self.generation else []
        return {row.id: row for row in rows if row.dataset_id == self.opened.dataset.id}

    async def summaries(self, keys: Sequence[UUID]) -> dict[UUID, TextSummary]:
        rows = await self.tenant.get(TextSummary, keys) if keys else []
        return {row.id: row for row in rows if row.dataset_id == self.opened.dataset.id}


async def look(runtime: Runtime, dataset: str, user: str, generation: int | None = None) -> Look:
    """Open a dataset to look at it.

    Raises:
        DatasetNotFoundError, PermissionDeniedError
        GenerationNotFoundError: it is not kept.
    """
    opened = await access.find_dataset(runtime, dataset, user, Permission.READ, any_embedder=True)
    manifest = await opened.manifest()
    shown = manifest.generation(generation)
    return Look(opened, hide_forgetting(opened.tenant), manifest, shown)


# --- the tree --------------------------------------------------------------------------------------


async def tree(seen: Look, node: UUID | None, depth: int, offset: int, limit: int) -> TreeView:
    """A node, the root for None, and so many levels below it.

    Args:
        offset: leave out so many of its children.
        limit: at most so many of its children.
    """
    start = node or (seen.generation.root_id if seen.generation else None)
    if start is None:
        return TreeView(generation=seen.number, tree=None, offset=0, cut=False)
    top = await _find(seen, start)
    trunk = _branch(top, await sources_of_rows(seen, [top]))
    if isinstance(top, TextSummary) or not depth:
        return TreeView(generation=seen.number, tree=trunk, offset=0, cut=False)
    wanted = top.child_ids[offset : offset + limit]
    trunk.below = await _below(seen, wanted)
    cut = offset + limit < len(top.child_ids)
    parents, loaded = trunk.below, len(trunk.below)
    for _ in range(depth - 1):
        inner = [branch for branch in parents if branch.kind != "summary"]
        if not inner or loaded + sum(branch.children for branch in inner) > MOST_NODES:
            cut = cut or bool(inner)
            break
        parents = await _grow(seen, inner)
        loaded += len(parents)
    return TreeView(generation=seen.number, tree=trunk, offset=offset, cut=cut)


async def _grow(seen: Look, branches: Sequence[Branch]) -> list[Branch]:
    """Load the children of several nodes of one level, in as few reads as there are kinds."""
    rows = await seen.areas([branch.id for branch in branches])
    below = {b.id: b for b in await _below(seen, [c for row in rows.values() for c in row.child_ids])}
    for branch in branches:
        children = rows[branch.id].child_ids if branch.id in rows else ()
        branch.below = [below[child] for child in children if child in below]
    return list(below.values())


async def _below(seen: Look, keys: Sequence[UUID]) -> list[Branch]:
    areas = await seen.areas(keys)
    summaries = await seen.summaries([key for key in keys if key not in areas])
    rows: dict[UUID, GlobalContextSummary | TextSummary] = {**areas, **summaries}
    sources = await sources_of_rows(seen, list(summaries.values()))
    return [_branch(rows[key], sources) for key in keys if key in rows]


async def _find(seen: Look, node: UUID) -> GlobalContextSummary | TextSummary:
    found = (await seen.areas([node])).get(node) or (await seen.summaries([node])).get(node)
    if found is None:
        raise NodeNotFoundError(node, seen.number)
    return found


async def sources_of_rows(seen: Look, rows: Sequence[GlobalContextSummary | TextSummary]) -> dict[UUID, str]:
    """The sources of the documents that the summaries among these rows are of."""
    documents = (row.document_id for row in rows if isinstance(row, TextSummary))
    sources: dict[UUID, str] = await retrieval.sources.sources_of(seen.tenant, documents)
    return sources


def _branch(row: GlobalContextSummary | TextSummary, sources: Mapping[UUID, str]) -> Branch:
    return Branch(**brief(row, sources).model_dump())


def brief(row: GlobalContextSummary | TextSummary, sources: Mapping[UUID, str]) -> NodeBrief:
    if isinstance(row, TextSummary):
        return NodeBrief(
            id=row.id,
            kind="summary",
            level=LEAF_LEVEL,
            title=_shortened(row.text, 90) or "(no text)",
            line=_shortened(row.text, _LINE_CHARACTERS),
            children=0,
            occurred_at=row.occurred_at,
            source=sources.get(row.document_id, ""),
            degraded=row.degraded,
        )
    return NodeBrief(
        id=row.id,
        kind="root" if row.is_root else "area",
        level=row.level,
        title=_title(row),
        line=_shortened(row.content.facts[-1].text, _LINE_CHARACTERS) if row.content.facts else "",
        children=len(row.child_ids),
        degraded=row.degraded,
        stale=row.stale,
        withheld=row.withheld,
    )


def _title(row: GlobalContextSummary) -> str:
    topics = [topic for category in row.content.categories for topic in category.topics]
    named = ", ".join(dict.fromkeys(topics[:_TITLE_TOPICS]))
    return _shortened(named or (row.content.facts[0].text if row.content.facts else ""), 90) or "(no text)"


def _shortened(text: str, characters: int) -> str:
    line = " ".join(text[: 4 * characters].split())
    return line if len(line) <= characters else line[: characters - 1].rstrip() + "…"


# --- one node --------------------------------------------------------------------------------------


async def node(seen: Look, key: UUID) -> NodeView:
    """All that a node says."""
    row = await _find(seen, key)
    return await view_of(seen, row, await sources_of_rows(seen, [row]), await path_to(seen, row))


async def view_of(
    seen: Look, row: GlobalContextSummary | TextSummary, sources: Mapping[UUID, str], path: list[NodeBrief]
) -> NodeView:
    """All that a row says, for a reader who knows the path to it."""
    short = brief(row, sources).model_dump()
    common = {**short, "generation": seen.number, "text": row.text, "model": row.model, "path": path}
    if isinstance(row, TextSummary):
        return NodeView(**common, document_id=row.document_id, chunk_id=row.chunk_id)
    facts = await facts_of(seen, row.content.facts)
    return NodeView(**common, categories=list(row.content.categories), facts=facts)


async def path_to(seen: Look, row: GlobalContextSummary | TextSummary) -> list[NodeBrief]:
    """The nodes above, from the root down."""
    path: list[NodeBrief] = []
    below: GlobalContextSummary | TextSummary | None = row
    while below is not None and len(path) < _HIGHEST:
        below = await _parent(seen, below)
        if below is not None:
            path.insert(0, brief(below, {}))
    return path


async def _parent(seen: Look, row: GlobalContextSummary | TextSummary) -> GlobalContextSummary | None:
    keys = await seen.tenant.find(GlobalContextSummary, "child_ids", [row.id])
    above = await seen.tenant.get(GlobalContextSummary, keys)
    return next((one for one in above if one.valid_from <= seen.number < one.valid_to), None)


async def facts_of(seen: Look, facts: Sequence[Fact]) -> list[FactView]:
    wanted = {key for fact in facts for key in fact.summary_ids[:_FACT_SOURCES]}
    summaries = await seen.summaries(sorted(wanted))
    sources = await sources_of_rows(seen, list(summaries.values()))
    return [
        FactView(
            key=fact.key,
            text=fact.text,
            occurred_at=fact.occurred_at,
            superseded=fact.superseded,
            sources=[_source(s, sources) for k in fact.summary_ids[:_FACT_SOURCES] if (s := summaries.get(k))],
            more_sources=max(0, len(fact.summary_ids) - _FACT_SOURCES),
        )
        for fact in facts
    ]


def _source(summary: TextSummary, sources: Mapping[UUID, str]) -> SourceView:
    return SourceView(
        summary_id=summary.id,
        chunk_id=summary.chunk_id,
        document_id=summary.document_id,
        source=sources.get(summary.document_id, ""),
        position=summary.position,
        occurred_at=summary.occurred_at,
    )


async def history(seen: Look, key: UUID) -> HistoryView:
    """A node as each kept generation sees it; equal neighbours are one version."""
    keys = await seen.tenant.find(GlobalContextSummary, "id", [key])
    rows = [r for r in await seen.tenant.get(GlobalContextSummary, keys) if r.dataset_id == seen.opened.dataset.id]
    found = [(row, _seen_by(row, seen.manifest)) for row in sorted(rows, key=lambda row: row.valid_from)]
    versions = [_version(row, generations) for row, generations in found if generations]
    if not versions:
        raise NodeNotFoundError(key, seen.number)
    return HistoryView(id=key, versions=versions)


def _seen_by(row: GlobalContextSummary, manifest: Manifest) -> list[Generation]:
    return [g for g in manifest.generations if row.valid_from <= g.number < row.valid_to]


def _version(row: GlobalContextSummary, generations: Sequence[Generation]) -> Version:
    return Version(
        generations=[g.number for g in generations],
        built_at=generations[0].built_at,
        text=row.text,
        facts=[fact.text for fact in row.content.facts],
        children=len(row.child_ids),
        model=row.model,
        degraded=row.degraded,
        stale=row.stale,
        withheld=row.withheld,
    )


# --- documents and searching -----------------------------------------------------------------------


async def document(seen: Look, key: UUID, *, chunk: UUID | None, quote: str, offset: int, limit: int) -> DocumentView:
    """A document's chunks, the sentence of one of them that says what the quote says marked.

    Args:
        chunk: the one that is looked for, or its summary; the part of the document that is shown is around it.
        offset: of the first chunk, where no chunk is named.
    """
    stored = await seen.tenant.get(Document, [key])
    rows = [d for d in stored if d.dataset_id == seen.opened.dataset.id and d.content_hash]  # none: not all there yet
    if not rows:
        raise DocumentNotFoundError(str(key), seen.opened.dataset.name)
    (found,) = rows
    chunk = next((one for one in found.chunk_ids if chunk in (one, ids.summary_id(one))), None)
    if chunk is not None:
        offset = max(0, found.chunk_ids.index(chunk) - limit // 2)
    chunks = await seen.tenant.get(DocumentChunk, found.chunk_ids[offset : offset + limit], without=["graph"])
    return DocumentView(
        id=found.id,
        source=found.source,
        title=found.title,
        occurred_at=found.occurred_at,
        node_set=list(found.node_set),
        state=found.state,
        chunks=[
            ChunkView(id=c.id, position=c.position, parts=mark(c.text, quote if c.id == chunk else "")) for c in chunks
        ],
        offset=offset,
        total=len(found.chunk_ids),
    )


async def search(seen: Look, query: str) -> SearchView:
    """Areas near in meaning, and summaries that share words."""
    hits = await seen.tenant.search_text(TextSummary, query, _FOUND)
    summaries = await seen.summaries([hit.key for hit in hits])
    sources = await sources_of_rows(seen, list(summaries.values()))
    return SearchView(
        areas=[brief(row, {}) for row in await _near(seen, query)],
        summaries=[brief(row, sources) for row in summaries.values()],
    )


async def _near(seen: Look, query: str) -> list[GlobalContextSummary]:
    dataset, embedder = seen.opened.dataset, seen.opened.runtime.embedder
    same = (dataset.embedding_model, dataset.embedding_dimensions) == (embedder.model, embedder.dimensions)
    if seen.generation is None or not same:
        return []
    vector = (await embedder.embed([query]))[0]
    hits = await seen.tenant.search_vectors(GlobalContextSummary, vector, _FOUND // 2, generation=seen.number)
    rows = await seen.tenant.get(GlobalContextSummary, [hit.key for hit in hits])
    return [row for row in rows if row.dataset_id == dataset.id and not row.withheld]
