"""Files that a tool may read: those below the folders that whoever started the server has named, and no others."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from overstory.errors import InvalidOptionError

MOST_FILES = 1_000


def check_folders(folders: Sequence[Path]) -> tuple[Path, ...]:
    """The folders as they are, links followed.

    Raises:
        InvalidOptionError: one is no folder.
    """
    for folder in folders:
        if not folder.is_dir():
            raise InvalidOptionError("folder", str(folder), "name a folder that exists")
    return tuple(folder.resolve() for folder in folders)


def files_of(wanted: Sequence[str], folders: Sequence[Path]) -> list[Path]:
    """The files that are meant, those of folders by name; a relative path is looked for in each allowed folder.

    Raises:
        InvalidOptionError: one is not there, or lies elsewhere - it is not told which -, or they are too many.
    """
    found: dict[Path, None] = {}
    for name in wanted:
        place = _inside(name, folders)
        if place is None:
            allowed = ", ".join(map(str, folders))
            raise InvalidOptionError("files", name, f"use what is below the folders that may be read: {allowed}")
        for file in _files(place, folders):
            found[file] = None
            if len(found) > MOST_FILES:
                raise InvalidOptionError("files", name, f"at most {MOST_FILES} files at once; name a folder below it")
    return list(found)


def _inside(name: str, folders: Sequence[Path]) -> Path | None:
    for folder in folders:
        try:
            place = (folder / name).resolve(strict=True)
        except (OSError, ValueError):
            continue
        if _allowed(place, folders):
            return place
    return None


def _files(place: Path, folders: Sequence[Path]) -> Iterator[Path]:
    if place.is_file():
        yield place
    elif place.is_dir():
        for below in sorted(place.rglob("*")):
            hidden = any(part.startswith(".") for part in below.relative_to(place).parts)
            if not hidden and below.is_file() and _allowed(target := below.resolve(), folders):
                yield target


def _allowed(place: Path, folders: Sequence[Path]) -> bool:
    return any(place.is_relative_to(folder) for folder in folders)
