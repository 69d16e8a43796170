"""Progress: bars on a terminal, a plain line now and then elsewhere."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
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


SECONDS_BETWEEN_LINES = 10.0


class Lines:
    """A `progress.Watcher` that writes a line now and then, for logs: none in the first ten seconds."""

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._write, self._clock = write, clock
        self._last = clock()
        self._totals: dict[str, int] = {}
        self._done: Counter[str] = Counter()
        self._counts: dict[str, Counter[str]] = {}

    def begin(self, stage: str, total: int) -> None:
        self._totals[stage] = total

    def advance(self, stage: str, done: int = 1, **counts: int) -> None:
        self._done[stage] += done
        self._counts.setdefault(stage, Counter()).update(counts)
        if self._clock() - self._last >= SECONDS_BETWEEN_LINES:
            self._last = self._clock()
            self._write(self._line(stage))

    def end(self, stage: str) -> None:
        """What a stage came to is in the result."""

    def _line(self, stage: str) -> str:
        total = self._totals.get(stage, 0)
        of = f" of {total:,}" if total else ""
        counts = "".join(f", {number:,} {name}" for name, number in self._counts[stage].items() if number)
        return f"{stage}: {self._done[stage]:,}{of}{counts}"


@contextmanager
def shown_progress(wanted: bool, *, keep: bool = False, lines: bool = True) -> Iterator[None]:
    """Show the progress of what runs inside on standard error.

    Args:
        wanted: whether any is shown.
        keep: leave the finished bars on the screen.
        lines: write plain lines where standard error is no terminal.
    """
    console = messages()
    if wanted and console.is_terminal:
        with _bars(keep=keep):
            yield
    elif wanted and lines:
        with watched_by(Lines(lambda line: console.print(one_line(line), soft_wrap=True))):
            yield
    else:
        yield


@contextmanager
def _bars(*, keep: bool) -> Iterator[None]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[counts]}", markup=False),
    )
    with Progress(*columns, console=messages(), transient=not keep) as progress, watched_by(Bars(progress)):
        yield
