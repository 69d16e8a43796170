"""Are the numbers and dates of a text written in its sources?

Compared by what they mean: "1,200", "1.200" and "1 200" are one number, "3 May 2025", "May 3, 2025",
"03.05.2025" and "2025-05-03" one day. Numbers that the sources write as words count as written.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

_MONTHS: dict[str, int] = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar jänner janvier enero gennaio janeiro januari",
            "february feb februar février fevrier febrero febbraio fevereiro februari",
            "march mar märz maerz mars marzo março maart",
            "april apr avril abril aprile",
            "may mai mayo maggio maio mei",
            "june jun juni juin junio giugno junho",
            "july jul juli juillet julio luglio julho",
            "august aug août aout agosto augustus",
            "september sep sept septembre septiembre settembre setembro",
            "october oct oktober octobre octubre ottobre outubro",
            "november nov novembre noviembre novembro",
            "december dec dezember décembre decembre diciembre dicembre dezembro",
        ),
        1,
    )
    for name in names.split()
}
_VERBS = frozenset({"may", "march", "mar"})
"""Not months when they are written small."""
_WORDS: dict[str, int] = {
    name: number
    for number, names in enumerate(
        (
            "zero null zéro cero",
            "one eins un une uno una first ein eine",
            "two zwei deux dos due second",
            "three drei trois tres tre third",
            "four vier quatre cuatro quattro fourth",
            "five fünf cinq cinco cinque fifth",
            "six sechs seis sei sixth",
            "seven sieben sept siete sette seventh",
            "eight acht huit ocho otto eighth",
            "nine neun neuf nueve nove ninth",
            "ten zehn dix diez dieci tenth",
            "eleven elf onze once undici",
            "twelve zwölf douze doce dodici",
            "thirteen dreizehn treize trece",
            "fourteen vierzehn quatorze catorce",
            "fifteen fünfzehn quinze quince",
            "sixteen sechzehn seize",
            "seventeen siebzehn",
            "eighteen achtzehn",
            "nineteen neunzehn",
            "twenty zwanzig vingt veinte venti",
        )
    )
    for name in names.split()
} | {
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
    "hundred": 100,
    "thousand": 1000,
    "dozen": 12,
}
_SCALES: dict[str, int] = {"k": 10**3, "thousand": 10**3, "tsd": 10**3, "m": 10**6, "mio": 10**6, "million": 10**6, "millions": 10**6, "millionen": 10**6, "millones": 10**6, "bn": 10**9, "billion": 10**9, "mrd": 10**9, "milliarden": 10**9, "万": 10**4, "亿": 10**8}  # fmt: skip

_DAY = r"\d{1,2}(?:st|nd|rd|th|er|º|\.)?"
_AND = r"\s*(?:,|-|–|/|&|\band\b|\bto\b|\bund\b|\bbis\b|\bet\b|\bau\b|\by\b|\bal\b)\s*"
_DAYS = rf"(?P<days>(?:{_DAY}{_AND}){{0,6}}{_DAY})"
_YEAR = r"(?:\.?,?\s+(?:de\s+|del\s+)?(?P<year>\d{4})(?!\d))?"
_DAYS_BEFORE = re.compile(rf"(?<!\d){_DAYS}\s*(?:of\s+|de\s+)?$", re.IGNORECASE)
_YEAR_AFTER = re.compile(_YEAR, re.IGNORECASE)
_DAYS_AFTER = re.compile(rf"\.?\s+(?:the\s+)?{_DAYS}(?![\d:]){_YEAR}", re.IGNORECASE)
_REACH = 40
"""Characters before a month in which its days stand."""
_NEAR = 8
"""Characters before a month in which the last of them stands."""
_ISO = re.compile(r"(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_NUMERIC = re.compile(r"(?<![\d.])(\d{1,2})([./-])(\d{1,2})(?:\2(\d{4}|\d{2})\b|\.(?!\d))")
_WIDE_DATE = re.compile(r"(?:(\d{4})\s*[年년]\s*)?(\d{1,2})\s*[月월]\s*(\d{1,2})")
_RUN = re.compile(r"\d+(?:[.,:'’\u00a0\u202f]\d+|(?<=\d) (?=\d{3}(?!\d))\d{3})*")
_GROUPED = re.compile(r"\d{1,3}(?:([.,'’\u00a0\u202f ])\d{3})(?:\1\d{3})*")
_DECIMAL = re.compile(r"(\d+)[.,](\d+)\.?")
_SCALE = re.compile(
    r"[\s-]?(k|thousand|tsd|mio|millionen|millones|millions?|m|bn|billion|mrd|milliarden|万|亿)(?![a-zäöü])",
    re.IGNORECASE,
)
_AFTERNOON = re.compile(r"(?<!\d)(\d{1,2})(?:[:.]\d\d)?\s*p\.?m\b", re.IGNORECASE)
_CLOCK = re.compile(r"(?<!\d)(1[3-9]|2[0-3])[:.h]\d\d")
_LETTERS = re.compile(r"[^\W\d_]+")
_LONGEST_SCALED = 20
"""Characters of a number before a word such as `million`."""
_NOON = 12
_CENTURY = 2000


class Day(NamedTuple):
    month: int
    day: int
    year: int | None

    def fits(self, other: "Day") -> bool:
        """May be the same day."""
        years = {self.year, other.year} - {None}
        return (self.month, self.day) == (other.month, other.day) and len(years) <= 1


def ungrounded(text: str, sources: Sequence[str]) -> list[str]:
    """Numbers and dates of a text that none of its sources writes, as the text spells them."""
    if not any(character.isdigit() for character in text):
        return []
    known = [_known(source) for source in sources]
    numbers = frozenset().union(*(k.numbers for k in known))
    days = frozenset().union(*(k.days for k in known))
    written = _written(text)
    found = [run for run, forms in written.runs if not _is_written(run, forms, numbers, days)]
    found += [
        spelled for spelled, options in written.days if not _is_among(options, days) and not _DECIMAL.fullmatch(spelled)
    ]
    return list(dict.fromkeys(found))


class _Written(NamedTuple):
    text: str
    """With its digits as 0 to 9."""
    runs: tuple[tuple[str, tuple[str, ...]], ...]
    days: tuple[tuple[str, list[Day]], ...]


@lru_cache(maxsize=8192)
def _written(text: str) -> _Written:
    """Each number and each day of a text with what it may mean; what an area says is looked at again as a source."""
    plain = _plain_digits(text)
    return _Written(plain, tuple(_runs(plain)), (*_named_days(plain), *_figured_days(plain)))


class _Known(NamedTuple):
    numbers: frozenset[str]
    days: frozenset[Day]


@lru_cache(maxsize=4096)
def _known(source: str) -> _Known:
    written = _written(source)
    days = frozenset(day for _, options in written.days for day in options)
    numbers = {form for run, forms in written.runs for form in (*forms, *_parts(run))}
    numbers |= {str(value) for day in days for value in day if value is not None}
    numbers |= {str(int(hour) + _NOON) for hour in _AFTERNOON.findall(written.text)}
    numbers |= {str(int(hour) - _NOON) for hour in _CLOCK.findall(written.text)}
    numbers |= {str(_WORDS[word]) for word in _LETTERS.findall(written.text.casefold()) if word in _WORDS}
    return _Known(frozenset(numbers), days)


def _plain_digits(text: str) -> str:
    """Digits of any script as 0 to 9."""
    if text.isascii():
        return text
    return "".join(str(int(c)) if c.isdecimal() else c for c in text)


def _is_written(run: str, forms: Iterable[str], numbers: frozenset[str], days: frozenset[Day]) -> bool:
    if not numbers.isdisjoint(forms) or _is_among(_numeric_days(run), days):
        return True
    parts = _parts(run)
    return len(parts) > 1 and not _DECIMAL.fullmatch(run) and numbers.issuperset(parts)


def _is_among(options: Sequence[Day], days: frozenset[Day]) -> bool:
    return any(option.fits(day) for option in options for day in days)


def _runs(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each written number, with the numbers that it may mean."""
    for match in _RUN.finditer(text):
        forms = _meanings(match.group())
        scale = _SCALE.match(text, match.end())
        if scale and len(match.group()) <= _LONGEST_SCALED:
            forms += tuple(_scaled(form, _SCALES[scale.group(1).casefold()]) for form in forms)
        dot = text[match.end() : match.end() + 1] == "." and _DECIMAL.fullmatch(match.group())
        yield match.group() + "." * bool(dot), forms


