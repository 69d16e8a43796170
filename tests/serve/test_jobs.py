"""What a job says of the work that it stands for."""

from uuid import UUID

import pytest

from overstory.models import Usage
from overstory.results import ImproveResult, IndexResult, IndexStatus, RememberResult
from overstory.serve.jobs import Job, Result

INDEX = IndexResult(status=IndexStatus.PUBLISHED, model_calls=3, usage=Usage(calls=3, cost_usd=0.3))
REMEMBERED = RememberResult(
    dataset="notes",
    dataset_id=UUID(int=1),
    documents=(),
    chunks=2,
    model_calls=5,
    usage=Usage(calls=5, cost_usd=0.5),
    index=INDEX,
)


@pytest.mark.parametrize(
    ("result", "calls", "cost"),
    [
        (REMEMBERED, 5, 0.5),
        (ImproveResult(dataset="notes", index=INDEX, model_calls=5, usage=Usage(calls=5, cost_usd=0.5)), 5, 0.5),
        (INDEX, 3, 0.3),
    ],
)
def test_calls_are_counted_once(result: Result, calls: int, cost: float) -> None:
    job = Job(user="ada", verb="improve", dataset="notes", dataset_id=UUID(int=1), paid=True)

    job.finish(result)

    assert (job.view().calls, job.view().cost_usd) == (calls, pytest.approx(cost))
