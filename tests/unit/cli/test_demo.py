import json
import re
from pathlib import Path
from typing import Any

import pytest

from overstory.cli.terminal import plain
from overstory.demo import read_notes


def test_the_notes_are_dated_and_in_order() -> None:
    notes = read_notes()

    assert len(notes) == 48
    assert [note.occurred_at for note in notes] == sorted(note.occurred_at for note in notes)
    assert all(note.title and note.source.startswith(note.occurred_at) for note in notes)
    assert all(2 <= len(re.findall(r"[.!?](?:\s|$)", note.text)) <= 6 for note in notes)


def test_the_demo_shows_what_the_map_adds(run: Any) -> None:
    shown = run("demo")

    assert shown.exit_code == 0
    assert "48 documents (48 added)" in shown.stdout
    assert "root · " in shown.stdout
    without, whole = (int(number) for number in re.findall(r"map: (\d+) of 48 documents", shown.stdout))
    assert without < whole
    assert "Rules wrote this map" in shown.stdout
    assert "Next: overstory recall " in shown.stdout


@pytest.mark.parametrize("columns", [80, 120])
def test_lines_of_the_demo_fit_the_terminal(run: Any, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("FORCE_COLOR", "1")

    shown = plain(run("demo").stdout)

    to_be_copied = [line for line in shown.splitlines() if " overstory " in line]
    assert all(len(line) <= columns for line in shown.splitlines() if line not in to_be_copied)


def test_the_demo_again_has_nothing_to_do(run_json: Any) -> None:
    run_json("demo")

    again = run_json("demo")

    assert {document["status"] for document in again["remember"]["documents"]} == {"unchanged"}
    assert again["improve"]["index"]["status"] == "unchanged"


def test_the_demo_begins_anew_with_another_embedder(run_json: Any, monkeypatch: Any) -> None:
    run_json("demo")
    monkeypatch.setenv("EMBEDDING_DIMENSIONS", "256")

    again = run_json("demo")

    assert {document["status"] for document in again["remember"]["documents"]} == {"added"}


def test_the_demo_reads_a_folder_of_ones_own(run_json: Any, notes: Path) -> None:
    shown = run_json("demo", str(notes), "--question", "When is the launch of Northstar?")

    assert shown["remember"]["dataset"] == "demo-notes"
    assert shown["with"]["query"] == "When is the launch of Northstar?"
    assert json.dumps(shown)


def test_an_empty_folder_is_no_failure_without_a_reason(run: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    result = run("demo", str(tmp_path / "empty"))

    assert result.exit_code in {1, 2, 3}
    assert "no files in this folder" in result.stderr
    assert "Traceback" not in result.output
