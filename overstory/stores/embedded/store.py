"""All datasets below one home: `registry.db`, `datasets/` with a file for each or one for all, and `sessions.db`."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar
from uuid import UUID

import apsw

from overstory.errors import DatasetNotFoundError
from overstory.models import Dataset, Lease, Manifest, Permission, Turn
from overstory.stores.embedded import connections, erasing, registry, schema, writing
from overstory.stores.embedded.connections import Database
from overstory.stores.embedded.faults import translated
from overstory.stores.embedded.files import OpenFiles
from overstory.stores.embedded.sessions import SessionFile
from overstory.stores.embedded.tenant import EmbeddedTenant
from overstory.stores.embedded.waves import Reading
from overstory.stores.sessions import session_key

logger = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")


class EmbeddedStore:
    """Datasets as files; may be used from several event loops, threads and processes at once.

    Args:
        home: a folder on a local disk; it is made when it does not exist.
        access_control: each dataset has its own file; False: all share one.
        open_datasets: so many files stay open between calls.
        busy_seconds: how long a call waits for another process's write.
        clock: the time, with its zone, by which leases expire.

    Raises:
        StoreVersionError: a newer Overstory wrote the home.
        StoreFullError: the home can't be written.
    """

    def __init__(
        self,
        home: Path,
        *,
        access_control: bool = True,
        open_datasets: int = 64,
        busy_seconds: float = connections.BUSY_SECONDS,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._home = home.expanduser().absolute()
        self._shared, self._busy_seconds, self._clock = not access_control, busy_seconds, clock
        self._files = OpenFiles(open_datasets, busy_seconds)
        self._registry = Database(self._home / "registry.db", busy_seconds=busy_seconds)
        self._reading_registry = _reading_of(self._registry)
        with translated(self._registry.path):
            connections.create(self._registry.path, registry.STATEMENTS, busy_seconds=busy_seconds)
        self._sessions = SessionFile(self._home / "sessions.db", busy_seconds)

    async def create_dataset(self, dataset: Dataset) -> Dataset:
        def create() -> Dataset:
            existing = self._read_registry(registry.named_dataset, dataset.owner_id, dataset.name)
            # The file first: a dataset that is registered has one.
            self._make_file((existing or dataset).id)
            registered = existing or self._write_registry(registry.add_dataset, dataset)
            self._make_file(registered.id)
            if registered.id != dataset.id and existing is None:
                self._remove_file(dataset.id)
            return registered

        return await asyncio.to_thread(create)

    async def get_dataset(self, dataset_id: UUID) -> Dataset | None:
        return await self._read(registry.get_dataset, dataset_id)

    async def list_datasets(self, user_id: UUID | None = None) -> list[Dataset]:
        return await self._read(registry.list_datasets, user_id)

    async def next_occurrence(self, owner_id: UUID, name: str) -> int:
        return await self._read(registry.next_occurrence, owner_id, name)

    async def drop_dataset(self, dataset_id: UUID) -> None:
        def drop() -> None:
            # The registration last: what is registered can be dropped again after a stop in between.
            self._sessions.erase_turns(dataset_id)
            if self._shared:
                self._remove_shared_rows(dataset_id)
            else:
                self._remove_file(dataset_id)
            self._write_registry(registry.forget_dataset, dataset_id)
            if not self._shared:
                self._remove_file(dataset_id)  # a reader who came in between made it again
            with translated(self._registry.path):
                erasing.rewrite(self._registry)

        await asyncio.to_thread(drop)

    async def finish_drop(self, owner_id: UUID, name: str) -> bool:
        return False  # one that is hidden has gone: its registration goes last

    async def grant(self, dataset_id: UUID, user_id: UUID, permissions: Sequence[Permission]) -> None:
        await self._write(registry.grant, dataset_id, user_id, permissions)

    async def permissions(self, dataset_id: UUID, user_id: UUID) -> frozenset[Permission]:
        return await self._read(registry.permissions, dataset_id, user_id)

    async def tenant(self, dataset: Dataset) -> EmbeddedTenant:
        def open_tenant(connection: apsw.Connection) -> EmbeddedTenant:
            existing = registry.existing(connection, dataset.id)
            with self._files.read(self._path(dataset.id)):
                return EmbeddedTenant(
                    self._files,
                    self._path(dataset.id),
                    existing,
                    registry=self._registry.path,
                    sessions=self._sessions,
                    shared=self._shared,
                )

        try:
            return await self._files.thread.run(self._reading_registry, open_tenant)
        except DatasetNotFoundError:
            if self._shared or not await asyncio.to_thread(self._make_lost_file, dataset.id):
                raise
            return await self._files.thread.run(self._reading_registry, open_tenant)

    async def read_manifest(self, dataset_id: UUID) -> Manifest:
        return await self._read(registry.read_manifest, dataset_id)

    async def write_manifest(self, manifest: Manifest, lease: Lease) -> None:
        await self._write(registry.write_manifest, manifest, lease)

    async def acquire_lease(self, dataset_id: UUID, holder: str, ttl_seconds: float, *, over: str = "") -> Lease:
        return await self._write(registry.acquire_lease, dataset_id, holder, ttl_seconds, self._clock(), over=over)

    async def renew_lease(self, lease: Lease, ttl_seconds: float) -> Lease:
        return await self._write(registry.renew_lease, lease, ttl_seconds, self._clock())

    async def release_lease(self, lease: Lease) -> None:
        await self._write(registry.release_lease, lease)

    async def read_lease(self, dataset_id: UUID) -> Lease | None:
        return await self._read(registry.read_lease, dataset_id, self._clock())

    async def read_session(self, user_id: UUID, session_id: str) -> tuple[Turn, ...]:
        return await asyncio.to_thread(self._sessions.read, session_key(user_id, session_id))

    async def add_turn(self, user_id: UUID, session_id: str, turn: Turn) -> None:
        await asyncio.to_thread(self._sessions.add, session_key(user_id, session_id), turn)

    async def erase_session(self, user_id: UUID, session_id: str) -> bool:
        return await asyncio.to_thread(self._sessions.erase, session_key(user_id, session_id))

    async def erase_turns(self, dataset_id: UUID) -> None:
        await asyncio.to_thread(self._sessions.erase_turns, dataset_id)

    async def close(self) -> None:
        def close() -> None:
            with translated(self._home), ExitStack() as closers:
                for part in (self._sessions, self._registry, self._files):
                    closers.callback(part.close)

        await asyncio.to_thread(close)

    def _path(self, dataset_id: UUID) -> Path:
        return self._home / "datasets" / ("shared.db" if self._shared else f"{dataset_id}.db")

    def _make_file(self, dataset_id: UUID) -> None:
        path = self._path(dataset_id)
        with translated(path):
            connections.create(path, schema.statements(self._shared), busy_seconds=self._busy_seconds)

    def _make_lost_file(self, dataset_id: UUID) -> bool:
        """Make the file of a registered dataset anew that has lost it, as when its removal stopped; whether it had."""
        path = self._path(dataset_id)

        def is_lost(connection: apsw.Connection) -> bool:
            return registry.get_dataset(connection, dataset_id) is not None and not path.exists()

        def forget_index(connection: apsw.Connection) -> bool:
            lost = is_lost(connection)
            if lost:
                registry.remove_manifest(connection, dataset_id)
            return lost

        def make(connection: apsw.Connection) -> None:
            if is_lost(connection):  # which stays so: nobody else can drop it now
                self._make_file(dataset_id)

        lost = self._write_registry(forget_index)
        if lost:
            logger.warning(
                "%s is gone, and with it what the dataset held; it is empty now. Unless somebody was forgetting the "
                "dataset, restore the file from a copy.",
                path,
            )
            self._write_registry(make)
        return lost

    def _remove_file(self, dataset_id: UUID) -> None:
        path = self._path(dataset_id)
        with translated(path):
            self._files.forget(path)
            connections.remove(path)

    def _remove_shared_rows(self, dataset_id: UUID) -> None:
        path = self._path(dataset_id)
        if not path.exists():
            return
        with self._files.use(path) as database:
            left = 1
            while left:
                with database.write() as connection:
                    left = writing.remove_some(connection, dataset_id)
            erasing.erase(database)

    async def _read(
        self, function: Callable[Concatenate[apsw.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._files.thread.run(
            self._reading_registry, lambda connection: function(connection, *args, **kwargs)
        )

    async def _write(
        self, function: Callable[Concatenate[apsw.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await asyncio.to_thread(lambda: self._write_registry(function, *args, **kwargs))

    def _read_registry(
        self, function: Callable[Concatenate[apsw.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        with self._reading_registry() as connection:
            return function(connection, *args, **kwargs)

    def _write_registry(
        self, function: Callable[Concatenate[apsw.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        with translated(self._registry.path), self._registry.write() as connection:
            return function(connection, *args, **kwargs)


def _reading_of(database: Database) -> Reading:
    @contextmanager
    def reading() -> Iterator[apsw.Connection]:
        with translated(database.path), database.read() as connection:
            yield connection

    return reading
