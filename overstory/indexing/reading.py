"""From what `remember` is given to documents, one after another: texts, files, folders and URLs."""

import asyncio
import os
import stat
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import IO

from overstory.errors import InvalidOptionError, UnreadableSourceError
from overstory.indexing import locations, remote
from overstory.indexing.cleaning import clean, is_blank
from overstory.indexing.converters import convert
from overstory.indexing.converters.dates import day_in
from overstory.indexing.converters.markup import first_heading
from overstory.indexing.decoding import decode
from overstory.indexing.sources import ReadOutcome, SkippedSource, SourceDocument, SourceInput, tags

MAX_FILE_BYTES = 50_000_000
NOTHING_FETCHED: Mapping[str, ReadOutcome] = MappingProxyType({})
_NOTHING = "nothing in it to read"
_NAMELESS = "-"
"""What standard input is called."""
_Given = str | Path | SourceDocument | SkippedSource


@dataclass(frozen=True, slots=True)
class Glance:
    """What was seen of sources up to the first that can be read."""

    readable: bool
    skipped: tuple[SkippedSource, ...]
    """Those before it."""
    fetched: Mapping[str, ReadOutcome]
    """What was read of files and URLs, by source, so that nobody need fetch it again."""


async def glance(data: SourceInput) -> Glance:
    """Read until something can be read; `read` goes on from there with what was fetched. Errors as `read`."""
    skipped: list[SkippedSource] = []
    fetched: dict[str, ReadOutcome] = {}
    for given in list(_each(data)):
        outcomes = _outcomes(given, {})
        while (outcome := await asyncio.to_thread(next, outcomes, None)) is not None:
            if _is_place(given):
                fetched[outcome.source] = outcome
            if isinstance(outcome, SourceDocument):
                return Glance(True, tuple(skipped), fetched)
            skipped.append(outcome)
    return Glance(False, tuple(skipped), fetched)


async def read(
    data: SourceInput, node_set: str | Sequence[str] = (), *, fetched: Mapping[str, ReadOutcome] = NOTHING_FETCHED
) -> AsyncGenerator[ReadOutcome]:
    """Read sources one after another, in their order; what can't be read is told with its reason, and the rest goes on.

    Args:
        data: a text, a file, a folder (with its folders, sorted, hidden files left out), a URL that fsspec
            knows, a `SourceDocument`, or a list of these. A string is a place when it names a file or folder that
            exists, or is one word that is a URL, holds a slash or ends like a file name; else it is text.
        node_set: tags for all documents, besides their own.
        fetched: what was read of files and URLs a moment ago, by source.

    Yields:
        A document, or a skipped source with its reason, per text, file or document.

    Raises:
        InvalidOptionError: something in `data` is of a type that can't be read; nothing was read then.
    """
    shared = tags(node_set)
    for given in list(_each(data)):
        outcomes = _outcomes(given, fetched)
        while (outcome := await asyncio.to_thread(next, outcomes, None)) is not None:
            if isinstance(outcome, SourceDocument) and shared:
                outcome = replace(outcome, node_set=(*outcome.node_set, *shared))
            yield outcome


def _each(data: SourceInput) -> Iterator[_Given]:
    if isinstance(data, str | SourceDocument | SkippedSource):
        yield data
    elif isinstance(data, os.PathLike):
        yield Path(data)
    elif isinstance(data, list | tuple):
        for inner in data:
            yield from _each(inner)
    else:
        expected = "a text, a path, a URL, a SourceDocument, or a list of these"
        raise InvalidOptionError("data", type(data).__name__, expected)


def _is_place(given: _Given) -> bool:
    return isinstance(given, Path) or (isinstance(given, str) and not locations.is_text(given))


def _outcomes(given: _Given, fetched: Mapping[str, ReadOutcome]) -> Iterator[ReadOutcome]:
    if isinstance(given, SkippedSource):
        yield given
    elif isinstance(given, SourceDocument):
        yield _unless_blank(given)
    elif isinstance(given, str) and locations.is_text(given):
        yield from_text(given)
    elif (path := locations.local_path(given)) is not None:
        yield from _of_path(path, fetched)
    else:
        yield from _of_url(str(given), fetched)


