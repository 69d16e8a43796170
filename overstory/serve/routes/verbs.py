"""What is done to a dataset: remember, improve, preview, rebuild, rollback, forget."""

from typing import Annotated, Any

from fastapi import APIRouter, File, Query, Response, UploadFile

import overstory
from overstory import datasets
from overstory.results import (
    ForgetResult,
    ImproveResult,
    IndexPreview,
    IndexResult,
    RememberResult,
)
from overstory.serve import working
from overstory.serve.context import Caller, Server, TheCaller, TheRuntime, TheServer
from overstory.serve.forms import (
    MAX_WAIT_SECONDS,
    ForgetForm,
    ForgetSessionForm,
    ImproveForm,
    Name,
    PreviewForm,
    QueryTag,
    RebuildForm,
    RememberForm,
    RememberOptions,
    RollbackForm,
)
from overstory.serve.jobs import R
from overstory.serve.missing import NotThereError
from overstory.serve.uploads import outcome_of
from overstory.serve.views import GenerationsView, JobView, SessionForgotten

router = APIRouter(prefix="/v1", tags=["verbs"])
_ACCEPTED: dict[int | str, dict[str, Any]] = {
    202: {"model": JobView, "description": "The work goes on; `Location` tells how far it is."}
}
_MOST_FILES = 1_000


@router.post("/remember", responses=_ACCEPTED)
async def remember(
    form: RememberForm, response: Response, runtime: TheRuntime, server: TheServer, caller: TheCaller
) -> RememberResult | JobView:
    """Take texts into a dataset; it is made when there is none of the name."""
    begun = await working.remember(runtime, form.documents(), form, caller.user)
    return await _answer(begun, server, caller, response if form.background else None)


@router.post("/remember/files")
async def remember_files(
    runtime: TheRuntime,
    server: TheServer,
    caller: TheCaller,
    files: Annotated[list[UploadFile], File(min_length=1, max_length=_MOST_FILES)],
    dataset: Annotated[Name, Query()] = "main_dataset",
    node_set: Annotated[list[QueryTag] | None, Query(max_length=100)] = None,
    self_improvement: Annotated[bool, Query()] = True,
    wait_seconds: Annotated[float, Query(ge=0, le=MAX_WAIT_SECONDS)] = 0,
) -> RememberResult:
    """Take uploaded files into a dataset, each known by its name. What can't be read is skipped with its reason."""
    outcomes = [await outcome_of(file) for file in files]
    options = RememberOptions(
        dataset=dataset, node_set=node_set or [], self_improvement=self_improvement, wait_seconds=wait_seconds
    )
    job, work = await working.remember(runtime, outcomes, options, caller.user)
    return await server.jobs.run(job, work, caller.request_id)


@router.post("/improve", responses=_ACCEPTED)
async def improve(
    form: ImproveForm, response: Response, runtime: TheRuntime, server: TheServer, caller: TheCaller
) -> ImproveResult | JobView:
    """Finish what is incomplete in a dataset, and bring its index up to date."""
    begun = await working.improve(runtime, form, caller.user)
    return await _answer(begun, server, caller, response if form.background else None)


@router.post("/rebuild", responses=_ACCEPTED)
async def rebuild(
    form: RebuildForm, response: Response, runtime: TheRuntime, server: TheServer, caller: TheCaller
) -> IndexResult | JobView:
    """Write the whole index anew while the old one is served."""
    begun = await working.rebuild(runtime, form, caller.user)
    return await _answer(begun, server, caller, response if form.background else None)


@router.post("/rollback")
async def rollback(form: RollbackForm, caller: TheCaller) -> GenerationsView:
    """Serve a kept generation again, by one write. What came later comes back with the next improve."""
    manifest = await datasets.rollback(form.dataset, form.generation, caller.user, wait_seconds=form.wait_seconds)
    return GenerationsView(serving=manifest.serving, generations=list(manifest.generations))


@router.post("/preview")
async def preview(form: PreviewForm, caller: TheCaller) -> IndexPreview:
    """What bringing the index up to date would take; nothing is done or paid."""
    result = await overstory.improve(form.dataset, preview=True, user=caller.user)
    assert result.preview is not None
    return result.preview


@router.post("/forget")
async def forget(form: ForgetForm, caller: TheCaller) -> ForgetResult:
    """Forget documents, or a whole dataset. It takes effect at once."""
    return await overstory.forget(
        form.dataset,
        document=None if form.documents == "all" else form.documents,
        user=caller.user,
        wait_seconds=form.wait_seconds,
        prove=form.prove,
    )


@router.post("/forget/session")
async def forget_session(form: ForgetSessionForm, caller: TheCaller) -> SessionForgotten:
    """Erase a conversation."""
    return SessionForgotten(erased=await overstory.forget_session(form.session_id, user=caller.user))


@router.get("/jobs/{job}")
async def job(job: str, server: TheServer, caller: TheCaller) -> JobView:
    """How far work is that was begun with `background`."""
    found = server.jobs.get(job, caller.user)
    if found is None:
        raise NotThereError(f"There is no job {job!r}; jobs end with the server that did them.")
    return found.view()


async def _answer(begun: working.Begun[R], server: Server, caller: Caller, accepted: Response | None) -> R | JobView:
    """The result of the work; or, where it goes on after an accepting response, how far it is."""
    job, work = begun
    if accepted is None:
        return await server.jobs.run(job, work, caller.request_id)
    server.jobs.start(job, work, caller.request_id)
    accepted.status_code = 202
    accepted.headers["Location"] = f"/v1/jobs/{job.id}"
    return job.view()
