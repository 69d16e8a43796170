"""Dates, times, numbers and amounts as texts write them."""

import re
from functools import lru_cache

from overstory.offline.words import MONTHS

_SPELLINGS = {form for month in MONTHS for form in (month, month.capitalize(), month.upper())} - {"may", "mar"}
"""Listed, since that is faster than IGNORECASE; without the verb of `you may 10 times`."""
_MONTH = "(?:" + "|".join(sorted(_SPELLINGS, key=lambda month: (-len(month), month))) + r")\b\.?"
_DAY = r"(?:[12]?\d|3[01])(?:st|nd|rd|th|\.)?"
_YEAR = r"(?:1[5-9]|20)\d\d"
DATE = re.compile(
    rf"\b{_YEAR}-\d\d(?:-\d\d)?\b|\b\d{{1,2}}[./]\d{{1,2}}[./](?:{_YEAR}|\d\d)\b"
    rf"|\b{_DAY}(?: of)? {_MONTH}(?:,? {_YEAR}\b)?|\b{_MONTH} {_DAY}\b(?:,? {_YEAR}\b)?|\b{_MONTH},? {_YEAR}\b"
    rf"|{_YEAR}年(?:\d{{1,2}}月(?:\d{{1,2}}日)?)?|\d{{1,2}}月\d{{1,2}}日|{_YEAR}년(?: \d{{1,2}}월(?: \d{{1,2}}일)?)?"
)
_DIGIT = re.compile(r"\d")
YEAR = re.compile(
    rf"\b(?:in|since|until|after|before|by|from|of|year|im Jahr|seit|en|в) ({_YEAR})\b(?![-/.,:]\d)", re.IGNORECASE
)


@lru_cache(maxsize=2_048)
def date_spans(text: str) -> tuple[tuple[int, int], ...]:
    """From where to where a text has a date with a day or month, in order."""
    if not _DIGIT.search(text):
        return ()
    return tuple(match.span() for match in DATE.finditer(text))
