"""What a build is going to do, decided before the first text is written."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from overstory import ids
from overstory.indexing.tree.bucketing import TreeOptions

IMPROVE, REBUILD, ROLLED_BACK = "improve", "rebuild", "rolled back"
"""Purposes of a build; the last is no build but a published generation that was given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedBucket:
    """A bucket, or the root, whose text is to be written."""

    id: UUID
    level: int
    child_ids: tuple[UUID, ...]
    is_root: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What every step of one build has to know; plain values, so that it can travel."""

    dataset_id: UUID
    generation: int
    """The one being built."""
    serving: int
    """The one that is served meanwhile; its unchanged rows go on being used, except in a rebuild."""
    purpose: str
    adopt: tuple[int, ...] = ()
    """Generations of builds for the same purpose that never published: their finished texts are paid for."""
    reuse: bool = True
    """Take over served texts that were written from the same inputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPlan:
    job: Job
    options: TreeOptions
    levels: tuple[tuple[PlannedBucket, ...], ...]
    """What is to be written, level 0 first, then the root as a level of its own; siblings stand together."""
    level_sizes: tuple[int, ...]
    """Buckets of the finished tree per level, without the root."""
    replaced: tuple[UUID, ...]
    """Keys of served rows that the new generation no longer sees."""
    summaries: int
    pending: tuple[UUID, ...]
    """Changes that this build takes in."""
    nothing_to_do: bool = False
    same_shape: bool = False
    """No bucket comes, goes or gets other children: there is something to publish only if a text comes out better."""

    @property
    def buckets(self) -> int:
        return sum(self.level_sizes)

    @property
    def to_write(self) -> int:
        return sum(len(level) for level in self.levels)

    @property
    def root_id(self) -> UUID | None:
        return self.levels[-1][0].id if self.levels else None


def build_plan(
    job: Job,
    options: TreeOptions,
    levels: Sequence[Sequence[PlannedBucket]],
    *,
    level_sizes: Sequence[int],
    top: Sequence[UUID],
    replaced: Sequence[UUID],
    summaries: int,
    pending: Sequence[UUID],
    nothing_to_do: bool,
    same_shape: bool = False,
) -> BuildPlan:
    """Add the root, and put siblings beside each other so that parents need not wait for a whole level.

    Args:
        levels: the buckets to be written, level 0 first.
        level_sizes: of the finished tree.
        top: ids of the buckets under the root.
    """
    root = PlannedBucket(id=ids.root_id(job.dataset_id), level=len(level_sizes), child_ids=tuple(top), is_root=True)
    whole = [*levels, [root]] if top else levels
    return BuildPlan(
        job=job,
        options=options,
        levels=tuple(tuple(level) for level in _in_family_order(whole) if level),
        level_sizes=tuple(level_sizes),
        replaced=tuple(replaced),
        summaries=summaries,
        pending=tuple(pending),
        nothing_to_do=nothing_to_do,
        same_shape=same_shape,
    )


def _in_family_order(levels: Sequence[Sequence[PlannedBucket]]) -> list[Sequence[PlannedBucket]]:
    """Each level in the order of its parents."""
    ordered = list(levels)
    for upper in range(len(ordered) - 1, 0, -1):
        place = {c: i for i, c in enumerate(c for b in ordered[upper] for c in b.child_ids)}
        ordered[upper - 1] = sorted(ordered[upper - 1], key=lambda b: place.get(b.id, len(place)))
    return ordered


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Buckets of one level that are written in one step."""

    level: int
    first: int
    """Place of its first bucket among those of its level, from 0."""
    of: int
    """How many buckets of the level are written in all."""
    buckets: tuple[PlannedBucket, ...]
    waits_for: tuple[int, ...]
    """Places, in the list of batches, of those that write its children."""

    @property
    def name(self) -> str:
        if self.buckets[0].is_root:
            return "write the root"
        return f"summarise level {self.level} · {self.first + 1}–{self.first + len(self.buckets)} of {self.of}"


def batches_of(plan: BuildPlan, size: int) -> list[Batch]:
    """Cut a plan into batches of at most `size` buckets; each waits only for those that hold its children."""
    batches: list[Batch] = []
    places: dict[UUID, int] = {}
    for buckets in plan.levels:
        for first in range(0, len(buckets), size):
            part = buckets[first : first + size]
            waits_for = tuple(sorted({places[c] for b in part for c in b.child_ids if c in places}))
            batches.append(Batch(level=part[0].level, first=first, of=len(buckets), buckets=part, waits_for=waits_for))
        places.update({b.id: i for i, batch in enumerate(batches) for b in batch.buckets})
    return batches
