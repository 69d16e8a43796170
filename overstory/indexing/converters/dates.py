"""Dates as files write them; what is no date, or leaves its offset open, is cut to what is sure."""

import re
from datetime import date

from overstory.errors import InvalidOptionError
from overstory.indexing.sources import iso_date

_DAY = re.compile(r"(?<!\d)((?:19|20)\d\d)([-_.]?)(\d\d)\2(\d\d)(?!\d)")


def written_date(text: str) -> str:
    """A date or a time with its offset as ISO 8601; of a time without an offset the day; empty for anything else."""
    try:
        return iso_date(text.strip())
    except InvalidOptionError:
        return day_in(text[:10])


def day_in(name: str) -> str:
    """The first possible day written year first, as in `2025-01-07 notes` or `IMG_20250107`; empty for none."""
    for found in _DAY.finditer(name):
        try:
            return date(int(found[1]), int(found[3]), int(found[4])).isoformat()
        except ValueError:
            continue
    return ""
