"""Progress as bars on a terminal."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from overstory.cli.terminal import messages, one_line
from overstory.progress import watched_by

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Bars:
    """A `progress.Watcher` that draws one bar a stage."""

    def __init__(self, progress: "Progress") -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}
        self._totals: dict[str, int] = {}
        self._counts: dict[str, Counter[str]] = {}

    def begin(self, stage: str, total: int) -> None:
        self._totals[stage] = total
        if stage in self._tasks:
            self._progress.update(self._tasks[stage], total=total, visible=total > 0)
        else:
            self._tasks[stage] = self._progress.add_task(one_line(stage), total=total, visible=total > 0, counts="")
            self._counts[stage] = Counter()

    def advance(self, stage: str, done: int = 1, **counts: int) -> None:
        if stage not in self._tasks:
            self.begin(stage, done)
        self._counts[stage].update(counts)
        shown = ", ".join(f"{number} {name}" for name, number in self._counts[stage].items() if number)
        self._progress.update(self._tasks[stage], advance=done, counts=shown)

    def end(self, stage: str) -> None:
        if stage in self._tasks:
            self._progress.update(self._tasks[stage], completed=self._totals[stage])


@contextmanager
def bars(*, keep: bool = False) -> Iterator[None]:
    """Draw the progress of what runs inside, when standard error is a terminal.

    Args:
        keep: leave the finished bars on the screen.
    """
    console = messages()
    if not console.is_terminal:
        yield
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[counts]}", markup=False),
    )
    with Progress(*columns, console=console, transient=not keep) as progress, watched_by(Bars(progress)):
        yield
