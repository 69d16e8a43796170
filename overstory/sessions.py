"""The short memory of a conversation: one small file a session below `OVERSTORY_HOME/sessions`.

It lies on this machine, whatever the store, and holds the last turns only. Forgetting a dataset, or a document of it,
erases every turn that was answered from it.
"""

import contextlib
import json
import os
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from overstory import ids
from overstory.errors import StoreDamagedError, StoreUnavailableError

KEPT_TURNS = 8
MAX_ANSWER_CHARACTERS = 2_000
_FOLDER = "sessions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One question of a conversation with its answer."""

    question: str
    answer: str
    dataset_ids: tuple[UUID, ...] = ()
    """Those that it was answered from."""


def read_session(home: Path, user_id: UUID, session_id: str) -> tuple[Turn, ...]:
    """The last turns, oldest first; none for a session that is new.

    Raises:
        StoreDamagedError: the file can't be what was written.
    """
    return _read(_path(home, user_id, session_id))


def add_turn(home: Path, user_id: UUID, session_id: str, turn: Turn) -> None:
    """Add a turn; the oldest beyond `KEPT_TURNS` go."""
    path = _path(home, user_id, session_id)
    _write(path, [*_read(path), turn][-KEPT_TURNS:])


def erase_session(home: Path, user_id: UUID, session_id: str) -> bool:
    """Erase a conversation; whether there was one."""
    path = _path(home, user_id, session_id)
    existed = path.exists()
    path.unlink(missing_ok=True)
    return existed


def erase_dataset(home: Path, dataset_id: UUID) -> int:
    """Erase every turn, of every session, that was answered from a dataset; their number.

    A session that can't be read is erased whole: nobody could say that it holds none.
    """
    erased = 0
    for path in sorted((home.expanduser() / _FOLDER).glob("*.json")):
        try:
            turns = _read(path)
        except StoreDamagedError:
            path.unlink(missing_ok=True)
            continue
        kept = [turn for turn in turns if dataset_id not in turn.dataset_ids]
        if len(kept) < len(turns):
            _write(path, kept)
            erased += len(turns) - len(kept)
    return erased


def _path(home: Path, user_id: UUID, session_id: str) -> Path:
    return home / _FOLDER / f"{ids.make_id('session', user_id, session_id)}.json"


def _read(path: Path) -> tuple[Turn, ...]:
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return tuple(
            Turn(question=q, answer=a, dataset_ids=tuple(UUID(d) for d in datasets)) for q, a, datasets in rows
        )
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise StoreUnavailableError(f"{path}: {error}") from error
    except (ValueError, TypeError) as error:
        raise StoreDamagedError(f"{path} holds no conversation: erase the session to begin a new one.") from error


def _write(path: Path, turns: Sequence[Turn]) -> None:
    """Replace the file at once; an empty conversation has none."""
    if not turns:
        path.unlink(missing_ok=True)
        return
    rows = [(t.question, t.answer[:MAX_ANSWER_CHARACTERS], _texts(t.dataset_ids)) for t in turns]
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(rows, file, ensure_ascii=False)
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
            raise
    except OSError as error:
        raise StoreUnavailableError(f"{path}: {error}") from error


def _texts(dataset_ids: Collection[UUID]) -> list[str]:
    return [str(dataset_id) for dataset_id in dataset_ids]
