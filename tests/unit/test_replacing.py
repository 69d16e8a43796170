"""Small files that are replaced at once."""

import os
from pathlib import Path

import pytest

from overstory.errors import ConfigurationError
from overstory.serve.keys import KeyRing


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
