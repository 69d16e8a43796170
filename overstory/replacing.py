"""What is replaced at once: whoever reads it sees it before or after, never half, and it stays."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def replace_file(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read, on disk when this returns; its folder is made where there is none.

    A process that is killed leaves at most a part beside it.

    Raises:
        OSError: it can't be written; nothing was changed.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".new-{path.stem}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        put_in_place(Path(name), path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise


def put_in_place(written: Path, path: Path) -> None:
    """Let a file or folder that is on disk take its place in the same folder, on disk when this returns."""
    os.replace(written, path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Bring what a file holds, or the names in a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