def _of_path(path: Path, fetched: Mapping[str, ReadOutcome]) -> Iterator[ReadOutcome]:
    found = False
    for file in locations.files_in(path):
        found = True
        if isinstance(file, SkippedSource):
            yield file
        else:
            key = locations.path_key(file)
            yield fetched.get(key) or _document(key, partial(_open, file))
    if not found:
        yield SkippedSource(locations.path_key(path), "no files in this folder, hidden ones aside")


def _of_url(url: str, fetched: Mapping[str, ReadOutcome]) -> Iterator[ReadOutcome]:
    source, found = remote.without_credentials(url), False
    if source in fetched:
        yield fetched[source]
        return
    try:
        for file in remote.files(url):
            found = True
            yield fetched.get(file.source) or _document(file.source, file.open)
    except (ImportError, ValueError) as error:  # a package that is missing, a scheme that nobody knows
        yield SkippedSource(source, remote.without_credentials(str(error)))
    except Exception as error:  # noqa: BLE001  whatever a file system's client raises is this source's reason
        yield SkippedSource(source, _reason(error))
    else:
        if not found:
            yield SkippedSource(source, "no files in this folder, hidden ones aside")


def _open(path: Path) -> IO[bytes]:
    """A regular file; a pipe or device would keep the reader waiting."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise UnreadableSourceError(path.name, "not a regular file")
    return path.open("rb")


def from_text(text: str) -> ReadOutcome:
    """The document in a text, whatever the text looks like; its first heading is the title."""
    return _unless_blank(SourceDocument(text, title=first_heading(clean(text))))


def from_text_bytes(content: bytes) -> ReadOutcome:
    """The document in the bytes of a text that is no file, whatever it looks like, or why they can't be read.

    Args:
        content: more than `MAX_FILE_BYTES` are refused; decoded as a file's.
    """
    try:
        return from_text(decode(_checked(content, _NAMELESS), _NAMELESS))
    except UnreadableSourceError as error:
        return SkippedSource(_NAMELESS, error.reason)


def from_bytes(content: bytes, source: str) -> ReadOutcome:
    """The document in the bytes of a file, or why it can't be read.

    Args:
        content: at most `MAX_FILE_BYTES`.
        source: the file's name, by which the document is known.
    """
    return _document(source, lambda: BytesIO(content))


def _document(source: str, open_file: Callable[[], IO[bytes]]) -> ReadOutcome:
    try:
        with open_file() as file:
            content = file.read(MAX_FILE_BYTES + 1)
        return _unless_blank(_converted(content, source))
    except Exception as error:  # noqa: BLE001  whatever a converter raises is this file's reason, the others go on
        return SkippedSource(source, _reason(error))


def _checked(content: bytes, source: str) -> bytes:
    if len(content) > MAX_FILE_BYTES:
        raise UnreadableSourceError(source, f"larger than {MAX_FILE_BYTES // 1_000_000} MB: split it")
    return content


def _converted(content: bytes, source: str) -> SourceDocument:
    if not content:
        raise UnreadableSourceError(source, "an empty file")
    converted = convert(_checked(content, source), source)
    name = PurePosixPath(source)
    return SourceDocument(
        converted.text,
        source=source,
        title=converted.title or name.stem,
        occurred_at=converted.occurred_at or day_in(name.name),
    )


def _unless_blank(document: SourceDocument) -> ReadOutcome:
    return SkippedSource(document.source, _NOTHING) if is_blank(document.text) else document


def _reason(error: Exception) -> str:
    if isinstance(error, UnreadableSourceError):
        return error.reason
    if isinstance(error, OSError):
        return remote.without_credentials(locations.reason_of(error))
    detail = " ".join(str(error).split())[:200]
    return remote.without_credentials(
        f"its reader failed with {type(error).__name__}" + (f": {detail}" if detail else "")
    )
