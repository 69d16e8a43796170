import ast
import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.docs.blocks import ROOT


@pytest.fixture(autouse=True)
def temporary_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVERSTORY_HOME", str(tmp_path))
    monkeypatch.setenv("EMBEDDING_MODEL", "hashing")


def run(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")
    return capsys.readouterr().out


def test_building_shows_counts_and_areas_that_live_on(capsys: pytest.CaptureFixture[str]) -> None:
    shown = run("building_the_index.py", capsys)

    lines = shown.splitlines()
    assert lines[0].startswith("six facts:  6 TextSummary, ")
    assert lines[1].startswith("one more:   7 TextSummary, ")
    assert all(line.endswith(" 1 root") for line in lines[:2])
    assert int(lines[2].rpartition(" ")[2]) >= 2, "a bucket and the root keep their ids"
    assert "This dataset is about:" in shown


def test_building_again_starts_clean(capsys: pytest.CaptureFixture[str]) -> None:
    first = run("building_the_index.py", capsys)
    second = run("building_the_index.py", capsys)

    assert first.splitlines()[:2] == second.splitlines()[:2]


def test_reading_adds_the_map_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    shown = run("reading_the_index.py", capsys)

    local, _, rest = shown.partition("--- with the index ---\n")
    local = local.removeprefix("--- without the index ---\n").rstrip()
    whole = rest.rpartition("\n\nthe map adds")[0].rstrip()
    before, _, after = whole.partition("World summary:")
    nodes = after.index("\n\nNodes:\n") + 2
    assert "World summary:" not in local
    assert "Relevant areas:" in after[:nodes]
    assert before + after[nodes:] == local


def cells_of(name: str) -> list[str]:
    notebook = json.loads((ROOT / "examples" / name).read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


async def test_the_notebook_shows_the_graph_and_draws_the_tree(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    scope: dict[str, Any] = {}

    for cell in cells_of("graph_in_networkx.ipynb"):
        code = compile(cell, "graph_in_networkx.ipynb", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        if (waiting := eval(code, scope)) is not None:
            await waiting

    shown = capsys.readouterr().out
    assert "example-notebook at generation 1" in shown
    assert "the same graph: True" in shown
    assert [figure.get_axes()[0].get_title() for figure in map(scope["plt"].figure, (1, 2))] == [
        "48 summaries under one root",
        "",
    ]
    scope["plt"].close("all")
