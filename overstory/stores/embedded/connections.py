"""One SQLite file, shared by the threads of a process and by processes.

Write-ahead log, so that readers and the one writer don't wait for each other; every commit is on disk before it
is acknowledged. The log does not work on network file systems: the home must lie on a local disk.
"""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from overstory.errors import StoreDamagedError, StoreVersionError
from overstory.stores.embedded.schema import APPLICATION_ID, VERSION

BUSY_SECONDS = 30.0
_PAGE_BYTES = 8192
_WRITER_CACHE_KIB = 16_384
_IDLE_READERS = 4
_HEADER = "SQLite format 3"
_SIDE_FILES = ("-wal", "-shm", "-journal", "")
_inherited: list["_Open"] = []
"""Connections of the parent process, kept from being closed: SQLite's must not be touched after a fork."""


@dataclass(slots=True)
class _Open:
    """Connections of this process to one file."""

    pid: int
    identity: tuple[int, int]
    writer: apsw.Connection
    writing: threading.Lock = field(default_factory=threading.Lock)
    readers: list[apsw.Connection] = field(default_factory=list)


class Database:
    """A file with one connection that writes, behind a lock, and some that read, lent out one by one."""

    def __init__(self, path: Path, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self.path, self._busy_seconds = path, busy_seconds
        self._opened: _Open | None = None
        self._opening = threading.Lock()
        self._pid = os.getpid()

    @contextmanager
    def read(self) -> Iterator[apsw.Connection]:
        """A connection that sees one state of the file, whatever is written meanwhile."""
        opened = self._open()
        try:
            connection = opened.readers.pop()
        except IndexError:
            connection = self._connect()
            connection.pragma("query_only", True)
        try:
            with _transaction(connection, "BEGIN"):
                yield connection
        except BaseException:
            connection.close()
            raise
        if opened is self._opened and len(opened.readers) < _IDLE_READERS:
            opened.readers.append(connection)
        else:
            connection.close()

    @contextmanager
    def write(self) -> Iterator[apsw.Connection]:
        """A connection inside a transaction that is kept as a whole, or not at all when the block raises."""
        opened = self._open()
        with opened.writing, _transaction(opened.writer, "BEGIN IMMEDIATE"):
            yield opened.writer

    @contextmanager
    def maintain(self) -> Iterator[apsw.Connection]:
        """The writing connection outside a transaction."""
        opened = self._open()
        with opened.writing:
            yield opened.writer

    def is_current(self) -> bool:
        """Whether the path still leads to the file that was opened."""
        try:
            return self._open().identity == _identity(self.path)
        except FileNotFoundError:
            return False

    def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is None or opened.pid != os.getpid():
            return
        with opened.writing, ExitStack() as closers:  # each is closed, whatever of them fails, the writer last
            for connection in (opened.writer, *opened.readers):
                closers.callback(connection.close)

    def _open(self) -> _Open:
        if self._pid != os.getpid():
            self._leave_to_parent()
        if self._opened is None:
            with self._opening:
                if self._opened is None:
                    writer = self._connect()
                    writer.pragma("cache_size", -_WRITER_CACHE_KIB)
                    self._opened = _Open(os.getpid(), _identity(self.path), writer)
        return self._opened

    def _leave_to_parent(self) -> None:
        if self._opened is not None:
            _inherited.append(self._opened)
        self._opened, self._opening, self._pid = None, threading.Lock(), os.getpid()

    def _connect(self) -> apsw.Connection:
        connection = apsw.Connection(_name(self.path), flags=apsw.SQLITE_OPEN_READWRITE)
        _configure(connection, self._busy_seconds)
        _check(connection, self.path)
        return connection


def _name(path: Path) -> str:
    """A path as SQLite takes it, in UTF-8, also where the locale could not read all of it (PEP 383)."""
    return os.fsencode(path).decode("utf-8", "surrogateescape")


def fetch(connection: apsw.Connection, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """All rows of a query."""
    return connection.execute(sql, tuple(values)).fetchall()


def number(connection: apsw.Connection, sql: str, values: Sequence[Any] = ()) -> int:
    """The one number that a query gives."""
    ((value,),) = fetch(connection, sql, values)
    return int(value)


def schema_of(connection: apsw.Connection) -> list[str]:
    """What a file says of itself: its header, and the statements that made its tables."""
    return [_HEADER, *(sql for (sql,) in fetch(connection, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"))]


def create(path: Path, statements: Sequence[str], *, busy_seconds: float = BUSY_SECONDS) -> None:
    """Make the file with these tables; nothing happens when it is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = apsw.Connection(_name(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    try:
        _configure(connection, busy_seconds)
        if connection.pragma("user_version") == 0:
            _check_empty(connection, path)
            connection.pragma("page_size", _PAGE_BYTES)
            _use_log(connection, busy_seconds)
            with _transaction(connection, "BEGIN IMMEDIATE"):
                _fill(connection, statements)
        _check(connection, path)
    finally:
        connection.close()


def files_of(path: Path) -> list[Path]:
    """The file and what SQLite keeps beside it, as far as they are there."""
    return [part for suffix in _SIDE_FILES if (part := path.with_name(path.name + suffix)).is_file()]


def remove(path: Path) -> None:
    """Remove the file with what SQLite keeps beside it."""
    for suffix in _SIDE_FILES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def size_bytes(path: Path) -> int:
    """Bytes on disk, with what SQLite keeps beside the file."""
    return sum(part.stat().st_size for part in files_of(path))


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


@contextmanager
def _transaction(connection: apsw.Connection, begin: str) -> Iterator[None]:
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _configure(connection: apsw.Connection, busy_seconds: float) -> None:
    connection.set_busy_timeout(int(busy_seconds * 1000))
    connection.pragma("synchronous", "FULL")
    connection.pragma("secure_delete", True)


def _check(connection: apsw.Connection, path: Path) -> None:
    if connection.pragma("application_id") != APPLICATION_ID:
        raise StoreDamagedError(f"{path} is no file of Overstory, or was never finished: restore it from a copy.")
    found = connection.pragma("user_version")
    if found > VERSION:
        raise StoreVersionError(str(path), found, VERSION)


def _check_empty(connection: apsw.Connection, path: Path) -> None:
    if connection.pragma("application_id") != APPLICATION_ID and connection.pragma("schema_version") > 0:
        raise StoreDamagedError(f"{path} is a database of another program: move it away.")


def _use_log(connection: apsw.Connection, busy_seconds: float) -> None:
    """Switch to the write-ahead log; SQLite does not wait by itself while another process does the same."""
    deadline = time.monotonic() + busy_seconds
    while True:
        try:
            connection.pragma("journal_mode", "WAL")
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


def _fill(connection: apsw.Connection, statements: Sequence[str]) -> None:
    if connection.pragma("user_version") > 0:
        return
    for statement in statements:
        connection.execute(statement)
    connection.pragma("application_id", APPLICATION_ID)
    connection.pragma("user_version", VERSION)
