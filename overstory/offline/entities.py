"""What a chunk speaks of, by rules: names, dates and noun phrases, without a model.

A type is set only where the text shows it: `Person`, `Organisation`, `Place`, `Date`, `Thing` for noun phrases, and
nothing for a name of which no more can be said.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from overstory.ids import normalize_name
from overstory.models import Mention
from overstory.offline.dates import YEAR, date_spans
from overstory.offline.kinds import DATE as DATE_KIND
from overstory.offline.kinds import THING, kind_of
from overstory.offline.languages import is_german
from overstory.offline.names import Line, Spot, line_of, merge_short_forms, names_in
from overstory.offline.phrases import phrases_in
from overstory.offline.sentences import Sentence, shorten, without_addresses

MAX_MENTIONS = 12
_MAX_NAMES = 8
_MAX_DATES = 3
_MAX_DESCRIPTION = 160
_MAIL = re.compile(r"\S+@\S+")


class Found(NamedTuple):
    """The mentions of a chunk, the most prominent first, and where they stand."""

    mentions: tuple[Mention, ...]
    lines: list[Line]
    """The sentences that `spots` count."""
    spots: list[Spot]
    """In the order of the text; every name is that of a mention."""


def find_entities(sentences: Sequence[Sentence]) -> Found:
    """The mentions of a chunk. Code and logs have none."""
    lines = [line_of(_plain(s.text), s.kind == "heading") for s in sentences if s.kind != "code"]
    german = is_german(token.low for line in lines for token in line.tokens)
    dates = [spot for number, line in enumerate(lines) for spot in _dates(line.text, number)]
    names = _apart(merge_short_forms(names_in(lines, nouns_have_capitals=german)), dates)
    chosen = _prominent(names, _MAX_NAMES) + _prominent(dates, _MAX_DATES)
    free = MAX_MENTIONS - len({normalize_name(spot.name) for spot in chosen})
    phrases = phrases_in(lines, [*names, *dates], nouns_have_capitals=german, limit=free)
    kinds = {**dict.fromkeys((s.name for s in dates), DATE_KIND), **dict.fromkeys((s.name for s in phrases), THING)}
    named = _by_spelling([*chosen, *phrases])
    mentions = tuple(_mention(name, own, lines, kinds) for name, own in named.items())
    spots = [spot for own in named.values() for spot in own]
    return Found(mentions, lines, sorted(spots, key=lambda s: (s.sentence, s.start, -s.end)))


def _plain(text: str) -> str:
    text = without_addresses(text)
    return _MAIL.sub("", text) if "@" in text else text


def _dates(text: str, number: int) -> list[Spot]:
    spots = [Spot(text[start:end].strip(" ,"), number, start, end) for start, end in date_spans(text)]
    years = [Spot(match[1], number, match.start(1), match.end(1)) for match in YEAR.finditer(text)]
    return spots + _apart(years, spots)


def _apart(spots: list[Spot], others: list[Spot]) -> list[Spot]:
    """Those that overlap none of the others."""
    if not others:
        return spots
    taken = [(o.sentence, o.start, o.end) for o in others]
    return [s for s in spots if not any(n == s.sentence and s.start < end and start < s.end for n, start, end in taken)]


def _prominent(spots: list[Spot], limit: int) -> list[Spot]:
    """All spots of the names that stand most often; longer names first among equals."""
    by_name: dict[str, list[Spot]] = {}
    for spot in spots:
        by_name.setdefault(normalize_name(spot.name), []).append(spot)
    best = sorted(by_name, key=lambda key: -len(by_name[key]) - 0.5 * (" " in key))[:limit]
    return [spot for key in best for spot in by_name[key]]


def _by_spelling(spots: list[Spot]) -> dict[str, list[Spot]]:
    """The spots of each mention, under the spelling that comes first."""
    spelled: dict[str, tuple[str, list[Spot]]] = {}
    for spot in spots:
        spelled.setdefault(normalize_name(spot.name), (spot.name, []))[1].append(spot)
    return {name: [Spot(name, s.sentence, s.start, s.end) for s in own] for name, own in spelled.values()}


def _mention(name: str, own: Sequence[Spot], lines: Sequence[Line], kinds: dict[str, str]) -> Mention:
    where = next((spot for spot in own if not lines[spot.sentence].is_title), own[0])
    kind = kinds.get(name)
    return Mention(
        name=name,
        type=kind_of(name, own, [line.text for line in lines]) if kind is None else kind,
        description=shorten(lines[where.sentence].text, _MAX_DESCRIPTION),
    )
