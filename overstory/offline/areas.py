"""The content of a bucket or the root without a model: sentences of the inputs, every child keeping a share.

Also what stands in when a model's own proposals can't be used.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from overstory.offline.categories import choose_categories
from overstory.offline.ranking import Ranked, is_near_copy, nearness, orders_in, rank, without_speaker
from overstory.offline.sentences import shorten, split_sentences
from overstory.offline.states import Statement, find_superseded, tells_change
from overstory.tokens import estimate_tokens
from overstory.writer import AreaDraft, AreaInput, AreaTask, DraftFact

_HEADINGS_TOKENS = 16
_CATEGORIES_SHARE = 0.22
_FACT_OVERHEAD_TOKENS = 2
_LONGEST_FACT = 320
_SHORTEST_FACT = 60
_CHARACTERS_A_TOKEN = 3.2
_NOVELTY = 0.8
_STATE = 0.6
"""What a sentence gains that changes a state that others tell, and one loses that has become history."""
_CHANGE = 0.3
"""What a sentence gains that speaks of a change: what it replaces may stand in another area."""
_CUT = 0.5
_LEAST_WORTH = 0.1
"""What a child's second fact must be worth; the first is its best, whatever that is."""
_ENTITY = 0.15
_ENTITIES = 12
_REPORTED = "The text says: "


@dataclass(slots=True)
class _Candidate:
    text: str
    child: UUID
    numbers: list[int]
    order: int
    ranked: Ranked
    worth: float
    superseded: bool
    tokens: int = field(init=False)

    def __post_init__(self) -> None:
        self.tokens = estimate_tokens(self.text) + _FACT_OVERHEAD_TOKENS


def extractive_area(task: AreaTask) -> AreaDraft:
    """Categories from the names below, and the facts that say most, in the order of events.

    Every child gives one fact before any gives a second, within `task.max_tokens` for the rendered text; a fact
    that a later one contradicts is marked as history.
    """
    categories = choose_categories(task, round(task.max_tokens * _CATEGORIES_SHARE))
    spent = _HEADINGS_TOKENS + sum(estimate_tokens(f"- {c.name}: {', '.join(c.topics)}\n") for c in categories)
    candidates = _candidates(task, task.max_tokens - spent)
    chosen = sorted(_by_rounds(candidates, task.max_tokens - spent), key=lambda c: c.order)
    facts = tuple(DraftFact(text=c.text, inputs=tuple(c.numbers), superseded=c.superseded) for c in chosen)
    return AreaDraft(categories=categories, facts=facts)


def _candidates(task: AreaTask, budget: int) -> list[_Candidate]:
    """All sentences of the inputs in the order of events, copies joined, with their worth."""
    children = len({i.child_id for i in task.inputs}) or 1
    longest = min(_LONGEST_FACT, max(_SHORTEST_FACT, int(1.3 * _CHARACTERS_A_TOKEN * budget / children)))
    sentences = _sentences(task)
    history = find_superseded([Statement(text, i.occurred_at, str(i.child_id)) for text, i in sentences])
    changers = set(history.values())
    texts = [text for text, _ in sentences]
    orders = orders_in(texts)
    candidates = []
    for place, (ranked, (text, source)) in enumerate(zip(rank(texts, lead=0.0), sentences, strict=True)):
        superseded = source.superseded or place in history
        worth = ranked.worth + _named(text, task.entities) + _STATE * ((place in changers) - superseded)
        worth += _CHANGE * tells_change(text) - _CUT * (len(text) > longest)
        fact = _reported(text, longest) if place in orders else shorten(text, longest)
        candidates.append(_Candidate(fact, source.child_id, [source.number], place, ranked, worth, superseded))
    return _joined(candidates)


def _sentences(task: AreaTask) -> list[tuple[str, AreaInput]]:
    """Summaries as their sentences; a child's fact is one already. Each with the input that it is from."""
    ordered = sorted(task.inputs, key=lambda i: i.number)
    if task.level > 0 or task.is_root:
        return [(" ".join(i.text.split()), i) for i in ordered if i.text.strip()]
    return [(sentence, i) for i in ordered for sentence in split_sentences(i.text)]


def _named(text: str, entities: Sequence[str]) -> float:
    """A little more for what names what the whole area is about."""
    low = without_speaker(text).casefold()
    return _ENTITY * min(sum(name.casefold() in low for name in entities[:_ENTITIES]), 2)


def _reported(text: str, longest: int) -> str:
    """An order in a text is told as what the text says; nobody is meant to follow it."""
    return text if text.startswith(_REPORTED) else f'{_REPORTED}"{shorten(text, longest)}"'


def _joined(candidates: list[_Candidate]) -> list[_Candidate]:
    """Equal sentences become one that rests on all their inputs; the last one gives the place in time."""
    latest: dict[str, _Candidate] = {}
    for candidate in candidates:
        key = candidate.text.casefold()
        if earlier := latest.pop(key, None):
            candidate.numbers = list(dict.fromkeys([*earlier.numbers, *candidate.numbers]))
            candidate.worth = max(candidate.worth, earlier.worth)
        latest[key] = candidate
    return list(latest.values())


def _by_rounds(candidates: Sequence[_Candidate], budget: int) -> list[_Candidate]:
    """One sentence of each child in turn, the best that is new and fits, while any does."""
    waiting: dict[UUID, list[_Candidate]] = {}
    for candidate in candidates:
        waiting.setdefault(candidate.child, []).append(candidate)
    chosen: list[_Candidate] = []
    while waiting:
        for child in sorted(waiting, key=lambda c: -max(x.worth for x in waiting[c])):
            best = _next(waiting[child], chosen, budget)
            if best is None:
                del waiting[child]
                continue
            waiting[child].remove(best)
            chosen.append(best)
            budget -= best.tokens
            if not waiting[child]:
                del waiting[child]
    return chosen or _least(candidates)


def _next(left: Sequence[_Candidate], chosen: Sequence[_Candidate], budget: int) -> _Candidate | None:
    """The child's best sentence that fits and repeats none; an order only when the child has nothing else."""
    fitting = [c for c in left if c.tokens <= budget and not _is_copy(c, chosen)]
    plain = [c for c in fitting if not c.text.startswith(_REPORTED)]
    if any(c.child == left[0].child for c in chosen):
        plain = [c for c in plain if c.worth >= _LEAST_WORTH]
        fitting = []
    return max(plain or fitting, key=lambda c: (c.worth - _NOVELTY * _said(c, chosen), -c.order), default=None)


def _is_copy(candidate: _Candidate, chosen: Sequence[_Candidate]) -> bool:
    return any(is_near_copy(candidate.ranked.terms, other.ranked.terms) for other in chosen)


def _said(candidate: _Candidate, chosen: Sequence[_Candidate]) -> float:
    return max((nearness(candidate.ranked.terms, other.ranked.terms) for other in chosen), default=0.0)


def _least(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """The best one when none fits: an area always says something."""
    return [max(candidates, key=lambda c: (c.worth, -c.order))] if candidates else []
