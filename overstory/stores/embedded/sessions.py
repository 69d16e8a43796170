"""Conversations in a file of their own, `sessions.db`, which is made when the first turn is kept."""

from pathlib import Path
from uuid import UUID

from overstory.models import Turn
from overstory.stores import sessions
from overstory.stores.embedded import connections, erasing
from overstory.stores.embedded.connections import Database, fetch
from overstory.stores.embedded.faults import translated

_STATEMENTS = (
    "CREATE TABLE turn(number INTEGER PRIMARY KEY AUTOINCREMENT, session BLOB NOT NULL, body TEXT NOT NULL)",
    "CREATE INDEX turn_by_session ON turn(session, number)",
    "CREATE TABLE turn_dataset(dataset_id BLOB, number INTEGER, PRIMARY KEY(dataset_id, number)) WITHOUT ROWID",
)
_OF_OTHERS = "SELECT body FROM turn WHERE number NOT IN (SELECT number FROM turn_dataset WHERE dataset_id = ?)"
_OF_SESSION = "SELECT number FROM turn WHERE session = ?"
_OF_DATASET = "SELECT number FROM turn_dataset WHERE dataset_id = ?"


class SessionFile:
    """What was said, turn by turn; its calls wait for the disk."""

    def __init__(self, path: Path, busy_seconds: float) -> None:
        self.path, self._busy_seconds = path, busy_seconds
        self._database = Database(path, busy_seconds=busy_seconds)

    def read(self, key: UUID) -> tuple[Turn, ...]:
        if not self.path.exists():
            return ()
        with translated(self.path), self._database.read() as connection:
            found = fetch(connection, "SELECT body FROM turn WHERE session = ? ORDER BY number", (key.bytes,))
        return tuple(sessions.load_turn(body, str(self.path)) for (body,) in found)

    def texts_of_others(self, dataset_id: UUID) -> list[str]:
        """What is kept of conversations that were answered without a dataset, and what the file says of itself."""
        if not self.path.exists():
            return []
        with translated(self.path), self._database.read() as connection:
            bodies = [body for (body,) in fetch(connection, _OF_OTHERS, (dataset_id.bytes,))]
            return [*connections.schema_of(connection), *bodies]

    def add(self, key: UUID, turn: Turn) -> None:
        with translated(self.path):
            connections.create(self.path, _STATEMENTS, busy_seconds=self._busy_seconds)
            with self._database.write() as connection:
                values = (key.bytes, sessions.dump_turn(turn))
                sql = "INSERT INTO turn(session, body) VALUES (?, ?) RETURNING number"
                ((number,),) = fetch(connection, sql, values)
                connection.executemany(
                    "INSERT OR IGNORE INTO turn_dataset(dataset_id, number) VALUES (?, ?)",
                    [(dataset_id.bytes, number) for dataset_id in turn.dataset_ids],
                )
            self._erase(f"{_OF_SESSION} ORDER BY number DESC LIMIT -1 OFFSET {sessions.KEPT_TURNS}", key)

    def erase(self, key: UUID) -> bool:
        """Erase a conversation; whether there was one."""
        return self._erase_for_good(_OF_SESSION, key)

    def erase_turns(self, dataset_id: UUID) -> None:
        """Erase what was answered from a dataset."""
        self._erase_for_good(_OF_DATASET, dataset_id)

    def close(self) -> None:
        self._database.close()

    def _erase_for_good(self, which: str, key: UUID) -> bool:
        """Erase turns and every byte of them, of earlier ones too whose erasing stopped; whether there were any."""
        if not self.path.exists():
            return False
        with translated(self.path):
            erased = self._erase(which, key)
            erasing.rewrite(self._database)
        return erased

    def _erase(self, which: str, key: UUID) -> bool:
        with self._database.write() as connection:
            numbers = fetch(connection, which, (key.bytes,))
            for table in ("turn", "turn_dataset"):
                connection.executemany(f"DELETE FROM {table} WHERE number = ?", numbers)
        return bool(numbers)
