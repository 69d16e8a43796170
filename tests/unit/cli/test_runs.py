"""Work in the background, and how a run of it is shown."""

from datetime import UTC, datetime
from typing import Any

import pytest
import typer
from rich.console import Console

from overstory.cli.overviews import _reasons
from overstory.cli.rendering import improved, run_stands
from overstory.cli.runs import _finish
from overstory.results import ImproveResult, IndexResult, IndexStatus, RunStatus

URL = "http://127.0.0.1:4200/runs/flow-run/7"


def standing(state: str, *, ended: bool = True, message: str = "") -> RunStatus:
    began = datetime(2026, 5, 3, 12, tzinfo=UTC)
    return RunStatus(
        run_id="7",
        name="improve-north",
        state=state,
        message=message,
        ended=ended,
        started_at=began,
        ended_at=None,
        run_url=URL,
    )


def shown(print_it: Any, result: Any) -> str:
    console = Console(width=200)
    with console.capture() as printed:
        print_it(result, console)
    return printed.get()


def test_without_a_server_the_background_finishes_what_is_incomplete_and_says_what_is_skipped(run: Any, notes: Any):
    run("remember", str(notes), "--dataset", "north")

    result = run("improve", "--dataset", "north", "--index", "--background")

    assert result.exit_code == 3
    assert "the index was skipped" in result.stderr


def test_without_a_server_a_run_cannot_be_looked_up(run: Any):
    result = run("run", "7")

    assert result.exit_code == 1
    assert "PREFECT_API_URL" in result.stderr


def test_what_was_started_says_where_and_how_to_ask_for_it():
    started = IndexResult(status=IndexStatus.STARTED, run_id="7", run_url=URL)

    text = shown(improved, ImproveResult(dataset="north", index=started))

    assert URL in text
    assert "overstory run 7" in text


def test_a_run_is_shown_with_its_state_message_and_page():
    text = shown(run_stands, standing("Failed", message="The dataset 'north' is being written"))

    assert text.startswith("improve-north is Failed: The dataset 'north' is being written\n")
    assert "started 2026-05-03 12:00:00 UTC" in text
    assert URL in text


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (standing("Running", ended=False), 0),
        (standing("Completed"), 0),
        (standing("CompletedWithErrors"), 3),
        (standing("Failed"), 1),
        (standing("Cancelled"), 1),
    ],
    ids=lambda value: getattr(value, "state", value),
)
def test_the_exit_code_is_that_of_the_work(status: RunStatus, code: int):
    with pytest.raises(typer.Exit) as left:
        _finish(status)

    assert left.value.exit_code == code


def test_a_build_with_degraded_texts_says_where_the_reasons_are():
    built = IndexResult(status=IndexStatus.PUBLISHED, generation=1, buckets=4, written=5, degraded=2)

    text = shown(improved, ImproveResult(dataset="north", index=built))

    assert "Next: overstory status --dataset north" in text


def test_reasons_of_degraded_texts_are_told_the_most_frequent_first():
    reasons = {"no JSON object in it": 5, "refused": 2, "empty": 1, "cut off": 1}

    lines = dict(_reasons("degraded", reasons))

    assert lines == {"why degraded": "5 × no JSON object in it; 2 × refused; 1 × empty; 1 more reason"}
