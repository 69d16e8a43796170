"""A text with or without markup as sentences that can be quoted: no bullets, tags, tables or code around them."""

import html
import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from overstory.offline.terms import HAN, KANA
from overstory.offline.words import CALENDAR_WORDS

_INVISIBLE = re.compile(
    "[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_COMMENT = re.compile(r"<!--.*?-->|<(script|style)\b.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,300}>|<\|[^<>|\n]{1,40}\|>|<<?/?[A-Z]{2,8}>>?|\[/?[A-Z]{3,6}\]")
_BLOCK_TAG = re.compile(
    r"</?(?:p|div|li|ul|ol|tr|td|th|table|h[1-6]|br|hr|title|head|body|section|article|summary)\b[^<>]*>", re.I
)
_IMAGE = re.compile(r"!\[[^\]\n]*\]\([^)\n]*\)")
_LINK = re.compile(r"\[([^\]\n]+)\]\([^)\s]*(?:\s\"[^\"\n]*\")?\)")
_NOTE_MARK = re.compile(r"\[\^?\d{1,3}\]|\[\^\w+\]")
_ADDRESS = re.compile(r"<?\b(?:https?|ftp)://[^\s<>)\]]+>?|\bwww\.[^\s<>)\]]+")
_LONGEST_ADDRESS = 50
_EMPHASIS = re.compile(r"(?<![\w*_])(\*{1,3}|_{1,3}|~~|`{1,2})(?=\S)(.+?)(?<=\S)\1(?![\w*_])")
_HEADING = re.compile(r"^\s{0,3}\\?#{1,6}\s+(.*?)\s*#*\s*(?:\{#[\w-]+\})?$")
_RULE = re.compile(r"^\s*\\?(?:[-=_*~+.#|:\s]){3,}$")
_UNDERLINE = re.compile(r"^\s{0,3}\\?(={3,}|-{3,})\s*$")
"""Below a title; as `_HEADING` and `_RULE`, also with the backslash that a context puts before it."""
_BULLET = re.compile(r"^\s*(?:[-*+•◦▪‣·–—]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])\s+(?:\[[ xX]\]\s+)?")
_QUOTE = re.compile(r"^\s*(?:>\s*)+")
_ROW = re.compile(r"^\s*\|.*\|\s*$|^[^|\n]+(?:\|[^|\n]+){2,}$|^[^\t\n]+(?:\t[^\t\n]*){2,}$")
_LOG = re.compile(r"^\s*\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|^\s*\[?\d\d:\d\d:\d\d|\b(?:INFO|DEBUG|WARN|ERROR)\b.*=")
_CODE = re.compile(
    r"[{}]\s*$|[=(){}\[\]].*;\s*$|^\s*(?:def|class|import|from|return|function|var|const|let|public|private|SELECT|INSERT|CREATE)\b.*[({;:=*]"
    r"|=>|\w::\w|\w\(\w*\)[.;:]?$|^\s*[@$]\w|^\.\. \w|^(?:\+\+\+|---|@@|diff|index)\s|\\[a-z]+\{|^\s*\w+\s*=\s*\S+$"
)
_LABEL = re.compile(r"(?:\[[^\]\n]{4,30}\]\s*)?[^\W\d][\w.'’-]*(?: [\w.'’-]+){0,3}:\s|\[[^\]\n]{4,30}\]\s")
_SPACE = re.compile(r"\s+")
_CLOSERS = "\"'”’»)\\]）」』*_"
_END = re.compile(rf"(?:[.!?…؟۔।]+[{_CLOSERS}]*(?=\s)|[。！？｡]+[{_CLOSERS}]*|[.!?]+[{_CLOSERS}]*(?=[{HAN}{KANA}]))")
_SENTENCE_END = re.compile(rf"[.!?…؟۔।。！？｡:;,][{_CLOSERS}]*$")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"“‘'])(?:mr|mrs|ms|dr|prof|st|sr|jr|vs|etc|eg|ie|e\.g|i\.e|cf|al|no|nos|nr|vol|pp?|fig|gen|col|lt|sgt|capt|rev|"
    r"hon|sen|rep|gov|inc|ltd|co|corp|dept|approx|est|ca|z\.b|d\.h|u\.a|bzw|ggf|usw|vgl|abs|art|str|bd|hrsg|jan|feb|mar|apr|"
    r"jun|jul|aug|sept?|oct|nov|dec|[a-z]|(?:[a-z]\.)+[a-z])\.$",
    re.IGNORECASE,
)
_ALONE = re.compile(r"(?:^|\s)(?:etc|inc|ltd|co|corp|al|[A-Z]\.[A-Z])\.$", re.IGNORECASE)
_ORDINAL = re.compile(r"(?:^|\s)\d{1,2}\.$")
_SHORT_LINE = 60
"""Characters from which on a line may be one of a broken paragraph."""
_OPENERS = "\"'“‘«([¿¡—–-*_"


