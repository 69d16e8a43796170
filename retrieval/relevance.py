"""Whether a dataset has anything to do with a question.

A vector search always has a nearest row. So a question finds nothing when its nearest row is far away and no text
has one of its words; questions without a word of their own, or about a dataset as a whole, are let through.
"""

from collections.abc import Iterable
from typing import Final

from overstory.models import DocumentChunk, Entity, TextSummary
from overstory.offline.words import OVERVIEW_WORDS
from overstory.waves import wave
from overstory.words import query_words

from .scene import Scene

FAR_DISTANCE: Final = 0.7
"""Questions that have an answer were nearer than this to some passage in every set that was tried (MiniLM); made-up
words seldom were."""


async def has_to_do_with(scene: Scene, distances: Iterable[float]) -> bool:
    """Whether what was found, at these distances, has to do with the question."""
    nearest = min(distances, default=None)
    if nearest is None:
        return False
    words = query_words(scene.question.search_text)
    if nearest < FAR_DISTANCE or not words or not OVERVIEW_WORDS.isdisjoint(words):
        return True
    async with wave() as group:
        searches = [
            group.create_task(scene.tenant.has_words(kind, scene.question.search_text))
            for kind in (DocumentChunk, TextSummary, Entity)
        ]
    return any(search.result() for search in searches)
