"""A small dataset, built by hand, and those who ask it."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from overstory import ids
from overstory.indexing.rendering import render_area
from overstory.models import (
    AreaContent,
    Category,
    ChunkGraph,
    Dataset,
    Document,
    DocumentChunk,
    Edge,
    Entity,
    Fact,
    Generation,
    GlobalContextSummary,
    Manifest,
    Mention,
    Relation,
    RelationshipLabel,
    TextSummary,
    Usage,
)
from overstory.offline.hashing import HashingEmbedder
from overstory.results import RecallResult
from overstory.stores.contract import Tenant
from overstory.stores.memory import MemoryStore
from retrieval.asking import answer_from, search
from retrieval.question import make_question

BUILT_AT = datetime(2026, 5, 4, 8, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Note:
    """A document of one chunk. `relations` are triples of entity names."""

    source: str
    text: str
    names: Sequence[str] = ()
    relations: Sequence[tuple[str, str, str]] = ()
    tags: tuple[str, ...] = ()
    date: str = ""
    descriptions: dict[str, str] = field(default_factory=dict)


NOTES = (
    Note(
        source="launch.md",
        text="Anna Hofer moved the Northstar launch to 9 June.",
        names=("Anna Hofer", "Northstar"),
        relations=[("Anna Hofer", "works_on", "Northstar")],
        tags=("product",),
        date="2026-05-03",
        descriptions={"Anna Hofer": "Head of product.", "Northstar": "The spring launch."},
    ),
    Note(
        source="budget.md",
        text="Luis Ortega cut the Northstar budget by a tenth.",
        names=("Luis Ortega", "Northstar"),
        relations=[("Luis Ortega", "pays_for", "Northstar")],
        tags=("finance",),
        date="2026-05-04",
    ),
    Note(
        source="garden.md",
        text="Mara Lind planted tomatoes behind the greenhouse.",
        names=("Mara Lind", "greenhouse"),
        relations=[("Mara Lind", "tends", "greenhouse")],
        tags=("garden", "product"),
    ),
)


class RecordingWriter:
    """Answers every prompt alike and keeps what it was asked."""

    def __init__(self) -> None:
        self.prompts: list[tuple[str, str | None]] = []

    model = "recording"
    prompt_version = "1"

    async def answer(self, prompt: str, *, system_prompt: str | None, usage: Usage) -> AsyncIterator[str]:
        self.prompts.append((prompt, system_prompt))
        usage += Usage(calls=1, prompt_tokens=7)
        for piece in ("On ", "9 June."):
            yield piece

    async def read_chunk(self, chunk: Any) -> Any:
        raise AssertionError

    async def write_area(self, task: Any, problems: Any, usage: Any, *, again: bool = False) -> Any:
        raise AssertionError


class CountingEmbedder(HashingEmbedder):
    def __init__(self) -> None:
        super().__init__(64)
        self.calls = 0

    async def embed(self, texts: Sequence[str]) -> Any:
        self.calls += 1
        return self.embed_now(texts)


@dataclass
class World:
    """A dataset with everything that is needed to ask it."""

    dataset: Dataset
    tenant: Any
    manifest: Manifest
    embedder: CountingEmbedder = field(default_factory=CountingEmbedder)
    writer: RecordingWriter = field(default_factory=RecordingWriter)

    async def ask(
        self, query_text: str, query_type: Any = "GRAPH_COMPLETION", *, index: bool | int = False, **options: Any
    ) -> Any:
        if index is not False:
            options["retriever_specific_config"] = {
                "include_global_context_index": True,
                "global_context_index_top_k": 3 if index is True else index,
            }
        found = await search(
            make_question(query_text, query_type, **options),
            dataset=self.dataset,
            tenant=self.tenant,
            manifest=self.manifest,
            embedder=self.embedder,
            writer=self.writer,
        )
        return None if found is None else await answer_from(found)

    async def context(self, query_text: str, **options: Any) -> str:
        """The context alone, without the question before it."""
        found: RecallResult = await self.ask(query_text, only_context=True, **options)
        return found.text.split("context:\n\n", 1)[1]

    # --- filling it ---

    async def tell(self, notes: Sequence[Note]) -> None:
        for note in notes:
            await self._put_note(note)

    async def _put_note(self, note: Note) -> None:
        home = self.dataset.id
        document_id = ids.document_id(home, note.source)
        chunk_id = ids.chunk_id(document_id, note.text)
        entities = [
            Entity(
                id=ids.entity_id(home, name),
                dataset_id=home,
                name=name,
                type="thing",
                description=note.descriptions.get(name, f"{name} as {note.source} has it."),
                chunk_id=chunk_id,
            )
            for name in note.names
        ]
        edges = [
            Edge(
                id=ids.edge_id(ids.entity_id(home, source), name, ids.entity_id(home, target)),
                dataset_id=home,
                source_id=ids.entity_id(home, source),
                relationship_name=name,
                target_id=ids.entity_id(home, target),
                edge_text=f"{source} {name.replace('_', ' ')} {target}.",
                chunk_id=chunk_id,
            )
            for source, name, target in note.relations
        ]
        labels = [
            RelationshipLabel(id=ids.label_id(home, name), dataset_id=home, name=name)
            for name in dict.fromkeys(edge.relationship_name for edge in edges)
        ]
        graph = ChunkGraph(
            mentions=tuple(Mention(name=e.name, type=e.type, description=f"in {note.source}") for e in entities),
            relations=tuple(Relation(source=s, name=n, target=t) for s, n, t in note.relations),
        )
        shared = {"dataset_id": home, "node_set": note.tags}
        document = Document(
            id=document_id,
            source=note.source,
            content_hash=ids.text_hash(note.text),
            chunk_ids=(chunk_id,),
            **shared,
        )
        chunk = DocumentChunk(
            id=chunk_id,
            document_id=document_id,
            text=note.text,
            position=0,
            occurred_at=note.date,
            graph=graph,
            mentions=tuple(row.id for row in (*entities, *edges, *labels)),
            **shared,
        )
        summary = TextSummary(
            id=ids.summary_id(chunk_id),
            document_id=document_id,
            chunk_id=chunk_id,
            text=f"In short: {note.text}",
            position=0,
            occurred_at=note.date,
            entity_ids=tuple(e.id for e in entities),
            **shared,
        )
        known = {e.id for e in await self.tenant.get(Entity, [e.id for e in entities])}
        await self._put([document], None)
        await self._put([chunk], [chunk.text])
        await self._put([summary], [summary.text])
        new = [e for e in entities if e.id not in known]
        await self._put(new, [f"{e.name} {e.description}" for e in new])
        await self._put(edges, None)
        await self._put(labels, [label.name.replace("_", " ") for label in labels])

    async def _put(self, rows: Sequence[Any], texts: Sequence[str] | None) -> None:
        if rows:
            await self.tenant.put(rows, None if texts is None else self.embedder.embed_now(list(texts)))

    async def index(self, *buckets: GlobalContextSummary, root: GlobalContextSummary | None = None) -> None:
        """Publish these buckets and a root as the next generation."""
        number = self.manifest.serving + 1
        rows = [*buckets, *([root] if root else [])]
        async for page in self.tenant.batches(GlobalContextSummary, ["key"], generation=number - 1):
            replaced = [UUID(bytes=key) for key in page["key"].to_pylist()]
            await self.tenant.patch(GlobalContextSummary, {key: {"valid_to": number} for key in replaced})
        await self._put([replace(row, valid_from=number) for row in rows], [row.text or "nothing" for row in rows])
        top = max((bucket.level for bucket in buckets), default=-1)
        generation = Generation(
            number=number,
            root_id=root.id if root else None,
            bucketing_strategy="graph",
            max_bucket_size=4,
            placement_distance_threshold=0.5,
            min_overlap=0.05,
            level_sizes=tuple(sum(b.level == level for b in buckets) for level in range(top + 1)),
            summaries=3,
            degraded=0,
            model="recording",
            prompt_version="1",
            embedding_model="hashing",
            embedding_dimensions=64,
            built_at=BUILT_AT,
        )
        self.manifest = replace(
            self.manifest, serving=number, generations=(*self.manifest.generations, generation), last_number=number
        )

    def area(self, level: int, name: str, facts: Sequence[tuple[str, str]], children: Sequence[Any] = (), **marks: Any):
        """A bucket, or with `is_root` the root; each fact is a text with the source of its note."""
        stated = tuple(
            Fact(text=text, inputs=(), summary_ids=(self.summary_of(source),) if source else ())
            for text, source in facts
        )
        content = AreaContent(categories=(Category(name="Topics", topics=(name,)),), facts=stated)
        withheld, is_root = marks.get("withheld", False), marks.get("is_root", False)
        return GlobalContextSummary(
            id=ids.root_id(self.dataset.id) if is_root else ids.make_id("bucket", self.dataset.id, level, name),
            dataset_id=self.dataset.id,
            level=level,
            child_ids=tuple(child.id for child in children) or tuple(self.summary_of(s) for _, s in facts if s),
            content=content,
            text="" if withheld else render_area(content, is_root=is_root),
            valid_from=1,
            fingerprint=name,
            model="recording",
            **marks,
        )

    def summary_of(self, source: str) -> Any:
        return self.leaf_of(next(note for note in NOTES if note.source == source))

    def leaf_of(self, note: Note) -> UUID:
        return ids.summary_id(ids.chunk_id(ids.document_id(self.dataset.id, note.source), note.text))


async def make_world(notes: Sequence[Note] = NOTES, *, store: MemoryStore | None = None, name: str = "team") -> World:
    owner = ids.user_id("someone")
    dataset = Dataset(
        id=ids.dataset_id(owner, name),
        name=name,
        owner_id=owner,
        created_at=BUILT_AT,
        embedding_model="hashing",
        embedding_dimensions=64,
    )
    store = store or MemoryStore()
    await store.create_dataset(dataset)
    tenant: Tenant = await store.tenant(dataset)
    world = World(dataset=dataset, tenant=tenant, manifest=Manifest(dataset_id=dataset.id))
    await world.tell(notes)
    return world


async def make_indexed_world() -> World:
    """NOTES under two buckets and a root."""
    world = await make_world()
    work = world.area(
        0,
        "Northstar",
        [
            ("Anna Hofer moved the Northstar launch to 9 June.", "launch.md"),
            ("Luis Ortega cut the Northstar budget by a tenth.", "budget.md"),
        ],
    )
    garden = world.area(0, "Garden", [("Mara Lind planted tomatoes behind the greenhouse.", "garden.md")])
    root = world.area(
        1,
        "Everything",
        [("The Northstar launch is on 9 June.", "launch.md"), ("Mara Lind grows tomatoes.", "garden.md")],
        [work, garden],
        is_root=True,
    )
    await world.index(work, garden, root=root)
    return world