class Sentence(NamedTuple):
    text: str
    kind: str
    """`prose`, `item` of a list, `heading`, `row` of a table, or `code` (with logs): the last is no language."""


def sentences_of(text: str) -> list[Sentence]:
    """The sentences of a text in order, each on one line and without markup."""
    return [
        Sentence(piece, kind) for block, kind in _blocks(text) for piece in split_sentences(block) if _has_word(piece)
    ]


def split_sentences(line: str) -> list[str]:
    """Split running text at the ends of its sentences."""
    line = _SPACE.sub(" ", line).strip()
    pieces, start = [], 0
    for end in _END.finditer(line):
        if _ends_sentence(line, start, end):
            pieces.append(line[start : end.end()].strip())
            start = end.end()
    pieces.append(line[start:].strip())
    return [piece for piece in pieces if piece]


def _ends_sentence(line: str, start: int, end: re.Match[str]) -> bool:
    if not end[0].startswith("."):
        return not line[end.end() :].lstrip()[:1].islower()
    rest = line[end.end() :].lstrip().lstrip(_OPENERS)
    if rest[:1].islower() or (end[0].startswith(".") and rest[:1] in ",;:)"):
        return False
    before = line[max(start, end.start() - 12) : end.start() + 1]
    if _ABBREVIATION.search(before):
        return bool(_ALONE.search(before)) and rest[:1].isupper() and len(rest) > 1
    return not (_ORDINAL.search(before) and _is_short(line[start : end.start()], rest))


def _is_short(before: str, rest: str) -> bool:
    """Whether a number with a full stop is an ordinal or the number of an item, and not the end of a sentence."""
    following = rest.split(" ", 1)[0].rstrip(".,").casefold()
    return len(before) < 4 or following in CALENDAR_WORDS


