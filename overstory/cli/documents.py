"""`overstory remember`, `documents` and `forget`."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

import overstory
from overstory.cli import completing, jsonforms
from overstory.cli.options import DEFAULT_DATASET, Dataset, Json, WaitSeconds, as_text
from overstory.cli.performing import ExitCode, fail, finish, perform
from overstory.cli.terminal import one_line, output
from overstory.errors import DocumentNotFoundError, InvalidOptionError, UsageError

if TYPE_CHECKING:
    from overstory.indexing.sources import SourceInput
    from overstory.results import DocumentEntry, ForgetResult


def remember(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Files, folders or URLs; - reads a text from standard input.")
    ],
    dataset: Dataset = DEFAULT_DATASET,
    node_set: Annotated[
        list[str] | None,
        typer.Option("--node-set", metavar="TAG", help="A tag of these documents; may be repeated.", parser=as_text),
    ] = None,
    improve: Annotated[
        bool, typer.Option("--improve/--no-improve", help="Also refresh the index, where there is one.")
    ] = True,
    wait_seconds: WaitSeconds = 0,
    json: Json = False,
) -> None:
    """Read documents into a dataset.

    The same file with other content is an update, the same content again is no work. What can't be read is
    reported as skipped, and the rest goes on.
    """
    result = perform(
        "remember",
        lambda: overstory.remember(
            [_source(path) for path in paths],
            dataset,
            node_set=node_set,
            self_improvement=improve,
            wait_seconds=wait_seconds,
        ),
        json=json,
    )
    if json:
        jsonforms.write("remember", jsonforms.fields(result))
    else:
        from overstory.cli.rendering import remembered

        remembered(result, output())
    behind = result.index is not None and bool(result.index.reason or result.index.degraded)
    finish(in_part=bool(result.degraded) or behind or any(outcome.reason for outcome in result.documents))


def documents(
    dataset: Dataset = DEFAULT_DATASET,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=0, help="So many at most; 0 for all.")] = 50,
    offset: Annotated[int, typer.Option("--offset", metavar="N", min=0, help="Leave so many out.")] = 0,
    json: Json = False,
) -> None:
    """List the documents of a dataset, by their sources."""
    found, total = perform("documents", lambda: _documents(dataset, offset, limit or None), json=json)
    if json:
        jsonforms.write("documents", {"dataset": dataset, "total": total, "offset": offset, "documents": found})
    else:
        from overstory.cli import overviews

        overviews.documents(dataset, found, output(), offset=offset, total=total)


async def _documents(dataset: str, offset: int, limit: int | None) -> "tuple[list[DocumentEntry], int]":
    found = await overstory.datasets.documents(dataset, offset=offset, limit=limit)
    return found, (await overstory.datasets.status(dataset)).documents


def forget(
    dataset: Dataset = "",
    document: Annotated[
        list[str] | None,
        typer.Option(
            "--document",
            metavar="SOURCE",
            help="A document's source or id; may be repeated.",
            autocompletion=completing.document_sources,
            parser=as_text,
        ),
    ] = None,
    session: Annotated[
        str,
        typer.Option(
            "--session",
            metavar="NAME",
            help="A conversation, in place of a dataset.",
            show_default=False,
            parser=as_text,
        ),
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Forget a whole dataset without being asked again.")] = False,
    prove: Annotated[
        bool, typer.Option("--prove", help="Look for the documents' own words in every row and file afterwards.")
    ] = False,
    wait_seconds: WaitSeconds = 0,
    json: Json = False,
) -> None:
    """Remove documents, a whole dataset, or a conversation.

    Without --document the dataset goes, with all that it holds.
    """
    if bool(dataset) == bool(session) or (session and document):
        said = "Name what is to be forgotten: a dataset with --dataset, or a conversation with --session."
        fail("forget", UsageError(said), json=json)
    if prove and not document:
        said = "Only of documents can it be proven that they are forgotten: name them with --document."
        fail("forget", UsageError(said), json=json)
    if session:
        _forget_session(session, json=json)
        return
    if not document and not yes:
        _ask(dataset, json=json)
    result = perform(
        "forget",
        lambda: _forget(dataset, document or [], wait_seconds=wait_seconds, prove=prove),
        json=json,
    )
    if json:
        jsonforms.write("forget", jsonforms.fields(result))
    else:
        from overstory.cli.rendering import forgotten

        forgotten(result, output(), whole=not document)
    if result.proof and not result.proof.forgotten:
        raise typer.Exit(ExitCode.FAILED)


async def _forget(dataset: str, documents: list[str], **options: Any) -> "ForgetResult":
    try:
        return await overstory.forget(dataset, document=documents or None, **options)
    except DocumentNotFoundError:
        meant = await _meant(dataset, documents)
        if meant == documents:
            raise
        return await overstory.forget(dataset, document=meant, **options)


async def _meant(dataset: str, names: list[str]) -> list[str | UUID]:
    """Documents named as they are shown, which is without control characters, by their ids; other names as they are.

    Raises:
        InvalidOptionError: several are shown so.
    """
    from overstory.cli.rendering import place

    shown: dict[str, set[UUID]] = {}
    for one in await overstory.datasets.documents(dataset):
        for name in (place(one.source), one_line(one.source), one_line(repr(one.source)[1:-1])):
            shown.setdefault(name, set()).add(one.id)
    meant: list[str | UUID] = []
    for name in names:
        found = sorted(shown.get(name, ()))
        if len(found) > 1:
            ids = ", ".join(map(str, found))
            raise InvalidOptionError("document", name, f"several are shown so, name one by its id: {ids}")
        meant.append(found[0] if found else name)
    return meant


def _forget_session(session: str, *, json: bool) -> None:
    known = perform("forget", lambda: overstory.forget_session(session), json=json)
    if json:
        jsonforms.write("forget", {"session": session, "forgotten": known})
    else:
        from overstory.cli.rendering import say

        found = "is forgotten" if known else "is not known, so there was nothing to forget"
        say(output(), f"The conversation {one_line(session)} {found}.")


def _ask(dataset: str, *, json: bool) -> None:
    if not sys.stdin.isatty():
        said = f"This would forget the whole dataset {dataset!r}: name a document with --document, or add --yes."
        fail("forget", UsageError(said), json=json)
    typer.confirm(f"Forget the whole dataset {dataset!r}?", abort=True, err=True)


def _source(path: str) -> "SourceInput":
    """A path of this machine, a URL, or the text on standard input."""
    if path == "-":
        from overstory.indexing import reading

        return reading.from_text_bytes(sys.stdin.buffer.read(reading.MAX_FILE_BYTES + 1))
    if not path.strip():
        raise InvalidOptionError("PATH", path, "name a file, a folder or a URL, or use - for standard input")
    if "://" in path:
        return path
    return _no_file(path) if " " in path and os.sep not in path and not os.path.lexists(path) else Path(path)


def _no_file(path: str) -> "SourceInput":
    """What stands for a path that may be meant as a text."""
    from overstory.indexing.sources import SkippedSource

    return SkippedSource(path, "no such file or folder; a text is read from standard input, with - as the path")
