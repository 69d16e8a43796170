"""Files and folders that a user gets: they appear whole, or not at all."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from overstory.errors import UsageError
from overstory.replacing import put_in_place, sync


@asynccontextmanager
async def written_whole(path: Path) -> AsyncIterator[Path]:
    """Where to write a file or a folder: beside its place, which it takes on disk at the end, or it goes.

    A folder may take the place of an empty one, but not of the working folder, whose users would be left in one that
    is gone. What a killed writer left beside the place is removed first.

    Raises:
        UsageError: it can't be written.
    """
    try:
        place = await asyncio.to_thread(_place, path)
        building = place.parent / f".{place.name}.part"
        await asyncio.to_thread(_remove, building)
        try:
            yield building
            await asyncio.to_thread(_finish, building, place)
        finally:
            _remove(building)
    except OSError as error:
        raise UsageError(f"{path} can't be written ({error.strerror or error}): choose another place.") from error


def check_new(path: Path) -> None:
    """
    Raises:
        UsageError: there is such a file or folder.
    """
    if path.exists():
        raise UsageError(f"{path} is there already: choose another name.")


def _place(path: Path) -> Path:
    if path.exists() and path.samefile("."):
        raise UsageError(f"{path} is the working folder: choose another place.")
    return Path(os.path.abspath(path))


def _finish(building: Path, path: Path) -> None:
    for written in (*(building.iterdir() if building.is_dir() else ()), building):
        sync(written)
    if building.is_dir() and path.exists():
        path.rmdir()
    put_in_place(building, path)


def _remove(building: Path) -> None:
    if building.is_dir():
        shutil.rmtree(building, ignore_errors=True)
    else:
        building.unlink(missing_ok=True)
