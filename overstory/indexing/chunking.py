"""From a text to chunks whose borders the text itself decides, so that an edit moves only the chunks it touches.

Content-defined chunking (Muthitacharoen, Chen, Mazières: A Low-bandwidth Network File System, 2001), with the
borders of writing in place of a rolling hash over bytes: of the best kind of border that is in reach, the one whose
surroundings hash highest. Two cuts of texts that share a passage soon choose the same border in it, and from there
on they are the same.
"""

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from uuid import UUID

from overstory import ids
from overstory.errors import InvalidOptionError
from overstory.indexing.cleaning import is_blank
from overstory.tokens import TokenRuler, estimate_tokens

_BORDERS = (
    re.compile(r"\n(?=#{1,6} )"),  # before a heading
    re.compile(r"\n(?:[^\S\n]*\n)+"),  # after a paragraph
    re.compile(  # after a sentence, before an item, a table row or a line of a log
        r"(?<!\b\w)(?<!\b\w\w)(?<![.!?…])[.!?…]++[\"'”’»)\]]*+\s+|[。！？]++[」』”’）》]*|[।॥؟۔።]\s*"
        r"|\n(?=[^\S\n]*(?:[-*+•>|\[{<]|\d))"
    ),
    re.compile(r"\n"),
    re.compile(r"[^\S\n]+|[，、；：]"),
    re.compile(r"(?s)."),
)
"""Where a chunk may end, the best kind first; the cut is behind the match."""
_HEADING = re.compile(r"#{1,6} ")
_SURROUNDINGS = 16
"""Characters before and after a border that decide how it ranks."""
_LONGEST_HEADING = 200
_LOOK_AHEAD = 40
_MOST_CHARACTERS_A_TOKEN = 4
_JOINER = "\u200d"


def split(text: str, max_tokens: int) -> list[str]:
    """Cut a text into chunks of at most `max_tokens` (by `estimate_tokens`); end to end they are the text.

    A chunk ends before a heading where it can, else after a paragraph, a sentence, a line, a word; one that is
    not the last has at least about a quarter of `max_tokens`, most have more than two fifths. A text that fits is one chunk.

    Raises:
        InvalidOptionError: `max_tokens` is below 8.
    """
    if max_tokens < 8:
        raise InvalidOptionError("max_tokens", max_tokens, "at least 8")
    return list(_pieces(text, max_tokens))


def chunk_ids(document_id: UUID, texts: Iterable[str]) -> list[tuple[UUID, str]]:
    """Each chunk with its id, in order; those in which nothing is visible are left out."""
    seen: Counter[str] = Counter()
    found = []
    for text in texts:
        if not is_blank(text):
            found.append((ids.chunk_id(document_id, text, seen[text]), text))
            seen[text] += 1
    return found


def _pieces(text: str, max_tokens: int) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = _end_of_piece(text, start, max_tokens)
        yield text[start:end]
        start = end


def _end_of_piece(text: str, start: int, max_tokens: int) -> int:
    least = max_tokens // 4
    ahead = text[start : start + _MOST_CHARACTERS_A_TOKEN * (max_tokens + least) + _LOOK_AHEAD]
    ruler = TokenRuler(ahead)
    furthest = ruler.reach(max_tokens)
    if furthest == len(ahead):
        return len(text)
    if start + len(ahead) == len(text):  # the last chunk shall not be a crumb
        furthest = ruler.reach(max_tokens - max(0, least - estimate_tokens(ahead[furthest:])))
    return start + _best_border(ahead, ruler.reach(least), ruler.reach(max_tokens * 2 // 5), furthest)


def _best_border(text: str, nearest: int, middle: int, furthest: int) -> int:
    for border in _BORDERS:
        for low, high in ((middle, furthest), (nearest, middle)):
            found = (match.end() for match in border.finditer(text, low - 1, high + _LOOK_AHEAD))
            ends = [end for end in found if low <= end <= high and _may_cut(text, end)]
            if ends:
                return max(ends, key=lambda end: (_rank(text, end), end))
    return furthest


def _may_cut(text: str, end: int) -> bool:
    """Not between a heading and what it heads, nor within what is seen as one character."""
    if text[end - 1] == "\n":
        line = text[max(0, end - _LONGEST_HEADING) : end].rstrip().rpartition("\n")[2]
        return not _HEADING.match(line)
    following = text[end : end + 1]
    return not (unicodedata.category(following or " ").startswith("M") or _JOINER in (text[end - 1], following))


def _rank(text: str, end: int) -> int:
    around = text[max(0, end - _SURROUNDINGS) : end + _SURROUNDINGS]
    return zlib.crc32(around.encode("utf-8", "surrogatepass"))
