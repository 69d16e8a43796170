"""`overstory recall`."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import overstory
from overstory.cli import completing, jsonforms
from overstory.cli.options import DEFAULT_DATASET, Json, as_text
from overstory.cli.performing import finish, perform, remark
from overstory.cli.terminal import output

ModeName = Literal["plain", "adaptive"]
SEARCH_TYPES = (
    "GRAPH_COMPLETION",
    "HYBRID_COMPLETION",
    "GRAPH_COMPLETION_COT",
    "GRAPH_COMPLETION_DECOMPOSITION",
    "GRAPH_COMPLETION_CONTEXT_EXTENSION",
    "GRAPH_SUMMARY_COMPLETION",
    "TRIPLET_COMPLETION",
    "TEMPORAL",
    "RAG_COMPLETION",
    "CHUNKS",
    "CHUNKS_LEXICAL",
    "SUMMARIES",
)
"""The names of `SearchType`, written out so that `overstory --help` loads nothing."""


def _search_type(typed: str) -> str:
    """The name as documented, however it is typed."""
    if typed.upper() not in SEARCH_TYPES:
        raise typer.BadParameter(f"{typed!r} is not one of {', '.join(SEARCH_TYPES)}.")
    return typed.upper()


def _search_types(incomplete: str) -> list[str]:
    return [name.lower() if incomplete.islower() else name for name in SEARCH_TYPES]


def recall(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What you want to know.", parser=as_text)],
    dataset: Annotated[
        list[str] | None,
        typer.Option(
            "--dataset",
            "-d",
            metavar="NAME",
            help="The dataset; may be repeated.",
            autocompletion=completing.dataset_names,
            parser=as_text,
        ),
    ] = None,
    index: Annotated[
        bool, typer.Option("--index", help="Put the map in front: the root and the nearest areas.")
    ] = False,
    search_type: Annotated[
        str,
        typer.Option(
            "--type",
            metavar=f"<{'|'.join(SEARCH_TYPES)}>",
            help="How to look for an answer.",
            autocompletion=_search_types,
            parser=_search_type,
        ),
    ] = "GRAPH_COMPLETION",
    top_k: Annotated[int, typer.Option("--top-k", metavar="N", help="How many connections or passages are read.")] = 15,
    budget: Annotated[
        int | None, typer.Option("--budget", metavar="TOKENS", help="How long what is read may be, about.")
    ] = None,
    session: Annotated[
        str | None,
        typer.Option("--session", metavar="NAME", help="A conversation, which this goes on with.", parser=as_text),
    ] = None,
    node_set: Annotated[
        list[str] | None,
        typer.Option(
            "--node-set",
            metavar="TAG",
            help="Only documents with this tag; may be repeated, for one of them.",
            parser=as_text,
        ),
    ] = None,
    every_node_set: Annotated[
        bool, typer.Option("--every-node-set", help="Only documents with all of these tags.")
    ] = False,
    neighborhood: Annotated[
        int | None, typer.Option("--neighborhood", metavar="STEPS", help="Look so many steps around what matched.")
    ] = None,
    mode: Annotated[
        ModeName | None, typer.Option("--mode", help="The form of the map: whole areas, or the facts that fit.")
    ] = None,
    areas: Annotated[
        int | None, typer.Option("--areas", metavar="N", help="So many areas of the map, in its plain form (3).")
    ] = None,
    generation: Annotated[
        int | None, typer.Option("--generation", metavar="N", help="An earlier generation that is kept.")
    ] = None,
    system_prompt: Annotated[
        Path | None,
        typer.Option("--system-prompt", metavar="FILE", help="What the model is told, in place of the default."),
    ] = None,
    only_context: Annotated[
        bool, typer.Option("--only-context", help="Show what a model would read; calls none.")
    ] = False,
    json: Json = False,
) -> None:
    """Ask a question."""
    _only_with("--index", given=index, mode=mode, areas=areas, generation=generation)
    _only_with("--node-set", given=bool(node_set), every_node_set=every_node_set or None)
    names = dataset or [DEFAULT_DATASET]
    results = perform(
        "recall",
        lambda: overstory.recall(
            question,
            search_type,
            datasets=names,
            top_k=top_k,
            only_context=only_context,
            context_token_budget=budget,
            session_id=session,
            node_name=node_set or None,
            node_name_filter="AND" if every_node_set else "OR",
            neighborhood_depth=neighborhood,
            generation=generation,
            system_prompt_path=system_prompt,
            retriever_specific_config=_map(index=index, mode=mode, areas=areas),
        ),
        json=json,
    )
    if json:
        jsonforms.write("recall", {"results": [jsonforms.recalled(result) for result in results]})
    else:
        from overstory.cli.hints import quoted, suggest
        from overstory.cli.rendering import recalled

        recalled(results, names, output(), only_text=only_context)
        for note in dict.fromkeys(note for result in results for note in result.evidence.notes):
            remark(note)
        unmapped = [result.dataset for result in results if index and not result.freshness.generation]
        if unmapped and not only_context:
            suggest(output(), *(f"overstory improve --dataset {quoted(name)} --index" for name in unmapped))
    finish(in_part=any(result.evidence.notes for result in results))


def _only_with(option: str, *, given: bool, **others: object) -> None:
    """Refuse options, by their names, that mean nothing without another one."""
    idle = [f"--{name.replace('_', '-')}" for name, value in others.items() if value is not None]
    if idle and not given:
        raise typer.BadParameter(f"means nothing without {option}.", param_hint=" ".join(idle))


def _map(*, index: bool, mode: str | None, areas: int | None) -> dict[str, Any]:
    config = {
        "include_global_context_index": index,
        "global_context_index_mode": mode,
        "global_context_index_top_k": areas,
    }
    return {name: value for name, value in config.items() if value is not None}
