"""How the mentions of a chunk stand to each other: the words between two of them, or that one sentence has both."""

import re
from collections.abc import Iterator
from itertools import groupby, pairwise
from operator import attrgetter

from overstory.ids import normalize_name
from overstory.models import Relation
from overstory.offline.entities import Found
from overstory.offline.names import Line, Spot
from overstory.offline.sentences import shorten
from overstory.offline.words import COMMON_VERBS, word_set

MAX_RELATIONS = 12
TOGETHER = "mentioned_with"
_MAX_TEXT = 200
_MAX_WORDS_BETWEEN = 4
_ALIAS = re.compile(r"^ ?\($")
_ARTICLES = word_set("the a an his her its their our my your this that these those")
_AUXILIARIES = word_set("""
is are was were be been being has have had will would can could may might must shall should
""")
_PREPOSITIONS = word_set("""
of in on at to for from with by into over under near between against about during through after before since
until as off out up down within via
""")


def find_relations(found: Found) -> tuple[Relation, ...]:
    """At most `MAX_RELATIONS`, those with words of their own first, then pairs that a sentence has together."""
    together = groupby(found.spots, key=attrgetter("sentence"))
    candidates = [relation for number, spots in together for relation in _pairs(found.lines[number], list(spots))]
    chosen: dict[tuple[str, str], Relation] = {}
    for relation in sorted(candidates, key=lambda r: r.name == TOGETHER):
        ends = sorted((normalize_name(relation.source), normalize_name(relation.target)))
        if ends[0] != ends[1] and len(chosen) < MAX_RELATIONS:
            chosen.setdefault((ends[0], ends[1]), relation)
    return tuple(chosen.values())


def _pairs(line: Line, spots: list[Spot]) -> Iterator[Relation]:
    """Neighbours, and the first mention with each later one."""
    if line.is_title:
        return
    text = shorten(line.text, _MAX_TEXT)
    for left, right in pairwise(spots):
        yield Relation(source=left.name, name=_label(line.text[left.end : right.start]), target=right.name, text=text)
    for right in spots[2:]:
        yield Relation(source=spots[0].name, name=TOGETHER, target=right.name, text=text)


def _label(between: str) -> str:
    """A name for the words between two mentions when they say one simple thing, else `TOGETHER`."""
    if _ALIAS.match(between):
        return "also_called"
    words = between.lower().split()
    while words and words[-1] in _ARTICLES:
        words.pop()
    if not 1 <= len(words) <= _MAX_WORDS_BETWEEN or not all(word.isalpha() and word.isascii() for word in words):
        return TOGETHER
    return "_".join(words) if _is_simple(words) else TOGETHER


def _is_simple(words: list[str]) -> bool:
    """One verb with its auxiliaries and at most one preposition, or a preposition alone."""
    rest = list(words)
    if rest[-1] in _PREPOSITIONS:
        rest.pop()
    while rest and rest[0] in _AUXILIARIES:
        rest.pop(0)
    if not rest:
        return words[0] not in _AUXILIARIES or len(words) > 1 or words[0] in {"is", "are", "was", "were", "has", "had"}
    return len(rest) == 1 and (rest[0] in COMMON_VERBS or rest[0].endswith(("ed", "es", "ts", "ds", "ns", "ls")))
