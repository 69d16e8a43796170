"""Of two passages that give values of one thing, the one that holds comes first.

Similarity puts an old and a new value in order by chance. So where a later passage says otherwise than an earlier
one, it is lifted over it; with a date in the question, what was said after that date is left where it is.
"""

from collections.abc import Sequence
from typing import Final

from overstory.models import DocumentChunk, instant
from overstory.offline.states import Statement, find_superseded, tells_change
from overstory.words import query_words, words_of

from .dates import AskedTime, asked_time

LEAST_SHARED: Final = 2
"""Words of the question that two statements must share to be of one thing."""
LOOKED_AT: Final = 12
"""The best passages, among which old and new values are put in order."""


def with_current_first(
    order: Sequence[int], chunks: Sequence[DocumentChunk], sentences: Sequence[str], question: str
) -> list[int]:
    """The order, best first, with what holds before what it replaced.

    Args:
        order: places of chunks, best first.
        chunks: what the places are of.
        sentences: of each chunk the one that fits the question best.
        question: whose words both must share to be of one thing.
    """
    time = asked_time(question)
    best = [i for i in order[:LOOKED_AT] if _holds(chunks[i], time)]
    by_time = sorted(best, key=lambda i: (instant(chunks[i].occurred_at), chunks[i].document_id, chunks[i].position))
    statements = [Statement(sentences[i], chunks[i].occurred_at, str(chunks[i].document_id)) for i in by_time]
    pairs = {
        *find_superseded(statements).items(),
        *_changed(statements, frozenset(word for word in query_words(question) if word.isalpha())),
    }
    result = list(order)
    for early, late in sorted(pairs):
        old, new = by_time[early], by_time[late]
        if result.index(new) > result.index(old):
            result.remove(new)
            result.insert(result.index(old), new)
    return result


def _changed(statements: Sequence[Statement], wanted: frozenset[str]) -> list[tuple[int, int]]:
    """Earlier and later statements that both speak of what is asked, where the later one tells of a change."""
    shared = [wanted.intersection(words_of(statement.text)) for statement in statements]
    return [
        (early, late)
        for late, statement in enumerate(statements)
        if statement.occurred_at and tells_change(statement.text)
        for early in range(late)
        if "" < instant(statements[early].occurred_at) < instant(statement.occurred_at)
        and len(shared[early] & shared[late]) >= min(LEAST_SHARED, len(wanted))
    ]


def _holds(chunk: DocumentChunk, time: AskedTime | None) -> bool:
    """Whether it was said by the last of the dates asked for; undated texts were."""
    return time is None or not chunk.occurred_at or chunk.occurred_at[:10] <= time.last
