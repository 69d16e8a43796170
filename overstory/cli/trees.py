"""The tree of summaries, drawn."""

from typing import TYPE_CHECKING

from rich.text import Text
from rich.tree import Tree as Drawing

from overstory.cli.rendering import count
from overstory.cli.terminal import one_line
from overstory.indexing.rendering import FACTS_HEADING

if TYPE_CHECKING:
    from overstory.results import TreeNode


def draw(root: "TreeNode", *, facts: int, levels: int | None = None) -> Drawing:
    """The tree below a root.

    Args:
        facts: how many facts of the root are shown; areas show one, those of level 0 none.
        levels: how many levels below the root are shown; None for all.
    """
    drawing = Drawing(_lines(root, facts), guide_style="dim")
    _grow(drawing, root, levels)
    return drawing


def _grow(drawing: Drawing, node: "TreeNode", levels: int | None) -> None:
    if levels == 0:
        return
    for child in node.children:
        branch = drawing.add(_lines(child, min(child.level, 1)))
        _grow(branch, child, None if levels is None else levels - 1)


def _lines(node: "TreeNode", facts: int) -> Text:
    """A node's heading, what it is about, and its first facts: one line each."""
    about, _, told = node.text.partition(f"\n\n{FACTS_HEADING}\n")
    lines = [
        Text(_heading(node), style="bold"),
        *map(_short, about.split("\n")[1:3]),
        *map(_short, told.split("\n")[:facts]),
    ]
    text = Text("\n", no_wrap=True, overflow="ellipsis").join(lines)
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def _short(line: str) -> Text:
    return Text(one_line(line.removeprefix("- ")))


def _heading(node: "TreeNode") -> str:
    below = count(
        node.child_count, "summary" if node.level == 0 else "area", "summaries" if node.level == 0 else "areas"
    )
    marks = [
        name
        for name, marked in (("degraded", node.degraded), ("stale", node.stale), ("withheld", node.withheld))
        if marked
    ]
    return ", ".join([f"{'root' if node.is_root else f'level {node.level}'} · {below}", *marks])
