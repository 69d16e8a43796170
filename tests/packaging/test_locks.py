"""The pinned versions that `make` installs."""

import ast
import re
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
CORE = PROJECT["project"]["dependencies"]
DEVELOP = [one for name, some in EXTRAS.items() if name != "all" for one in some]
GROUPS = [one for some in PROJECT["dependency-groups"].values() for one in some]


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[^A-Za-z0-9._-]", one)[0].lower().replace("_", "-") for one in requirements}


def pinned(lock: str) -> set[str]:
    lines = (ROOT / "requirements" / lock).read_text(encoding="utf-8").splitlines()
    return names([line for line in lines if "==" in line and not line.startswith((" ", "#"))])


@pytest.mark.parametrize(
    ("lock", "wanted"),
    [
        ("demo.txt", CORE + EXTRAS["local"]),
        ("develop.txt", CORE + DEVELOP + GROUPS),
        ("docs.txt", PROJECT["dependency-groups"]["docs"]),
    ],
)
def test_every_dependency_is_pinned(lock: str, wanted: list[str]) -> None:
    missing = names(wanted) - pinned(lock)

    assert not missing, "run `make lock`"


@pytest.mark.parametrize("lock", ["demo.txt", "develop.txt", "docs.txt"])
def test_locks_name_no_address(lock: str) -> None:
    text = (ROOT / "requirements" / lock).read_text(encoding="utf-8")

    assert not [word for word in text.split() if urlsplit(word).netloc or word.startswith("-")]


@pytest.mark.parametrize(
    ("folders", "declared"),
    [
        (("overstory", "flows", "tasks", "retrieval"), CORE + DEVELOP),
        (("tests", "benchmarks", "examples", "deployments", "docs"), CORE + DEVELOP + GROUPS),
    ],
    ids=["product", "around it"],
)
def test_what_is_imported_is_declared(folders: tuple[str, ...], declared: list[str]) -> None:
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    found = {one for path in files for one in imported(path)} & providers().keys()

    undeclared = {one for one in found if not providers()[one] & (names(declared) | pinned("real-model.txt"))}

    assert "httpx" in found
    assert undeclared == set()


def imported(path: Path) -> set[str]:
    """The top-level packages that a file imports, anywhere in it."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    taken = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 0}
    return {name.partition(".")[0] for name in plain | taken}


@cache
def providers() -> dict[str, set[str]]:
    """The distributions that bring each package that is installed; our own packages are nobody's."""
    ours = {path.name for path in ROOT.iterdir()}
    installed = packages_distributions().items()
    return {package: names(list(some)) for package, some in installed if package not in ours}
