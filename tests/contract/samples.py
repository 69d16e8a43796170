"""Small rows for the suite: what a test does not care about has a value already."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import numpy as np

from overstory.models import (
    OPEN_END,
    AreaContent,
    Dataset,
    Document,
    DocumentChunk,
    Edge,
    Entity,
    Generation,
    GlobalContextSummary,
    PendingChange,
    RelationshipLabel,
    Row,
    TextSummary,
    Vector,
    Vectors,
)

DIMENSIONS = 8
START = datetime(2026, 5, 3, 12, 0, 0, 123456, tzinfo=UTC)
HOSTILE_TEXTS = (
    'He said "yes", it\'s `code` \\ and 100 %',
    "line\nbreak\r\nand\ttab",
    "--- \n## Facts\n$1 ; DROP TABLE Entity; --",
    "漢字かな交じり文 · 한국어 · Größe · עברית · emoji 👩‍👩‍👧",
    '{"json": [1, null]} %s {braces} <b>&amp;</b>',
    "x" * 5_000,
    " spaces around ",
)


class Clock:
    """A time that stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def dataset(name: str = "main_dataset", owner: UUID | None = None, dimensions: int = DIMENSIONS) -> Dataset:
    return Dataset(
        id=uuid4(),
        name=name,
        owner_id=owner or uuid4(),
        created_at=START,
        embedding_model="hashing",
        embedding_dimensions=dimensions,
    )


def row(kind: type[Row], dataset_id: UUID, **values: Any) -> Any:
    """A row with an id of its own."""
    return kind(**{**_defaults(kind), "dataset_id": dataset_id, **values})


def _defaults(kind: type[Row]) -> dict[str, Any]:
    return {
        Document: lambda: {"id": uuid4(), "source": "notes.txt", "content_hash": "0"},
        DocumentChunk: lambda: {"id": uuid4(), "document_id": uuid4(), "text": "some text", "position": 0},
        TextSummary: lambda: {
            "id": uuid4(),
            "document_id": uuid4(),
            "chunk_id": uuid4(),
            "text": "some text",
            "position": 0,
        },
        Entity: lambda: {"id": uuid4(), "name": "Northstar", "chunk_id": uuid4()},
        Edge: lambda: {
            "id": uuid4(),
            "source_id": uuid4(),
            "relationship_name": "knows",
            "target_id": uuid4(),
            "chunk_id": uuid4(),
        },
        RelationshipLabel: lambda: {"id": uuid4(), "name": "knows"},
        GlobalContextSummary: lambda: {
            "id": uuid4(),
            "level": 0,
            "child_ids": (uuid4(), uuid4()),
            "content": AreaContent(),
            "text": "This area",
            "valid_from": 1,
            "valid_to": OPEN_END,
            "fingerprint": "f",
            "model": "offline",
        },
        PendingChange: lambda: {"summary_id": uuid4()},
    }[kind]()


def generation(number: int, root_id: UUID | None = None) -> Generation:
    return Generation(
        number=number,
        root_id=root_id,
        bucketing_strategy="graph",
        max_bucket_size=4,
        placement_distance_threshold=0.5,
        min_overlap=0.05,
        level_sizes=(5, 2),
        summaries=20,
        degraded=1,
        model="offline",
        prompt_version="1",
        embedding_model="hashing",
        embedding_dimensions=DIMENSIONS,
        built_at=START,
    )


def unit(*values: float, dimensions: int = DIMENSIONS) -> Vector:
    """A vector of length 1 in this direction, the rest of it 0."""
    vector = np.zeros(dimensions, np.float32)
    vector[: len(values)] = values
    return vector / np.linalg.norm(vector)


def random_vectors(count: int, seed: int = 0, dimensions: int = DIMENSIONS) -> Vectors:
    vectors = np.random.default_rng(seed).normal(size=(count, dimensions)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def some_keys(count: int) -> list[UUID]:
    return [uuid4() for _ in range(count)]
