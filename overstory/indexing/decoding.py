"""From bytes to text: the encoding is found out, and what can't be told is refused rather than guessed."""

import codecs
import re
from typing import TYPE_CHECKING

from overstory.errors import UnreadableSourceError

if TYPE_CHECKING:
    from charset_normalizer import CharsetMatch

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WAY_OUT = "save it as UTF-8 (of Western Windows text: iconv -f CP1252 -t UTF-8 OLD > NEW)"
_SAMPLE_BYTES = 65_536
_MULTIBYTE = re.compile(rb"[\xc2-\xf4][\x80-\xbf]+")
_NOISE = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\ufffd]")
_MOST_NOISE = 0.05
_MOST_CHAOS = 0.1
_NEAR_CHAOS = 0.05
"""Another reading whose share of improbable letters is at most this much higher competes with the best one."""
_LEAST_COHERENCE = 0.25
"""How much like a language a code page's reading must look: any bytes make some text in a code page."""
_CLEAR_LEAD = 0.03
"""How much more like a language the best reading must look than those that compete with it."""


def decode(data: bytes, source: str, declared: str = "") -> str:
    """The text of a file; `declared` is the encoding that the file itself names, if it does.

    A byte order mark is believed first, then UTF-16's pattern of zeros, then UTF-8, then what the file
    declares. Other code pages are taken only where one reading clearly looks more like a language than all others.

    Raises:
        UnreadableSourceError: it is no text, or its encoding can't be told.
    """
    text = _unambiguous(data)
    if text is None:
        text = _as_declared(data, declared)
    if text is None:
        text = _detect(data, source)
    if _is_noise(text):
        raise UnreadableSourceError(source, "binary data, no text")
    return text


def _unambiguous(data: bytes) -> str | None:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    encoding = _zeros_of_utf16(data)
    if encoding:
        return data.decode(encoding, "replace")
    return _as_utf8(data)


def _zeros_of_utf16(data: bytes) -> str:
    """The UTF-16 whose every other byte is zero, as in text of mostly Latin letters; empty when it is not so."""
    sample = data[:_SAMPLE_BYTES]
    pairs = len(sample) // 2
    first, second = sample[0::2].count(0), sample[1::2].count(0)
    if second > 0.3 * pairs and first < 0.05 * pairs:
        return "utf-16-le"
    if first > 0.3 * pairs and second < 0.05 * pairs:
        return "utf-16-be"
    return ""


def _as_utf8(data: bytes) -> str | None:
    """As UTF-8 when it is; with U+FFFD for bad bytes when good sequences beyond ASCII are at least as many.

    A last letter that is cut off is left out where something shows that it is UTF-8: one byte may be of a code page.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        cut = data[: error.start]
        shown = not cut.isascii() or len(data) - error.start > 1
        if error.reason == "unexpected end of data" and shown:
            return cut.decode()
    text = data.decode("utf-8", "replace")
    good = len(_MULTIBYTE.findall(text.replace("\ufffd", "").encode()))
    return text if good >= text.count("\ufffd") else None


def _as_declared(data: bytes, declared: str) -> str | None:
    if not declared:
        return None
    try:
        return data.decode(declared)
    except (LookupError, UnicodeError):
        return None


def _detect(data: bytes, source: str) -> str:
    from charset_normalizer import from_bytes

    readings = [found for found in from_bytes(data, threshold=0.2) if found.chaos <= _MOST_CHAOS + _NEAR_CHAOS]
    if not readings or readings[0].chaos > _MOST_CHAOS:
        raise UnreadableSourceError(source, "binary data, no text")
    best, *others = readings
    competing = [other for other in others if other.chaos <= best.chaos + _NEAR_CHAOS]
    if not _is_believable(best, len(data)) or any(
        best.coherence < other.coherence + _CLEAR_LEAD for other in competing
    ):
        names = " or ".join(dict.fromkeys(found.encoding for found in readings[:3]))
        raise UnreadableSourceError(source, f"its text encoding can't be told for sure ({names}?): {_WAY_OUT}")
    return str(best)


def _is_believable(reading: "CharsetMatch", size_bytes: int) -> bool:
    """Encodings of several bytes a letter have rules that chance does not keep; code pages have none."""
    return reading.coherence >= _LEAST_COHERENCE or len(str(reading)) < 0.9 * size_bytes


def _is_noise(text: str) -> bool:
    return len(_NOISE.findall(text)) > _MOST_NOISE * len(text) + 1
