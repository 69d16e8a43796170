import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from overstory.cli.app import app

Run = Callable[..., Result]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place of its own, vectors by hashing."""
    for variable in ("LLM_MODEL", "OVERSTORY_STORE_URL", "PREFECT_API_URL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OVERSTORY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("EMBEDDING_MODEL", "hashing")
    return tmp_path / "home"


@pytest.fixture
def run(home: Path) -> Run:
    def call(*arguments: str, stdin: str | bytes | None = None) -> Result:
        return CliRunner().invoke(app, [*arguments], input=stdin, prog_name="overstory")

    return call


@pytest.fixture
def run_json(run: Run) -> Callable[..., dict[str, Any]]:
    def call(*arguments: str) -> dict[str, Any]:
        result = run(*arguments, "--json")
        [line] = result.stdout.splitlines()
        form: dict[str, Any] = json.loads(line)
        assert form["command"] == arguments[0]
        return form

    return call


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Five notes that speak of each other."""
    folder = tmp_path / "notes"
    folder.mkdir()
    texts = [
        "Anna Hofer leads the Northstar project in Trieste.",
        "Luis Ortega designs the battery of Northstar.",
        "Anna Hofer moved the launch of Northstar from 3 May to 9 June.",
        "Luis Ortega tested the battery of Northstar in Trieste.",
        "Anna Hofer and Luis Ortega plan the launch of Northstar.",
    ]
    for number, text in enumerate(texts, 1):
        (folder / f"{number}.md").write_text(f"{text}\n", encoding="utf-8")
    return folder


@pytest.fixture
def indexed(run: Run, notes: Path) -> str:
    """A dataset with an index."""
    assert run("remember", str(notes), "--dataset", "north").exit_code == 0
    assert run("improve", "--dataset", "north", "--index").exit_code == 0
    return "north"
