"""Making what was deleted unreadable in a dataset's file.

SQLite overwrites deleted rows by itself (`secure_delete`), but not everything: full-text segments keep the words
of deleted rows until they are merged, pages that were re-arranged keep copies, the log keeps older pages.
"""

import apsw

from overstory.stores.embedded.connections import Database, number
from overstory.stores.embedded.schema import TABLES
from overstory.stores.embedded.writing import forget_changes


def erase(database: Database) -> None:
    """Merge the words, write the file anew, empty the log; nothing happens when nothing was deleted since."""
    with database.read() as connection:
        deleted, erased = _state(connection, "deleted"), _state(connection, "erased")
    if deleted == erased:
        return
    with database.write() as connection:
        for table in TABLES:
            if table.text_fields:
                connection.execute(f"INSERT INTO {table.name}_text({table.name}_text) VALUES ('optimize')")
        forget_changes(connection, number(connection, "SELECT ifnull(max(seq), 0) FROM change"))
    rewrite(database)
    with database.write() as connection:
        connection.execute("UPDATE state SET value = max(value, ?) WHERE name = 'erased'", (deleted,))


def rewrite(database: Database) -> None:
    """Write the file anew and empty the log: nothing is left but what is stored."""
    with database.maintain() as connection:
        connection.execute("VACUUM")
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


def _state(connection: apsw.Connection, name: str) -> int:
    return number(connection, "SELECT value FROM state WHERE name = ?", (name,))