def _has_word(piece: str) -> bool:
    return any(character.isalpha() for character in piece)


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Paragraphs (with hard line breaks undone), items, headings and rows, cleaned, with their kinds."""
    lines: list[str] = []
    kind_of_lines = "prose"
    for line, kind in _lines(text):
        if lines and (kind != "prose" or not line or _is_new_turn(lines[0], line)):
            yield from _paragraph(lines, kind_of_lines)
            lines = []
        if kind in ("prose", "item") and line:
            kind_of_lines = kind if not lines else kind_of_lines
            lines.append(line)
        elif line:
            yield line, kind
    if lines:
        yield from _paragraph(lines, kind_of_lines)


def _is_new_turn(first: str, line: str) -> bool:
    """Whether both lines begin with a label (`Anna: …`, `[18:02] Sam: …`), as turns of a talk do."""
    return bool(_LABEL.match(line) and _LABEL.match(first))


def _paragraph(lines: list[str], kind: str) -> Iterator[tuple[str, str]]:
    if kind == "prose" and _is_verse(lines):
        yield from ((line, kind) for line in lines)
    elif kind == "prose" and _is_titled(lines):
        title, first, *rest = lines
        if first.casefold().startswith(title.casefold()):
            yield title, "heading"
            yield from _paragraph([first, *rest], kind)
        else:
            yield from _paragraph([f"{title}: {first}", *rest], kind)
    else:
        yield _join(lines), kind


def _is_verse(lines: list[str]) -> bool:
    """Whether the lines of a block are short and each for itself (an address, a chat) and not one broken paragraph."""
    return len(lines) > 1 and all(len(line) < _SHORT_LINE and line[:1].isupper() for line in lines)


def _is_titled(lines: list[str]) -> bool:
    """Whether the first line is a title: without a mark at its end, though the next word would have fit on it."""
    first, *rest = lines
    if not rest or len(first) >= _SHORT_LINE or not first[-1:].isalnum():
        return False
    width = max(map(len, rest))
    return first[:1].isupper() and rest[0][:1].isupper() and len(f"{first} {rest[0].split(' ', 1)[0]}") <= width


def _join(lines: list[str]) -> str:
    joined = lines[0]
    for line in lines[1:]:
        if joined.endswith("-") and joined[-2:-1].isalpha() and line[:1].islower():
            joined = joined[:-1] + line
        else:
            joined = f"{joined} {line}"
    return joined


def _lines(text: str) -> Iterator[tuple[str, str]]:
    in_code, before = False, ""
    raws = clean(text).splitlines()
    for raw, following in zip_longest(raws, raws[1:], fillvalue=""):
        if _FENCE.match(raw):
            in_code = not in_code
            yield "", "prose"
        elif in_code:
            yield raw.strip(), "code"
        else:
            line, kind = _line(raw)
            is_title = kind == "prose" and not before and _underlines(following, line)
            yield line, "heading" if is_title else kind
            before = line if kind in ("prose", "item") else ""


def _underlines(following: str, line: str) -> bool:
    """Whether the line of marks below a line makes it a title; dashes below a sentence or a turn of a talk are a rule."""
    mark = _UNDERLINE.match(following)
    if not line or mark is None:
        return False
    return mark[1][0] == "=" or not (_SENTENCE_END.search(line) or _LABEL.match(line))


def _line(raw: str) -> tuple[str, str]:
    stripped = raw.strip()
    if not stripped or _RULE.match(raw):
        return "", "prose"
    if heading := _HEADING.match(raw):
        return _unmark(heading[1]), "heading"
    if _LOG.search(raw) or (_CODE.search(raw) and stripped.count(" ") < 12):
        return stripped, "code"
    if _ROW.match(raw):
        return ", ".join(cell.strip() for cell in re.split(r"[|\t]", stripped.strip("|")) if cell.strip()), "row"
    raw = _QUOTE.sub("", raw)
    if bullet := _BULLET.match(raw):
        return _unmark(raw[bullet.end() :]), "item"
    return _unmark(stripped if not _QUOTE.match(stripped) else raw), "prose"


def clean(text: str) -> str:
    """Without invisible characters, comments, tags and pictures; links keep their words."""
    text = _INVISIBLE.sub("", text.replace("\u2028", "\n").replace("\u2029", "\n"))
    if "<" in text or "[" in text:
        text = _LINK.sub(r"\1", _IMAGE.sub("", _COMMENT.sub("", text)))
        text = _NOTE_MARK.sub("", _TAG.sub(" ", _BLOCK_TAG.sub("\n", text)))
    return html.unescape(text) if "&" in text else text


def _unmark(line: str) -> str:
    """Without emphasis marks."""
    for _ in range(2):
        line = _EMPHASIS.sub(r"\2", line)
    return line.strip().removeprefix("...: ")


def without_addresses(text: str) -> str:
    """Web addresses name nothing."""
    return _ADDRESS.sub("", text) if "://" in text or "www." in text else text


def with_short_addresses(text: str) -> str:
    """Web addresses without scheme, query and length, so that a sentence around one stays whole."""
    if "://" not in text and "www." not in text:
        return text
    return _ADDRESS.sub(lambda match: _short_address(match[0].strip("<>")), text)


def _short_address(address: str) -> str:
    closing = address[len(address.rstrip(".,;:!?")) :]
    plain = re.sub(r"^\w+://(?:www\.)?", "", address.removesuffix(closing))
    plain = re.split(r"[?#]", plain)[0].rstrip("/")
    return (plain if len(plain) <= _LONGEST_ADDRESS else plain.split("/")[0]) + closing


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters, cut at the end of a clause or word, the cut shown."""
    if len(text) <= limit:
        return text
    cut = text[: limit - 1]
    clause = max(cut.rfind(mark) for mark in ("; ", ", ", " – ", " — ", "，", "；", "、"))
    end = clause if clause > limit * 0.6 else cut.rfind(" ")
    return (cut[:end] if end > limit * 0.4 else cut).rstrip(" ,;:–—-，；、") + "…"
