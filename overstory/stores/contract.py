"""What every store promises. `tests/contract/` holds each one to it.

Two parts: a `Store` knows the datasets (names, owners, grants, manifests, leases) and the conversations about them; a
`Tenant` holds the rows of one dataset. Everything that waits is async. No call needs a transaction over several rows: callers order
their writes so that a stop between any two leaves nothing half seen. Every call may be repeated.

Where datasets share one tenant (access control off), `get`, `vectors`, `patch`, `delete`, `search_*`, `has_words` and
`edges_between` reach the rows of all of them; `count`, `find`, `tally`, `batches`, `areas` and `sweep` those of the
tenant's own dataset only.

Errors: `StoreUnavailableError` when another try may help, `StoreFullError` when nothing can be written,
`StoreDamagedError`, `RowsRejectedError` with the keys of refused rows, `StoreVersionError` on opening.
No method returns less than was asked for without raising.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from uuid import UUID

from overstory.models import (
    Dataset,
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

if TYPE_CHECKING:
    import pyarrow as pa

RowT = TypeVar("RowT", bound=Row)


class Tenant(Protocol):
    """The rows of one dataset."""

    @property
    def dataset_id(self) -> UUID: ...

    async def put(self, rows: Sequence[Row], vectors: Vectors | None = None) -> None:
        """Store rows of one kind; a row of the same key is replaced whole, its vector too.

        All rows of one call become visible together where the store can do that; else one by one.

        Args:
            rows: any number, of one kind, of this dataset, with different keys.
            vectors: one row of length 1 for each of `rows`, in their order; None stores them without.

        Raises:
            ValueError: the vectors' number, dimension or values are wrong; nothing was stored.
        """
        ...

    async def put_table(self, kind: type[Row], table: "pa.Table") -> None:
        """What `put` does, with rows as `batches` gives them.

        Args:
            table: columns as `columns.schema_of` has them; a `vector` of null stores the row without.

        Raises:
            ValueError: a column, a value or a vector does not fit; nothing was stored.
        """
        ...

    async def get(self, kind: type[RowT], keys: Sequence[UUID], *, without: Collection[str] = ()) -> list[RowT]:
        """The rows of these keys, in the order of `keys`; those that don't exist are left out.

        Args:
            kind: what to read.
            keys: any number, repeated ones too.
            without: fields of `models.HEAVY` that the caller does not need; they are left empty.
        """
        ...

    async def vectors(self, kind: type[Row], keys: Sequence[UUID]) -> dict[UUID, Vector]:
        """The vectors of these keys; those without one are left out."""
        ...

    async def patch(self, kind: type[Row], changes: Mapping[UUID, Mapping[str, Any]]) -> None:
        """Change single fields of stored rows, each row at once; vector and other fields stay.

        Args:
            changes: for each key, field names with their new values. Keys that don't exist are passed over.
        """
        ...

    async def delete(self, kind: type[Row], keys: Sequence[UUID]) -> int:
        """Remove rows with their vectors; the number that existed."""
        ...

    async def count(self, kind: type[Row]) -> int: ...

    async def find(
        self, kind: type[Row], field: str, values: Sequence[UUID | str], *, limit: int | None = None
    ) -> list[UUID]:
        """Keys of rows whose field equals one of the values, or, for a list field, holds one; ascending.

        Args:
            field: one of `models.FINDABLE[kind]`.
            limit: at most so many, the lowest keys first; None for all.
        """
        ...

    async def tally(self, kind: type[Row], field: str, values: Sequence[UUID | str]) -> dict[UUID | str, int]:
        """For each value, how many rows `find` would name for it alone (0 included)."""
        ...

    async def edges_between(self, node_ids: Sequence[UUID], *, limit: int | None = None) -> list[LeanEdge]:
        """Edges that have both ends among these entities, in no order; any `limit` of them where there are more."""
        ...

    async def search_vectors(
        self, kind: type[Row], vector: Vector, limit: int | None, *, generation: int | None = None
    ) -> list[Hit]:
        """The rows nearest to a vector, exactly: by ascending cosine distance, ties by key.

        Args:
            kind: one of `models.VECTOR_KINDS`.
            vector: float32, shape (dimensions,), length 1.
            limit: at most so many, at least 1; None for all.
            generation: for GlobalContextSummary, and only there: rows that this generation sees.
        """
        ...

    async def search_rows(
        self,
        kind: type[RowT],
        vector: Vector,
        limit: int | None,
        *,
        generation: int | None = None,
        without: Collection[str] = (),
    ) -> list[tuple[RowT, float]]:
        """What `search_vectors` finds as rows, each with its distance, in one round trip where the store can do that.

        Args:
            without: fields of `models.HEAVY` that the caller does not need; they are left empty.
        """
        ...

    async def search_text(self, kind: type[Row], query: str, limit: int) -> list[Hit]:
        """The rows that share words with a query, by falling BM25, ties by key.

        Words are compared without case, Chinese, Japanese and Korean by pairs of characters; stop words of
        the query are left out. A query without words finds nothing. A store may bring words to a stem, so that it
        finds rows that have another form of a word as well.

        Args:
            kind: one of `models.TEXT_KINDS`.
        """
        ...

    async def has_words(self, kind: type[Row], query: str) -> bool:
        """Whether `search_text` would find anything, without ranking what."""
        ...

    async def areas(self, ids: Sequence[UUID], generation: int) -> list[GlobalContextSummary]:
        """The buckets and roots of these ids as one generation sees them, in the order of `ids`."""
        ...

    async def sweep(self, keep: Sequence[int]) -> int:
        """Remove index rows that none of these generations sees; the number removed."""
        ...

    def batches(
        self, kind: type[Row], columns: Sequence[str], *, generation: int | None = None, rows: int = 4096
    ) -> "AsyncIterator[pa.RecordBatch]":
        """All rows as Arrow record batches of at most `rows` rows, by ascending key.

        Args:
            columns: `key`, names of fields of the kind, or `vector` (null where a row has none). See
                `columns.arrow_type` for the Arrow type of each.
            generation: for GlobalContextSummary: rows that this generation sees; None for every row.
        """
        ...

    async def erase_traces(self) -> None:
        """Make what was deleted unreadable in the store's own files, as far as the store can do that."""
        ...

    async def files(self) -> list[Path]:
        """The files of this machine that hold the rows or speak of them, to prove an erasure; none behind a server."""
        ...

    async def beside_rows(self) -> str:
        """What those files hold besides the rows: names of tables and of datasets, conversations about other ones."""
        ...

    async def describe(self) -> dict[str, str | int]:
        """Facts for people: where it lies, bytes, index kind."""
        ...


