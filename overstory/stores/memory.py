"""The reference: what the contract says in as few words as possible, in dictionaries, one store per object.

For tests and for trying things; nothing outlives the process.
"""

import math
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np

from overstory import columns as forms
from overstory.columns import RowT
from overstory.errors import DatasetNotFoundError
from overstory.models import (
    KINDS,
    Dataset,
    Edge,
    Entity,
    GlobalContextSummary,
    Hit,
    LeanEdge,
    Lease,
    Manifest,
    Permission,
    Row,
    Turn,
    Vector,
    Vectors,
)
from overstory.stores import checks, leases, sessions
from overstory.stores.arriving import put_objects
from overstory.stores.leases import LeaseRecord
from overstory.stores.nearest import halves, nearest
from overstory.words import query_words, words_of

if TYPE_CHECKING:
    import pyarrow as pa

_K1, _B, _LEAST_IDF = 1.2, 0.75, 1e-6


@dataclass(frozen=True, slots=True)
class _Stored:
    row: Row
    vector: Vector | None


@dataclass(slots=True)
class _Rows:
    """What one tenant holds, or all datasets that share one."""

    kinds: dict[type[Row], dict[UUID, _Stored]] = field(default_factory=lambda: {kind: {} for kind in KINDS})

    def of(self, kind: type[Any]) -> dict[UUID, _Stored]:
        return self.kinds[kind]


def _sees(generation: int | None, row: Row) -> bool:
    if generation is None or not isinstance(row, GlobalContextSummary):
        return True
    return row.valid_from <= generation < row.valid_to


