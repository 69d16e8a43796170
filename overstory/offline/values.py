"""What a sentence says that can change: its dates, weekdays, times, amounts and names, in one spelling each."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from overstory.offline.dates import DATE
from overstory.offline.terms import is_stop_word, stem, terms_of, words_of
from overstory.offline.words import CALENDAR_WORDS, MONTHS, WEEKDAYS, word_list, word_set

_TIME = re.compile(
    r"\b(?:[01]?\d|2[0-3]):[0-5]\d(?: ?[ap]\.?m\b)?|\b1?\d(?:\.[0-5]\d)? ?[ap]\.?m\b|\b(?:noon|midnight)\b",
    re.IGNORECASE,
)
_AMOUNT = re.compile(r"(?<![\w.])[$€£]?(\d+(?:[.,]\d+)*)(?:\s*(%|percent\b|[a-z]+))?(?:\s+([a-z]+))?", re.IGNORECASE)
_NUMBER_WORDS = word_list("""
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen twenty
""")
_WORD_AMOUNT = re.compile(r"\b(" + "|".join(_NUMBER_WORDS[2:]) + r") ([a-z]+)(?: ([a-z]+))?", re.IGNORECASE)
_NUMBERED_NAME = re.compile(r"\b[A-Z][\w-]* \d+\b(?!\s*(?:%|percent|million|billion))")
"""`Office 365`, `Gate 4`: nothing that is counted."""
_SCALES = word_set("hundred thousand million billion m k bn")
_NO_NAMES = CALENDAR_WORDS | frozenset(_NUMBER_WORDS)
_NAME = re.compile(r"(?<![.!?:] )(?<!^)\b[^\W\d_a-zß-öø-ÿа-я][\w’'-]*[^\W_]")
_MONTH_NUMBERS = {month[:3]: number for number, month in enumerate(MONTHS[:12], 1)}
_MONTH_WORD = re.compile(r"\b(" + "|".join(MONTHS[:12]) + r")\b")
_DAY = re.compile(r"\b(\d{1,2})\b(?!\d)")


class Values(NamedTuple):
    dates: frozenset[str]
    """`6-3` for 3 June, `6` for June alone."""
    weekdays: frozenset[str]
    times: frozenset[str]
    amounts: frozenset[tuple[str, str]]
    """What is counted or measured, and the number."""
    names: frozenset[str]
    """Words with a capital, in lower case; the first word too."""
    inner_names: frozenset[str]
    """Those inside the sentence: surely names."""

    def old_in(self, later: "Values") -> bool:
        """Whether the later one repeats a date, weekday, time or amount of this one."""
        return bool(
            _common_dates(self.dates, later.dates)
            or self.weekdays & later.weekdays
            or self.times & later.times
            or {number for _, number in self.amounts} & {number for _, number in later.amounts}
        )


def values_of(text: str) -> Values:
    rest, dates = text, set()
    for match in DATE.finditer(text):
        dates.add(_date(match[0]))
        rest = rest.replace(match[0], " " * len(match[0]))
    times = frozenset(match[0].lower().replace(" ", "").replace(".", ":") for match in _TIME.finditer(rest))
    rest = _TIME.sub(" ", rest)
    low = _NUMBERED_NAME.sub(" ", rest).lower()
    dates.update(str(_MONTH_NUMBERS[match[1][:3]]) for match in _MONTH_WORD.finditer(low) if match[1] != "may")
    weekdays = frozenset(day[:3] for day in WEEKDAYS if day in low and re.search(rf"\b{day}\b", low))
    inner = _names(text)
    names = inner | _meant([text.split(" ", 1)[0].strip("\"'“‘(,.:;")])
    return Values(frozenset(dates), weekdays, times, frozenset(_amounts(low)), names, inner)


def _date(text: str) -> str:
    iso = re.match(r"\d{4}-(\d\d)(?:-(\d\d))?$", text)
    if iso:
        return f"{int(iso[1])}-{int(iso[2])}" if iso[2] else str(int(iso[1]))
    month = re.search(r"[a-zäéû]{3,}", text.lower().replace(" of ", " "))
    number = _MONTH_NUMBERS.get(month[0][:3].replace("ä", "a"), 0) if month else 0
    day = _DAY.search(text)
    return f"{number}-{int(day[1])}" if day and number else str(number) if number else text.lower()


def _amounts(low: str) -> set[tuple[str, str]]:
    amounts: set[tuple[str, str]] = set()
    for match in _AMOUNT.finditer(low):
        amounts.update((unit, match[1].replace(",", "")) for unit in _units(match.groups()[1:]))
    for match in _WORD_AMOUNT.finditer(low):
        amounts.update((unit, str(_NUMBER_WORDS.index(match[1]))) for unit in _units(match.groups()[1:]))
    return amounts


def _units(words: Iterable[str | None]) -> list[str]:
    """What is counted: one of the next two words (`eight boarding gates` counts gates)."""
    meant = [stem(word) for word in words if word and word not in _SCALES and not is_stop_word(word)]
    return meant or [""]


def _names(text: str) -> frozenset[str]:
    return _meant(match[0] for match in _NAME.finditer(text))


def _meant(words: Iterable[str]) -> frozenset[str]:
    plain = {word.lower().removesuffix("'s").removesuffix("’s") for word in words}
    return frozenset(word for word in plain if len(word) > 1 and not is_stop_word(word) and word not in _NO_NAMES)


def _common_dates(one: frozenset[str], other: frozenset[str]) -> bool:
    """Equal dates, or a month that the other names alone (`the July date`)."""
    if one & other:
        return True
    return any(d.split("-")[0] in other or d in {o.split("-")[0] for o in other if "-" not in d} for d in one)


def subject_of(text: str) -> frozenset[str]:
    """Stems of what a sentence speaks of, without numbers, calendar words and the words of change."""
    return frozenset(
        term for term in terms_of(text) if not term[0].isdigit() and term not in _WEAK and term not in CALENDAR_WORDS
    )


_WEAK = frozenset(
    stem(word)
    for word in words_of(
        "moved move rescheduled postponed brought forward cancelled called changed change replaced replace withdrew withdrawn "
        "raised cut increased reduced lowered switched decided decision settled set fixed agreed agree confirmed dropped drop "
        "delayed shifted instead longer again new old date day week month year earlier later early late time million euros euro "
        "dollars percent held place took done finished completed started due added removed back "
        "stays remains returns takes over hands put off pushed from first second final finally currently"
    )
) | frozenset(_NUMBER_WORDS)
