"""Results as text for people: short, in the order in which they matter, with the next command last."""

import os
from collections import Counter
from collections.abc import Sequence
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from overstory.cli.hints import quoted, suggest, suggest_documents
from overstory.cli.terminal import one_line, plain
from overstory.indexing.rendering import FACTS_HEADING
from overstory.models import Usage
from overstory.results import (
    DocumentOutcome,
    DocumentStatus,
    ForgetProof,
    ForgetResult,
    ImproveResult,
    IndexPreview,
    IndexResult,
    IndexStatus,
    Passage,
    RecallResult,
    RememberResult,
    RunStatus,
)
from overstory.settings import OFFLINE

if TYPE_CHECKING:
    from rich.console import Console

SKIPPED_SHOWN = 20
SOURCES_SHOWN = 10
_WIDEST = 100_000


def count(number: int, singular: str, plural: str = "") -> str:
    """`1 document`, `2 documents`, `1,200 documents`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def say(console: "Console", text: str, style: str = "") -> None:
    """A line of our own words: wrapped on a terminal, whole in a file."""
    console.print(Text(text, style=style), soft_wrap=not console.is_terminal)


def quote(console: "Console", text: str, indent: int = 0) -> None:
    """Words of a document, a model or a user: no markup, no control codes."""
    console.print(
        Padding(Text(plain(text)), (0, 0, 0, indent)) if console.is_terminal else Text(plain(text)),
        soft_wrap=not console.is_terminal,
    )


def lay(console: "Console", table: Table) -> None:
    """A table: as wide as a terminal is, whole in a file."""
    before = console.width
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = max(before, console.measure(table, options=console.options.update(width=_WIDEST)).maximum)
    console.print(table)
    console.width = before


# --- remember --------------------------------------------------------------------------------------


def remembered(result: RememberResult, console: "Console") -> None:
    read(result, console)
    if result.documents and all(outcome.status is DocumentStatus.SKIPPED for outcome in result.documents):
        say(console, "Nothing could be read, so nothing was stored.", "yellow")
        return
    if result.index is not None and result.index.reason:
        say(console, f"The index is behind: {one_line(result.index.reason)}", "yellow")
    name = quoted(result.dataset)
    if result.index is not None and not result.index.reason:
        suggest(console, f'overstory recall "…" --dataset {name} --index')
    else:
        suggest(console, f"overstory improve --dataset {name} --index", f'overstory recall "…" --dataset {name}')


def read(result: RememberResult, console: "Console") -> None:
    """What was read, without the next command."""
    by_status = Counter(outcome.status for outcome in result.documents)
    parts = ", ".join(f"{by_status[status]:,} {status.value}" for status in DocumentStatus if by_status[status])
    say(
        console,
        f"{one_line(result.dataset)}: {count(len(result.documents), 'document')}{f' ({parts})' if parts else ''}, {count(result.chunks, 'chunk')} read.",
    )
    skipped([outcome for outcome in result.documents if outcome.status is DocumentStatus.SKIPPED], console)
    if result.degraded:
        say(
            console,
            f"{count(result.degraded, 'chunk')} read by rules, as the model's answers could not be used.",
            "yellow",
        )
    say(
        console,
        f"Written by {one_line(result.writer)}, vectors by {one_line(result.embedder)}.{spent(result.model_calls, result.usage)}",
        "dim",
    )


def skipped(outcomes: Sequence[DocumentOutcome], console: "Console") -> None:
    for outcome in outcomes[:SKIPPED_SHOWN]:
        say(console, f"  skipped {place(outcome.source)}: {one_line(outcome.reason)}", "yellow")
    if len(outcomes) > SKIPPED_SHOWN:
        say(console, f"  … and {len(outcomes) - SKIPPED_SHOWN:,} more (--json names them all)", "yellow")


def spent(model_calls: int, usage: Usage) -> str:
    """Calls, tokens and cost, to be put after a sentence; empty when no model was called."""
    if not model_calls:
        return ""
    tokens = f"{usage.prompt_tokens + usage.completion_tokens:,} tokens"
    cost = f", {usage.cost_usd:.4f} USD" if usage.cost_usd is not None else ""
    return f" {count(model_calls, 'model call')}, {tokens}{cost}."


# --- improve ---------------------------------------------------------------------------------------


def improved(result: ImproveResult, console: "Console") -> None:
    name = quoted(result.dataset)
    if result.preview is not None:
        previewed(result.preview, console)
        todo = result.preview.levels or result.preview.incomplete_documents
        suggest(
            console, f"overstory improve --dataset {name} --index" if todo else f"overstory rebuild --dataset {name}"
        )
        return
    if result.completed_chunks:
        say(console, f"{count(result.completed_chunks, 'chunk')} finished that an earlier run had left.")
    if result.index is None:
        state = "not complete yet" if result.warnings else "complete"
        say(console, f"{one_line(result.dataset)} is {state}.{spent(result.model_calls, result.usage)}")
        suggest(console, f"overstory improve --dataset {name} --index")
    elif result.index.status is IndexStatus.STARTED:
        say(console, f"A run in the background does it: {one_line(result.index.run_url or result.index.run_id)}")
        suggest(console, f"overstory run {quoted(result.index.run_id)}")
    else:
        indexed(result.index, console)
        levels(result.index, console)
        if result.index.status is IndexStatus.STOPPED:
            suggest(console, f"overstory improve --dataset {name} --index")
        elif result.index.status is IndexStatus.EMPTY:
            suggest_documents(console, result.dataset)
        else:
            why = [f"overstory status --dataset {name}"] if result.index.degraded else []
            suggest(console, *why, f"overstory tree --dataset {name}", f'overstory recall "…" --dataset {name} --index')


def run_stands(status: RunStatus, console: "Console") -> None:
    """How a run in the background stands, and where to look at it."""
    message = f": {one_line(status.message)}" if status.message else ""
    say(console, f"{one_line(status.name)} is {one_line(status.state)}{message}")
    for what, when in (("started", status.started_at), ("ended", status.ended_at)):
        if when:
            say(console, f"{what} {when.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC", "dim")
    if status.run_url:
        say(console, one_line(status.run_url), "dim")


def indexed(index: IndexResult, console: "Console") -> None:
    """One sentence about a build."""
    head = f"Index {index.status.value}" + (f": {one_line(index.reason).rstrip('.')}" if index.reason else "")
    if index.status in {IndexStatus.PUBLISHED, IndexStatus.UNCHANGED}:
        head += f", generation {index.generation}: {count(index.buckets, 'area')} and a root"
    degraded = f", {index.degraded:,} degraded" if index.degraded else ""
    texts = f"{index.written:,} written, {index.reused:,} reused{degraded}"
    say(console, f"{head}; {texts}.{spent(index.model_calls, index.usage)}")


def previewed(preview: IndexPreview, console: "Console") -> None:
    """What a build would take, in all and for each level."""
    say(console, _would_take(preview) if preview.levels else _takes_nothing(preview))
    if preview.incomplete_documents:
        say(console, f"{count(preview.incomplete_documents, 'document')} would be finished first.", "yellow")
    if preview.levels:
        lay(console, _levels_to_write(preview))


def _takes_nothing(preview: IndexPreview) -> str:
    if not preview.written_by:
        return "There is nothing to write an index of."
    areas = f"{count(preview.buckets, 'area')} and a root, written by {one_line(preview.written_by)}"
    return f"The index is up to date: {areas}. There is nothing to write; rebuild writes all of it anew."


def _would_take(preview: IndexPreview) -> str:
    cost = "no price is known" if preview.cost_usd is None else f"at most {preview.cost_usd:.4f} USD"
    tokens = f"at most {preview.prompt_tokens:,} + {preview.completion_tokens:,} tokens"
    head = f"{count(preview.calls, 'model call')} of {one_line(preview.model)}, {tokens}, {cost}"
    if preview.model == OFFLINE:
        head = f"{count(preview.calls, 'text')} written by rules, which call no model"
    return f"The index would have {count(preview.buckets, 'area')} and a root: {head}."


def _levels_to_write(preview: IndexPreview) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("level", "areas", "calls", "prompt tokens", "answer tokens"):
        table.add_column(heading, justify="right")
    for level in preview.levels:
        numbers = (level.buckets, level.calls, level.prompt_tokens, level.completion_tokens)
        table.add_row("root" if level.is_root else str(level.level), *(f"{number:,}" for number in numbers))
    return table


def levels(index: IndexResult, console: "Console") -> None:
    if not index.levels:
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("level", "areas", "written", "reused", "degraded", "tokens", "seconds"):
        table.add_column(heading, justify="right")
    for level in index.levels:
        numbers = (
            level.level,
            level.buckets,
            level.written,
            level.reused,
            level.degraded,
            level.prompt_tokens + level.completion_tokens,
        )
        table.add_row(*(f"{number:,}" for number in numbers), f"{level.seconds:.1f}")
    lay(console, table)


# --- recall and forget -----------------------------------------------------------------------------


def recalled(
    results: Sequence[RecallResult], datasets: Sequence[str], console: "Console", *, only_text: bool = False
) -> None:
    """Each answer, then what it rests on and how fresh that is; with `only_text` the text alone."""
    if not results:
        say(console, f"Nothing found in {', '.join(map(one_line, datasets))}.")
        suggest(console, *(f"overstory documents --dataset {quoted(name)}" for name in datasets))
    for result in results:
        if len(results) > 1:
            say(console, one_line(result.dataset), "bold")
        quote(console, result.text)
        if not only_text:
            _rests_on(result, console)


def _rests_on(result: RecallResult, console: "Console") -> None:
    console.print()
    evidence, freshness = result.evidence, result.freshness
    shown = [place(source) for source in result.references]
    if shown:
        more = f", and {len(shown) - SOURCES_SHOWN:,} more" if len(shown) > SOURCES_SHOWN else ""
        say(console, f"Sources: {', '.join(shown[:SOURCES_SHOWN])}{more}", "dim")
    if (evidence.root or evidence.areas) and freshness.built_at is not None:
        built = f"generation {freshness.generation} of {freshness.built_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        marks = {"pending": freshness.pending, "degraded": freshness.degraded}
        told = "".join(f", {number:,} {mark}" for mark, number in marks.items() if number)
        summaries = count(freshness.summaries, "summary", "summaries")
        say(console, f"Map: {built} over {summaries}{told}, written by {one_line(freshness.model)}", "dim")
    elif freshness.generation:
        was_asked_for = any(note.startswith("prelude ") for note in evidence.notes)
        say(console, "Map: not used" + ("" if was_asked_for else " (--index puts it in front)"), "dim")
    took = spent(result.usage.calls, result.usage).strip()
    if took:
        say(console, took, "dim")


def place(source: str) -> str:
    """A document's source; a file below the working folder as a path from there, which `--document` takes too."""
    here = Path.cwd().as_posix().rstrip("/") + "/"
    return one_line(source.removeprefix(here) or source)


