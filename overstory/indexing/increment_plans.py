"""The plan of a build that changes only what new, changed and removed summaries touch."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from uuid import UUID

import numpy as np

from overstory import ids
from overstory.indexing.index_rows import IndexRow
from overstory.indexing.plans import BuildPlan, Job, PlannedBucket, build_plan
from overstory.indexing.tree.bucketing import TreeOptions
from overstory.indexing.tree.id_arrays import to_uuids
from overstory.indexing.tree.increments import apply_changes
from overstory.indexing.tree.leaves import Leaves
from overstory.indexing.tree.state import PlacedBucket, TreeChange, TreeState


def draw_increment(
    job: Job, options: TreeOptions, leaves: Leaves, old: Sequence[IndexRow], pending: Sequence[UUID]
) -> BuildPlan:
    """Plan a build over a tree that is served; nothing is to be done when nothing in it changes."""
    state = TreeState.from_nodes(job.dataset_id, leaves, old)
    cut = [b.id for b in old if b.cut]
    change = apply_changes(state, _unplaced(state), pending, options, thinned=cut)
    unfit = [b for b in old if b.unfit]
    buckets = _to_write(change, {b.id for b in unfit})
    gone = {b.id for b in change.removed}
    root = ids.root_id(job.dataset_id)
    changed = bool(change) or bool(unfit)
    replaced = {b.id for b in buckets} | gone | ({root} if changed else set())
    levels: dict[int, list[PlannedBucket]] = defaultdict(list)
    for bucket in buckets:
        levels[bucket.level].append(PlannedBucket(id=bucket.id, level=bucket.level, child_ids=bucket.child_ids))
    return build_plan(
        job,
        options,
        [levels[level] for level in range(len(change.level_sizes))],
        level_sizes=change.level_sizes,
        top=change.top_ids,
        replaced=[b.key for b in old if b.id in replaced],
        summaries=len(change.state.leaves),
        pending=pending,
        nothing_to_do=not changed,
        same_shape=not (change.created or change.changed or change.removed),
    )


def _unplaced(state: TreeState) -> list[UUID]:
    """Summaries that no bucket holds."""
    placed = np.zeros(len(state.leaves), bool)
    if state.levels:
        placed[state.levels[0].members] = True
    return to_uuids(state.leaves.ids[~placed])


def _to_write(change: TreeChange, unfit: set[UUID]) -> list[PlacedBucket]:
    """The buckets that changed, those whose text is no good, and all above them."""
    found = {b.id: b for b in change.rewritten}
    if unfit - found.keys():
        found.update(_with_those_above(change.state.buckets(), {*unfit, *found}))
    return sorted(found.values(), key=lambda b: (b.level, b.id))


def _with_those_above(buckets: Iterable[PlacedBucket], wanted: set[UUID]) -> dict[UUID, PlacedBucket]:
    """Those of the buckets, which come by level, that are wanted or hold one that is."""
    found: dict[UUID, PlacedBucket] = {}
    for bucket in buckets:
        if bucket.id in wanted or any(child in found for child in bucket.child_ids):
            found[bucket.id] = bucket
    return found
