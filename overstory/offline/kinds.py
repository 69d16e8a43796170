"""The type of a named thing, where the text shows it: Person, Organisation or Place."""

import re
from collections.abc import Sequence

from overstory.offline.names import Spot
from overstory.offline.words import (
    COUNTRIES,
    DOUBTFUL_PLACE_WORDS,
    INSTITUTIONS,
    ORGANISATION_WORDS,
    PERSON_TITLES,
    PERSON_VERBS,
    PLACE_WORDS,
    word_set,
)

PERSON, ORGANISATION, PLACE, DATE, THING, UNKNOWN = "Person", "Organisation", "Place", "Date", "Thing", ""
_TITLE_BEFORE = re.compile(r"\b(?:" + "|".join(sorted(PERSON_TITLES)) + r")\.? $", re.IGNORECASE)
_PLACE_BEFORE = re.compile(
    r"\b(?:city|town|village|port|island|capital|county|district|province|coast|streets) of $"
    r"|\b(?:born|lives?|lived|living|arrived|based|located|situated|died|stayed|headquartered|offices?) (?:in|at|near) $"
    r"|\b(?:north|south|east|west)(?:ern)? of $",
    re.IGNORECASE,
)
_ROLE = re.compile(
    r", (?!and |or )(?:the |our |its |an? |their )?(?:[\w-]+ ){0,2}(?:chief|vice|deputy|senior|head|president|director|professor|founder|chair\w*|"
    r"officer|keeper|author|editor|manager|engineer|secretary|analyst|minister|mayor|sister|brother|mother|father|wife|husband)\b"
    r"| ?\( ?(?:born|b\.|[12]\d{3}[–-])"
    r"|[^.;,]{0,40} (?:is|was) (?:an?|the) (?:[\w-]+ ){0,5}(?:actor|actress|singer|writer|author|poet|painter|player|footballer|"
    r"politician|king|queen|composer|director|lawyer|officer|economist|physicist|engineer|teacher|minister|musician|artist|"
    r"novelist|journalist|professor|keeper|historian|philosopher|guitarist|screenwriter|producer)\b",
)
_AT = re.compile(r"\b(?:at|in|to|from|near|of|left|leave) (?:the )?$")
_FEASTS = word_set("christmas easter god heaven")
_SPEECH_VERBS = word_set("said says asked replied cried answered thought smiled laughed whispered exclaimed")
_SAID_BEFORE = re.compile(r"[,!?]['’\"”] (?:said|cried|asked|replied) $")
_FIRST_WORD = re.compile(r" ([a-z]+)")


def kind_of(name: str, spots: Sequence[Spot], texts: Sequence[str]) -> str:
    """The type of a name from its own words and from the words around the places where it stands."""
    words = [word.rstrip(".").casefold() for word in name.split()]
    if words[0] in PERSON_TITLES and len(words) > 1:
        return PERSON
    if len(words) > 1 and _is_organisation(words):
        return ORGANISATION
    if name.casefold() in COUNTRIES or (len(words) > 1 and (words[-1] in PLACE_WORDS or words[0] in PLACE_WORDS)):
        return PLACE
    return _kind_from_places(words, spots, texts)


def _is_organisation(words: list[str]) -> bool:
    if words[-1] in ORGANISATION_WORDS or (words[0] in ORGANISATION_WORDS and words[1] == "of"):
        return True
    return not INSTITUTIONS.isdisjoint(words)


def _kind_from_places(words: list[str], spots: Sequence[Spot], texts: Sequence[str]) -> str:
    plain = (
        len(words) <= 3
        and words[-1] not in _FEASTS
        and all(word.replace("-", "").replace("'", "").isalpha() for word in words)
    )
    for spot in spots:
        before, after = texts[spot.sentence][: spot.start], texts[spot.sentence][spot.end :]
        if _PLACE_BEFORE.search(before[-40:]):
            return PLACE
        if words[-1] in DOUBTFUL_PLACE_WORDS and len(words) > 1 and _AT.search(before[-12:]):
            return PLACE
        if plain and _is_person(words, before, after):
            return PERSON
    return UNKNOWN


def _is_person(words: list[str], before: str, after: str) -> bool:
    if _TITLE_BEFORE.search(before[-14:]):
        return True
    following = _FIRST_WORD.match(after)
    if following and following[1] in (_SPEECH_VERBS if len(words) == 1 else PERSON_VERBS):
        return True
    if len(words) == 1:
        return _SAID_BEFORE.search(before[-12:]) is not None
    return bool(_ROLE.match(after)) or (not before.strip() and after.startswith(": "))
