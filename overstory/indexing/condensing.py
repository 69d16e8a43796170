"""Making the inputs of an area fit a budget, by rule.

The budget is shared equally among the children; what a child does not need goes to those that need more. Within
its share a child keeps what holds now before what is superseded, and later inputs before earlier ones. Where
not even one input fits, that one is cut after a sentence, or else after a word, so every child keeps a part.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from overstory.tokens import TokenRuler, estimate_tokens
from overstory.writer import AreaInput

_LINE_TOKENS = 12
"""Number, date and line end of an input, beside its text."""
_LEAST_TEXT_TOKENS = 4
LEAST_CHILD_TOKENS = _LINE_TOKENS + _LEAST_TEXT_TOKENS
"""The budget is kept when it is at least this for every child."""
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？]")


def cost_tokens(given: AreaInput) -> int:
    """About what an input takes in a prompt."""
    return _LINE_TOKENS + estimate_tokens(given.text)


def condense(inputs: Sequence[AreaInput], budget_tokens: int) -> tuple[AreaInput, ...]:
    """Inputs that fit the budget, in their order, at least one of every child.

    Args:
        inputs: of one area, in the order of events.
        budget_tokens: by `cost_tokens`; not kept below `LEAST_CHILD_TOKENS` for every child.
    """
    if sum(map(cost_tokens, inputs)) <= budget_tokens:
        return tuple(inputs)
    children: dict[UUID, list[AreaInput]] = {}
    for given in inputs:
        children.setdefault(given.child_id, []).append(given)
    shares = _shares({child: sum(map(cost_tokens, own)) for child, own in children.items()}, budget_tokens)
    kept = {id(old): new for child, own in children.items() for old, new in _keep(own, shares[child])}
    return tuple(kept[id(given)] for given in inputs if id(given) in kept)


def halve(inputs: Sequence[AreaInput]) -> tuple[AreaInput, ...]:
    """About half of the inputs, at least one of every child: for a model whose window is smaller than was thought."""
    return condense(inputs, sum(map(cost_tokens, inputs)) // 2)


def _shares(needs: Mapping[UUID, int], budget_tokens: int) -> dict[UUID, int]:
    """What each child may take: all it needs, or an equal part of what is left."""
    shares = {}
    left = budget_tokens
    ascending = sorted(needs, key=lambda child: (needs[child], child))
    for position, child in enumerate(ascending):
        shares[child] = min(needs[child], max(LEAST_CHILD_TOKENS, left // (len(ascending) - position)))
        left -= shares[child]
    return shares


def _keep(own: Sequence[AreaInput], share: int) -> list[tuple[AreaInput, AreaInput]]:
    """Which inputs of one child stay, each with what it becomes."""
    newest_first = sorted(reversed(own), key=lambda given: given.superseded)
    kept = []
    for given in newest_first:
        if cost_tokens(given) <= share:
            kept.append((given, given))
            share -= cost_tokens(given)
    if kept:
        return kept
    first = newest_first[0]
    return [(first, replace(first, text=cut(first.text, share - _LINE_TOKENS)))]


def cut(text: str, tokens: int) -> str:
    """The beginning of a text: whole sentences if one fits, else whole words, else characters."""
    if estimate_tokens(text) <= tokens:
        return text
    length = TokenRuler(text).reach(tokens)
    ends = [match.end() for match in _SENTENCE_END.finditer(text, 0, length)]
    if ends:
        return text[: ends[-1]]
    space = text.rfind(" ", 0, length + 1)
    return text[: space if space > 0 else max(1, length)].rstrip() or text[:1]
