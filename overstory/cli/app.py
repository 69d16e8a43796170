"""The commands in the order in which someone meets them."""

import os
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer

from overstory.cli import (
    agents,
    archives,
    configuring,
    demonstrating,
    documents,
    generations,
    indexes,
    questions,
    runs,
    serving,
)
from overstory.cli.hints import stay_at
from overstory.cli.performing import show_progress, show_tracebacks

app = typer.Typer(
    epilog="Exit codes: 0 done, 1 failed, 2 wrong use, 3 done with degraded or skipped parts.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"overstory {metadata.version('overstory')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    home: Annotated[
        str,
        typer.Option(metavar="DIRECTORY", help="Where the data lies, in place of OVERSTORY_HOME.", show_default=False),
    ] = "",
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Log what happens, and show where an error comes from.")
    ] = False,
) -> None:
    """Grow a tree of summaries over your documents, and ask questions that need the whole."""
    if Path(home).is_file():
        raise typer.BadParameter(f"{home} is a file.", param_hint="--home")
    if home:
        os.environ["OVERSTORY_HOME"] = home
    stay_at(home)
    show_tracebacks(debug)
    show_progress(not quiet)


for command in (
    demonstrating.demo,
    documents.remember,
    indexes.improve,
    runs.run,
    questions.recall,
    indexes.tree,
    indexes.status,
    indexes.verify,
    documents.documents,
    documents.forget,
    generations.rebuild,
    generations.generations,
    generations.rollback,
    archives.export,
    archives.import_,
    configuring.config,
    agents.mcp,
):
    app.command(command.__name__.strip("_"))(command)
app.add_typer(serving.app, name="serve")