class MemoryTenant:
    """The rows of one dataset, in dictionaries."""

    def __init__(self, dataset: Dataset, rows: _Rows) -> None:
        self._dataset, self._rows = dataset, rows

    @property
    def dataset_id(self) -> UUID:
        return self._dataset.id

    def _own(self, kind: type[RowT]) -> list[RowT]:
        """This dataset's rows, by ascending key."""
        rows = (stored.row for stored in self._rows.of(kind).values() if stored.row.dataset_id == self.dataset_id)
        return sorted((row for row in rows if isinstance(row, kind)), key=lambda row: row.key)

    async def put(self, rows: Sequence[Row], vectors: Vectors | None = None) -> None:
        if not rows:
            return
        kind = checks.check_rows(rows, self.dataset_id)
        given: Iterable[Vector | None] = [None] * len(rows)
        if vectors is not None:
            given = checks.check_vectors(kind, len(rows), vectors, self._dataset.embedding_dimensions).copy()
        stored = self._rows.of(kind)
        for row, vector in zip(rows, given, strict=True):
            stored[row.key] = _Stored(row, vector)

    async def put_table(self, kind: type[Row], table: "pa.Table") -> None:
        await put_objects(self, kind, table, self._dataset.embedding_dimensions)

    async def get(self, kind: type[RowT], keys: Sequence[UUID], *, without: Collection[str] = ()) -> list[RowT]:
        stored = self._rows.of(kind)
        left_out = checks.left_out(kind, without)
        rows = [stored[key].row for key in keys if key in stored]
        return [replace(row, **left_out) for row in rows if isinstance(row, kind)]

    async def vectors(self, kind: type[Row], keys: Sequence[UUID]) -> dict[UUID, Vector]:
        stored = self._rows.of(kind)
        found = {key: stored[key].vector for key in keys if key in stored}
        return {key: vector.copy() for key, vector in found.items() if vector is not None}

    async def patch(self, kind: type[Row], changes: Mapping[UUID, Mapping[str, Any]]) -> None:
        checks.check_changes(kind, changes.values())
        stored = self._rows.of(kind)
        for key, change in changes.items():
            if key in stored:
                stored[key] = _Stored(replace(stored[key].row, **change), stored[key].vector)

    async def delete(self, kind: type[Row], keys: Sequence[UUID]) -> int:
        stored = self._rows.of(kind)
        return sum(stored.pop(key, None) is not None for key in keys)

    async def count(self, kind: type[Row]) -> int:
        return len(self._own(kind))

    async def find(
        self, kind: type[Row], field: str, values: Sequence[UUID | str], *, limit: int | None = None
    ) -> list[UUID]:
        checks.check_findable(kind, field)
        checks.check_limit(limit)
        wanted = set(values)
        return [row.key for row in self._own(kind) if not wanted.isdisjoint(_values(row, field))][:limit]

    async def tally(self, kind: type[Row], field: str, values: Sequence[UUID | str]) -> dict[UUID | str, int]:
        checks.check_findable(kind, field)
        counts = Counter(value for row in self._own(kind) for value in _values(row, field))
        return {value: counts[value] for value in values}

    async def edges_between(self, node_ids: Sequence[UUID], *, limit: int | None = None) -> list[LeanEdge]:
        checks.check_limit(limit)
        nodes = set(node_ids)
        edges = [stored.row for stored in self._rows.of(Edge).values() if isinstance(stored.row, Edge)]
        return [LeanEdge.of(edge) for edge in edges if edge.source_id in nodes and edge.target_id in nodes][:limit]

    async def search_vectors(
        self, kind: type[Row], vector: Vector, limit: int | None, *, generation: int | None = None
    ) -> list[Hit]:
        return self._nearest(kind, vector, limit, generation)

    def _nearest(self, kind: type[Any], vector: Vector, limit: int | None, generation: int | None) -> list[Hit]:
        dimensions = self._dataset.embedding_dimensions
        query = checks.check_query(kind, vector, limit, generation, dimensions)
        found = {
            key: stored.vector
            for key, stored in self._rows.of(kind).items()
            if stored.vector is not None and len(stored.vector) == dimensions and _sees(generation, stored.row)
        }
        if not found:
            return []
        return nearest(np.array(list(found.values())), halves(key.bytes for key in found), query, limit)

    async def search_rows(
        self,
        kind: type[RowT],
        vector: Vector,
        limit: int | None,
        *,
        generation: int | None = None,
        without: Collection[str] = (),
    ) -> list[tuple[RowT, float]]:
        hits = self._nearest(kind, vector, limit, generation)
        rows = await self.get(kind, [hit.key for hit in hits], without=without)
        return list(zip(rows, [hit.score for hit in hits], strict=True))

    async def search_text(self, kind: type[Row], query: str, limit: int) -> list[Hit]:
        checks.check_text_kind(kind)
        checks.check_limit(limit)
        texts = {key: Counter(words_of(_text(stored.row))) for key, stored in self._rows.of(kind).items()}
        scores = _bm25(texts, query_words(query))
        hits = [Hit(key, score) for key, score in scores.items() if score > 0]
        return sorted(hits, key=lambda hit: (-hit.score, hit.key))[:limit]

    async def has_words(self, kind: type[Row], query: str) -> bool:
        return bool(await self.search_text(kind, query, 1))

    async def areas(self, ids: Sequence[UUID], generation: int) -> list[GlobalContextSummary]:
        seen = {row.id: row for row in self._own(GlobalContextSummary) if _sees(generation, row)}
        return [seen[id_] for id_ in ids if id_ in seen]

    async def sweep(self, keep: Sequence[int]) -> int:
        rows = self._own(GlobalContextSummary)
        unseen = [row.key for row in rows if not any(_sees(generation, row) for generation in keep)]
        return await self.delete(GlobalContextSummary, unseen)

    async def batches(
        self, kind: type[Row], columns: Sequence[str], *, generation: int | None = None, rows: int = 4096
    ) -> "AsyncIterator[pa.RecordBatch]":
        import pyarrow as pa

        checks.check_columns(kind, columns)
        checks.check_generation(kind, generation)
        dimensions = self._dataset.embedding_dimensions
        schema = pa.schema([(name, forms.arrow_type(kind, name, dimensions)) for name in columns])
        stored = self._rows.of(kind)
        own = [stored[row.key] for row in self._own(kind) if _sees(generation, row)]
        for start in range(0, len(own), rows):
            page = own[start : start + rows]
            arrays = [pa.array([_cell(kind, s, name) for s in page], schema.field(name).type) for name in columns]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    async def erase_traces(self) -> None:
        """Nothing to do: memory that was given back has no file."""

    async def files(self) -> list[Path]:
        return []

    async def beside_rows(self) -> str:
        return ""

    async def describe(self) -> dict[str, str | int]:
        rows = sum(len(stored) for stored in self._rows.kinds.values())
        return {"place": "memory", "rows": rows, "index": "exact"}


