"""`overstory improve`, `tree`, `status` and `verify`."""

from typing import TYPE_CHECKING, Annotated

import typer

import overstory
from overstory.cli import jsonforms
from overstory.cli.options import DEFAULT_DATASET, Dataset, Json, WaitSeconds
from overstory.cli.performing import ExitCode, complain, finish, perform
from overstory.cli.terminal import output

if TYPE_CHECKING:
    from overstory.results import ImproveResult


def improve(
    dataset: Dataset = DEFAULT_DATASET,
    index: Annotated[bool, typer.Option("--index", help="Build or refresh the index, the tree of summaries.")] = False,
    preview: Annotated[bool, typer.Option("--preview", help="Only say what --index would write.")] = False,
    max_calls: Annotated[
        int | None, typer.Option("--max-calls", metavar="N", min=0, help="Stop after so many model calls.")
    ] = None,
    max_cost_usd: Annotated[
        float | None, typer.Option("--max-cost-usd", metavar="USD", min=0, help="Stop at this cost.")
    ] = None,
    wait_seconds: WaitSeconds = 0,
    json: Json = False,
) -> None:
    """Finish what is incomplete; --index grows the tree."""
    from overstory.cli.rendering import improved

    result = perform(
        "improve",
        lambda: overstory.improve(
            dataset,
            build_global_context_index=index or preview,
            wait_seconds=wait_seconds,
            preview=preview,
            max_calls=max_calls,
            max_cost_usd=max_cost_usd,
        ),
        json=json,
    )
    if json:
        jsonforms.write("improve", jsonforms.fields(result))
    else:
        improved(result, output())
    _finish_improve(result)


def _finish_improve(result: "ImproveResult") -> None:
    from overstory.results import IndexStatus

    for warning in result.warnings:
        complain(warning)
    if result.index and result.index.status is IndexStatus.FAILED:
        raise typer.Exit(ExitCode.FAILED)
    stopped = bool(result.index) and result.index.status in {IndexStatus.STOPPED, IndexStatus.SKIPPED}
    finish(in_part=stopped or bool(result.warnings) or bool(result.index and result.index.degraded))


def tree(dataset: Dataset = DEFAULT_DATASET, json: Json = False) -> None:
    """Show the tree."""


def status(dataset: Dataset = DEFAULT_DATASET, json: Json = False) -> None:
    """Show."""


def verify(dataset: Dataset = DEFAULT_DATASET, json: Json = False) -> None:
    """Check."""
