"""From an uploaded file to a document. Its name is only a name: no path of this machine is read for it."""

import asyncio
from pathlib import PurePosixPath

from fastapi import UploadFile

from overstory.indexing import reading
from overstory.indexing.sources import ReadOutcome

UNNAMED = "upload"


async def outcome_of(file: UploadFile) -> ReadOutcome:
    """The document in a file, or why it can't be read."""
    content = await file.read()
    return await asyncio.to_thread(reading.from_bytes, content, source_of(file.filename or ""))


def source_of(filename: str) -> str:
    """The key that a file is known by: its name, folders kept, without what leads out of them."""
    parts = [part for part in filename.replace("\\", "/").split("/") if part not in {"", ".", ".."}]
    return str(PurePosixPath(*parts)) if parts else UNNAMED
