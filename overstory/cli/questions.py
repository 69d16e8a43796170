"""`overstory recall`."""

from typing import Annotated, Literal

import typer

import overstory
from overstory.cli import completing, jsonforms
from overstory.cli.options import DEFAULT_DATASET, Json, as_text
from overstory.cli.performing import finish, perform, remark
from overstory.cli.terminal import output

SearchTypeName = Literal[
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
]
"""The names of `SearchType`, written out so that `overstory --help` loads nothing."""


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
        SearchTypeName, typer.Option("--type", case_sensitive=False, help="How to look for an answer.")
    ] = "GRAPH_COMPLETION",
    top_k: Annotated[int, typer.Option("--top-k", metavar="N", help="How many connections or passages are read.")] = 15,
    only_context: Annotated[
        bool, typer.Option("--only-context", help="Show what a model would read; calls none.")
    ] = False,
    json: Json = False,
) -> None:
    """Ask a question."""
    names = dataset or [DEFAULT_DATASET]
    results = perform(
        "recall",
        lambda: overstory.recall(
            question,
            search_type,
            datasets=names,
            top_k=top_k,
            only_context=only_context,
            retriever_specific_config={"include_global_context_index": index},
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