def passages(found: Sequence[Passage], console: "Console") -> None:
    """When or where documents are from and how what was found begins, a line each, in the order of time."""
    rows = {passage.document_id: passage for passage in reversed(found)}.values()
    names = [(one_line(row.occurred_at or row.source), one_line(row.text)) for row in rows]
    table = Table.grid(padding=(0, 2), expand=True)
    table.add_column(style="dim", no_wrap=True, width=min(30, max((len(name) for name, _ in names), default=0)))
    table.add_column(no_wrap=True, ratio=1)
    for name, text in sorted(names):
        table.add_row(Text(name), Text(text))
    console.print(Padding(table, (0, 0, 0, 2)))


def facts(title: str, text: str, console: "Console") -> None:
    """The facts of an area or the root."""
    table = Table.grid(padding=(0, 1))
    for fact in text.partition(f"{FACTS_HEADING}\n")[2].split("\n"):
        table.add_row("·", Text(one_line(fact.removeprefix("- "))))
    console.print(Padding(Text(title, style="dim"), (0, 0, 0, 2), expand=False))
    console.print(Padding(table, (0, 0, 0, 2), expand=False))


def forgotten(result: ForgetResult, console: "Console", *, whole: bool) -> None:
    name = one_line(result.dataset)
    if whole:
        say(console, f"Forgotten: the dataset {name}.")
        return
    nodes = f"{count(result.chunks, 'chunk')}, {count(result.entities, 'entity', 'entities')}"
    say(
        console,
        f"Forgotten from {name}: {count(result.documents, 'document')}, {nodes}, {count(result.edges, 'connection')}.",
    )
    if result.proof:
        proven(result.proof, console)
    if result.stale or result.withheld:
        cut = f"{count(result.stale, 'text')} served as stale, {result.withheld:,} withheld until the next improve"
        say(console, f"Cut in the index: {cut}.", "yellow")
        suggest(console, f"overstory improve --dataset {quoted(result.dataset)} --index")


def proven(proof: ForgetProof, console: "Console") -> None:
    """What was looked at for the words of forgotten documents, and the verdict."""
    rows = ", ".join(f"{number:,} {kind}" for kind, number in proof.rows.items() if number)
    kept = ", ".join(map(str, proof.generations)) or "none"
    say(console, f"Looked for {count(proof.words, 'word')} that no other document has:")
    say(console, f"  rows: {rows or 'none'}; generations kept: {kept}", "dim")
    if proof.files:
        sizes = ", ".join(f"{one_line(name)} {size:,} bytes" for name, size in proof.files.items())
        say(console, f"  files ({count(proof.words_in_files, 'word')}): {sizes}", "dim")
    else:
        say(console, "  files: a server keeps them, they were not looked at", "dim")
    say(console, f"Verdict: {_verdict(proof)}.", "red" if proof.found else "green")


def _verdict(proof: ForgetProof) -> str:
    if proof.found:
        words = f" ({', '.join(map(one_line, proof.words_found))})" if proof.words_found else ""
        return f"found in {', '.join(map(one_line, proof.found))}{words}"
    if not proof.words:
        return "no word was this document's alone, so there was nothing to look for"
    return "nothing is left" if proof.files else "nothing is left in rows and word indexes"
