"""A dataset and its index at a glance, as text for people."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from overstory.cli.hints import quoted, suggest, suggest_documents
from overstory.cli.rendering import count, lay, place, say
from overstory.cli.terminal import one_line
from overstory.cli.trees import closed_areas, draw, heading, short_id
from overstory.indexing.tree.verification import Violation
from overstory.models import COMPLETE, Generation
from overstory.results import DatasetStatus, DocumentEntry, RepairResult, TreeEntry

if TYPE_CHECKING:
    from rich.console import Console

    from overstory.cli.indexes import SeenTree

REASONS_SHOWN = 3
VIOLATIONS_SHOWN = 20


def tree(dataset: str, seen: "SeenTree", console: "Console", *, facts: int, children: int) -> None:
    """The tree with long rows of children folded, and how to unfold what is not shown."""
    if not seen.entries and not seen.documents:
        say(console, f"{one_line(dataset)} holds no documents.")
        suggest_documents(console, dataset)
        return
    if not seen.entries:
        say(console, f"{one_line(dataset)} has no index yet.")
        suggest(console, f"overstory improve --dataset {quoted(dataset)} --index")
        return
    if seen.sources:
        _with_sources(seen.entries, seen.sources, console)
    else:
        console.print(draw(seen.entries, facts=facts, children=children))
    for summary in seen.summaries:
        say(console, f"  · {one_line(summary.text)}")
        say(console, f"      {', '.join(filter(None, (place(summary.source), one_line(summary.occurred_at))))}", "dim")
    if closed := closed_areas(seen.entries, children):
        suggest(console, f"overstory tree --dataset {quoted(dataset)} --node {short_id(closed[0])}")


def _with_sources(
    entries: Sequence[TreeEntry], sources: Sequence[Sequence[tuple[str, ...]]], console: "Console"
) -> None:
    """Each text's facts, and under each fact the documents that it rests on."""
    for entry, under in zip(entries, sources, strict=True):
        say(console, heading(entry), "bold")
        for fact, documents in zip(entry.facts, under, strict=True):
            say(console, f"  · {one_line(fact.text)}")
            say(console, f"      {', '.join(map(place, documents)) or 'documents that are gone'}", "dim")


def documents(dataset: str, found: Sequence[DocumentEntry], console: "Console", *, offset: int, total: int) -> None:
    """A line for each document, and how to see the next ones."""
    if not total:
        say(console, f"{one_line(dataset)} holds no documents.")
        suggest_documents(console, dataset)
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("source", overflow="fold")
    table.add_column("date", no_wrap=True)
    table.add_column("chunks", justify="right")
    table.add_column("tags")
    for one in found:
        state = "" if one.state == COMPLETE else "  (not finished)"
        tags = ", ".join(map(one_line, one.node_set))
        table.add_row(Text(place(one.source) + state), one_line(one.occurred_at), f"{one.chunks:,}", Text(tags))
    lay(console, table)
    last = offset + len(found)
    if not found:
        say(console, f"There are no more than {count(total, 'document')}.", "dim")
    elif len(found) < total:
        say(console, f"{offset + 1:,} to {last:,} of {count(total, 'document')}", "dim")
    if found and last < total:
        suggest(console, f"overstory documents --dataset {quoted(dataset)} --offset {last}")


def generations(dataset: str, served: int, kept: Sequence[Generation], console: "Console") -> None:
    """A line for each generation, the newest first."""
    if not kept:
        say(console, f"{one_line(dataset)} has no index yet.")
        suggest(console, f"overstory improve --dataset {quoted(dataset)} --index")
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("generation", "built", "areas", "summaries", "degraded", "strategy", "model"):
        table.add_column(name)
    for one in reversed(kept):
        table.add_row(
            f"{one.number}{' (served)' if one.number == served else ''}",
            f"{one.built_at:%Y-%m-%d %H:%M} UTC",
            " + ".join(f"{size:,}" for size in one.level_sizes) or "0",
            f"{one.summaries:,}",
            f"{one.degraded:,}",
            f"{one.bucketing_strategy}, {one.max_bucket_size}",
            one_line(one.model),
        )
    lay(console, table)
    older = [one.number for one in kept if one.number != served]
    if older:
        suggest(console, f"overstory rollback {older[-1]} --dataset {quoted(dataset)}")


def repaired(result: RepairResult, console: "Console") -> None:
    """What was mended, what is left, and what mends that."""
    counts = {
        "documents forgotten": result.documents,
        "index rows that nothing sees": result.rows,
        "marks of builds that never published": result.marks,
        "children that led nowhere": result.children,
        "changes of nothing": result.pending,
        "chunks without a document": result.chunks,
        "summaries without a chunk": result.summaries,
        "entities that nothing names": result.entities,
        "connections that nothing names": result.edges,
        "relationship names that nothing uses": result.labels,
    }
    mended = ", ".join(f"{number:,} {what}" for what, number in counts.items() if number)
    say(console, f"Mended: {mended}." if mended else "There was nothing to mend.")
    _verdict(result.dataset, result.violations, console)
    if result.advice:
        more = " --index" if result.advice == "improve" else ""
        suggest(console, f"overstory {result.advice} --dataset {quoted(result.dataset)}{more}")


