"""Conversations on disk: replaced as a whole, and erased with all that is left of them."""

import os
import subprocess
import sys
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from overstory import sessions
from overstory.errors import ConfigurationError, StoreUnavailableError
from overstory.serve.keys import KeyRing
from overstory.sessions import Turn

USER, DATASET = UUID(int=1), UUID(int=2)
TURN = Turn(question="Who leads?", answer="Anna Hofer.", dataset_ids=(DATASET,))
_KILLED = """
import os, sys
from pathlib import Path
from uuid import UUID
from overstory import sessions
from overstory.sessions import Turn
os.replace = lambda *_: os._exit(9)
turn = Turn(question="Who?", answer="The zorblaxite.", dataset_ids=(UUID(int=2),))
sessions.add_turn(Path(sys.argv[1]), UUID(int=1), "talk", turn)
"""


def files_of(home: Path) -> list[Path]:
    return sorted((home / "sessions").iterdir())


def leave_a_part(home: Path) -> None:
    """As a writer does that is killed before its last step."""
    done = subprocess.run([sys.executable, "-c", _KILLED, str(home)], check=False)
    assert done.returncode == 9
    assert "zorblaxite" in "".join(path.read_text() for path in files_of(home))


def test_what_a_killed_writer_left_is_erased_with_the_dataset(tmp_path: Path) -> None:
    other = Turn(question="When?", answer="In June.", dataset_ids=(uuid4(),))
    sessions.add_turn(tmp_path, USER, "other", other)
    leave_a_part(tmp_path)

    sessions.erase_dataset(tmp_path, DATASET)

    assert sessions.read_session(tmp_path, USER, "other") == (other,)
    assert len(files_of(tmp_path)) == 1


def test_what_a_killed_writer_left_is_erased_with_the_session(tmp_path: Path) -> None:
    sessions.add_turn(tmp_path, USER, "talk", TURN)
    leave_a_part(tmp_path)

    assert sessions.erase_session(tmp_path, USER, "talk")

    assert files_of(tmp_path) == []


def test_a_turn_that_is_written_while_others_erase_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, erased = os.replace, list[object]()

    def erases_first(source: str, target: Path) -> None:
        if not erased:
            erased.append(sessions.erase_dataset(tmp_path, uuid4()))
        whole(source, target)

    monkeypatch.setattr(os, "replace", erases_first)

    sessions.add_turn(tmp_path, USER, "talk", TURN)

    assert sessions.read_session(tmp_path, USER, "talk") == (TURN,)
    assert len(files_of(tmp_path)) == 1


def test_a_disk_that_is_full_leaves_the_old_file_and_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    ring = KeyRing(tmp_path / "serve" / "keys.json")
    key = ring.add("ann")
    sessions.add_turn(tmp_path, USER, "talk", TURN)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreUnavailableError):
            sessions.add_turn(tmp_path, USER, "talk", TURN)
        with pytest.raises(ConfigurationError):
            ring.add("bob")

    assert sessions.read_session(tmp_path, USER, "talk") == (TURN,)
    assert ring.user_of(key) == "ann"
    assert len(files_of(tmp_path)) == len(list((tmp_path / "serve").iterdir())) == 1
