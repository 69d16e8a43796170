"""The dates that a question names, and whether a stored date is one of them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

_MONTHS: Final = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH_NAME = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b"
)
_MONTH = rf"(?P<month>{_MONTH_NAME})\.?"
_YEAR = r"(?P<year>(?:1[5-9]|20)\d\d)"
_DAY = r"(?P<day>[12]?\d|3[01])(?:st|nd|rd|th|\.)?"


def _compiled(*forms: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(form, re.IGNORECASE) for form in forms)


_FORMS = _compiled(
    rf"\b{_YEAR}-(?P<number>\d\d)(?:-(?P<day>\d\d))?\b",
    rf"\b{_DAY}(?: of)? {_MONTH}(?:,? {_YEAR}\b)?",
    rf"\b{_MONTH} {_DAY}\b(?:,? {_YEAR}\b)?",
    rf"\b{_MONTH},? {_YEAR}\b",
    rf"\b(?:in|since|until|after|before|between|by|from|of|to|and|year) {_YEAR}\b",
)
_TO = r"(?:and|to|until|till)"
_SHORT_FORMS = _compiled(
    rf"\b(?:between|from) (?:the )?{_DAY}(?= {_TO} (?:the )?\d\d?(?:st|nd|rd|th|\.)?(?: of)? {_MONTH_NAME})",
    rf"\b(?:between|from) {_MONTH}(?= {_TO}\b)",
    rf"\b{_TO} (?:the )?{_DAY}, {_YEAR}\b",
)
"""One end of a span that leaves to the other what both share: from 1 to 15 March, between March 1 and 15, 2025."""
_THIRDS: Final = ((1, 4), (5, 8), (9, 12))
_MONTHS_OF: Final = {
    **dict.fromkeys(("early", "beginning of", "start of"), _THIRDS[0]),
    **dict.fromkeys(("mid", "middle of"), _THIRDS[1]),
    **dict.fromkeys(("late", "end of"), _THIRDS[2]),
    **dict.fromkeys(("h1", "first half"), (1, 6)),
    **dict.fromkeys(("h2", "second half"), (7, 12)),
    **dict.fromkeys(("q1", "first quarter"), (1, 3)),
    **dict.fromkeys(("q2", "second quarter"), (4, 6)),
    **dict.fromkeys(("q3", "third quarter"), (7, 9)),
    **dict.fromkeys(("q4", "fourth quarter"), (10, 12)),
    "spring": (3, 5),
    "summer": (6, 8),
    **dict.fromkeys(("autumn", "fall"), (9, 11)),
}
"""The first and the last month of a part of a year. Of a winter nobody knows in which year it begins."""
_DAYS_OF: Final = dict(zip((*_THIRDS, (1, 6), (7, 12)), ((1, 10), (11, 20), (21, 31), (1, 15), (16, 31)), strict=True))
"""The same words before a month."""
_PART = re.compile(rf"\b(?P<part>{'|'.join(_MONTHS_OF)})(?: of|,)?[ -](?:{_MONTH},? )?{_YEAR}\b")
"""In lower case: so it takes a fifth of the time."""
_BETWEEN = re.compile(rf"\b(?:between|from)\b.*\b{_TO}\b", re.IGNORECASE)
_BEFORE = re.compile(r"\bbefore\W+(?:the )?$", re.IGNORECASE)
_UNTIL = re.compile(r"\b(?:until|till|by|up to)\W+(?:the )?$", re.IGNORECASE)
_AFTER = re.compile(r"\bafter\W+(?:the )?$", re.IGNORECASE)
_SINCE = re.compile(r"\b(?:since|from)\W+(?:the )?$", re.IGNORECASE)
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

    # Days here are texts that are only compared: the day after 31 May is 32 May, the month before January is 0.

    @property
    def first(self) -> str:
        return self._with_rest("01", "01")

    @property
    def last(self) -> str:
        return self._with_rest("12", "31")

    @property
    def day_before(self) -> str:
        return self._shifted(-1).last

    @property
    def day_after(self) -> str:
        return self._shifted(1).first

    def _with_rest(self, month: str, day: str) -> str:
        rest = zip(self[1:], (month, day), strict=True)
        return "-".join([f"{self.year:04d}", *(filler if part is None else f"{part:02d}" for part, filler in rest)])

    def _shifted(self, by: int) -> "Point":
        """The day, month or year so many later."""
        if self.year is None or self.month is None:
            return self._replace(year=(self.year or 0) + by)
        return self._replace(month=self.month + by) if self.day is None else self._replace(day=self.day + by)


@dataclass(frozen=True, slots=True)
class AskedTime:
    """The dates of a question: single ones, or from one to another."""

    points: tuple[Point, ...]
    start: str = _FIRST
    end: str = _LAST

    @property
    def is_span(self) -> bool:
        return (self.start, self.end) != (_FIRST, _LAST)

    @property
    def last(self) -> str:
        """Its last day; that of all time where the end is open, or no year is named."""
        if self.is_span:
            return self.end
        return max((point.last for point in self.points if point.year is not None), default=_LAST)

    def covers(self, date: str) -> bool:
        """Whether an ISO date, or the date of a time, is among them; never for an empty one."""
        if not date:
            return False
        if self.is_span:
            return self.start <= date[:10] <= self.end
        return any(point.covers(date) for point in self.points)


def asked_time(question: str) -> AskedTime | None:
    """The dates that a question names; None when it names none.

    `before` and `after` leave the date itself out; `until`, `by`, `since`, `from` and `between` take it in.
    """
    return _span(question) or _part(question) or _single(question)


def _single(question: str) -> AskedTime | None:
    found = sorted(_points(question))
    points = tuple(point for _, point in found)
    if not points:
        return None
    if len(points) == 1 and points[0].year is not None:
        return _bounded(question[: found[0][0]], points[0], points[0])
    return AskedTime(points)


def _span(question: str) -> AskedTime | None:
    """From one date to another, of which one may leave its year or month to the other."""
    said = [point for _, point in sorted(_points(question, (*_FORMS, *_SHORT_FORMS)))]
    if len(said) != 2 or not _BETWEEN.search(question):
        return None
    first, last = _filled(said[0], said[1]), _filled(said[1], said[0])
    year = first.year
    if year is None:
        return None
    if first.first > last.last:
        if said[0].year is None:
            first = first._replace(year=year - 1)
        elif said[1].year is None:
            last = last._replace(year=year + 1)
    return AskedTime((first, last), first.first, last.last)


def _filled(point: Point, other: Point) -> Point:
    """A date with the year, and of a day the month, that only the other end of its span names."""
    month = other.month if point.month is None and point.day is not None else point.month
    return Point(point.year or other.year, month, point.day)


def _part(question: str) -> AskedTime | None:
    """The one part of a year or month that a question names."""
    found = list(_parts(question))
    if len(found) != 1 or len(list(_points(question))) > 1:
        return None
    [(match, first, last)] = found
    words = match.string[: match.start()]
    if match["part"] == "end of":
        words = _BEFORE.sub("until ", words)
    if match["part"] in {"beginning of", "start of"}:
        words = _AFTER.sub("since ", words)
    return _bounded(words, first, last)


def _parts(text: str) -> Iterator[tuple[re.Match[str], Point, Point]]:
    """Each part of a year or month, with its first and last month or day."""
    for match in _PART.finditer(text.lower()):
        whole, months = _point(match.groupdict()), _MONTHS_OF[match["part"]]
        if whole.month is None:
            first, last = (whole._replace(month=month) for month in months)
            yield match, first, last
        elif days := _DAYS_OF.get(months):
            first, last = (whole._replace(day=day) for day in days)
            yield match, first, last


def _bounded(words: str, first: Point, last: Point) -> AskedTime:
    """A time from its first to its last month or day, or what is on one side of it, by the words in front of it."""
    if _BEFORE.search(words):
        return AskedTime((first,), end=first.day_before)
    if _UNTIL.search(words):
        return AskedTime((last,), end=last.last)
    if _AFTER.search(words):
        return AskedTime((last,), start=last.day_after)
    if _SINCE.search(words):
        return AskedTime((first,), start=first.first)
    return AskedTime((first,)) if first == last else AskedTime((first, last), first.first, last.last)


def names_date(text: str, time: AskedTime) -> bool:
    """Whether a text names one of these dates."""
    return any(_meets(point, time) for _, point in _points(text)) or any(
        _lies_in(first.first, last.last, time) for _, first, last in _parts(text)
    )


def _lies_in(first: str, last: str, time: AskedTime) -> bool:
    """Whether a part of a year lies in these dates, or, of a span, overlaps it."""
    if time.is_span:
        return time.start <= last and first <= time.end
    return any(point.year is not None and point.first <= first and last <= point.last for point in time.points)


def _meets(point: Point, time: AskedTime) -> bool:
    if time.is_span:
        return point.year is not None and _lies_in(point.first, point.last, time)
    return any(
        all(mine is None or theirs is None or mine == theirs for mine, theirs in zip(point, other, strict=True))
        and (point.month, point.day)[other.day is not None] is not None
        for other in time.points
    )


def _points(text: str, forms: Sequence[re.Pattern[str]] = _FORMS) -> Iterator[tuple[int, Point]]:
    """Each date once, with its place; of two forms that overlap the first one."""
    taken: list[tuple[int, int]] = []
    for form in forms:
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
