"""Which datasets there are, how they stand, and a whole one to take away."""

import asyncio
import shutil
import tempfile
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Annotated
from urllib.parse import quote
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask

from overstory import access, datasets
from overstory.indexing.leasing import current_holder
from overstory.models import Generation, GlobalContextSummary, Permission, TextSummary
from overstory.results import SearchType
from overstory.runtime import OpenDataset, Runtime
from overstory.serve.context import DatasetName, TheCaller, TheLook, TheRuntime, TheServer
from overstory.serve.forms import MAX_WAIT_SECONDS
from overstory.serve.views import BuildsView, DatasetView, GenerationsView, LevelRows, Me, without_place

router = APIRouter(prefix="/v1", tags=["datasets"])


@router.get("/me")
async def me(runtime: TheRuntime, server: TheServer, caller: TheCaller) -> Me:
    """Who asks, and how this server is set."""
    return Me(
        user=caller.user,
        key_required=server.options.asks_for_key,
        version=metadata.version("overstory"),
        writer=runtime.writer.model,
        search_types=list(SearchType),
    )


@router.get("/datasets")
async def list_datasets(runtime: TheRuntime, caller: TheCaller) -> list[DatasetView]:
    """Every dataset that one owns or may read."""
    found = await datasets.list_datasets(caller.user)
    return await access.of_each(found, lambda dataset_id: _view(runtime, dataset_id, caller.user))


@router.get("/datasets/{dataset}")
async def status(runtime: TheRuntime, caller: TheCaller, dataset: DatasetName) -> DatasetView:
    """How a dataset and its index stand."""
    return await _view(runtime, dataset, caller.user)


@router.get("/datasets/{dataset}/generations")
async def generations(caller: TheCaller, dataset: DatasetName) -> GenerationsView:
    """The states of the index that are kept."""
    serving, kept = await datasets.generations(dataset, caller.user)
    return GenerationsView(serving=serving, generations=list(kept))


@router.get("/datasets/{dataset}/builds")
async def builds(server: TheServer, seen: TheLook) -> BuildsView:
    """The work on a dataset: this server's, and how far another process is."""
    holder = await current_holder(seen.opened.runtime.store, seen.opened.dataset.id)
    jobs = [job.view() for job in server.jobs.of_dataset(seen.opened.dataset.id)]
    here = any(job.state == "running" for job in jobs)
    numbers = [build.number for build in seen.manifest.unpublished]
    elsewhere = await _rows_of(seen.opened, max(numbers)) if holder and numbers and not here else []
    return BuildsView(held_by=holder, jobs=jobs, elsewhere=elsewhere)


@router.get(
    "/datasets/{dataset}/export",
    response_class=FileResponse,
    responses={200: {"content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}}},
)
async def export(
    server: TheServer,
    caller: TheCaller,
    dataset: DatasetName,
    wait_seconds: Annotated[float, Query(ge=0, le=MAX_WAIT_SECONDS)] = 0,
) -> FileResponse:
    """A dataset as a zip of Parquet files, which `overstory import` reads when it is unpacked."""
    place = await asyncio.to_thread(_new_folder, server.options.exports_folder)
    try:
        manifest = await datasets.export(dataset, place / "dataset", caller.user, wait_seconds=wait_seconds)
        await asyncio.to_thread(_pack, place / "dataset", place / "dataset.zip")
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    name = quote(f"{manifest.dataset.name}.zip", safe="")
    return FileResponse(
        place / "dataset.zip",
        media_type="application/zip",
        headers={"Content-Disposition": f"attachment; filename=\"dataset.zip\"; filename*=UTF-8''{name}"},
        background=BackgroundTask(shutil.rmtree, place, ignore_errors=True),
    )


async def _view(runtime: Runtime, dataset: str | UUID, user: str) -> DatasetView:
    opened = await access.find_dataset(runtime, dataset, user, Permission.READ, any_embedder=True)
    manifest = await opened.manifest()
    who = access.user_id(user)
    return DatasetView(
        status=without_place(await datasets.status(opened.dataset.id, user)),
        own=opened.dataset.owner_id == who,
        may_write=Permission.WRITE in await runtime.store.permissions(opened.dataset.id, who),
        text_summaries=await opened.tenant.count(TextSummary),
        model_calls=sum(one.model_calls for one in manifest.generations),
        cost_usd=_cost(manifest.generations),
    )


def _cost(kept: tuple[Generation, ...]) -> float | None:
    known = [one.cost_usd for one in kept if one.cost_usd is not None]
    return sum(known) if known else None


async def _rows_of(opened: OpenDataset, generation: int) -> list[LevelRows]:
    counts: dict[tuple[int, bool], int] = {}
    async for batch in opened.tenant.batches(GlobalContextSummary, ["level", "is_root", "valid_from"]):
        for level, is_root, since in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if since == generation:
                counts[level, is_root] = counts.get((level, is_root), 0) + 1
    return [LevelRows(level=level, is_root=is_root, rows=rows) for (level, is_root), rows in sorted(counts.items())]


def _new_folder(parent: Path) -> Path:
    parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return Path(tempfile.mkdtemp(dir=parent))


def _pack(folder: Path, archive: Path) -> None:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as packed:  # Parquet is compressed already
        for file in sorted(folder.iterdir()):
            packed.write(file, file.name)
    shutil.rmtree(folder)
