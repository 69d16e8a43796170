"""Whether words stand anywhere: they themselves, not only other forms of them, which a store may find too."""

from collections.abc import Collection
from uuid import UUID

from overstory.columns import StoredKind
from overstory.models import HEAVY, Row
from overstory.stores.contract import Tenant
from overstory.words import query_words, words_of

_FACTOR = 8
_BEGINNING = 3
"""Characters that all forms of a word have in common."""


async def is_found(tenant: Tenant, kind: type[Row], words: str, beside: Collection[UUID] = ()) -> bool:
    """Whether a search finds words in a row other than these, and not only since it has other forms of them.

    A row that has no form of them counts: the index knows of a word there that the row does not say.
    """
    wanted, fields, limit = set(query_words(words)), StoredKind(kind).text_fields, len(beside) + 1
    while True:
        keys = [hit.key for hit in await tenant.search_text(kind, words, limit)]
        others = [key for key in keys if key not in beside]
        rows = await tenant.get(kind, others, without=tuple(HEAVY.get(kind.__name__, ())))
        if any(_has(" ".join(getattr(row, field) for field in fields), wanted) for row in rows):
            return True
        if len(keys) < limit:
            return False
        limit *= _FACTOR


def _has(text: str, wanted: Collection[str]) -> bool:
    said = set(words_of(text))
    return said.issuperset(wanted) or {w[:_BEGINNING] for w in wanted}.isdisjoint(w[:_BEGINNING] for w in said)
