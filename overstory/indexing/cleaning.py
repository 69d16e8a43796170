"""Text without what nobody sees, so that the same words are the same text wherever they come from."""

import re
import unicodedata

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[@-_]?")
_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_INVISIBLE = re.compile(
    r"[\x00-\x08\x0e-\x1f\x7f-\x9f"  # control characters
    r"\xad\u200b\u2060\ufeff"  # where a word may be broken, byte order marks
    r"\ufff9-\ufffb\ufffe\uffff"  # annotations, non-characters
    r"\U000e0000-\U000e007f]"  # tags: ASCII that no font shows
)
_SURROGATES = re.compile(r"[\ud800-\udfff]")
_HALVES = re.compile(r"[\ud800-\udc7f\udd00-\udfff]")
"""Surrogates that stand for no byte of a file's name (PEP 383)."""
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n){3,}")
_VISIBLE = re.compile(r"[^\s\xad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")


def clean(text: str) -> str:
    """The text with line ends as `\\n`, letters composed (NFC) and without characters that nobody sees.

    Dropped: control characters, terminal colours, zero-width spaces, soft hyphens, tag characters. Half
    characters become U+FFFD. More than two blank lines in a row become two.
    """
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    text = _LINE_ENDS.sub("\n", text)
    text = _INVISIBLE.sub("", text)
    if not text.isascii():
        text = unicodedata.normalize("NFC", _SURROGATES.sub("\ufffd", text))
    return _BLANK_LINES.sub("\n\n\n", text)


def clean_name(name: str) -> str:
    """A key or file name as storable text: bytes that are no text as `\\xNN`, other half characters as U+FFFD, no NUL."""
    name = _HALVES.sub("\ufffd", name)
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace").replace("\x00", "")


def is_blank(text: str) -> bool:
    """Whether nobody would see anything of it."""
    return _VISIBLE.search(text) is None
