"""A collection of odd files (OVERSTORY_TEST_DATA): each ends as its manifest says, whatever the others do."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from overstory.indexing.chunking import split
from overstory.indexing.reading import read
from overstory.indexing.sources import ReadOutcome, SkippedSource, SourceDocument
from tests.data_folder import DATA, REASON

ODD = DATA / "odd"
MANIFEST = ODD / "manifest.jsonl"
pytestmark = pytest.mark.skipif(not MANIFEST.exists(), reason=f"{REASON} odd/manifest.jsonl")
CASES: list[dict[str, Any]] = (
    [json.loads(line) for line in MANIFEST.read_text("utf-8").splitlines()] if MANIFEST.exists() else []
)


async def only(outcomes: AsyncIterator[ReadOutcome]) -> ReadOutcome:
    [outcome] = [outcome async for outcome in outcomes]
    return outcome


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"])
async def test_an_odd_file_ends_as_its_manifest_says(case: dict[str, Any]) -> None:
    outcome = await only(read(ODD / case["file"]))

    if isinstance(outcome, SkippedSource):
        assert case["expect"] != "text", outcome.reason
        assert outcome.reason
    else:
        assert case["expect"] in ("text", "either")
        assert all(wanted in outcome.text for wanted in case["must_contain"])
        assert not any(unwanted in outcome.text for unwanted in case.get("must_not_contain", ()))
        assert "\x00" not in outcome.text
        assert outcome.text.encode()
        assert "".join(split(outcome.text, 250)) == outcome.text


async def test_the_whole_folder_is_read_with_an_outcome_for_each_file() -> None:
    visible = [path for path in ODD.rglob("*") if path.is_file() and not path.name.startswith(".")]

    outcomes = [outcome async for outcome in read(ODD)]

    assert len(outcomes) == len(visible)
    assert len({outcome.source for outcome in outcomes}) == len(visible)


async def test_awkward_file_names_are_read(tmp_path: Path) -> None:
    shapes = json.loads((ODD / "shapes/names.json").read_text("utf-8"))
    for name in shapes["names"]:
        (tmp_path / name).write_text(shapes["content"], "utf-8")

    outcomes = [outcome async for outcome in read(tmp_path)]

    visible = [name for name in shapes["names"] if not name.startswith(".")]
    assert {outcome.source for outcome in outcomes} == {f"{tmp_path.as_posix()}/{name}" for name in visible}
    assert all(isinstance(outcome, SourceDocument) and "built in 1874" in outcome.text for outcome in outcomes)
