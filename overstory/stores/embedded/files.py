"""Datasets' files that are open: the least recently used is closed when there are too many."""

import os
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import apsw

from overstory.errors import DatasetNotFoundError
from overstory.stores.embedded.connections import Database
from overstory.stores.embedded.faults import translated
from overstory.stores.embedded.matrix import Matrices
from overstory.stores.embedded.waves import ReadingThread


class OpenFiles:
    """Lends out open files and their matrices; safe to use from any thread."""

    def __init__(self, limit: int, busy_seconds: float) -> None:
        self._limit, self._busy_seconds = limit, busy_seconds
        self._files: OrderedDict[Path, Database] = OrderedDict()
        self.thread = ReadingThread()
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._users: Counter[Path] = Counter()
        self._lock = threading.RLock()
        self.matrices = Matrices()

    @contextmanager
    def use(self, path: Path) -> Iterator[Database]:
        """The open file; errors leave the block as store errors.

        Raises:
            DatasetNotFoundError: the file is gone, the dataset was dropped.
        """
        if self._pid != os.getpid():
            self._begin()
        with translated(path):
            database = self._lend(path)
            try:
                yield database
            finally:
                self._give_back(path)

    @contextmanager
    def read(self, path: Path) -> Iterator[apsw.Connection]:
        """A transaction of the open file that only reads; errors as `use`."""
        with self.use(path) as database, database.read() as connection:
            yield connection

    def forget(self, path: Path) -> None:
        """Close a file that is about to be removed, and drop what is known of it."""
        with self._lock:
            database = self._files.pop(path, None)
            self.matrices.forget(path)
        if database is not None:
            database.close()

    def close(self) -> None:
        with ExitStack() as closers:  # each is closed, whatever of them fails
            for path in list(self._files):
                closers.callback(self.forget, path)

    def _lend(self, path: Path) -> Database:
        with self._lock:
            database = self._files.get(path)
            if database is not None and not database.is_current():
                self.forget(path)
                database = None
            if database is None:
                if not path.exists():
                    raise DatasetNotFoundError(path.stem)
                database = self._files[path] = Database(path, busy_seconds=self._busy_seconds)
            self._files.move_to_end(path)
            self._users[path] += 1
            self._close_beyond_limit()
            return database

    def _give_back(self, path: Path) -> None:
        with self._lock:
            self._users[path] -= 1
            if not self._users[path]:
                del self._users[path]
            self._close_beyond_limit()

    def _close_beyond_limit(self) -> None:
        idle = [path for path in self._files if path not in self._users]
        for path in idle[: max(0, len(self._files) - self._limit)]:
            self.forget(path)