class MemoryStore:
    """All datasets of one object."""

    def __init__(
        self, *, access_control: bool = True, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._clock = clock
        self._shared = None if access_control else _Rows()
        self._datasets: dict[UUID, Dataset] = {}
        self._rows: dict[UUID, _Rows] = {}
        self._grants: dict[tuple[UUID, UUID], frozenset[Permission]] = {}
        self._manifests: dict[UUID, Manifest] = {}
        self._leases: dict[UUID, LeaseRecord] = {}
        self._dropped: Counter[tuple[UUID, str]] = Counter()
        self._sessions: dict[UUID, tuple[Turn, ...]] = {}

    async def create_dataset(self, dataset: Dataset) -> Dataset:
        taken = (dataset.owner_id, dataset.name)
        existing = next((d for d in self._datasets.values() if (d.owner_id, d.name) == taken), None)
        if existing:
            return existing
        if dataset.id in self._datasets:
            raise ValueError(f"the id {dataset.id} belongs to another dataset")
        self._datasets[dataset.id] = dataset
        self._rows[dataset.id] = _Rows() if self._shared is None else self._shared
        return dataset

    async def get_dataset(self, dataset_id: UUID) -> Dataset | None:
        return self._datasets.get(dataset_id)

    async def list_datasets(self, user_id: UUID | None = None) -> list[Dataset]:
        datasets = [d for d in self._datasets.values() if user_id is None or self._may_read(d, user_id)]
        return sorted(datasets, key=lambda d: (d.name, d.id))

    def _may_read(self, dataset: Dataset, user_id: UUID) -> bool:
        return dataset.owner_id == user_id or Permission.READ in self._grants.get((dataset.id, user_id), ())

    async def next_occurrence(self, owner_id: UUID, name: str) -> int:
        return self._dropped[owner_id, name]

    async def finish_drop(self, owner_id: UUID, name: str) -> bool:
        return False  # it goes as a whole

    async def drop_dataset(self, dataset_id: UUID) -> None:
        dataset = self._datasets.pop(dataset_id, None)
        if dataset is None:
            return
        self._dropped[dataset.owner_id, dataset.name] += 1
        await self.erase_turns(dataset_id)
        for stored in self._rows.pop(dataset_id).kinds.values():
            for key in [key for key, s in stored.items() if s.row.dataset_id == dataset_id]:
                del stored[key]
        self._manifests.pop(dataset_id, None)
        self._leases.pop(dataset_id, None)
        self._grants = {pair: granted for pair, granted in self._grants.items() if pair[0] != dataset_id}

    async def grant(self, dataset_id: UUID, user_id: UUID, permissions: Sequence[Permission]) -> None:
        self._existing(dataset_id)
        self._grants[dataset_id, user_id] = frozenset(permissions)

    async def permissions(self, dataset_id: UUID, user_id: UUID) -> frozenset[Permission]:
        dataset = self._datasets.get(dataset_id)
        if dataset and dataset.owner_id == user_id:
            return frozenset(Permission)
        return self._grants.get((dataset_id, user_id), frozenset())

    async def tenant(self, dataset: Dataset) -> MemoryTenant:
        return MemoryTenant(self._existing(dataset.id), self._rows[dataset.id])

    async def read_manifest(self, dataset_id: UUID) -> Manifest:
        return self._manifests.get(dataset_id) or Manifest(dataset_id=dataset_id)

    async def write_manifest(self, manifest: Manifest, lease: Lease) -> None:
        record, stored = self._leases.get(manifest.dataset_id), self._manifests.get(manifest.dataset_id)
        leases.check_writer(record, stored, lease, self._name(manifest.dataset_id))
        self._manifests[manifest.dataset_id] = replace(manifest, token=lease.token)

    async def acquire_lease(self, dataset_id: UUID, holder: str, ttl_seconds: float, *, over: str = "") -> Lease:
        name = self._existing(dataset_id).name
        known = self._leases.get(dataset_id)
        record = leases.acquire(known, dataset_id, name, holder, ttl_seconds, self._clock(), over=over)
        self._leases[dataset_id] = record
        return record.lease

    async def renew_lease(self, lease: Lease, ttl_seconds: float) -> Lease:
        held = self._leases.get(lease.dataset_id)
        record = leases.renew(held, lease, self._name(lease.dataset_id), ttl_seconds, self._clock())
        self._leases[lease.dataset_id] = record
        return record.lease

    async def release_lease(self, lease: Lease) -> None:
        if record := leases.release(self._leases.get(lease.dataset_id), lease):
            self._leases[lease.dataset_id] = record

    async def read_lease(self, dataset_id: UUID) -> Lease | None:
        record = self._leases.get(dataset_id)
        return record.lease if record and record.is_held(self._clock()) else None

    async def read_session(self, user_id: UUID, session_id: str) -> tuple[Turn, ...]:
        return self._sessions.get(sessions.session_key(user_id, session_id), ())

    async def add_turn(self, user_id: UUID, session_id: str, turn: Turn) -> None:
        key = sessions.session_key(user_id, session_id)
        turns = (*self._sessions.get(key, ()), sessions.shortened(turn))
        self._sessions[key] = turns[-sessions.KEPT_TURNS :]

    async def erase_session(self, user_id: UUID, session_id: str) -> bool:
        return self._sessions.pop(sessions.session_key(user_id, session_id), None) is not None

    async def erase_turns(self, dataset_id: UUID) -> None:
        kept = {k: tuple(t for t in turns if dataset_id not in t.dataset_ids) for k, turns in self._sessions.items()}
        self._sessions = {key: turns for key, turns in kept.items() if turns}

    async def close(self) -> None:
        """Nothing to give back; the datasets stay for whoever shares this store."""

    def _existing(self, dataset_id: UUID) -> Dataset:
        if dataset_id not in self._datasets:
            raise DatasetNotFoundError(str(dataset_id))
        return self._datasets[dataset_id]

    def _name(self, dataset_id: UUID) -> str:
        dataset = self._datasets.get(dataset_id)
        return dataset.name if dataset else str(dataset_id)


def _values(row: Row, field: str) -> set[UUID | str]:
    value = getattr(row, field)
    return set(value) if isinstance(value, tuple) else {value}


def _text(row: Row) -> str:
    return f"{row.name}\n{row.description}" if isinstance(row, Entity) else str(getattr(row, "text", ""))


def _cell(kind: type[Row], stored: _Stored, name: str) -> Any:
    if name == "vector":
        return None if stored.vector is None else stored.vector.astype("<f4").tobytes()
    if name == "key":
        return stored.row.key.bytes
    form = next(column.form for column in forms.columns_of(kind) if column.name == name)
    return forms.encode(form, getattr(stored.row, name))


def _bm25(texts: Mapping[UUID, Counter[str]], words: Sequence[str]) -> dict[UUID, float]:
    """BM25 of each text that has one of the words (Robertson and Zaragoza, 2009), with SQLite's constants."""
    lengths = {key: sum(counts.values()) for key, counts in texts.items()}
    average = sum(lengths.values()) / len(lengths) if lengths else 0.0
    scores: dict[UUID, float] = {}
    for word in words:
        holders = [key for key, counts in texts.items() if counts[word]]
        idf = max(math.log((len(texts) - len(holders) + 0.5) / (len(holders) + 0.5)), _LEAST_IDF)
        for key in holders:
            often = texts[key][word]
            share = often * (_K1 + 1) / (often + _K1 * (1 - _B + _B * lengths[key] / average))
            scores[key] = scores.get(key, 0.0) + idf * share
    return scores
