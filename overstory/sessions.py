"""The short memory of a conversation: one small file a session below `OVERSTORY_HOME/sessions`.

It lies on this machine, whatever the store, and holds the last turns only. Forgetting a dataset, or a document of it,
erases every turn that was answered from it.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from overstory import ids, replacing
from overstory.errors import StoreDamagedError, StoreUnavailableError

KEPT_TURNS = 8
MAX_ANSWER_CHARACTERS = 2_000
_FOLDER = "sessions"
_TRIES = 3


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
    replacing.remove_leftovers(path.parent, path.stem)
    return existed


def erase_dataset(home: Path, dataset_id: UUID) -> int:
    """Erase every turn, of every session, that was answered from a dataset; their number.

    A session that can't be read is erased whole, and so is what a killed writer left of one: nobody could say that
    it holds none.
    """
    erased, folder = 0, home.expanduser() / _FOLDER
    replacing.remove_leftovers(folder)
    for path in sorted(folder.glob("*.json")):
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
    return home.expanduser() / _FOLDER / f"{ids.make_id('session', user_id, session_id)}.json"


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
    content = json.dumps(rows, ensure_ascii=False).encode()
    for tries_left in reversed(range(_TRIES)):
        try:
            replacing.replace_file(path, content)
            return
        except FileNotFoundError as error:  # somebody erased meanwhile
            if not tries_left:
                raise StoreUnavailableError(f"{path}: {error}") from error
        except OSError as error:
            raise StoreUnavailableError(f"{path}: {error}") from error


def _texts(dataset_ids: Collection[UUID]) -> list[str]:
    return [str(dataset_id) for dataset_id in dataset_ids]
