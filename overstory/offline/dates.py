"""Dates, times, numbers and amounts as texts write them."""

import re

from overstory.offline.words import MONTHS, WEEKDAYS

_MONTH = "(?:" + "|".join(sorted({*MONTHS}, key=len, reverse=True)) + r")\b\.?"
_DAY = r"(?:[12]?\d|3[01])(?:st|nd|rd|th|\.)?"
_YEAR = r"(?:1[5-9]|20)\d\d"
DATE = re.compile(
    rf"\b{_YEAR}-\d\d(?:-\d\d)?\b|\b\d{{1,2}}[./]\d{{1,2}}[./](?:{_YEAR}|\d\d)\b"
    rf"|\b{_DAY}(?: of)? {_MONTH}(?:,? {_YEAR}\b)?|\b{_MONTH} {_DAY}\b(?:,? {_YEAR}\b)?|\b{_MONTH},? {_YEAR}\b"
    rf"|{_YEAR}年(?:\d{{1,2}}月(?:\d{{1,2}}日)?)?|\d{{1,2}}月\d{{1,2}}日|{_YEAR}년(?: \d{{1,2}}월(?: \d{{1,2}}일)?)?",
    re.IGNORECASE,
)
YEAR = re.compile(rf"\b(?:in|since|until|after|before|by|from|of|year|im Jahr|seit|en|в) ({_YEAR})\b(?![-/.,:]\d)", re.IGNORECASE)
_WEEKDAY = re.compile(r"\b(" + "|".join(WEEKDAYS) + r")\b", re.IGNORECASE)
_TIME = re.compile(r"\b(?:[01]?\d|2[0-3])[:.][0-5]\d(?: ?[ap]\.?m\b)?|\b1?\d ?[ap]\.?m\b|\b1?\d o'clock\b|\b(?:noon|midnight)\b", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*(?![\w-])")
_NUMBER_WORDS = {
    word: str(value)
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
        "eighteen nineteen twenty".split()
    )
    if value != 1
}
_WORD_NUMBER = re.compile(r"\b(" + "|".join(_NUMBER_WORDS) + r")\b", re.IGNORECASE)


def dates_in(text: str) -> list[str]:
    """Dates in the spelling of the text, in order."""
    if not any(character.isdigit() for character in text):
        return []
    return [match[0].strip(" ,") for match in DATE.finditer(text)]
