"""What the import checker can't see: who reaches flows, tasks and retrieval through `overstory.layout`."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAY_TAKE = {
    "flows": {"tasks"},
    "overstory/api.py": {"flows", "tasks"},
    "overstory/datasets.py": {"retrieval", "tasks"},
    "overstory/recalling.py": {"retrieval"},
    "overstory/serve": {"retrieval"},
}
SOURCES = [p for top in ("overstory", "flows", "tasks", "retrieval") for p in sorted((ROOT / top).rglob("*.py"))]


def taken_from_layout(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module == "overstory.layout"]
    return {alias.name for node in found for alias in node.names}


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_packages_are_reached_from_above_only(path: Path):
    name = path.relative_to(ROOT).as_posix()

    allowed = set().union(*(packages for place, packages in MAY_TAKE.items() if name.startswith(place)))

    assert taken_from_layout(path) <= allowed


@pytest.mark.parametrize("place", MAY_TAKE)
def test_what_is_allowed_is_needed(place: str):
    below = [path for path in SOURCES if path.relative_to(ROOT).as_posix().startswith(place)]

    assert set().union(*map(taken_from_layout, below)) == MAY_TAKE[place]


def test_only_flows_and_tasks_know_prefect():
    knowing = {p for p in SOURCES if "import prefect" in p.read_text() or "from prefect" in p.read_text()}

    assert {p.relative_to(ROOT).parts[0] for p in knowing} <= {"flows", "tasks"}
