"""Progress of a flow run as artifacts of Prefect, best effort: a run never fails for what people look at."""

import asyncio
import logging
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID

from prefect.artifacts import acreate_progress_artifact, aupdate_progress_artifact

from overstory.progress import Watcher, watcher

from .policies import Subject

logger = logging.getLogger(__name__)

EVERY_SECONDS = 2.0
_TIMEOUT_SECONDS = 5.0


@dataclass(slots=True)
class _Activity:
    """Stages that belong together: reading sources and chunks, or writing the levels and the root."""

    totals: dict[str, int] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    artifact_id: UUID | None = None
    shown: str = ""

    @property
    def total(self) -> int:
        return sum(max(total, self.done[stage]) for stage, total in self.totals.items())

    @property
    def percent(self) -> float:
        return 100.0 * self.done.total() / self.total if self.total else 0.0

    def describe(self, name: str, dataset: str) -> str:
        counts = "".join(f", {number} {what}" for what, number in self.counts.items() if number)
        return f"{name.capitalize()} {dataset}: {self.done.total()} of {self.total}{counts}"


class RunWatcher:
    """A `progress.Watcher` that shows one progress artifact an activity, and tells whoever watched before too."""

    def __init__(self, subject: Subject, also: Watcher) -> None:
        self._subject = subject
        self._also = also
        self._activities: dict[str, _Activity] = {}

    def begin(self, stage: str, total: int) -> None:
        self._also.begin(stage, total)
        self._of(stage).totals[stage] = total

    def advance(self, stage: str, done: int = 1, **counts: int) -> None:
        self._also.advance(stage, done, **counts)
        activity = self._of(stage)
        activity.totals.setdefault(stage, 0)
        activity.done[stage] += done
        activity.counts.update(counts)

    def end(self, stage: str) -> None:
        self._also.end(stage)

    async def show(self) -> None:
        """Bring the artifacts up to date."""
        for name, activity in list(self._activities.items()):  # another may begin meanwhile
            description = activity.describe(name, self._subject.name)
            if activity.total and description != activity.shown:
                await self._show(name, activity, description)
                activity.shown = description

    async def _show(self, name: str, activity: _Activity, description: str) -> None:
        if activity.artifact_id is None:
            key = artifact_key(self._subject.name, self._subject.id, name)
            activity.artifact_id = await acreate_progress_artifact(activity.percent, key=key, description=description)
        else:
            await aupdate_progress_artifact(activity.artifact_id, activity.percent, description=description)

    def _of(self, stage: str) -> _Activity:
        return self._activities.setdefault(stage.partition(" ")[0], _Activity())


@asynccontextmanager
async def watching(subject: Subject) -> AsyncIterator[RunWatcher]:
    """Show the progress of what runs inside, at most every two seconds and once at the end."""
    run = RunWatcher(subject, also=watcher())
    showing = asyncio.create_task(_show_regularly(run))
    try:
        yield run
    finally:
        showing.cancel()
        await asyncio.wait([showing])
    await _show_once(run)


async def _show_regularly(run: RunWatcher) -> None:
    while True:
        await asyncio.sleep(EVERY_SECONDS)
        await _show_once(run)


async def _show_once(run: RunWatcher) -> None:
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            await run.show()
    except Exception as error:  # noqa: BLE001 - whatever the server says, the work goes on
        logger.warning("Progress was not shown: %r", error)


def artifact_key(name: str, dataset_id: UUID | None, what: str) -> str:
    """Artifacts of the same key are versions of one another; keys are lower case letters, digits and dashes.

    Names that differ may have the same letters, or none, and two users may choose the same one: a part of the id tells
    them apart.
    """
    letters = re.sub(r"[^a-z0-9]+", "-", name.lower())[:80].strip("-")
    part_of_id = dataset_id.hex[:8] if dataset_id else ""
    return "-".join(part for part in (letters, part_of_id, what) if part)
