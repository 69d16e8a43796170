"""Which statements are history: a later one of the same thing gives another date, amount or holder, or calls it off.

Rules err on the side of saying nothing: a contradiction that is missed leaves two facts in the order of time, one that
is wrongly seen would call a true fact outdated.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from overstory.models import instant
from overstory.offline.terms import terms_of
from overstory.offline.values import Values, subject_of, values_of

_CHANGE = re.compile(
    r"\b(?:moved|moves|move to|(?-i:(?<=[a-z,:] )now)(?! that)|instead|no longer|not the|"
    r"reschedul\w+|postpone[sd]?|brought forward|put (?:off|back)|push(?:ed|es) back|delay(?:ed|s)|shift(?:ed|s)|"
    r"chang(?:ed|es) (?:to|from)|replac(?:ed|es)|takes? over|took over|taken back|withdrew|withdrawn|handed over|"
    r"(?:rais(?:ed|es)|cut|cuts|lower(?:ed|s)|increas(?:ed|es)|reduc(?:ed|es)|extend(?:ed|s)|shorten(?:ed|s))\b[^.;]{0,60}(?<!due)(?<!up) to (?:[$€£]?\d+|two|three|four|five|six|seven|eight|nine|ten)|"
    r"switch(?:ed|es) to|dropped|decided (?:to|on|for)|settled (?:at|on)|(?:is|was|are|were) set (?:at|to)|joins|joined|"
    r"(?:was|were) added|corrected|revised|updated|from (?:now|this week|next week|today) on?|from this week|"
    r"returns? to|is back|verschoben|verlegt|geändert|jetzt|statt|nicht mehr|ersetzt|reporté|déplacé|désormais|remplacé|"
    r"ahora|aplazad\w|cambiad\w)\b",
    re.IGNORECASE,
)
_ENDED = re.compile(
    r"\b(?:cancell?ed|cancels|call(?:ed|s) off|scrapped|abandoned|won't (?:take place|happen)|will not (?:take place|happen)|"
    r"took place|was held|were held|has been held|is done|was done|is finished|was completed|is completed|has happened|"
    r"abgesagt|fand statt|annulée?|cancelad\w)\b",
    re.IGNORECASE,
)
_UNCERTAIN = re.compile(
    r"\b(?:might|may be|maybe|perhaps|could|would|rumou?r\w*|propos(?:ed|es|al)|suggest(?:ed|s)|consider(?:ed|s|ing)?|discussed|"
    r"rejected|declined|turned? (?:it |the \w+ )?down|nobody|nothing|if|asked (?:for|whether)|hop(?:ed|es)|wish\w*|whether|"
    r"not true|false)\b|\?\s*$",
    re.IGNORECASE,
)
_POSSIBLE = re.compile(r"\bcan\b", re.IGNORECASE)
_FROM_TO = re.compile(r"\bfrom ([^.;]{2,40}?) to\b", re.IGNORECASE)
_CONTRAST = re.compile(
    r"\b(?:instead of|rather than|no longer|not (?:the )?|replac(?:es|ed|ing) |statt |nicht mehr |au lieu de |en lugar de )"
    r"([^.,;]{2,40})",
    re.IGNORECASE,
)


class Statement(NamedTuple):
    """One sentence with its place in time."""

    text: str
    occurred_at: str = ""
    source: str = ""
    """What it was taken from; statements of one source stand in their order."""


class _Reading(NamedTuple):
    subject: frozenset[str]
    values: Values
    contrasts: tuple[frozenset[str], ...]
    """What it says is no longer so (`not the pier team`)."""
    left: tuple[Values, ...]
    """What it moves away from (`from 3 June to …`)."""
    changes: bool
    ends: bool
    uncertain: bool


def find_superseded(statements: Sequence[Statement]) -> dict[int, int]:
    """Places of the statements that are history, each with the place of the (last) one that says otherwise.

    Args:
        statements: in the order of events.
    """
    readings = [_read(statement.text) for statement in statements]
    common = _common_terms(readings)
    pairs = [
        (early, late)
        for late, after in enumerate(readings)
        if not after.uncertain and (after.changes or after.ends)
        for early, before in enumerate(readings[:late])
        if not before.uncertain
        and statements[early].text != statements[late].text
        and _says_otherwise(before, after, common, _is_ordered(statements[early], statements[late]))
    ]
    return _with_chains(pairs, readings)


def changes_of(statement: Statement, others: Sequence[Statement]) -> list[int]:
    """Places of those of `others` that say that a statement is no longer so; where neither is dated, whatever their order.

    Of several, those that another one of them overtakes are left out.
    """
    found = [n for n, other in enumerate(others) if _overtakes(statement, other)]
    last = [n for n in found if not any(_overtakes(others[n], others[m]) for m in found if m != n)]
    return last or found


def _overtakes(early: Statement, late: Statement) -> bool:
    before, after = _read(early.text), _read(late.text)
    if before is after or before.uncertain or after.uncertain or not (after.changes or after.ends):
        return False
    if early.occurred_at and late.occurred_at and instant(late.occurred_at) < instant(early.occurred_at):
        return False
    one_is_dated = bool(early.occurred_at) != bool(late.occurred_at)
    return _says_otherwise(before, after, frozenset(), ordered=not one_is_dated)


def tells_change(text: str) -> bool:
    """Whether a sentence says that something is now otherwise, whatever was before."""
    return bool(_CHANGE.search(text) or _ENDED.search(text)) and not _UNCERTAIN.search(text)


def _with_chains(pairs: list[tuple[int, int]], readings: Sequence[_Reading]) -> dict[int, int]:
    """Of several later statements about the same earlier one, each is history to the next as well."""
    history = dict(pairs)
    followers: dict[int, list[int]] = {}
    for early, late in pairs:
        followers.setdefault(early, []).append(late)
    for lates in followers.values():
        for middle, late in pairwise(lates):
            before, after = readings[middle], readings[late]
            if _new_value(before.values, after.values) or len(before.subject & after.subject) >= 3:
                history[middle] = max(late, history.get(middle, late))
    return history


@lru_cache(maxsize=10_000)
def _read(text: str) -> _Reading:
    return _Reading(
        subject_of(text),
        values_of(text),
        tuple(frozenset(terms_of(match[1])) for match in _CONTRAST.finditer(text)),
        tuple(values for match in _FROM_TO.finditer(text) if any(values := values_of(match[1]))),
        _CHANGE.search(text) is not None and not _POSSIBLE.search(text),
        _ENDED.search(text) is not None,
        _UNCERTAIN.search(text) is not None,
    )


def _common_terms(readings: Sequence[_Reading]) -> frozenset[str]:
    """Terms that a third of the statements have tell nothing apart (the name of the project)."""
    counts = Counter(term for reading in readings for term in reading.subject)
    return frozenset(term for term, count in counts.items() if len(readings) > 8 and count * 3 > len(readings))


def _is_ordered(early: Statement, late: Statement) -> bool:
    """Whether time puts one before the other: by their dates, or since one text says both."""
    before, after = instant(early.occurred_at), instant(late.occurred_at)
    is_dated_before = bool(before) and before < after and not after.startswith(before)  # a day, and a time of that day
    return is_dated_before or early.source == late.source


def _says_otherwise(before: _Reading, after: _Reading, common: frozenset[str], ordered: bool) -> bool:
    shared = (before.subject & after.subject) - common
    own = before.subject - common
    if not shared or _different_names(before.values, after.values):
        return _contrasts(shared, own, after) and ordered
    share = len(shared) / len(own)
    if after.ends and ordered and len(shared) >= 2 and share >= 0.5:
        return True
    if _contrasts(shared, own, after) and ordered:
        return True
    return after.changes and _changes_value(before, after, len(shared), share, ordered)


def _contrasts(shared: frozenset[str], own: frozenset[str], after: _Reading) -> bool:
    """Whether it denies what the earlier one says of the same thing."""
    return len(shared) >= 0.3 * len(own) and any(gone and gone <= own and shared - gone for gone in after.contrasts)


def _changes_value(before: _Reading, after: _Reading, shared: int, share: float, ordered: bool) -> bool:
    """Whether a statement of change gives a new value of what the earlier one has a value of."""
    if _new_value(before.values, after.values):
        if after.left:  # it names the old value: any other value is another thing
            return any(before.values.old_in(old) for old in after.left)
        if before.values.old_in(after.values):
            return (shared >= 2 and share >= 0.3) or (before.changes and bool(after.values.dates))
        return ordered and shared >= 2 and share >= (0.34 if before.changes else 0.5)
    if not ordered or shared < 3 or share < 0.6:
        return before.changes and ordered and shared >= 4 and share >= 0.5
    return before.changes or bool(after.values.names - before.values.names)


def _different_names(before: Values, after: Values) -> bool:
    """Whether both name somebody or something, and nothing in common."""
    return bool(before.inner_names and after.inner_names) and not before.names & after.names


def _new_value(before: Values, after: Values) -> bool:
    """Whether both give a date, weekday, time or amount of one kind, and the later one a new one."""
    if before.dates and after.dates - before.dates:
        return True
    if before.weekdays and after.weekdays - before.weekdays:
        return True
    if before.times and after.times - before.times:
        return True
    units = {unit for unit, _ in before.amounts}
    return any(unit in units and (unit, number) not in before.amounts for unit, number in after.amounts)
