import io

import pytest
from rich.console import Console
from rich.progress import Progress, TextColumn

from overstory.cli.watching import SECONDS_BETWEEN_LINES, Bars, Lines, shown_progress
from overstory.progress import watcher


def progress() -> Progress:
    return Progress(TextColumn("{task.description}"), console=Console(file=io.StringIO()), auto_refresh=False)


def test_a_stage_is_one_bar_with_its_counts() -> None:
    shown = progress()
    bars = Bars(shown)

    bars.begin("summarise", 10)
    bars.advance("summarise", 3, reused=2)
    bars.advance("summarise", 1, reused=1, degraded=1)

    [task] = shown.tasks
    assert (task.completed, task.total, task.fields["counts"]) == (4, 10, "3 reused, 1 degraded")


def test_a_total_may_become_known_later() -> None:
    shown = progress()
    bars = Bars(shown)

    bars.begin("read", 1)
    bars.begin("read", 7)

    assert [task.total for task in shown.tasks] == [7]


def test_an_ended_stage_is_whole() -> None:
    shown = progress()
    bars = Bars(shown)

    bars.begin("read", 5)
    bars.advance("read", 2)
    bars.end("read")

    assert shown.tasks[0].finished


def test_a_stage_that_was_never_begun_is_no_error() -> None:
    shown = progress()
    bars = Bars(shown)

    bars.advance("odd")
    bars.end("unknown")

    assert [task.description for task in shown.tasks] == ["odd"]


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_line_is_written_now_and_then_and_none_at_first() -> None:
    written, clock = list[str](), Clock()
    lines = Lines(written.append, clock)

    lines.begin("reading chunks", 1_200)
    for _ in range(3):
        lines.advance("reading chunks", 100, degraded=1)
    clock.now = SECONDS_BETWEEN_LINES
    lines.advance("reading chunks", 100)
    lines.advance("reading chunks", 100)
    clock.now = 2 * SECONDS_BETWEEN_LINES
    lines.advance("summarising", 1)
    lines.end("summarising")

    assert written == ["reading chunks: 400 of 1,200, 3 degraded", "summarising: 1"]


@pytest.mark.parametrize(
    ("wanted", "lines", "watched"), [(True, True, "Lines"), (True, False, "Silent"), (False, True, "Silent")]
)
def test_without_a_terminal_lines_are_written_unless_quiet_or_json(wanted: bool, lines: bool, watched: str) -> None:
    with shown_progress(wanted, lines=lines):
        assert type(watcher()).__name__ == watched
