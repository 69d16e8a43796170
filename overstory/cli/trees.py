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


def draw(entries: Sequence["TreeEntry"], *, facts: int, children: int = 0) -> Tree:
    """The tree, or its upper levels.

    Args:
        entries: the root first, as `datasets.tree` gives them.
        facts: how many facts of the root are shown; an area shows one, those of level 0 none.
        children: how many are shown below each area, the others in one line that counts them; 0 for all.
    """
    root = entries[0]
    tree = Tree(_lines(root, facts), guide_style="dim")
    _grow(tree, root, {entry.id: entry for entry in entries}, children)
    return tree


def _grow(tree: Tree, entry: "TreeEntry", entries: Mapping[UUID, "TreeEntry"], most: int) -> None:
    below = [entries[key] for key in entry.child_ids if key in entries]
    shown = _shown(below, most)
    for child in shown:
        _grow(tree.add(_lines(child, 1) if child.level else _line(child)), child, entries, most)
    if len(shown) < len(below):
        tree.add(Text(f"… and {len(below) - len(shown):,} more: --node {short_id(entry)} --children 0", style="dim"))


def _shown(below: Sequence["TreeEntry"], most: int) -> Sequence["TreeEntry"]:
    """The first ones; one more than allowed takes no more room than the line that would count it."""
    return below if not most or len(below) <= most + 1 else below[:most]


def closed_areas(entries: Sequence["TreeEntry"], most: int) -> list["TreeEntry"]:
    """Areas that are shown without what is below them: the first to be opened first."""
    known = {entry.id: entry for entry in entries}
    closed, waiting = list["TreeEntry"](), [entries[0]]
    while waiting:
        entry = waiting.pop(0)
        below = [known[key] for key in entry.child_ids if key in known]
        waiting += _shown(below, most)
        if not below and (entry.level > 0 or entry is not entries[0]):
            closed.append(entry)
    return closed


def short_id(entry: "TreeEntry") -> str:
    """How an area's id begins: what `--node` takes."""
    return entry.id.hex[:8]


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
    """`level 0 · 4 summaries, stale · 1f0a2b3c`."""
    kinds = ("summary", "summaries") if entry.level == 0 else ("area", "areas")
    marks = {"degraded": entry.degraded, "stale": entry.stale, "withheld": entry.withheld}
    name = "root" if entry.is_root else f"level {entry.level}"
    said = [f"{name} · {count(len(entry.child_ids), *kinds)}", *(mark for mark, set_ in marks.items() if set_)]
    return ", ".join(said) + ("" if entry.is_root else f" · {short_id(entry)}")
