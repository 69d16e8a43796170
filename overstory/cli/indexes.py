"""`overstory improve`, `tree`, `status` and `verify`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import overstory
from overstory.cli import completing, jsonforms
from overstory.cli.options import DEFAULT_DATASET, Dataset, Json, MaxCalls, MaxCostUsd, WaitSeconds, as_text
from overstory.cli.performing import ExitCode, complain, fail, finish, perform
from overstory.cli.terminal import one_line, output
from overstory.errors import InvalidOptionError

if TYPE_CHECKING:
    from uuid import UUID

    from overstory.indexing.tree.verification import Violation
    from overstory.results import DatasetStatus, ImproveResult, SummaryEntry, TreeEntry

LEVELS_SHOWN = 3
CHILDREN_SHOWN = 8
FACTS_SHOWN = 6


def improve(
    dataset: Dataset = DEFAULT_DATASET,
    index: Annotated[bool, typer.Option("--index", help="Build or refresh the index, the tree of summaries.")] = False,
    preview: Annotated[
        bool, typer.Option("--preview", help="Only say what building the index would take; nothing is paid.")
    ] = False,
    background: Annotated[
        bool, typer.Option("--background", help="Hand it to the Prefect server's worker and return at once.")
    ] = False,
    max_calls: MaxCalls = None,
    max_cost_usd: MaxCostUsd = None,
    wait_seconds: WaitSeconds = 0,
    json: Json = False,
) -> None:
    """Finish what is incomplete; --index grows the tree."""
    result = perform(
        "improve",
        lambda: overstory.improve(
            dataset,
            build_global_context_index=index,
            run_in_background=background,
            wait_seconds=wait_seconds,
            max_calls=max_calls,
            max_cost_usd=max_cost_usd,
            preview=preview,
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
        int | None,
        typer.Option("--levels", metavar="N", min=1, help="So many levels, the root's included (3; all for --html)."),
    ] = None,
    node: Annotated[
        str | None,
        typer.Option("--node", metavar="ID", help="Begin with this area: its id, or how it begins."),
    ] = None,
    children: Annotated[
        int | None,
        typer.Option("--children", metavar="N", min=0, help=f"So many below each area ({CHILDREN_SHOWN}); 0 for all."),
    ] = None,
    facts: Annotated[
        int | None, typer.Option("--facts", metavar="N", min=0, help=f"So many facts of the root ({FACTS_SHOWN}).")
    ] = None,
    generation: Annotated[
        int | None, typer.Option("--generation", metavar="N", help="An earlier generation that is kept.")
    ] = None,
    sources: Annotated[bool, typer.Option("--sources", help="Name the documents under each fact.")] = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write it into a new file, as a page for any browser."),
    ] = None,
    json: Json = False,
) -> None:
    """Show the index from the root down."""
    if html is not None:
        unfit = {"--node": node, "--children": children, "--facts": facts, "--sources": sources or None}
        _refuse_beside_page([option for option, value in unfit.items() if value is not None], html, json=json)
        _write_page(dataset, html, generation=generation, levels=levels, json=json)
        return
    seen = perform(
        "tree",
        lambda: _tree(dataset, generation=generation, levels=levels or LEVELS_SHOWN, sources=sources, node=node),
        json=json,
    )
    if json:
        named = {"sources": seen.sources} if sources else {}
        below = {"summaries": seen.summaries} if node else {}
        jsonforms.write("tree", {"dataset": dataset, "entries": seen.entries, **named, **below})
    else:
        from overstory.cli import overviews

        overviews.tree(
            dataset,
            seen,
            output(),
            facts=FACTS_SHOWN if facts is None else facts,
            children=CHILDREN_SHOWN if children is None else children,
        )


def _refuse_beside_page(options: list[str], file: Path, *, json: bool) -> None:
    """A page can be folded and opened itself: options that say what is shown are for the terminal."""
    if options:
        expected = f"a page shows all areas and facts with their documents, leave out {', '.join(options)}"
        fail("tree", InvalidOptionError("--html", str(file), expected), json=json)


def _write_page(dataset: str, file: Path, *, generation: int | None, levels: int | None, json: bool) -> None:
    from overstory.serve import single

    written = perform("tree", lambda: single.write_tree(dataset, file, generation=generation, levels=levels), json=json)
    if json:
        jsonforms.write("tree", {"dataset": dataset, "file": file, "nodes": written})
    else:
        from overstory.cli.rendering import count, say

        say(output(), f"{one_line(dataset)}: {count(written, 'node')} written to {one_line(str(file))}.")


@dataclass(slots=True, kw_only=True)
class SeenTree:
    entries: "list[TreeEntry]"
    sources: list[list[tuple[str, ...]]] = field(default_factory=list)
    """When asked for: for each entry the documents under each of its facts."""
    summaries: "list[SummaryEntry]" = field(default_factory=list)
    """Below the area that was named, where it is one of level 0."""
    documents: int = 0
    """Of the dataset, where there is no entry."""


async def _tree(dataset: str, *, generation: int | None, levels: int, sources: bool, node: str | None) -> SeenTree:
    top = await _area(dataset, node, generation) if node else None
    seen = SeenTree(entries=await overstory.datasets.tree(dataset, generation=generation, levels=levels, node=top))
    if top and seen.entries[0].level == 0:
        seen.summaries = await overstory.datasets.summaries(dataset, seen.entries[0].child_ids)
    if not seen.entries:
        seen.documents = (await overstory.datasets.status(dataset)).documents
    if sources:
        facts = [fact for entry in seen.entries for fact in entry.facts]
        named = iter(await overstory.datasets.sources_of(dataset, facts))
        seen.sources = [[next(named) for _ in entry.facts] for entry in seen.entries]
    return seen


async def _area(dataset: str, beginning: str, generation: int | None) -> "UUID":
    """The area whose id begins so."""
    found = await overstory.datasets.areas_named(dataset, beginning, generation=generation)
    if len(found) != 1:
        how = "no area's id begins so" if not found else f"{len(found)} ids begin so, give more of it"
        raise InvalidOptionError("--node", beginning, f"{how}; `overstory tree --json` has them whole")
    return found[0]


def status(
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset",
            "-d",
            metavar="NAME",
            help="One dataset; all when not given.",
            autocompletion=completing.dataset_names,
            parser=as_text,
        ),
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
    from overstory import access

    return await access.of_each(await overstory.datasets.list_datasets(), overstory.datasets.status)


def verify(
    dataset: Dataset = DEFAULT_DATASET,
    repair: Annotated[
        bool, typer.Option("--repair", help="Mend what can be mended without a model, and say what mends the rest.")
    ] = False,
    wait_seconds: WaitSeconds = 0,
    json: Json = False,
) -> None:
    """Check every rule that the index must keep."""
    if repair:
        _repair(dataset, wait_seconds, json=json)
        return
    violations, status = perform("verify", lambda: _verify(dataset), json=json)
    if json:
        found = {"sound": not violations, "violations": violations, "forgetting": status.forgetting}
        jsonforms.write("verify", {"dataset": dataset, **found})
    else:
        from overstory.cli import overviews

        overviews.verified(status, violations, output())
    if violations:
        raise typer.Exit(ExitCode.FAILED)


async def _verify(dataset: str) -> "tuple[list[Violation], DatasetStatus]":
    return await overstory.datasets.verify(dataset), await overstory.datasets.status(dataset)


def _repair(dataset: str, wait_seconds: float, *, json: bool) -> None:
    result = perform("verify", lambda: overstory.datasets.repair(dataset, wait_seconds=wait_seconds), json=json)
    if json:
        mended = jsonforms.fields(result, without=("dataset", "violations"))
        form = {"dataset": dataset, "sound": not result.violations, "violations": result.violations}
        jsonforms.write("verify", {**form, "forgetting": 0, "repaired": mended})
    else:
        from overstory.cli import overviews

        overviews.repaired(result, output())
    if result.violations:
        raise typer.Exit(ExitCode.FAILED)
