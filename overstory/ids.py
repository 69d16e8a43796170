"""Deterministic ids: the same thing gets the same id in every run and on every machine.

An id is a UUIDv5 (RFC 9562) over its parts, joined by the unit separator, in one fixed namespace.
"""

import hashlib
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from uuid import UUID, SafeUUID

NAMESPACE = UUID("5b0f8f2e-6d0e-5d3c-9b62-0a6f4f6f7d11")
_NAMESPACE_BYTES = NAMESPACE.bytes
_VERSION_5 = 5 << 76 | 0b10 << 62
_FREE_BITS = (1 << 128) - 1 ^ (0xF << 76 | 0b11 << 62)
"""All but those of version and variant."""
_new, _set, _SAFE = object.__new__, object.__setattr__, SafeUUID.unknown
_SEPARATOR = "\x1f"
_EDGE_PUNCTUATION = " \t\r\n.,;:!?\"'`´‘’“”«»()[]{}<>*_#~-–—/\\|"


def make_id(*parts: str | UUID | int) -> UUID:
    """The id of the thing that these parts name, in this order."""
    named = _NAMESPACE_BYTES + _SEPARATOR.join(map(str, parts)).encode("utf-8", "surrogatepass")
    digest = hashlib.sha1(named, usedforsecurity=False).digest()
    return _uuid(int.from_bytes(digest[:16], "big") & _FREE_BITS | _VERSION_5)


@lru_cache(maxsize=32_768)
def uuid_of(data: bytes) -> UUID:
    """The same as `UUID(bytes=data)`, and in no time for one that was read lately: a question reads some thousand ids,
    most of them several times."""
    return _uuid(int.from_bytes(data, "big"))


def _uuid(number: int) -> UUID:
    """The same as `UUID(int=number)`, in a third of its time."""
    new = _new(UUID)
    _set(new, "int", number)
    _set(new, "is_safe", _SAFE)
    return new


def user_id(name: str) -> UUID:
    return make_id("user", name)


def dataset_id(owner_id: UUID, name: str, occurrence: int = 0) -> UUID:
    """`occurrence` tells a dataset from one of the same name that was dropped before."""
    return make_id("dataset", owner_id, name, occurrence)


def document_id(dataset: UUID, source: str) -> UUID:
    return make_id("document", dataset, source)


def chunk_id(document: UUID, text: str, occurrence: int = 0) -> UUID:
    """`occurrence` counts equal texts within one document, from 0."""
    return make_id("chunk", document, text_hash(text), occurrence)


def summary_id(chunk: UUID) -> UUID:
    return make_id("summary", chunk)


@lru_cache(maxsize=65_536)
def entity_id(dataset: UUID, name: str) -> UUID:
    return make_id("entity", dataset, normalize_name(name))


def edge_id(source: UUID, relationship_name: str, target: UUID) -> UUID:
    return make_id("edge", source, normalize_name(relationship_name), target)


@lru_cache(maxsize=16_384)
def label_id(dataset: UUID, relationship_name: str) -> UUID:
    return make_id("label", dataset, normalize_name(relationship_name))


def bucket_id(dataset: UUID, level: int, children: Iterable[UUID]) -> UUID:
    """Given at birth from the first children; the bucket keeps it when children come and go."""
    return make_id("bucket", dataset, level, *sorted(children))


def root_id(dataset: UUID) -> UUID:
    return make_id("root", dataset)


def row_key(bucket: UUID, valid_from: int) -> UUID:
    """The key of one version of a bucket or root."""
    return make_id("row", bucket, valid_from)


def fold(text: str) -> str:
    """What two spellings of one text have in common: NFKC, case, spacing, edge punctuation."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.split()).strip(_EDGE_PUNCTUATION) or folded.strip()


normalize_name = lru_cache(maxsize=65_536)(fold)
"""The same of a name, which is asked for often."""


def text_hash(text: str) -> str:
    """SHA-256 of the text, as 64 hex digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
