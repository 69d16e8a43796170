"""`overstory demo`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import overstory
from overstory.cli import jsonforms
from overstory.cli.options import Json, as_text
from overstory.cli.performing import finish, perform
from overstory.cli.terminal import output
from overstory.errors import UnreadableSourceError

if TYPE_CHECKING:
    from rich.console import Console

    from overstory.indexing.sources import SourceInput
    from overstory.results import ImproveResult, IndexResult, RecallResult, RememberResult, TreeEntry

OWN_QUESTION = "What is this about, what changed over time, and where does it stand now?"
TOP_K = 5
"""Few, as 48 notes are few: the map matters where most of a dataset is out of sight."""
LEVELS_SHOWN = 3
ROOT_FACTS = 3
AREAS_SHOWN = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    read: "RememberResult"
    improved: "ImproveResult"
    tree: "list[TreeEntry]"

    @property
    def by_rules(self) -> bool:
        """No model wrote it, and none answers."""
        from overstory.settings import OFFLINE

        return self.read.writer == OFFLINE


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    without: "RecallResult | None"
    with_map: "RecallResult | None"


def demo(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FOLDER]", help="Your own files, in place of the notes that come with Overstory.", exists=True
        ),
    ] = None,
    question: Annotated[
        str, typer.Option("--question", "-q", metavar="TEXT", help="The question that is asked twice.", parser=as_text)
    ] = "",
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget what an earlier demo read.")] = False,
    json: Json = False,
) -> None:
    """See it work, on notes that come along or on your own files.

    Reads the documents, grows the tree, and asks one question without and with the map. The data stays, in the dataset "demo" or "demo-FOLDER", so
    that you can go on with it.
    """
    from overstory.demo import QUESTION

    name = "demo" if folder is None else f"demo-{folder.resolve().name}"
    question = question or (QUESTION if folder is None else OWN_QUESTION)
    console = output()
    if not json:
        _introduce(folder, console)
    built = perform("demo", lambda: _build(name, folder, fresh=fresh), json=json, keep_bars=True)
    if not json:
        _show_built(built, console)
    asked = perform("demo", lambda: _ask(name, question, only_context=built.by_rules), json=json)
    if json:
        _write(built, asked, question)
    else:
        _show_asked(asked, built, question, console)
        _suggest(name, built, console)
    finish(in_part=_in_part(built))


async def _build(name: str, folder: Path | None, *, fresh: bool) -> Built:
    from overstory.demo import read_notes

    await _start_clean(name, fresh=fresh)
    data: SourceInput = read_notes() if folder is None else folder
    read = await overstory.remember(data, name)
    if folder is not None and not any(outcome.document_id for outcome in read.documents):
        reasons = {outcome.reason for outcome in read.documents}
        why = reasons.pop() if len(reasons) == 1 else "nothing in it can be read; `overstory remember` says why"
        raise UnreadableSourceError(str(folder), why)
    improved = await overstory.improve(name, build_global_context_index=True)
    return Built(read=read, improved=improved, tree=await overstory.datasets.tree(name, levels=LEVELS_SHOWN))


async def _start_clean(name: str, *, fresh: bool) -> None:
    """Forget what another writer or embedder made, so that what is shown is of the present one."""
    from overstory.runtime import current_runtime

    known = next((dataset for dataset in await overstory.datasets.list_datasets() if dataset.name == name), None)
    if known is None:
        return
    runtime = await current_runtime()
    generation = (await runtime.store.read_manifest(known.id)).current
    embedder = (known.embedding_model, known.embedding_dimensions)
    same_embedder = embedder == (runtime.embedder.model, runtime.embedder.dimensions)
    same_writer = generation is None or generation.model == runtime.writer.model
    if fresh or not (same_embedder and same_writer):
        await overstory.forget(name)


async def _ask(name: str, question: str, *, only_context: bool) -> Asked:
    async def answer(*, index: bool) -> "RecallResult | None":
        config = {"include_global_context_index": index}
        results = await overstory.recall(
            question,
            "GRAPH_COMPLETION",
            datasets=name,
            top_k=TOP_K,
            only_context=only_context,
            retriever_specific_config=config,
        )
        return results[0] if results else None

    return Asked(without=await answer(index=False), with_map=await answer(index=True))


# --- for people ------------------------------------------------------------------------------------


def _introduce(folder: Path | None, console: "Console") -> None:
    from overstory.cli.rendering import say

    if folder is None:
        say(console, "A small team builds a solar ferry. Its notes tell how plans, risks and budgets moved.", "bold")
    else:
        say(console, f"Your files in {folder}.", "bold")
    console.print()


def _show_built(built: Built, console: "Console") -> None:
    from overstory.cli import rendering
    from overstory.cli.trees import draw

    rendering.read(built.read, console)
    if built.improved.index is not None:
        rendering.indexed(built.improved.index, console)
    if built.tree:
        console.print()
        console.print(draw(built.tree, facts=ROOT_FACTS))


def _show_asked(asked: Asked, built: Built, question: str, console: "Console") -> None:
    from overstory.cli.rendering import quote, say

    console.print()
    say(console, f"Question: {question}", "bold")
    if built.by_rules:
        say(console, "No model is set: this is what one would read.", "dim")
    for title, result in (("Without the map", asked.without), ("With the map", asked.with_map)):
        console.print()
        say(console, f"{title}: {_reach(result, len(built.read.documents))}", "bold cyan")
        if result is not None and built.by_rules:
            _show_reading(result, console)
        elif result is not None:
            quote(console, result.text, indent=2)


def _reach(result: "RecallResult | None", documents: int) -> str:
    """How much of the dataset stands behind a context."""
    if result is None:
        return "nothing found."
    evidence = result.evidence
    areas = [*([evidence.root] if evidence.root else []), *evidence.areas]
    sources = {passage.source for passage in evidence.passages}.union(*(area.sources for area in areas))
    return f"{len(sources)} of {documents} documents, about {evidence.context_tokens:,} tokens"


def _show_reading(result: "RecallResult", console: "Console") -> None:
    """The map when it was read, else the passages."""
    from overstory.cli.rendering import facts, passages, say

    evidence = result.evidence
    if evidence.root is None:
        passages(evidence.passages, console)
        return
    say(console, "  The same, and in front of it the root and the areas nearest to the question:", "dim")
    facts("World summary", evidence.root.text, console)
    for area in evidence.areas[:AREAS_SHOWN]:
        facts("Relevant areas (the first of them)", area.text, console)


def _suggest(name: str, built: Built, console: "Console") -> None:
    from overstory.cli.hints import quoted, suggest
    from overstory.cli.rendering import say

    dataset = quoted(name)
    if built.by_rules:
        console.print()
        say(
            console,
            "Rules wrote this map: they choose sentences. Set LLM_MODEL to let a model write and answer (docs/settings.md).",
            "dim",
        )
    suggest(
        console,
        f"overstory recall 'your question' --dataset {dataset} --index",
        f"overstory tree --dataset {dataset} --facts 20",
        "overstory demo path/to/your/files",
    )


# --- for programs ----------------------------------------------------------------------------------


def _write(built: Built, asked: Asked, question: str) -> None:
    jsonforms.write(
        "demo",
        {
            "remember": jsonforms.fields(built.read),
            "improve": jsonforms.fields(built.improved),
            "question": question,
            "without": jsonforms.recalled(asked.without) if asked.without else None,
            "with": jsonforms.recalled(asked.with_map) if asked.with_map else None,
        },
    )


def _in_part(built: Built) -> bool:
    index: IndexResult | None = built.improved.index
    skipped = any(outcome.reason for outcome in built.read.documents)
    return bool(skipped or built.read.degraded or built.improved.warnings or (index and index.degraded))
