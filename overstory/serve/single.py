"""The tree of one dataset as a single HTML file: the explorer's own page, with its data inside and no server."""

import asyncio
import base64
import hashlib
import html
import json
import re
from collections.abc import AsyncIterator, Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any
from uuid import UUID

from overstory.indexing.exporting import check_new, written_whole
from overstory.models import GlobalContextSummary, TextSummary
from overstory.runtime import current_runtime
from overstory.serve import looking
from overstory.serve.looking import Look
from overstory.serve.views import NodeView

_MODULES = ("dom.js", "picture.js", "tree.js", "node.js", "search.js", "explore.js", "single.js")
_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=async |function |const |class )", re.MULTILINE)
_BATCH = 512
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src {script_hash}; style-src {style_hash}; require-trusted-types-for 'script'; trusted-types 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main id="view" tabindex="-1"></main>
<script type="application/json" id="data">{data}</script>
<script type="module">{script}</script>
</body>
</html>
"""


async def write_tree(dataset: str, path: Path, *, generation: int | None = None, levels: int | None = None) -> int:
    """Write the tree of a dataset into one file that any browser opens; the number of nodes in it.

    Args:
        levels: only so many, the root's included; None for all, the summaries too.

    Raises:
        UsageError: there is such a file, or it can't be written.
    """
    await asyncio.to_thread(check_new, path)
    seen = await looking.look(await current_runtime(), dataset, "", generation)
    nodes = {str(node.id): form async for node, form in _nodes(seen, levels)}
    about = {"dataset": seen.opened.dataset.name, "generation": seen.number, "nodes": nodes}
    about["root"] = str(seen.generation.root_id) if seen.generation and seen.generation.root_id else None
    async with written_whole(path) as building:
        await asyncio.to_thread(building.write_text, page(about), encoding="utf-8")
    return len(nodes)


def page(data: dict[str, Any]) -> str:
    """The page with its data; nothing of the data can end the block that it stands in."""
    folder = files("overstory.serve") / "pages"
    script = _bundle((folder / name).read_text(encoding="utf-8") for name in _MODULES)
    style = (folder / "style.css").read_text(encoding="utf-8")
    return _PAGE.format(
        title=html.escape(f"{data['dataset']} · Overstory"),
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        data=json.dumps(data, ensure_ascii=True).replace("<", "\\u003c"),
    )


async def _nodes(seen: Look, levels: int | None) -> AsyncIterator[tuple[NodeView, dict[str, Any]]]:
    """Every node with its form, a level after the other."""
    root = seen.generation.root_id if seen.generation else None
    wanted, parents = ([root] if root else []), dict[UUID, UUID]()
    left = levels
    while wanted and (left is None or left > 0):
        below: list[UUID] = []
        for start in range(0, len(wanted), _BATCH):
            for row, view in await _views(seen, wanted[start : start + _BATCH]):
                children = row.child_ids if isinstance(row, GlobalContextSummary) else ()
                parents.update(dict.fromkeys(children, row.id))
                below += children
                form = view.model_dump(mode="json", exclude={"path", "generation"})
                above = parents.get(row.id)
                yield view, {**form, "parent": above and str(above), "child_ids": list(map(str, children))}
        wanted, left = below, None if left is None else left - 1


async def _views(seen: Look, keys: list[UUID]) -> list[tuple[GlobalContextSummary | TextSummary, NodeView]]:
    areas = await seen.areas(keys)
    summaries = await seen.summaries([key for key in keys if key not in areas])
    rows: list[GlobalContextSummary | TextSummary] = [*areas.values(), *summaries.values()]
    sources = await looking.sources_of_rows(seen, rows)
    return [(row, await looking.view_of(seen, row, sources, [])) for row in rows]


def _bundle(modules: Iterable[str]) -> str:
    """Modules as one: their names are distinct, so imports and exports are all there is to leave out."""
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", module)) for module in modules)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
