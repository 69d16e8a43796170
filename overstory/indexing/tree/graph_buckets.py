"""Full buckets of summaries that speak of the same entities.

An entity weighs ln(summaries / summaries that name it); two groups are as near as the weighted Jaccard of their
entity sets. Groups are merged pair by pair, each with the best partner that also wants it, until a bucket is full.
Only the nearest few in a given order are compared for each entity, so that one which is everywhere costs no more
than any other.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from overstory.indexing.tree.leaves import Leaves, PlannedLevel, ranges

_WINDOW = 6
_PARTNERS = 6
_ROUNDS = 24
_MENTIONS_AT_ONCE = 500_000
_WEIGHT_STEPS = 2**14
"""Weights are whole numbers of 1/16384, so that their sums don't depend on the order of adding."""
_SCORE_BITS = 20


class _Groups(NamedTuple):
    """Groups of summaries, numbered along the order, and the entities that each one names."""

    member_lists: PlannedLevel
    """Places in the order."""
    entities: NDArray[np.int32]
    """By ascending entity, then group, each pair once."""
    groups: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.member_lists)


class _Pairs(NamedTuple):
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    score: NDArray[np.int64]


def entity_weights(leaves: Leaves) -> NDArray[np.int64]:
    """For each entity code its weight; 0 for one that is everywhere."""
    owners = np.repeat(np.arange(len(leaves), dtype=np.int32), np.diff(leaves.entity_offsets))
    codes = _unique_pairs(leaves.entity_codes, owners)[0]
    frequency = np.bincount(codes, minlength=1)
    rarity = np.log(len(leaves) / np.maximum(frequency, 1))
    weights: NDArray[np.int64] = np.rint(rarity * _WEIGHT_STEPS).astype(np.int64)
    return weights


def graph_buckets(leaves: Leaves, order: NDArray[np.int32], size: int, min_overlap: float) -> PlannedLevel:
    """Group summaries into as few buckets as can be, by shared entities.

    Args:
        leaves: the summaries.
        order: places of the summaries, similar ones near each other: who is compared, and who is put together
            when no entity says otherwise.
        size: most summaries in a bucket.
        min_overlap: least weighted Jaccard for being put together for the entities' sake.
    """
    weights = entity_weights(leaves)
    groups = _single_groups(leaves, order, weights)
    group_size = 1
    while group_size * 2 <= size:
        groups = _merge(groups, *_pair_up(groups, weights, min_overlap))
        group_size *= 2
    level = groups.member_lists if group_size == size else _cut_evenly(groups.member_lists.members, size)
    level = _share_with_single(level)
    return PlannedLevel(level.offsets, order[level.members])


def _single_groups(leaves: Leaves, order: NDArray[np.int32], weights: NDArray[np.int64]) -> _Groups:
    places = np.empty(len(order), np.int32)
    places[order] = np.arange(len(order), dtype=np.int32)
    owners = np.repeat(places, np.diff(leaves.entity_offsets))
    useful = weights[leaves.entity_codes] > 0
    each = PlannedLevel(np.arange(len(order) + 1), np.arange(len(order), dtype=np.int32))
    return _Groups(each, *_unique_pairs(leaves.entity_codes[useful], owners[useful]))


