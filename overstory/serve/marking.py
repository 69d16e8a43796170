"""Which sentence of a chunk says what a fact says."""

import re
from collections import Counter
from collections.abc import Iterator

from overstory.offline.sentences import split_sentences
from overstory.serve.views import TextPart

LEAST_SHARED = 0.4
"""Share of a fact's words that a sentence must hold to be marked for it."""
_WORD = re.compile(r"\w+")


def mark(text: str, quote: str) -> list[TextPart]:
    """The text in parts, laid end to end; marked is the sentence nearest to the quote, nothing where none is."""
    start, end = _literal(text, quote) or _nearest(text, quote) or (0, 0)
    parts = [(text[:start], False), (text[start:end], True), (text[end:], False)]
    return [TextPart(text=part, marked=marked) for part, marked in parts if part]


def _literal(text: str, quote: str) -> tuple[int, int] | None:
    words = quote.split()
    if not words:
        return None
    found = re.search(r"\s+".join(map(re.escape, words)), text)
    return found.span() if found else None


def _nearest(text: str, quote: str) -> tuple[int, int] | None:
    wanted = Counter(_words(quote))
    best, place = 0.0, None
    for start, end in _sentences(text):
        said = Counter(_words(text[start:end]))
        shared = sum((wanted & said).values())
        score = shared / max(1, wanted.total()) - 0.001 * said.total()  # of equals, the shorter one
        if shared >= LEAST_SHARED * wanted.total() and score > best:
            best, place = score, (start, end)
    return place


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Where each sentence stands."""
    line_start = 0
    for line in text.split("\n"):
        place = 0
        for sentence in split_sentences(line):
            found = line.find(sentence, place)
            if found >= 0:
                place = found + len(sentence)
                yield line_start + found, line_start + place
        line_start += len(line) + 1


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]
