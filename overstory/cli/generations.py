"""`overstory rebuild`, `generations` and `rollback`."""

from typing import Annotated, Literal, TypeAlias

import typer

import overstory
from overstory.cli import jsonforms
from overstory.cli.options import DEFAULT_DATASET, Dataset, Json, MaxCalls, MaxCostUsd, WaitSeconds
from overstory.cli.performing import finish, perform
from overstory.cli.terminal import output

Strategy: TypeAlias = Literal["graph", "vector"]


def rebuild(
    dataset: Dataset = DEFAULT_DATASET,
    strategy: Annotated[
        Strategy | None, typer.Option("--strategy", help="How level 0 is grouped; as before when not given.")
    ] = None,
    max_bucket_size: Annotated[
        int | None,
        typer.Option("--max-bucket-size", metavar="N", min=2, help="Children of a bucket at most; as before."),
    ] = None,
    reuse_unchanged: Annotated[
        bool, typer.Option("--reuse-unchanged", help="Keep texts whose inputs, prompt and model are the same.")
    ] = False,
    max_calls: MaxCalls = None,
    max_cost_usd: MaxCostUsd = None,
    wait_seconds: WaitSeconds = 0,
    json: Json = False,
) -> None:
    """Write the whole index anew while the old one is served."""
    result = perform(
        "rebuild",
        lambda: overstory.rebuild(
            dataset,
            bucketing_strategy=strategy,
            max_bucket_size=max_bucket_size,
            reuse_unchanged=reuse_unchanged,
            wait_seconds=wait_seconds,
            max_calls=max_calls,
            max_cost_usd=max_cost_usd,
        ),
        json=json,
    )
    if json:
        jsonforms.write("rebuild", jsonforms.fields(result))
    else:
        from overstory.cli.hints import quoted, suggest, suggest_documents
        from overstory.cli.rendering import indexed, levels

        indexed(result, output())
        levels(result, output())
        if result.status == "empty":
            suggest_documents(output(), dataset)
        else:
            suggest(output(), f"overstory tree --dataset {quoted(dataset)}")
    finish(in_part=bool(result.degraded) or result.status == "stopped")


def generations(dataset: Dataset = DEFAULT_DATASET, json: Json = False) -> None:
    """List the generations of the index that are kept."""
    served, kept = perform("generations", lambda: overstory.datasets.generations(dataset), json=json)
    if json:
        listed = [jsonforms.fields(generation) for generation in kept]
        jsonforms.write("generations", {"dataset": dataset, "served": served, "generations": listed})
    else:
        from overstory.cli import overviews

        overviews.generations(dataset, served, kept, output())


def rollback(
    generation: Annotated[int, typer.Argument(metavar="GENERATION", help="One of those that are kept.")],
    dataset: Dataset = DEFAULT_DATASET,
    wait_seconds: WaitSeconds = 0,
    json: Json = False,
) -> None:
    """Serve a kept generation of the index.

    What came later is pending again and comes with the next improve.
    """
    manifest = perform(
        "rollback", lambda: overstory.datasets.rollback(dataset, generation, wait_seconds=wait_seconds), json=json
    )
    if json:
        kept = [g.number for g in manifest.generations]
        jsonforms.write("rollback", {"dataset": dataset, "served": manifest.serving, "generations": kept})
    else:
        from overstory.cli.hints import quoted, suggest
        from overstory.cli.rendering import say
        from overstory.cli.terminal import one_line

        say(output(), f"{one_line(dataset)} serves generation {manifest.serving}.")
        suggest(output(), f"overstory status --dataset {quoted(dataset)}")
