"""The pinned versions that `make` installs."""

import re
import tomllib
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
