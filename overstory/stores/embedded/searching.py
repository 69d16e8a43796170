"""Full-text search of a dataset's file."""

from collections.abc import Sequence
from uuid import UUID

import apsw

from overstory.models import Hit, Row
from overstory.stores.embedded.connections import fetch
from overstory.stores.embedded.schema import table_of
from overstory.words import query_words


def search_text(connection: apsw.Connection, kind: type[Row], query: str, limit: int) -> list[Hit]:
    """The rows that share words with a query, by falling BM25, ties by key."""
    words = query_words(query)
    if not words:
        return []
    name = table_of(kind).name
    # Keys are looked up only for the best, and for all that are as good as the last of them.
    sql = f"""
        WITH hits AS MATERIALIZED (SELECT rowid AS rid, bm25({name}_text) AS score FROM {name}_text WHERE words MATCH ?),
        cut AS (SELECT score FROM hits ORDER BY score LIMIT 1 OFFSET ?)
        SELECT t.key, -hits.score FROM hits JOIN {name} t USING (rid)
        WHERE hits.score <= ifnull((SELECT score FROM cut), 0)
        ORDER BY hits.score, t.key LIMIT ?
    """
    found = fetch(connection, sql, (_any_of(words), limit - 1, limit))
    return [Hit(UUID(bytes=key), score) for key, score in found]


def has_words(connection: apsw.Connection, kind: type[Row], query: str) -> bool:
    """Whether any row shares a word with a query."""
    words, name = query_words(query), table_of(kind).name
    sql = f"SELECT 1 FROM {name}_text WHERE words MATCH ? LIMIT 1"
    return bool(words) and bool(fetch(connection, sql, (_any_of(words),)))


def _any_of(words: Sequence[str]) -> str:
    return " OR ".join(f'"{word}"' for word in words)
