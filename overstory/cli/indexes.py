"""`overstory improve`, `tree`, `status` and `verify`."""

from typing import TYPE_CHECKING, Annotated

import typer

import overstory
from overstory.cli import jsonforms
from overstory.cli.options import DEFAULT_DATASET, Dataset, Json, WaitSeconds
from overstory.cli.performing import ExitCode, complain, finish, perform
from overstory.cli.terminal import output

if TYPE_CHECKING:
    from overstory.results import DatasetStatus, ImproveResult


def improve(
    dataset: Dataset = DEFAULT_DATASET,
    index: Annotated[bool, typer.Option("--index", help="Build or refresh the index, the tree of summaries.")] = False,
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
    result = perform(
        "improve",
        lambda: overstory.improve(
            dataset,
            build_global_context_index=index,
            wait_seconds=wait_seconds,
            max_calls=max_calls,
            max_cost_usd=max_cost_usd,
        ),
        json=json,
    )
    if json:
        jsonforms.write("improve", jsonforms.fields(result))
    else:
        from overstory.cli.rendering import improved

        improved(result, output())
    _finish_improve(result)


def _finish_improve(result: "ImproveResult") -> None:
    from overstory.results import IndexStatus

    for warning in result.warnings:
        complain(warning)
    if result.index and result.index.status is IndexStatus.FAILED:
        raise typer.Exit(ExitCode.FAILED)
    incomplete = result.index and (
        result.index.degraded or result.index.status in {IndexStatus.STOPPED, IndexStatus.SKIPPED}
    )
    finish(in_part=bool(incomplete or result.warnings))


def tree(
    dataset: Dataset = DEFAULT_DATASET,
    levels: Annotated[
        int, typer.Option("--levels", metavar="N", min=1, help="So many levels, the root's included.")
    ] = 3,
    facts: Annotated[int, typer.Option("--facts", metavar="N", min=0, help="So many facts of the root.")] = 6,
    generation: Annotated[
        int | None, typer.Option("--generation", metavar="N", help="An earlier generation that is kept.")
    ] = None,
    json: Json = False,
) -> None:
    """Show the index from the root down."""
    entries = perform("tree", lambda: overstory.datasets.tree(dataset, generation=generation, levels=levels), json=json)
    if json:
        jsonforms.write("tree", {"dataset": dataset, "entries": entries})
    else:
        from overstory.cli import overviews

        overviews.tree(dataset, entries, output(), facts=facts)


def status(
    dataset: Annotated[
        str | None, typer.Option("--dataset", "-d", metavar="NAME", help="One dataset; all when not given.")
    ] = None,
    json: Json = False,
) -> None:
    """Show what the datasets hold and how their indexes stand."""
    found = perform("status", lambda: _statuses(dataset), json=json)
    if json:
        jsonforms.write("status", {"datasets": found})
    else:
        from overstory.cli import overviews

        if dataset is None:
            overviews.datasets(found, output())
        else:
            overviews.dataset(found[0], output())


async def _statuses(dataset: str | None) -> "list[DatasetStatus]":
    if dataset is not None:
        return [await overstory.datasets.status(dataset)]
    return [await overstory.datasets.status(known.id) for known in await overstory.datasets.list_datasets()]


def verify(dataset: Dataset = DEFAULT_DATASET, json: Json = False) -> None:
    """Check every rule that the index must keep."""
    violations = perform("verify", lambda: overstory.datasets.verify(dataset), json=json)
    if json:
        jsonforms.write("verify", {"dataset": dataset, "sound": not violations, "violations": violations})
    else:
        from overstory.cli import overviews

        overviews.verified(dataset, violations, output())
    if violations:
        raise typer.Exit(ExitCode.FAILED)
