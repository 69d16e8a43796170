"""The files of the page, each by its name and nothing else."""

from importlib.resources import files
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse

from overstory.serve.missing import NotThereError

router = APIRouter(include_in_schema=False)
_FOLDER = Path(str(files("overstory.serve"))) / "pages"
_FILES = {file.name: file for file in _FOLDER.iterdir() if file.is_file()}


@router.get("/")
async def index() -> FileResponse:
    return FileResponse(_FILES["index.html"])


@router.get("/{name}")
async def file(name: str) -> FileResponse:
    if name not in _FILES:
        raise NotThereError("There is no such page.")
    return FileResponse(_FILES[name])
