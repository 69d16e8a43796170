"""Files and folders that appear whole."""

from pathlib import Path

import pytest

from overstory.errors import UsageError
from overstory.indexing.exporting import written_whole


async def write(path: Path) -> None:
    async with written_whole(path) as building:
        building.mkdir(parents=True)
        (building / "rows").write_text("all")


@pytest.mark.parametrize("place", ["out", "out/.", "deep/down/out", "empty", "../beside"])
async def test_a_folder_appears_whole_at_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    (tmp_path / "here" / "empty").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")

    await write(Path(place))

    assert (Path(place) / "rows").read_text() == "all"
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize("place", [".", "", "../here", "../link", ".."])
async def test_a_place_that_cannot_be_taken_is_a_fault_of_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")

    with pytest.raises(UsageError, match="choose another place"):
        await write(Path(place))

    assert Path("rows").exists() is False
    assert not list(tmp_path.rglob("*.part"))
