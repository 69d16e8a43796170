"""The dates that a question names, and whether a stored date is one of them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

_MONTHS: Final = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_YEAR = r"(?P<year>(?:1[5-9]|20)\d\d)"
_DAY = r"(?P<day>[12]?\d|3[01])(?:st|nd|rd|th|\.)?"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"\b{_YEAR}-(?P<number>\d\d)(?:-(?P<day>\d\d))?\b",
        rf"\b{_DAY}(?: of)? {_MONTH}(?:,? {_YEAR}\b)?",
        rf"\b{_MONTH} {_DAY}\b(?:,? {_YEAR}\b)?",
        rf"\b{_MONTH},? {_YEAR}\b",
        rf"\b(?:in|since|until|after|before|by|from|of|to|and|year) {_YEAR}\b",
    )
)
_BETWEEN = re.compile(r"\b(?:between|from)\b.*\b(?:and|to|until|till)\b", re.IGNORECASE)
_UNTIL = re.compile(r"\b(?:before|until|till|by|up to)\W+(?:the )?$", re.IGNORECASE)
_SINCE = re.compile(r"\b(?:after|since|from)\W+(?:the )?$", re.IGNORECASE)
_FIRST, _LAST = "0000-00-00", "9999-99-99"


class Point(NamedTuple):
    """A date as a question names it: a day, a month, a year, or a day of any year."""

    year: int | None
    month: int | None
    day: int | None

    def covers(self, date: str) -> bool:
        """Whether an ISO date lies in it."""
        parts = (date[0:4], date[5:7], date[8:10])
        return all(want is None or part == f"{want:02d}" for want, part in zip(self, parts, strict=True))

    def edge(self, filler: str) -> str:
        """Its first (`00`) or last (`99`) day, fit for comparing texts."""
        return "-".join([f"{self.year:04d}", *(filler if part is None else f"{part:02d}" for part in self[1:])])


@dataclass(frozen=True, slots=True)
class AskedTime:
    """The dates of a question: single ones, or from one to another."""

    points: tuple[Point, ...]
    start: str = _FIRST
    end: str = _LAST

    def covers(self, date: str) -> bool:
        """Whether an ISO date, or the date of a time, is among them; never for an empty one."""
        if not date:
            return False
        if (self.start, self.end) != (_FIRST, _LAST):
            return self.start <= date[:10] <= self.end
        return any(point.covers(date) for point in self.points)


def asked_time(question: str) -> AskedTime | None:
    """The dates that a question names; None when it names none."""
    found = sorted(_points(question))
    points = tuple(point for _, point in found)
    if not points:
        return None
    dated = [(place, point) for place, point in found if point.year is not None]
    if len(dated) == 2 and len(points) == 2 and _BETWEEN.search(question):
        return AskedTime(points, dated[0][1].edge("00"), dated[1][1].edge("99"))
    if len(dated) == 1 == len(points):
        before = question[: dated[0][0]]
        if _UNTIL.search(before):
            return AskedTime(points, end=dated[0][1].edge("99"))
        if _SINCE.search(before):
            return AskedTime(points, start=dated[0][1].edge("00"))
    return AskedTime(points)


def names_date(text: str, time: AskedTime) -> bool:
    """Whether a text names one of these dates."""
    return any(_meets(point, time) for _, point in _points(text))


def _meets(point: Point, time: AskedTime) -> bool:
    if (time.start, time.end) != (_FIRST, _LAST):
        return point.year is not None and time.start <= point.edge("99") and point.edge("00") <= time.end
    return any(
        all(mine is None or theirs is None or mine == theirs for mine, theirs in zip(point, other, strict=True))
        and (point.month, point.day)[other.day is not None] is not None
        for other in time.points
    )


def _points(text: str) -> Iterator[tuple[int, Point]]:
    """Each date once, with its place; of two forms that overlap the first one."""
    taken: list[tuple[int, int]] = []
    for form in _FORMS:
        for match in form.finditer(text):
            year_alone = form is _FORMS[-1]
            start = match.start("year") if year_alone else match.start()
            if any(start < end and begin < match.end() for begin, end in taken):
                continue
            taken.append((start, match.end()))
            yield start, _point(match.groupdict())


def _point(parts: dict[str, str | None]) -> Point:
    year, day, number = parts.get("year"), parts.get("day"), parts.get("number")
    name = parts.get("month")
    month = int(number) if number else _MONTHS.index(name[:3].lower()) + 1 if name else None
    return Point(int(year) if year else None, month, int(day) if day else None)
