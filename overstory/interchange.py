"""Graphs that Overstory wrote, read back into networkx.

    from overstory.interchange import read_graphml, read_jsonl

Both give a `networkx.MultiDiGraph` that is the same as `datasets.to_networkx` gave when the file was written. They
hold all of it in memory; JSON Lines can be read a line at a time instead. See `docs/interchange.md` for the forms.
"""

import json
from pathlib import Path
from typing import Any

import networkx as nx

from overstory.errors import UnreadableSourceError
from overstory.indexing.graph_files import JSON_SUFFIX
from overstory.indexing.graphs import FORMAT, FORMAT_VERSION

_DAMAGED = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What a file of another form makes of reading it."""


def read_graphml(path: str | Path) -> "nx.MultiDiGraph":
    """The graph in a GraphML file of `datasets.export_graph`.

    Raises:
        UnreadableSourceError: it is no such file, or one of a newer Overstory.
    """
    try:
        graph = nx.read_graphml(path, force_multigraph=True)
        for name in ("node_default", "edge_default"):
            graph.graph.pop(name, None)
        for attributes in (graph.graph, *graph.nodes.values(), *graph.edges.values()):
            _unfold(attributes)
        return _checked(graph, path)
    except (*_DAMAGED, SyntaxError, nx.NetworkXError) as error:  # ElementTree's ParseError is a SyntaxError
        raise UnreadableSourceError(str(path), f"no GraphML file that can be read: {error}") from error


def read_jsonl(path: str | Path) -> "nx.MultiDiGraph":
    """The graph in a JSON Lines file of `datasets.export_graph`.

    Raises:
        UnreadableSourceError: it is no such file, or one of a newer Overstory.
    """
    graph = nx.MultiDiGraph()
    try:
        with Path(path).open(encoding="utf-8", errors="surrogatepass", newline="\n") as lines:
            for line in lines:
                _take(graph, json.loads(line))
        return _checked(graph, path)
    except _DAMAGED as error:
        raise UnreadableSourceError(str(path), f"no file of a graph that can be read: {error}") from error


def _take(graph: Any, line: dict[str, dict[str, Any]]) -> None:
    for kind, values in line.items():
        if kind == "node":
            graph.add_node(values.pop("id"), **values)
        elif kind == "edge":
            graph.add_edges_from([(values.pop("source"), values.pop("target"), values.pop("key"), values)])
        else:
            graph.graph.update(values)


def _unfold(attributes: dict[str, Any]) -> None:
    for name in [name for name in attributes if name.endswith(JSON_SUFFIX)]:
        attributes[name.removesuffix(JSON_SUFFIX)] = json.loads(attributes.pop(name))


def _checked(graph: Any, path: str | Path) -> Any:
    if graph.graph.get("format") != FORMAT:
        raise UnreadableSourceError(str(path), "it is not a graph that Overstory wrote")
    if graph.graph["format_version"] > FORMAT_VERSION:
        raise UnreadableSourceError(str(path), "it was written by a newer Overstory: upgrade it")
    return graph


__all__ = ["read_graphml", "read_jsonl"]
