"""Small files that are replaced at once."""

import os
import stat
from pathlib import Path

import pytest

from overstory.errors import ConfigurationError
from overstory.indexing.exporting import written_whole
from overstory.replacing import replace_file
from overstory.serve.keys import KeyRing


class Disk:
    """What was brought to the disk: each time what is, and which names its folder had then."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.synced: list[tuple[int, list[str]]] = []
        self._real = os.fsync
        monkeypatch.setattr(os, "fsync", self._fsync)

    def _fsync(self, handle: int) -> None:
        names = os.listdir(handle) if stat.S_ISDIR(os.fstat(handle).st_mode) else []
        self.synced.append((os.fstat(handle).st_ino, sorted(names)))
        self._real(handle)

    def has(self, path: Path) -> bool:
        """Whether a file's content, or a folder with the names that it has now, was brought there."""
        return (path.stat().st_ino, sorted(os.listdir(path)) if path.is_dir() else []) in self.synced


def test_a_disk_that_is_full_leaves_the_old_file_and_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    ring = KeyRing(tmp_path / "keys.json")
    key = ring.add("ann")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(ConfigurationError):
            ring.add("bob")

    assert ring.user_of(key) == "ann"
    assert [path.name for path in tmp_path.iterdir()] == ["keys.json"]


async def test_what_was_put_in_its_place_is_there_after_the_power_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)

    replace_file(tmp_path / "keys.json", b"{}")
    async with written_whole(tmp_path / "exports" / "notes") as building:
        building.mkdir(parents=True)
        (building / "rows").write_text("all")
    async with written_whole(tmp_path / "graphs" / "notes.jsonl") as building:
        building.parent.mkdir()
        building.write_text("all")

    for place in ("exports", "exports/notes", "exports/notes/rows", "graphs", "graphs/notes.jsonl", "keys.json"):
        assert disk.has(tmp_path / place), place
    assert any("keys.json" in names for _, names in disk.synced)
