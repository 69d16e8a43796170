"""Conversations in a file of their own, `sessions.db`, which is made when the first turn is kept."""

from pathlib import Path
from uuid import UUID

import apsw

from overstory.models import Turn
from overstory.stores import sessions
from overstory.stores.embedded import connections, erasing
from overstory.stores.embedded.connections import Database, fetch
from overstory.stores.embedded.faults import translated

_STATEMENTS = (
    "CREATE TABLE session(key BLOB PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE session_dataset(dataset_id BLOB, key BLOB, PRIMARY KEY(dataset_id, key)) WITHOUT ROWID",
)
_ANSWERED_FROM = "SELECT key, body FROM session JOIN session_dataset USING (key) WHERE dataset_id = ?"


class SessionFile:
    """What was said, by session; its calls wait for the disk."""

    def __init__(self, path: Path, busy_seconds: float) -> None:
        self._path, self._busy_seconds = path, busy_seconds
        self._database = Database(path, busy_seconds=busy_seconds)

    def read(self, key: UUID) -> tuple[Turn, ...]:
        if not self._path.exists():
            return ()
        with translated(self._path), self._database.read() as connection:
            return self._turns(connection, key)

    def add(self, key: UUID, turn: Turn) -> None:
        with translated(self._path):
            connections.create(self._path, _STATEMENTS, busy_seconds=self._busy_seconds)
            with self._database.write() as connection:
                self._replace(connection, key, sessions.extended(self._turns(connection, key), turn))

    def erase(self, key: UUID) -> bool:
        """Erase a conversation, readable or not; whether there was one."""
        if not self._path.exists():
            return False
        with translated(self._path):
            with self._database.write() as connection:
                existed = bool(fetch(connection, "SELECT 1 FROM session WHERE key = ?", (key.bytes,)))
                self._replace(connection, key, ())
            erasing.rewrite(self._database)
        return existed

    def erase_turns(self, dataset_id: UUID) -> int:
        """Erase what was answered from a dataset; the number of turns."""
        if not self._path.exists():
            return 0
        erased = 0
        with translated(self._path):
            with self._database.write() as connection:
                found = fetch(connection, _ANSWERED_FROM, (dataset_id.bytes,))
                for key, body in found:
                    kept, lost = sessions.load_without(body, dataset_id)
                    self._replace(connection, UUID(bytes=key), kept)
                    erased += lost
            if found:
                erasing.rewrite(self._database)
        return erased

    def close(self) -> None:
        self._database.close()

    def _turns(self, connection: apsw.Connection, key: UUID) -> tuple[Turn, ...]:
        found = fetch(connection, "SELECT body FROM session WHERE key = ?", (key.bytes,))
        return sessions.load(found[0][0], str(self._path)) if found else ()

    def _replace(self, connection: apsw.Connection, key: UUID, turns: tuple[Turn, ...]) -> None:
        for table in ("session", "session_dataset"):
            connection.execute(f"DELETE FROM {table} WHERE key = ?", (key.bytes,))
        if turns:
            connection.execute("INSERT INTO session(key, body) VALUES (?, ?)", (key.bytes, sessions.dump(turns)))
        connection.executemany(
            "INSERT INTO session_dataset(dataset_id, key) VALUES (?, ?)",
            [(dataset_id.bytes, key.bytes) for dataset_id in sessions.datasets_of(turns)],
        )
