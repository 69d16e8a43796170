"""Looking after datasets: which there are, what they hold, how their index stands."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from overstory import access
from overstory.access import User
from overstory.arguments import checked
from overstory.errors import InvalidOptionError
from overstory.indexing import (
    archive,
    forgetting,
    graph_files,
    graphs,
    hiding,
    listing,
    pending,
    proving,
    publishing,
    repairing,
)
from overstory.indexing.archive import ArchiveManifest
from overstory.indexing.leasing import current_holder, writing_in
from overstory.indexing.tree.verification import Violation
from overstory.layout import retrieval, tasks
from overstory.models import (
    FORGETTING,
    UNFINISHED,
    Dataset,
    Document,
    DocumentChunk,
    Edge,
    Entity,
    Fact,
    Generation,
    GlobalContextSummary,
    Manifest,
    Permission,
    TextSummary,
)
from overstory.results import (
    DatasetStatus,
    DocumentEntry,
    ForgetProof,
    RepairResult,
    RunStatus,
    SummaryEntry,
    TreeEntry,
)
from overstory.runtime import OpenDataset, check_embedding, current_runtime
from overstory.stores.contract import Tenant

if TYPE_CHECKING:
    import networkx as nx


@checked()
async def list_datasets(user: User = None) -> list[Dataset]:
    """The datasets that a user owns or may read, by name."""
    runtime = await current_runtime()
    return await runtime.store.list_datasets(access.user_id(user))


@checked()
async def graph_data(
    dataset_id: UUID | str, user: User = None
) -> tuple[list[tuple[UUID, dict[str, Any]]], list[tuple[UUID, UUID, str, dict[str, Any]]]]:
    """The whole graph of a dataset, the tree of the served generation with it, without what is being forgotten.

    Returns:
        nodes as (id, properties) and edges as (source_id, target_id, relationship_name, properties). Properties
        hold `type`, and `text`, `name`, `level`, `is_root`, `dataset_id` where they apply.
    """
    opened = await _open(dataset_id, user, Permission.READ)
    nodes: list[tuple[UUID, dict[str, Any]]] = []
    edges: list[tuple[UUID, UUID, str, dict[str, Any]]] = []
    documents: set[str] = set()
    async for items in graphs.read_graph(await _shown_graph(opened)):
        for item in items:
            if isinstance(item, graphs.GraphEdge):
                if item.target not in documents:
                    edges.append(_edge(item))
            elif item.attributes["type"] == Document.__name__:
                documents.add(item.id)
            else:
                nodes.append((UUID(item.id), _properties(item, opened.dataset)))
    return nodes, edges


@checked()
async def to_networkx(dataset: str | UUID, user: User = None) -> "nx.MultiDiGraph":
    """The graph of a dataset and the tree that is served, for networkx: all of it in memory.

    Returns:
        a `networkx.MultiDiGraph`. Nodes have text ids and a `type` (Document, DocumentChunk, TextSummary, Entity,
        GlobalContextSummary), edges a key of their own and a `relationship_name`; `docs/interchange.md` lists the
        attributes. What is being forgotten is not in it.
    """
    import networkx as nx

    opened = await _open(dataset, user, Permission.READ)
    source = await _shown_graph(opened)
    graph = nx.MultiDiGraph(**graphs.about(source))
    async for items in graphs.read_graph(source):
        for item in items:
            if isinstance(item, graphs.GraphNode):
                graph.add_node(item.id, **item.attributes)
            else:
                graph.add_edges_from([item])
    return graph


@checked()
async def export_graph(
    dataset: str | UUID,
    path: str | Path,
    user: User = None,
    *,
    format: str | None = None,
    wait_seconds: float = 0,
) -> tuple[int, int]:
    """Write the graph of a dataset and the tree that is served into a new file; the numbers of nodes and edges.

    It is written in a stream: memory grows by 16 bytes a node. `overstory.interchange` reads it.

    Args:
        format: `graphml` or `jsonl`; None goes by the end of the file's name.
        wait_seconds: how long to wait for another writer of the dataset.

    Raises:
        InvalidOptionError: there is no such format.
        UsageError: the file is there already, or can't be written.
        DatasetBusyError: another writer holds the dataset.
    """
    file = Path(path)
    form = graph_files.format_of(file, format)
    opened = await _open(dataset, user, Permission.READ)
    async with writing_in(opened, "export", wait_seconds=wait_seconds) as held:
        await forgetting.forget(opened, held.lease)
        return await graph_files.write_graph(await _graph_source(opened), file, form)


async def _graph_source(opened: OpenDataset, hidden: frozenset[UUID] = frozenset()) -> graphs.GraphSource:
    current = (await opened.manifest()).current
    return graphs.GraphSource(tenant=opened.tenant, dataset=opened.dataset, generation=current, hidden=hidden)


async def _shown_graph(opened: OpenDataset) -> graphs.GraphSource:
    """Without what is being forgotten."""
    return await _graph_source(opened, (await hiding.find_hidden(opened.tenant)).keys)


@checked()
async def root_summary(dataset_id: UUID | str, user: User = None) -> str | None:
    """The text of the root that is served, None when there is none."""
    opened = await _open(dataset_id, user, Permission.READ)
    current = (await opened.manifest()).current
    if current is None or current.root_id is None:
        return None
    rows = await _visible(opened).areas([current.root_id], current.number)
    return rows[0].text if rows and not rows[0].withheld else None


@checked()
async def status(dataset: str | UUID, user: User = None) -> DatasetStatus:
    """How a dataset and its index stand."""
    opened = await _open(dataset, user, Permission.READ)
    tenant, manifest = opened.tenant, await opened.manifest()
    current = manifest.current
    behind = await pending.count_pending(tenant, manifest, current)
    texts = await listing.condition(tenant, manifest.serving)
    leaving = len(await tenant.find(Document, "state", [FORGETTING]))
    return DatasetStatus(
        name=opened.dataset.name,
        id=opened.dataset.id,
        documents=await tenant.count(Document) - leaving,
        forgetting=leaving,
        incomplete=len(await tenant.find(Document, "state", UNFINISHED)),
        chunks=await tenant.count(DocumentChunk),
        entities=await tenant.count(Entity),
        edges=await tenant.count(Edge),
        embedding_model=opened.dataset.embedding_model,
        embedding_dimensions=opened.dataset.embedding_dimensions,
        generation=manifest.serving,
        generations=tuple(g.number for g in manifest.generations),
        level_sizes=current.level_sizes if current else (),
        bucketing_strategy=current.bucketing_strategy if current else "",
        max_bucket_size=current.max_bucket_size if current else 0,
        built_at=current.built_at if current else None,
        model=current.model if current else "",
        summaries=current.summaries if current else 0,
        pending=behind.changed,
        pending_covered=behind.covered,
        degraded=current.degraded if current else 0,
        degraded_reasons=texts.degraded_reasons,
        incomplete_reasons=await listing.incomplete_reasons(tenant),
        stale=texts.stale,
        unpublished=len(manifest.unpublished),
        held_by=await current_holder(opened.runtime.store, opened.dataset.id),
        store=await tenant.describe(),
    )


@checked()
async def documents(
    dataset: str | UUID, user: User = None, *, offset: int = 0, limit: int | None = None
) -> list[DocumentEntry]:
    """The documents of a dataset by source, from place `offset` on, at most `limit` of them; all for None."""
    for name, value in (("offset", offset), ("limit", limit)):
        if value is not None and value < 0:
            raise InvalidOptionError(name, value, "use a whole number of at least 0")
    opened = await _open(dataset, user, Permission.READ)
    return await listing.list_documents(opened.tenant, offset=offset, limit=limit)


@checked()
async def run_status(run_id: str | UUID) -> RunStatus:
    """How a run that was started in the background stands.

    Raises:
        OrchestratorUnavailableError: the Prefect server does not answer.
        UsageError: it knows no such run.
    """
    status: RunStatus = await tasks.background.run_status(run_id)
    return status


@checked()
async def tree(
    dataset: str | UUID,
    user: User = None,
    *,
    generation: int | None = None,
    levels: int | None = None,
    node: UUID | None = None,
) -> list[TreeEntry]:
    """The index from the root down: the root, then each level below it.

    Args:
        generation: a kept generation; None for the served one.
        levels: only so many levels, the first one included; None for all.
        node: an area to begin with, in place of the root.
    """
    opened = await _open(dataset, user, Permission.READ)
    tenant, found = _visible(opened), list[TreeEntry]()
    manifest = await opened.manifest()
    shown = manifest.generation(generation)
    top = node or (shown.root_id if shown else None)
    wanted: Sequence[UUID] = [top] if top else []
    while shown and wanted and (levels is None or levels > 0):
        rows = await tenant.areas(wanted, shown.number)
        found += [_entry(row) for row in rows]
        wanted = [c for row in rows if row.level > 0 for c in row.child_ids]
        levels = None if levels is None else levels - 1
    return found


@checked()
async def areas_named(
    dataset: str | UUID, beginning: str, user: User = None, *, generation: int | None = None
) -> list[UUID]:
    """The ids of areas of a generation that begin so, written as hexadecimal digits."""
    opened = await _open(dataset, user, Permission.READ)
    shown = (await opened.manifest()).generation(generation)
    wanted = beginning.replace("-", "").lower()
    found: list[UUID] = []
    if shown is not None:
        async for batch in opened.tenant.batches(GlobalContextSummary, ["id"], generation=shown.number):
            found += [UUID(bytes=key) for key in batch.column("id").to_pylist() if key.hex().startswith(wanted)]
    return found


@checked()
async def summaries(dataset: str | UUID, keys: Sequence[UUID], user: User = None) -> list[SummaryEntry]:
    """The summaries of chunks with these ids, in their order, without those that are gone."""
    tenant = _visible(await _open(dataset, user, Permission.READ))
    rows = await tenant.get(TextSummary, keys)
    sources = await retrieval.sources.sources_of(tenant, (row.document_id for row in rows))
    return [
        SummaryEntry(
            id=row.id,
            text=row.text,
            source=sources.get(row.document_id, ""),
            occurred_at=row.occurred_at,
            degraded=row.degraded,
        )
        for row in rows
    ]


@checked()
async def sources_of(dataset: str | UUID, facts: Sequence[Fact], user: User = None) -> list[tuple[str, ...]]:
    """For each fact the sources of the documents that it rests on, without those that are gone."""
    tenant = _visible(await _open(dataset, user, Permission.READ))
    leaves = (leaf for fact in facts for leaf in fact.summary_ids)
    known = await retrieval.sources.sources_of_summaries(tenant, leaves)
    return [tuple(dict.fromkeys(known[leaf].name for leaf in fact.summary_ids if leaf in known)) for fact in facts]


@checked()
async def verify(dataset: str | UUID, user: User = None) -> list[Violation]:
    """What is wrong with the tree that is served; summaries that wait for the next improve are no fault."""
    opened = await _open(dataset, user, Permission.READ)
    current = (await opened.manifest()).current
    if current is None:
        return []
    found, _ = await publishing.violations_at(opened.tenant, current.number, current.max_bucket_size)
    changes = set(await pending.pending_changes(opened.tenant))
    return [v for v in found if not v.ids or not set(v.ids) <= changes]


@checked()
async def repair(dataset: str | UUID, user: User = None, *, wait_seconds: float = 0) -> RepairResult:
    """Mend what can be mended without a model; the result says what is left and what mends it."""
    opened = await _open(dataset, user, Permission.WRITE)
    check_embedding(opened.dataset, opened.runtime.embedder)
    async with writing_in(opened, "repair", wait_seconds=wait_seconds) as held:
        return await repairing.repair(opened, held.lease)


@checked()
async def prove_forgotten(dataset: str | UUID, words: Sequence[str], user: User = None) -> ForgetProof:
    """Look for words in every row of every generation, in the word indexes, and in the bytes of the dataset's files.

    What a file system, a backup or a disk keeps of files that were rewritten is beyond its reach.
    """
    opened = await _open(dataset, user, Permission.READ)
    manifest = await opened.manifest()
    return await proving.prove(opened.tenant, manifest, words)


@checked()
async def generations(dataset: str | UUID, user: User = None) -> tuple[int, tuple[Generation, ...]]:
    """The number of the served generation, and all that are kept, oldest first."""
    opened = await _open(dataset, user, Permission.READ)
    manifest = await opened.manifest()
    return manifest.serving, manifest.generations


@checked()
async def rollback(dataset: str | UUID, generation: int, user: User = None, *, wait_seconds: float = 0) -> Manifest:
    """Serve another kept generation, by one write. What came later is pending again and comes with the next improve.

    Raises:
        GenerationNotFoundError: it is not kept.
    """
    opened = await _open(dataset, user, Permission.WRITE)
    async with writing_in(opened, "rollback", wait_seconds=wait_seconds) as held:
        await forgetting.forget(opened, held.lease)
        return await publishing.roll_back(opened.runtime.store, opened.tenant, held.lease, generation)


@checked()
async def export(
    dataset: str | UUID, folder: str | Path, user: User = None, *, wait_seconds: float = 0
) -> ArchiveManifest:
    """Write a dataset into a new folder of Parquet files with a manifest and checksums.

    Raises:
        UsageError: the folder exists and is not empty.
    """
    opened = await _open(dataset, user, Permission.READ)
    async with writing_in(opened, "export", wait_seconds=wait_seconds) as held:
        await forgetting.forget(opened, held.lease)
        return await archive.export_dataset(opened.runtime.store, opened.tenant, opened.dataset, Path(folder))


@checked()
async def import_archive(folder: str | Path, name: str | None = None, user: User = None) -> Dataset:
    """Bring an exported dataset into this store, with the same ids, tree and answers.

    Args:
        name: another name than it had.

    Raises:
        UnreadableSourceError: it is no archive, or a file of it is damaged.
        UsageError: the dataset exists already.
        EmbeddingMismatchError: its vectors are of another model than the settings name.
    """
    runtime = await current_runtime()
    manifest = await asyncio.to_thread(archive.read_manifest, Path(folder))
    check_embedding(manifest.dataset, runtime.embedder)
    owner = access.user_id(user)
    lease = runtime.settings.store.lease_seconds
    return await archive.import_dataset(
        runtime.store, Path(folder), manifest, owner_id=owner, name=name, lease_seconds=lease
    )


@checked()
async def grant(
    dataset: str | UUID, to_user: str | UUID, permissions: Sequence[Permission | str], user: User = None
) -> None:
    """Let another user reach a dataset: set what they may do, nothing for an empty list.

    Args:
        permissions: of `read`, `write`, `delete`, `share`; `read` comes with each of them.

    Raises:
        InvalidOptionError: there is no such permission.
        PermissionDeniedError: only the owner, and those who may share it, can.
    """
    opened = await _open(dataset, user, Permission.SHARE)
    try:
        wanted = {Permission(p) for p in permissions}
    except ValueError:
        raise InvalidOptionError("permissions", list(permissions), f"use {', '.join(Permission)}") from None
    given = sorted(wanted | {Permission.READ}) if wanted else []
    await opened.runtime.store.grant(opened.dataset.id, access.user_id(to_user), given)


async def _open(dataset: str | UUID, user: User, permission: Permission) -> OpenDataset:
    return await access.find_dataset(await current_runtime(), dataset, user, permission, any_embedder=True)


def _visible(opened: OpenDataset) -> Tenant:
    """What may be shown: nothing of documents that are being forgotten."""
    return hiding.hide_forgetting(opened.tenant)


def _properties(node: graphs.GraphNode, dataset: Dataset) -> dict[str, Any]:
    about = node.attributes
    shown: dict[str, Any] = {name: about[name] for name in ("text", "name", "level", "is_root") if name in about}
    if "description" in about:
        shown["text"] = about["description"]
    return {"type": about["type"], "dataset_id": dataset.id, **shown}


def _edge(edge: graphs.GraphEdge) -> tuple[UUID, UUID, str, dict[str, Any]]:
    text = {"text": edge.attributes["text"]} if "text" in edge.attributes else {}
    return UUID(edge.source), UUID(edge.target), edge.attributes["relationship_name"], text


def _entry(row: GlobalContextSummary) -> TreeEntry:
    return TreeEntry(
        id=row.id,
        level=row.level,
        is_root=row.is_root,
        text=row.text,
        child_ids=row.child_ids,
        degraded=row.degraded,
        stale=row.stale,
        withheld=row.withheld,
        model=row.model,
        facts=row.content.facts,
    )


__all__ = [
    "areas_named",
    "documents",
    "export",
    "export_graph",
    "generations",
    "grant",
    "graph_data",
    "import_archive",
    "list_datasets",
    "prove_forgotten",
    "repair",
    "rollback",
    "root_summary",
    "run_status",
    "sources_of",
    "status",
    "summaries",
    "to_networkx",
    "tree",
    "verify",
]
