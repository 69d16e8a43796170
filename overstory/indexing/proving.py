"""Whether anything of what was forgotten is left: in rows of any generation, in word indexes, in bytes of files."""

import asyncio
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from overstory.columns import Form, columns_of
from overstory.indexing.rendering import BUCKET_HEADING, EARLIER, FACTS_HEADING, ROOT_HEADING
from overstory.indexing.searching import is_found
from overstory.models import (
    COMPLETE,
    FORGETTING,
    KINDS,
    TEXT_KINDS,
    UNFINISHED,
    AreaContent,
    Category,
    ChunkGraph,
    Document,
    DocumentChunk,
    Fact,
    Manifest,
    Mention,
    Relation,
    Row,
)
from overstory.offline import categories
from overstory.offline.kinds import DATE, ORGANISATION, PERSON, PLACE, THING
from overstory.offline.relations import TOGETHER
from overstory.results import ForgetProof
from overstory.settings import OFFLINE
from overstory.stores.contract import Tenant
from overstory.words import STOP_WORDS, WORD, folded, words_of

if TYPE_CHECKING:
    import pyarrow as pa

MOST_WORDS = 64
_SHORTEST_BYTES = 6
"""Shorter words stand in vectors and page headers by chance."""
_BLOCK_BYTES = 1 << 24
_TEXTUAL = (Form.TEXT, Form.TEXTS, Form.GRAPH, Form.CONTENT)


_OUR_WORDS = frozenset(
    words_of(
        " ".join(
            [
                *(ROOT_HEADING, BUCKET_HEADING, FACTS_HEADING, EARLIER, TOGETHER),
                *(*categories.ORDER, PERSON, ORGANISATION, PLACE, DATE, THING),
                *(
                    f.name
                    for form in (AreaContent, Category, Fact, ChunkGraph, Mention, Relation)
                    for f in fields(form)
                ),
                *(COMPLETE, *UNFINISHED, FORGETTING, OFFLINE),
            ]
        )
    )
)
"""Words with which we write headings, categories, kinds and forms, whatever documents say."""


async def own_words(tenant: Tenant, document_ids: Sequence[UUID]) -> list[str]:
    """Words that only these documents have, as they spell them: what must be nowhere once they are forgotten.

    The longest words come first.
    """
    chunk_ids = set(await tenant.find(DocumentChunk, "document_id", document_ids)) if document_ids else set()
    spellings = _spellings(chunk.text for chunk in await tenant.get(DocumentChunk, sorted(chunk_ids)))
    found = spellings.keys() - STOP_WORDS - _OUR_WORDS
    found -= await _in_names_of_others(tenant, set(document_ids)) if found else set()
    own: list[str] = []
    for word in sorted(found, key=lambda w: (-len(w), w)):
        if len(own) == MOST_WORDS:
            break
        if not await is_found(tenant, DocumentChunk, word, chunk_ids):
            own.append(word)
    return [spelling for word in own for spelling in sorted(spellings[word])]


def _spellings(texts: Iterable[str]) -> dict[str, set[str]]:
    """The words of texts, each with the ways in which it is spelt there: with accents, or as it is."""
    found: dict[str, set[str]] = {}
    for text in texts:
        for word in words_of(text):
            found.setdefault(word, {word})
        for spelling in WORD.findall(text):
            if (word := _folded(spelling)) in found:
                found[word] |= {spelling.casefold()}
    return found


def _folded(word: str) -> str:
    """A word as full-text search compares it."""
    return folded(word).strip()


async def _in_names_of_others(tenant: Tenant, document_ids: Collection[UUID]) -> set[str]:
    """Words of the sources, titles, dates and tags of other documents."""
    leaving, found = {key.bytes for key in document_ids}, set[str]()
    async for batch in tenant.batches(Document, ["key", "source", "title", "occurred_at", "node_set"]):
        for row in batch.to_pylist():
            if row["key"] not in leaving:
                texts = (row["source"], row["title"], row["occurred_at"], *row["node_set"])
                found.update(word for text in texts for word in words_of(text))
    return found


async def prove(tenant: Tenant, manifest: Manifest, words: Collection[str]) -> ForgetProof:
    """Look for words in every row, word index and file of a dataset, in whatever spelling and in the given one."""
    spellings: dict[str, set[str]] = {}
    for word in filter(str.strip, words):
        spellings.setdefault(_folded(word), set()).add(word.casefold())
    sought = sorted(spellings)
    rows: dict[str, int] = {}
    found: dict[str, set[str]] = {}
    inside: set[str] = set()
    for kind in KINDS:
        rows[kind.__name__], found[f"{kind.__name__} rows"], within = await _search_rows(tenant, kind, sought)
        inside |= within
    for kind in TEXT_KINDS:
        found[f"words of {kind.__name__}"] = {word for word in sought if await is_found(tenant, kind, word)}
    # What is a part of a word of another document, or of a name of ours, stands in the files by right.
    beside = folded(await tenant.beside_rows())
    left = [word for word in sought if word not in inside and word not in beside]
    forms = {form: word for word in left for form in (word, *spellings[word]) if len(form.encode()) >= _SHORTEST_BYTES}
    files = await tenant.files()
    found |= await asyncio.to_thread(search_files, files, sorted(forms))
    return ForgetProof(
        words=len(sought),
        rows=rows,
        generations=tuple(g.number for g in manifest.generations),
        files={path.name: path.stat().st_size for path in files if path.exists()},
        words_in_files=len(set(forms.values())),
        found=tuple(place for place, hits in found.items() if hits),
        words_found=tuple(sorted(set().union(*found.values()))),
    )


async def _search_rows(tenant: Tenant, kind: type[Row], words: Sequence[str]) -> tuple[int, set[str], set[str]]:
    """How many rows were read, which words they have, and which are a part of theirs."""
    names = [c.name for c in columns_of(kind) if c.form in _TEXTUAL]
    count, whole, inside = 0, set(), set()
    async for batch in tenant.batches(kind, ["key", *names]):
        count += batch.num_rows
        text = await asyncio.to_thread(_text_of, batch, names)
        there = {word for word in words if word in text}
        said = set(words_of(text)) if there else set()
        whole |= {word for word in there if said.issuperset(word.split())}
        inside |= there
    return count, whole, inside


def _text_of(batch: "pa.RecordBatch", names: Iterable[str]) -> str:
    cells = (cell for name in names for cell in batch.column(name).to_pylist() if cell)
    return folded("\n".join(cell if isinstance(cell, str) else "\n".join(cell) for cell in cells))


def search_files(files: Iterable[Path], words: Sequence[str]) -> dict[str, set[str]]:
    """The words that each file holds, in any case, by the file's name."""
    if not words:
        return {}
    spellings = sorted({s.encode() for w in words for s in (w, w.upper(), w.capitalize())})
    pattern = re.compile(b"|".join(map(re.escape, spellings)), re.IGNORECASE)
    overlap = max(map(len, spellings))
    return {path.name: _held(path, pattern, overlap) for path in files}


def _held(path: Path, pattern: re.Pattern[bytes], overlap: int) -> set[str]:
    rest, held = b"", set[str]()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            held.update(match.decode().casefold() for match in pattern.findall(rest + block))
            rest = block[-overlap:]
    return held
