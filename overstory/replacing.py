"""Small files that are replaced at once: whoever reads one sees it before or after, never half."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

_PREFIX = ".new-"


def replace_file(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read, on disk when this returns; its folder is made where there is none.

    A process that is killed leaves at most a part beside it, for `remove_leftovers`.

    Raises:
        FileNotFoundError: somebody removed leftovers meanwhile; nothing was changed.
        OSError: it can't be written; nothing was changed.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{_PREFIX}{path.stem}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise


def remove_leftovers(folder: Path, stem: str = "") -> None:
    """Remove what killed writers left in a folder; only that of files of this name, its suffix left out, when given."""
    for part in folder.glob(f"{_PREFIX}{stem}*"):
        part.unlink(missing_ok=True)
