"""What a job says of the work that it stands for."""

import asyncio
from pathlib import Path
from uuid import UUID

import pytest

from overstory.models import Usage
from overstory.results import ImproveResult, IndexResult, IndexStatus, RememberResult
from overstory.serve.app import make_app
from overstory.serve.jobs import Job, Result
from overstory.serve.options import ServeOptions

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


async def test_work_is_stopped_though_the_server_ends_with_an_error(plain_environment: Path) -> None:
    app = make_app(ServeOptions(home=plain_environment))
    job = Job(user="ada", verb="improve", dataset="notes", dataset_id=UUID(int=1), paid=False)

    async def forever() -> Result:
        return await asyncio.Future()

    async def serve() -> None:
        async with app.router.lifespan_context(app):
            app.state.server.jobs.start(job, forever, "1")
            await asyncio.sleep(0)
            raise OSError("the disk is gone")

    with pytest.raises((OSError, ExceptionGroup)):
        await serve()

    assert job.state == "failed"
