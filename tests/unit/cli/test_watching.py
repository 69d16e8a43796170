import io

from rich.console import Console
from rich.progress import Progress, TextColumn

from overstory.cli.watching import Bars


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