def verified(status: DatasetStatus, violations: Sequence[Violation], console: "Console") -> None:
    if status.generation:
        _verdict(status.name, violations, console)
    else:
        say(console, f"{one_line(status.name)} has no index yet.")
    if status.forgetting:
        left = f"{count(status.forgetting, 'document')} still to be removed: their forgetting was begun."
        say(console, left, "yellow")
    if violations or status.forgetting:
        suggest(console, f"overstory verify --repair --dataset {quoted(status.name)}")
    elif not status.documents:
        suggest_documents(console, status.name)
    elif not status.generation:
        suggest(console, f"overstory improve --dataset {quoted(status.name)} --index")


def _verdict(dataset: str, violations: Sequence[Violation], console: "Console") -> None:
    name = one_line(dataset)
    say(console, f"The index of {name} is sound." if not violations else f"The index of {name} is not sound:")
    for violation in violations[:VIOLATIONS_SHOWN]:
        say(console, f"  {one_line(f'{violation.rule}: {violation.message}')}", "red")
    if len(violations) > VIOLATIONS_SHOWN:
        say(console, f"  … and {len(violations) - VIOLATIONS_SHOWN:,} more (--json names them all)", "red")


def datasets(found: Sequence[DatasetStatus], console: "Console") -> None:
    """All datasets, a line each."""
    if not found:
        say(console, "There is no dataset yet.")
        suggest(console, "overstory remember path/to/your/files", "overstory demo")
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("dataset", overflow="fold")
    for title in ("documents", "chunks", "generation", "areas", "pending"):
        table.add_column(title, justify="right")
    for status in found:
        numbers = (status.documents, status.chunks, status.generation, sum(status.level_sizes), status.pending)
        table.add_row(one_line(status.name), *(f"{number:,}" for number in numbers))
    lay(console, table)


def dataset(status: DatasetStatus, console: "Console") -> None:
    """One dataset, a line for each thing worth knowing."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in (*_contents(status), *_index(status), *_store(status)):
        table.add_row(name, one_line(value))
    lay(console, table)
    if status.needs_improving:
        suggest(console, f"overstory improve --dataset {quoted(status.name)} --index")


def _contents(status: DatasetStatus) -> Iterator[tuple[str, str]]:
    yield "dataset", f"{status.name} ({status.id})"
    left = {"not finished": status.incomplete, "still to be removed: their forgetting was begun": status.forgetting}
    yield "documents", ", ".join([f"{status.documents:,}", *(f"{n:,} {what}" for what, n in left.items() if n)])
    yield from _reasons("unfinished", status.incomplete_reasons)
    yield "chunks", f"{status.chunks:,}"
    yield "graph", f"{count(status.entities, 'entity', 'entities')}, {count(status.edges, 'connection')}"
    yield "vectors", f"{status.embedding_model}, {status.embedding_dimensions} dimensions"
    if status.held_by:
        yield "written by", status.held_by


def _index(status: DatasetStatus) -> Iterator[tuple[str, str]]:
    if not status.generation or status.built_at is None:
        yield "index", f"none, {count(status.pending, 'summary', 'summaries')} pending"
        return
    yield "index", f"generation {status.generation} of {status.built_at:%Y-%m-%d %H:%M} UTC, written by {status.model}"
    shape = " + ".join(f"{size:,}" for size in status.level_sizes) or "0"
    yield "areas", f"{shape} (by level), {status.bucketing_strategy}, at most {status.max_bucket_size} together"
    yield "covers", f"{count(status.summaries, 'summary', 'summaries')}, {_pending(status)}"
    marks = {"degraded": status.degraded, "stale": status.stale}
    if any(marks.values()):
        yield "texts", ", ".join(f"{number:,} {mark}" for mark, number in marks.items() if number)
    yield from _reasons("degraded", status.degraded_reasons)
    if status.unpublished:
        yield "builds", f"{count(status.unpublished, 'build')} stopped; the next one goes on from there"
    yield "kept", ", ".join(map(str, status.generations))


def _pending(status: DatasetStatus) -> str:
    """What the next improve has to do, in the words of what it is."""
    parts = [f"{status.pending:,} new, changed or gone since"] if status.pending else []
    if status.pending_covered:
        parts.append(f"{status.pending_covered:,} that the next improve places again, as after a rollback")
    if parts:
        return "; ".join(parts)
    return "all but those of unfinished documents" if status.incomplete else f"all there are{_without(status)}"


def _without(status: DatasetStatus) -> str:
    """The chunks that no summary stands for, where nothing is left to do."""
    left = status.chunks - status.summaries
    return f"; {count(left, 'chunk')} with nothing to summarise" if left > 0 and not status.forgetting else ""


def _reasons(name: str, reasons: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """The most frequent reasons, each with its number."""
    if reasons:
        shown = [f"{number:,} × {reason}" for reason, number in list(reasons.items())[:REASONS_SHOWN]]
        more = len(reasons) - len(shown)
        yield f"why {name}", "; ".join(shown) + (f"; {count(more, 'more reason')}" if more else "")


def _store(status: DatasetStatus) -> Iterator[tuple[str, str]]:
    for name, value in status.store.items():
        yield f"store {name}", f"{value:,}" if isinstance(value, int) else value
