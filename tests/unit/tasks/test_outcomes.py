"""The line that says how a run ended."""

from uuid import UUID

import pytest

from overstory.results import (
    COMPLETED_WITH_ERRORS,
    DocumentOutcome,
    DocumentStatus,
    ForgetResult,
    ImproveResult,
    IndexResult,
    IndexStatus,
    RememberResult,
)
from tasks.outcomes import outcome_of


def remembered(*statuses: DocumentStatus, degraded: int = 0) -> RememberResult:
    outcomes = tuple(DocumentOutcome(source="a", document_id=None, status=status) for status in statuses)
    return RememberResult(
        dataset="d", dataset_id=UUID(int=1), documents=outcomes, chunks=2, model_calls=2, degraded=degraded
    )


def improved(status: IndexStatus, **values: object) -> ImproveResult:
    return ImproveResult(dataset="d", index=IndexResult(status=status, **values))


@pytest.mark.parametrize(
    ("result", "name"),
    [
        (remembered(DocumentStatus.ADDED), "Completed"),
        (remembered(DocumentStatus.ADDED, DocumentStatus.SKIPPED), COMPLETED_WITH_ERRORS),
        (remembered(DocumentStatus.ADDED, degraded=1), COMPLETED_WITH_ERRORS),
        (ImproveResult(dataset="d", index=None), "Completed"),
        (ImproveResult(dataset="d", index=None, warnings=("Stopped at max_calls=3",)), COMPLETED_WITH_ERRORS),
        (improved(IndexStatus.PUBLISHED, written=3), "Completed"),
        (improved(IndexStatus.PUBLISHED, degraded=1), COMPLETED_WITH_ERRORS),
        (improved(IndexStatus.STOPPED, reason="Stopped at max_calls=3"), COMPLETED_WITH_ERRORS),
        (improved(IndexStatus.FAILED, reason="no answer"), "Failed"),
        (improved(IndexStatus.EMPTY), "Completed"),
        (IndexResult(status=IndexStatus.UNCHANGED, generation=2), "Completed"),
        (ForgetResult(dataset="d", documents=1, chunks=1, entities=0, edges=0), "Completed"),
    ],
)
def test_a_run_is_named_by_what_became_of_it(result, name: str):
    assert outcome_of(result).name == name


def test_the_message_has_the_counts_and_the_reason():
    skipped = outcome_of(remembered(DocumentStatus.ADDED, DocumentStatus.ADDED, DocumentStatus.SKIPPED))
    failed = outcome_of(improved(IndexStatus.FAILED, reason="no answer"))

    assert skipped.message == "Documents: 2 added, 1 skipped; 2 chunks read"
    assert failed.message == "The index was not built: no answer"
