"""`overstory mcp`."""

from pathlib import Path
from typing import Annotated

import typer

from overstory.cli.performing import fail
from overstory.errors import MissingPackageError, OverstoryError


def mcp(
    folder: Annotated[
        list[Path] | None,
        typer.Option(metavar="FOLDER", help="Let `remember` read files below it; may be repeated."),
    ] = None,
) -> None:
    """Answer an agent over standard input and output.

    The client starts it, as docs/mcp.md says; standard output holds the Model Context Protocol and nothing else. Over
    HTTP, `overstory serve` answers the same at /mcp.
    """
    try:
        try:
            from overstory.serve.mcp.stdio import run
        except ModuleNotFoundError as error:
            raise MissingPackageError(error.name or "mcp", "mcp", "`overstory mcp`") from error
        run(folder or [])
    except OverstoryError as error:
        fail("mcp", error, json=False)