def _unique_pairs(major: NDArray[np.int32], minor: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The different pairs, by major, then minor."""
    keys = major.astype(np.int64) << 32 | minor
    keys.sort()
    keys = keys[np.diff(keys, prepend=-1) != 0]
    return (keys >> 32).astype(np.int32), (keys & 0xFFFFFFFF).astype(np.int32)


def _pair_up(
    groups: _Groups, weights: NDArray[np.int64], min_overlap: float
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Pairs of groups, each group in at most one: by entities, what is left by order."""
    found = [_best_partners(pairs, len(groups)) for pairs in _near_pairs(groups, weights, min_overlap)]
    none = np.zeros(0, np.int32)
    first = np.concatenate([none, *(p.first for p in found)])
    second = np.concatenate([none, *(p.second for p in found)])
    score = np.concatenate([none, *(p.score for p in found)])
    partner = _match(len(groups), _Pairs(first, second, score))
    alone = np.flatnonzero(partner < 0).astype(np.int32)
    even = len(alone) // 2 * 2
    partner[alone[0:even:2]], partner[alone[1:even:2]] = alone[1:even:2], alone[0:even:2]
    lower = np.flatnonzero(partner > np.arange(len(groups))).astype(np.int32)
    return lower, partner[lower]


def _near_pairs(groups: _Groups, weights: NDArray[np.int64], min_overlap: float) -> Iterator[_Pairs]:
    """Pairs that share an entity and are near each other among those who name it, with their weighted Jaccard."""
    own = weights[groups.entities]
    totals = np.bincount(groups.groups, weights=own, minlength=len(groups)).astype(np.int64)
    mentions = np.bincount(groups.groups, minlength=len(groups))
    ends = np.searchsorted(np.cumsum(mentions), np.arange(_MENTIONS_AT_ONCE, len(own), _MENTIONS_AT_ONCE))
    bounds = np.unique([0, *ends, len(groups)])
    for low, high in pairwise(bounds.tolist()):
        first, second, overlap = _overlaps(groups, own, low, high)
        score = (overlap << _SCORE_BITS) // (totals[first] + totals[second] - overlap)
        near = score >= max(1, int(min_overlap * 2**_SCORE_BITS))
        yield _Pairs(first[near], second[near], score[near])


def _overlaps(
    groups: _Groups, own: NDArray[np.int64], low: int, high: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """For groups low to high and their later neighbours the weight of what they share, by ascending pair.

    Pair and weight are packed in one number, which sorts several times faster than three arrays.
    """
    weight_bits = int(own.max(initial=1)).bit_length()
    group_bits = len(groups).bit_length()
    mine = np.flatnonzero((groups.groups >= low) & (groups.groups < high))
    keys = []
    for step in range(1, _WINDOW + 1):
        mine = mine[: np.searchsorted(mine, len(own) - step)]
        mine = mine[groups.entities[mine] == groups.entities[mine + step]]
        start = groups.groups[mine].astype(np.int64) - low
        keys.append(((start << group_bits | groups.groups[mine + step]) << weight_bits) | own[mine])
    packed = np.concatenate(keys)
    packed.sort()
    pair = packed >> weight_bits
    starts = np.flatnonzero(np.diff(pair, prepend=-1))
    shared = packed & ((1 << weight_bits) - 1)
    overlap = np.add.reduceat(shared, starts) if len(starts) else shared
    pair = pair[starts]
    first = ((pair >> group_bits) + low).astype(np.int32)
    return first, (pair & ((1 << group_bits) - 1)).astype(np.int32), overlap


def _best_partners(pairs: _Pairs, count: int) -> _Pairs:
    """For each first of a pair the best few seconds only."""
    keys = _by_falling_score(pairs, count)
    rank = np.arange(len(keys))
    first = pairs.first[keys]
    starts = np.flatnonzero(np.diff(first, prepend=-1))
    rank -= np.repeat(starts, np.diff(starts, append=len(first)))
    kept = keys[rank < _PARTNERS]
    return _Pairs(pairs.first[kept], pairs.second[kept], pairs.score[kept])


def _by_falling_score(pairs: _Pairs, count: int) -> NDArray[np.int64]:
    """Places by first, then falling score, then nearness."""
    worse = (1 << _SCORE_BITS) - pairs.score
    return np.lexsort((pairs.first ^ pairs.second, worse, pairs.first))


def _match(count: int, pairs: _Pairs) -> NDArray[np.int32]:
    """For each group its partner, -1 for none: again and again, those pairs are taken that are best for both.

    Among equal scores a pair whose numbers differ in lower bits goes first: neighbours find each other at once,
    where "the lowest number first" would settle one pair a round.
    """
    partner = np.full(count, -1, np.int32)
    order = np.lexsort((pairs.first, pairs.first ^ pairs.second, -pairs.score))
    first, second = pairs.first[order], pairs.second[order]
    best = np.empty(count, np.int64)
    for _ in range(_ROUNDS):
        if not len(first):
            break
        numbers = np.arange(len(first))
        ends = np.stack([first, second], axis=1).ravel()
        best[ends[::-1]] = np.repeat(numbers, 2)[::-1]
        mutual = (best[first] == numbers) & (best[second] == numbers)
        one, other = first[mutual], second[mutual]
        partner[one], partner[other] = other, one
        open_ = (partner[first] < 0) & (partner[second] < 0)
        first, second = first[open_], second[open_]
    return partner


def _merge(groups: _Groups, first: NDArray[np.int32], second: NDArray[np.int32]) -> _Groups:
    """Make one group of each pair; groups without a partner stay. Numbered by their first."""
    heads = np.ones(len(groups), bool)
    heads[second] = False
    number = np.empty(len(groups), np.int32)
    number[heads] = np.arange(np.count_nonzero(heads), dtype=np.int32)
    number[second] = number[first]
    lists = groups.member_lists
    order = np.argsort(number, kind="stable")
    members = lists.members[ranges(lists.offsets[order], lists.sizes[order])]
    sizes = np.bincount(number, weights=lists.sizes).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return _Groups(PlannedLevel(offsets, members), *_unique_pairs(groups.entities, number[groups.groups]))


def _cut_evenly(members: NDArray[np.int32], size: int) -> PlannedLevel:
    count = -(-len(members) // size)
    return PlannedLevel(np.arange(count + 1, dtype=np.int64) * len(members) // count, members)


def _share_with_single(level: PlannedLevel) -> PlannedLevel:
    """Give a bucket with one member another one, from a neighbour that keeps at least two."""
    sizes = level.sizes
    for lone in np.flatnonzero(sizes == 1):
        for giver in (lone - 1, lone + 1):
            if 0 <= giver < len(level) and sizes[giver] > 2:
                offsets = level.offsets.copy()
                offsets[max(lone, giver)] += 1 if giver > lone else -1
                return PlannedLevel(offsets, level.members)
    return level