class Store(Protocol):
    """All datasets of one place."""

    async def create_dataset(self, dataset: Dataset) -> Dataset:
        """Register a dataset and make its tenant; the one that exists if owner and name are taken."""
        ...

    async def get_dataset(self, dataset_id: UUID) -> Dataset | None: ...

    async def list_datasets(self, user_id: UUID | None = None) -> list[Dataset]:
        """By name: those that the user owns or may read; all for None."""
        ...

    async def next_occurrence(self, owner_id: UUID, name: str) -> int:
        """How many datasets of this owner and name were dropped before: part of the next one's id."""
        ...

    async def drop_dataset(self, dataset_id: UUID) -> None:
        """Remove a dataset with all its rows, manifest, grants, lease and turns. May be repeated from any step."""
        ...

    async def finish_drop(self, owner_id: UUID, name: str) -> bool:
        """Remove what is left of an owner's dataset whose removal stopped after it was hidden; whether there was one."""
        ...

    async def grant(self, dataset_id: UUID, user_id: UUID, permissions: Sequence[Permission]) -> None:
        """Set what a user other than the owner may do; nothing for an empty list."""
        ...

    async def permissions(self, dataset_id: UUID, user_id: UUID) -> frozenset[Permission]:
        """What a user may do: everything for the owner."""
        ...

    async def tenant(self, dataset: Dataset) -> Tenant:
        """Open the rows of a dataset."""
        ...

    async def read_manifest(self, dataset_id: UUID) -> Manifest:
        """The manifest, an empty one when nothing was published."""
        ...

    async def write_manifest(self, manifest: Manifest, lease: Lease) -> None:
        """Replace the manifest in one write.

        Raises:
            LeaseLostError: a lease with a higher token was given since; nothing was written.
        """
        ...

    async def acquire_lease(self, dataset_id: UUID, holder: str, ttl_seconds: float, *, over: str = "") -> Lease:
        """Become the one writer of a dataset.

        Args:
            over: a holder that certainly works no more: its lease, if it still stands, counts as expired.

        A lease counts as expired when the clock is further than `ttl_seconds` from its last renewal, in either
        direction, so that a clock set back can't keep one alive.

        Raises:
            DatasetBusyError: another holder's lease has not expired.
        """
        ...

    async def renew_lease(self, lease: Lease, ttl_seconds: float) -> Lease:
        """Extend a lease.

        Raises:
            LeaseLostError: another holder has it by now.
        """
        ...

    async def release_lease(self, lease: Lease) -> None:
        """Give a lease back; nothing happens when it was lost."""
        ...

    async def read_lease(self, dataset_id: UUID) -> Lease | None:
        """The lease that is held now, None when it is free or expired."""
        ...

    async def read_session(self, user_id: UUID, session_id: str) -> tuple[Turn, ...]:
        """The last turns of a user's conversation, oldest first; none for a new one.

        Raises:
            StoreDamagedError: what is stored can't be read; `erase_session` makes room for a new one.
        """
        ...

    async def add_turn(self, user_id: UUID, session_id: str, turn: Turn) -> None:
        """Keep one more turn, and of its answer the beginning; see `stores.sessions` for how much. Twice is two turns."""
        ...

    async def erase_session(self, user_id: UUID, session_id: str) -> bool:
        """Erase a conversation; whether there was one."""
        ...

    async def erase_turns(self, dataset_id: UUID) -> None:
        """Erase every turn, of every conversation, that was answered from a dataset."""
        ...

    async def close(self) -> None:
        """Give back connections and files. The store may not be used afterwards."""
        ...
