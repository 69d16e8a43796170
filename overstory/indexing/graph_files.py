"""A graph as a file that other tools read: GraphML, or JSON Lines.

JSON Lines: `{"graph": …}` with what it is of, then a line for each node, `{"node": {"id": …, …}}`, and for each edge,
`{"edge": {"source": …, "target": …, "key": …, …}}`; these are the parts of networkx's node-link form.

GraphML (http://graphml.graphdrawing.org) has text, whole and broken numbers, and flags. What it can't hold stands as
JSON under the attribute's name with `.json` behind it: None, lists and dicts, numbers beyond 64 bits, and texts with
characters that XML has no place for.
"""

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

from lxml import etree  # type: ignore[import-untyped]  # it has no types

from overstory.errors import InvalidOptionError
from overstory.indexing import graphs
from overstory.indexing.exporting import check_new, written_whole
from overstory.indexing.graphs import Attributes, GraphEdge, GraphNode, GraphSource

JSON_SUFFIX = ".json"
_NOT_XML = re.compile(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 can't hold, and carriage returns, which a parser makes newlines of."""
_LINE_ENDS = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})
"""What some readers take for the end of a line although JSON does not."""
_TYPES = {str: "string", int: "long", float: "double", bool: "boolean"}
_ATTRIBUTES = {
    "graph": graphs.GRAPH_ATTRIBUTES,
    "node": graphs.NODE_ATTRIBUTES,
    "edge": graphs.EDGE_ATTRIBUTES,
}


class GraphFormat(StrEnum):
    GRAPHML = "graphml"
    JSONL = "jsonl"


def format_of(path: Path, name: str | None) -> GraphFormat:
    """The format of this name, or else the one that the file's name ends in.

    Raises:
        InvalidOptionError: there is no such format.
    """
    wanted = path.suffix.removeprefix(".").lower() if name is None else name
    try:
        return GraphFormat(wanted)
    except ValueError:
        raise InvalidOptionError("format", wanted, f"use {' or '.join(GraphFormat)}") from None


async def write_graph(source: GraphSource, path: Path, form: GraphFormat) -> tuple[int, int]:
    """Write the graph of a dataset into a new file, which appears whole or not at all; nodes and edges written.

    Raises:
        UsageError: there is such a file, or it can't be written.
    """
    await asyncio.to_thread(check_new, path)
    async with written_whole(path) as building:
        return await _write(source, building, form)


async def _write(source: GraphSource, path: Path, form: GraphFormat) -> tuple[int, int]:
    head, part, tail = _FORMS[form]
    nodes = edges = 0
    with await asyncio.to_thread(path.open, "wb") as file:
        file.write(head(graphs.about(source)))
        async for items in graphs.read_graph(source):
            await asyncio.to_thread(file.writelines, map(part, items))
            nodes += sum(isinstance(item, GraphNode) for item in items)
            edges += sum(isinstance(item, GraphEdge) for item in items)
        file.write(tail)
    return nodes, edges


# --- JSON Lines -----------------------------------------------------------------------------------


def jsonl_head(graph: Attributes) -> bytes:
    return _line({"graph": graph})


def jsonl_part(item: GraphNode | GraphEdge) -> bytes:
    if isinstance(item, GraphNode):
        return _line({"node": {"id": item.id, **item.attributes}})
    return _line({"edge": {"source": item.source, "target": item.target, "key": item.key, **item.attributes}})


def _line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).translate(_LINE_ENDS).encode("utf-8", "surrogatepass") + b"\n"


# --- GraphML --------------------------------------------------------------------------------------


def graphml_head(graph: Attributes) -> bytes:
    keys = "".join(f"  {_text(key)}\n" for key in _keys())
    data = "".join(_text(element) for element in _data("graph", graph))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
        f'{keys}  <graph edgedefault="directed">{data}\n'
    ).encode()


GRAPHML_TAIL = b"  </graph>\n</graphml>\n"


def graphml_part(item: GraphNode | GraphEdge) -> bytes:
    if isinstance(item, GraphNode):
        element, of = etree.Element("node", id=item.id), "node"
    else:
        element, of = etree.Element("edge", id=item.key, source=item.source, target=item.target), "edge"
    element.extend(_data(of, item.attributes))
    return f"    {_text(element)}\n".encode()


def _data(of: str, attributes: Attributes) -> Iterator[Any]:
    for name, value in attributes.items():
        written, text = encode(name, value)
        element = etree.Element("data", key=f"{of}.{written}")
        element.text = text
        yield element


def encode(name: str, value: Any) -> tuple[str, str]:
    """An attribute as GraphML has it: under which name, and as which text."""
    if isinstance(value, bool):
        return name, "true" if value else "false"
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return name, str(value)
    if isinstance(value, float):
        return name, repr(value)
    if isinstance(value, str) and not _NOT_XML.search(value):
        return name, value
    return name + JSON_SUFFIX, json.dumps(value)


def _keys() -> Iterator[Any]:
    """What the head declares: each attribute in its own type, and as JSON where it may have to be."""
    for of, attributes in _ATTRIBUTES.items():
        for name, kind in attributes.items():
            forms = {} if kind is list else {name: _TYPES[kind]}
            if kind is not bool:
                forms[name + JSON_SUFFIX] = "string"
            for written, form in forms.items():
                yield etree.Element(
                    "key", {"id": f"{of}.{written}", "for": of, "attr.name": written, "attr.type": form}
                )


def _text(element: Any) -> str:
    text: str = etree.tostring(element, encoding="unicode")
    return text


_FORMS: dict[GraphFormat, tuple[Callable[[Attributes], bytes], Callable[[GraphNode | GraphEdge], bytes], bytes]] = {
    GraphFormat.GRAPHML: (graphml_head, graphml_part, GRAPHML_TAIL),
    GraphFormat.JSONL: (jsonl_head, jsonl_part, b""),
}
