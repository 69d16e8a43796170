"""The tree of summaries, drawn."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from rich.text import Text
from rich.tree import Tree

from overstory.cli.rendering import count
from overstory.cli.terminal import one_line
from overstory.indexing.rendering import FACTS_HEADING

if TYPE_CHECKING:
    from overstory.results import TreeEntry

TOPIC_LINES = 2


def draw(entries: Sequence["TreeEntry"], *, facts: int) -> Tree:
    """The tree, or its upper levels.

    Args:
        entries: the root first, as `datasets.tree` gives them.
        facts: how many facts of the root are shown; an area shows one, those of level 0 none.
    """
    root = entries[0]
    tree = Tree(_lines(root, facts), guide_style="dim")
    _grow(tree, root, {entry.id: entry for entry in entries})
    return tree


def _grow(tree: Tree, entry: "TreeEntry", entries: Mapping[UUID, "TreeEntry"]) -> None:
    for child in (entries[key] for key in entry.child_ids if key in entries):
        _grow(tree.add(_lines(child, 1) if child.level else _line(child)), child, entries)


def _lines(entry: "TreeEntry", facts: int) -> Text:
    """An entry's heading, what it is about, and its first facts, each cut to one line of the terminal."""
    topics, told = _parts(entry)
    shown = [*topics[:TOPIC_LINES], *(f"· {line.removeprefix('- ')}" for line in told[:facts])]
    lines = [Text(heading(entry), style="bold"), *(Text(one_line(line)) for line in shown)]
    return Text("\n", no_wrap=True, overflow="ellipsis").join(lines)


def _line(entry: "TreeEntry") -> Text:
    """An entry's heading and its topics on one line."""
    topics, _ = _parts(entry)
    names = ", ".join(topic.partition(": ")[2] for topic in topics)
    return Text.assemble((heading(entry), "bold"), "  ", one_line(names), no_wrap=True, overflow="ellipsis")


def _parts(entry: "TreeEntry") -> tuple[list[str], list[str]]:
    """The categories with their topics, and the facts, a line each."""
    about, _, told = entry.text.partition(f"\n\n{FACTS_HEADING}\n")
    return [line.removeprefix("- ") for line in about.split("\n")[1:]], told.split("\n") if told else []


def heading(entry: "TreeEntry") -> str:
    """`level 0 · 4 summaries, stale`."""
    kinds = ("summary", "summaries") if entry.level == 0 else ("area", "areas")
    marks = {"degraded": entry.degraded, "stale": entry.stale, "withheld": entry.withheld}
    name = "root" if entry.is_root else f"level {entry.level}"
    return ", ".join(
        [f"{name} · {count(len(entry.child_ids), *kinds)}", *(mark for mark, set_ in marks.items() if set_)]
    )
