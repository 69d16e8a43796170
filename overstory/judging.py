"""What people think of an answer, as weights of the evidence that it was built on.

A score moves the feedback weights of the chunks, summaries, entities and edges behind an answer, in its own dataset
only, by at most `STEP` and never out of [0, 1]. `recall(feedback_influence=…)` says how much that counts. The record
that comes back undoes it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from overstory import access, ids
from overstory.arguments import checked
from overstory.errors import InvalidOptionError
from overstory.models import DocumentChunk, Edge, Entity, Permission, TextSummary
from overstory.results import RecallResult
from overstory.runtime import current_runtime
from overstory.stores.contract import Tenant

STEP: Final = 0.1
Weighted = DocumentChunk | TextSummary | Entity | Edge


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """What a feedback has changed; `undo_feedback` takes it back."""

    dataset_id: UUID
    score: float
    text: str
    """The caller's words. They are in this record only, nothing stores them."""
    moved: Mapping[UUID, float]
    """By how much each weight was moved, by the row's key; 0 is left out."""


@checked()
async def feedback(result: RecallResult, score: float, text: str = "", *, user: str | UUID | None = None) -> Feedback:
    """Say how good an answer was.

    Args:
        result: of `recall`.
        score: from -1 (wrong, or misled by its evidence) to 1 (just right).
        text: why; kept in the record that is returned.

    Raises:
        InvalidOptionError: the score is outside -1 to 1.
        DatasetNotFoundError, PermissionDeniedError: feedback writes to the dataset of the answer.
    """
    if not -1 <= score <= 1:
        raise InvalidOptionError("score", score, "use a number from -1 to 1")
    tenant = await _tenant(result.dataset_id, user)
    rows = await _evidence_rows(tenant, result)
    moved = await _move(tenant, rows, {row.key: STEP * score for row in rows})
    return Feedback(dataset_id=result.dataset_id, score=float(score), text=text, moved=moved)


@checked()
async def undo_feedback(given: Feedback, *, user: str | UUID | None = None) -> None:
    """Take a feedback back: each weight moves the other way by as much, rows that are gone are passed over."""
    tenant = await _tenant(given.dataset_id, user)
    rows = await _rows(tenant, list(given.moved))
    await _move(tenant, rows, {key: -change for key, change in given.moved.items()})


async def _tenant(dataset_id: UUID, user: str | UUID | None) -> Tenant:
    opened = await access.find_dataset(await current_runtime(), dataset_id, user, Permission.WRITE, any_embedder=True)
    return opened.tenant


async def _evidence_rows(tenant: Tenant, result: RecallResult) -> list[Weighted]:
    """The rows of the answer's own dataset that its evidence names."""
    triplets = result.evidence.triplets
    keys = [
        *(passage.id for passage in result.evidence.passages),
        *(ids.summary_id(passage.id) for passage in result.evidence.passages),
        *(ids.edge_id(t.source_id, t.relationship_name, t.target_id) for t in triplets),
        *(end for t in triplets for end in (t.source_id, t.target_id)),
    ]
    rows = await _rows(tenant, keys)
    return [row for row in rows if row.dataset_id == result.dataset_id]


async def _rows(tenant: Tenant, keys: Sequence[UUID]) -> list[Weighted]:
    wanted = sorted(set(keys))
    return [
        *await tenant.get(DocumentChunk, wanted, without=("graph",)),
        *await tenant.get(TextSummary, wanted),
        *await tenant.get(Entity, wanted),
        *await tenant.get(Edge, wanted),
    ]


async def _move(tenant: Tenant, rows: Sequence[Weighted], changes: Mapping[UUID, float]) -> dict[UUID, float]:
    """Move weights within [0, 1]; by how much each was moved in the end."""
    moved: dict[UUID, float] = {}
    patches: dict[type[Weighted], dict[UUID, dict[str, float]]] = {}
    for row in rows:
        weight = min(max(row.feedback_weight + changes[row.key], 0.0), 1.0)
        if weight != row.feedback_weight:
            moved[row.key] = weight - row.feedback_weight
            patches.setdefault(type(row), {})[row.key] = {"feedback_weight": weight}
    for kind, changed in patches.items():
        await tenant.patch(kind, changed)
    return moved