def _meanings(run: str) -> tuple[str, ...]:
    if run.isdigit():
        return (_whole(run),)
    forms = [_whole(re.sub(r"\D", "", run))] if _GROUPED.fullmatch(run) else []
    if decimal := _DECIMAL.fullmatch(run):
        forms.append(_decimal(decimal.group(1), decimal.group(2)))
    return tuple(forms)


def _decimal(whole: str, fraction: str) -> str:
    fraction = fraction.rstrip("0")
    return f"{_whole(whole)}.{fraction}" if fraction else _whole(whole)


def _whole(digits: str) -> str:
    """Without leading zeros; `int` refuses more than some thousand digits, which a model that repeats itself writes."""
    return digits.lstrip("0") or "0"


def _scaled(form: str, scale: int) -> str:
    whole, _, fraction = form.partition(".")
    exact = int(whole + fraction) * scale
    divisor = 10 ** len(fraction)
    return str(exact // divisor) if exact % divisor == 0 else str(exact / divisor)


def _parts(run: str) -> tuple[str, ...]:
    return tuple(map(_whole, re.findall(r"\d+", run)))


def _named_days(text: str) -> Iterator[tuple[str, list[Day]]]:
    """Each day that is written with the name of a month."""
    for word in _LETTERS.finditer(text):
        month = _MONTHS.get(word.group().casefold())
        if month and word.group() not in _VERBS:
            yield from _days_around(text, word, month)


def _figured_days(text: str) -> Iterator[tuple[str, list[Day]]]:
    """Each day that is written in figures, with the days that it may be."""
    for match in _WIDE_DATE.finditer(text):
        yield match.group(), [Day(int(match[2]), int(match[3]), int(match[1]) if match[1] else None)]
    for match in (*_ISO.finditer(text), *_NUMERIC.finditer(text)):
        if options := _numeric_days(match.group()):
            yield match.group(), options


def _days_around(text: str, word: re.Match[str], month: int) -> Iterator[tuple[str, list[Day]]]:
    """The days that stand before or after the name of a month."""
    window = text[max(0, word.start() - _REACH) : word.start()]
    before = _DAYS_BEFORE.search(window) if any(map(str.isdigit, window[-_NEAR:])) else None
    after = _YEAR_AFTER.match(text, word.end()) if before else _DAYS_AFTER.match(text, word.end())
    found = before or after
    if found and after:
        year = int(after["year"]) if after["year"] else None
        for day in re.findall(r"\d{1,2}", found["days"]):
            yield f"{day} {word.group()}", [Day(month, int(day), year)]


def _numeric_days(run: str) -> list[Day]:
    """The days that figures alone may mean, whichever comes first in a country."""
    if iso := _ISO.fullmatch(run):
        options = [Day(int(iso[2]), int(iso[3]), int(iso[1]))]
    elif numeric := _NUMERIC.fullmatch(run):
        year = None if numeric[4] is None else int(numeric[4]) + (_CENTURY if len(numeric[4]) == 2 else 0)
        first, second = int(numeric[1]), int(numeric[3])
        options = [Day(second, first, year), Day(first, second, year)]
    else:
        return []
    return [day for day in options if 1 <= day.month <= 12 and 1 <= day.day <= 31]
