"""What `remember` takes, and what becomes of each of it."""

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TypeAlias, Union

from overstory import ids
from overstory.arguments import several
from overstory.errors import InvalidOptionError
from overstory.indexing.cleaning import clean, clean_name
from overstory.models import DEFAULT_WEIGHT

MAX_SOURCE_CHARACTERS = 4_096
"""The longest key of a source, as long as the longest path."""
_DATE = "an ISO 8601 date or a time with its offset, such as 2025-01-07 or 2025-01-07T09:30:00+01:00"
_DATE_AND_TIME = re.compile(r"[Tt ]\d")


@dataclass(frozen=True, slots=True, init=False)
class SourceDocument:
    """A text with what is known about it: for callers who read their sources themselves.

    Args:
        text: kept without characters that nobody sees, lines ended by `\\n`.
        source: the key it is known by. The same key with another text is an update; without a key it
            follows from the text, so that the same text again is the same document.
        title: one line.
        occurred_at: when what it tells took place: a date, a time with its offset, or either as ISO 8601 text.
        node_set: one tag or several.
        importance_weight: 0 to 1.

    Raises:
        InvalidOptionError: one of them can't be used.
    """

    text: str
    source: str
    title: str
    occurred_at: str
    node_set: tuple[str, ...]
    importance_weight: float

    def __init__(
        self,
        text: str,
        source: str = "",
        title: str = "",
        occurred_at: str | date = "",
        node_set: str | Sequence[str] = (),
        importance_weight: float = DEFAULT_WEIGHT,
    ) -> None:
        _check_texts(text=text, source=source, title=title)
        text = clean(text)
        values = {
            "text": text,
            "source": _key(source) or text_source(text),
            "title": " ".join(clean(title).split()),
            "occurred_at": iso_date(occurred_at),
            "node_set": tags(node_set),
            "importance_weight": _weight(importance_weight),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, slots=True)
class SkippedSource:
    """A source that could not be read, or holds nothing; `reason` is told to whoever gave it."""

    source: str
    reason: str


ReadOutcome: TypeAlias = SourceDocument | SkippedSource
SourceInput: TypeAlias = Union[str, "os.PathLike[str]", SourceDocument, SkippedSource, Sequence["SourceInput"]]
"""A text, a file, a folder, a URL, a document, or several of them; one that its caller could not read is told as such."""


def text_source(text: str) -> str:
    """The key of a text that was given without one."""
    return f"text:{ids.text_hash(text)[:16]}"


def tags(node_set: str | Sequence[str]) -> tuple[str, ...]:
    """Tags as stored: each once, in the order given, none blank.

    Raises:
        InvalidOptionError: they are neither a text nor several.
    """
    refusal = InvalidOptionError("node_set", node_set, "a tag or a list of tags")
    given = several(node_set, str, refusal)
    return tuple(dict.fromkeys(stripped for tag in given if (stripped := clean(tag).strip())))


def iso_date(value: str | date) -> str:
    """A date, or a time with its offset, as ISO 8601; empty for empty.

    Raises:
        InvalidOptionError: it is neither, or a time without an offset.
    """
    if isinstance(value, str):
        if not value.strip():
            return ""
        value = _parse_date(value.strip())
    if not isinstance(value, date):
        raise InvalidOptionError("occurred_at", value, _DATE)
    if isinstance(value, datetime) and value.utcoffset() is None:
        raise InvalidOptionError(
            "occurred_at", value.isoformat(), "a time needs its offset, such as +01:00 or Z; a date alone needs none"
        )
    return value.isoformat()


def _parse_date(text: str) -> date:
    try:
        return datetime.fromisoformat(text) if _DATE_AND_TIME.search(text) else date.fromisoformat(text)
    except ValueError as error:
        raise InvalidOptionError("occurred_at", text, _DATE) from error


def _check_texts(**given: object) -> None:
    for name, value in given.items():
        if not isinstance(value, str):
            raise InvalidOptionError(name, value, "a text")


def _key(source: str) -> str:
    key = clean_name(source) if source.strip() else ""
    if len(key) > MAX_SOURCE_CHARACTERS:
        raise InvalidOptionError("source", key[:40] + "…", f"at most {MAX_SOURCE_CHARACTERS} characters")
    return key


def _weight(value: object) -> float:
    if not (isinstance(value, int | float) and math.isfinite(value) and 0 <= value <= 1):
        raise InvalidOptionError("importance_weight", value, "from 0 to 1")
    return float(value)
