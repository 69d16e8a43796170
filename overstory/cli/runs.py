"""`overstory run`: how work that was handed to a Prefect server stands."""

from typing import TYPE_CHECKING, Annotated

import typer

import overstory
from overstory.cli import jsonforms
from overstory.cli.options import Json
from overstory.cli.performing import ExitCode, finish, perform
from overstory.cli.terminal import output

if TYPE_CHECKING:
    from overstory.results import RunStatus

_DONE = "Completed"


def run(
    run_id: Annotated[str, typer.Argument(metavar="RUN_ID", help="As `improve --background` prints it.")],
    json: Json = False,
) -> None:
    """Show how a run in the background stands."""
    status = perform("run", lambda: overstory.datasets.run_status(run_id), json=json)
    if json:
        jsonforms.write("run", jsonforms.fields(status))
    else:
        from overstory.cli.rendering import run_stands

        run_stands(status, output())
    _finish(status)


def _finish(status: "RunStatus") -> None:
    if status.ended and status.state != _DONE and not status.in_part:
        raise typer.Exit(ExitCode.FAILED)
    finish(in_part=status.in_part)
