"""A graph in a file is the graph: for any text, number, list and date."""

import io
import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overstory.errors import InvalidOptionError, UnreadableSourceError
from overstory.indexing import graph_files
from overstory.indexing.graph_files import GraphFormat, format_of
from overstory.indexing.graphs import GRAPH_ATTRIBUTES, NODE_ATTRIBUTES, GraphEdge, GraphNode, node_of
from overstory.interchange import read_graphml, read_jsonl
from overstory.models import Document, DocumentChunk, Entity, GlobalContextSummary, TextSummary
from tests.strategies import rows

DATASET = UUID(int=7)
KINDS = (Document, DocumentChunk, TextSummary, Entity, GlobalContextSummary)
ABOUT = {
    **{name: "" if kind is str else 0 for name, kind in GRAPH_ATTRIBUTES.items()},
    "format": "overstory-graph",
    "format_version": 1,
    "built_at": None,
}
HOSTILE = [
    "nul \x00, escape \x1b[2J, bell \x07, delete \x7f, vertical tab \x0b",
    "carriage\rreturn\r\nand newline\n",
    "\u202eright to left\u202c \u200f\u2066mark\u2069",
    "\ufffe\uffff not for XML",
    "]]> <![CDATA[ & &amp; <script>alert(1)</script> <!-- -->",
    "next line \x85 and separators \u2028 \u2029 here",
    " spaces around \t\n",
    "",
    "한국어 العربية 🚀 e\u0301",
    "n" * 100_000,
    "null",
    "1e5",
]

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
edges_between = st.builds(
    dict,
    relationship_name=st.text(),
    text=st.text(),
    position=st.integers(),
    importance_weight=st.floats(allow_nan=False),
)


def written(nodes: list[GraphNode], edges: list[GraphEdge], about: dict[str, Any], form: GraphFormat) -> bytes:
    head, part, tail = graph_files._FORMS[form]
    return head(about) + b"".join(map(part, [*nodes, *edges])) + tail


def expected(nodes: list[GraphNode], edges: list[GraphEdge], about: dict[str, Any]) -> nx.MultiDiGraph:
    graph = nx.MultiDiGraph(**about)
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    return graph


def same(one: nx.MultiDiGraph, other: nx.MultiDiGraph) -> bool:
    """Equal in all, and in the types of all: 1, 1.0 and True are three things."""

    def whole(graph: nx.MultiDiGraph) -> str:
        return repr((sorted_(graph.graph), list(graph.nodes(data=True)), list(graph.edges(keys=True, data=True))))

    def sorted_(values: dict[str, Any]) -> list[tuple[str, Any]]:
        return sorted(values.items())

    def ordered(graph: nx.MultiDiGraph) -> nx.MultiDiGraph:
        plain = nx.MultiDiGraph(**graph.graph)
        plain.add_nodes_from((node, dict(sorted_(data))) for node, data in sorted(graph.nodes(data=True)))
        plain.add_edges_from(
            (a, b, key, dict(sorted_(data)))
            for a, b, key, data in sorted(graph.edges(keys=True, data=True), key=lambda edge: edge[:3])
        )
        return plain

    return type(one) is type(other) and whole(ordered(one)) == whole(ordered(other))


def read(data: bytes, form: GraphFormat, folder: Path) -> nx.MultiDiGraph:
    file = folder / f"graph.{form}"
    file.write_bytes(data)
    return {GraphFormat.GRAPHML: read_graphml, GraphFormat.JSONL: read_jsonl}[form](file)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("graphs")


@pytest.mark.parametrize("form", GraphFormat)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_any_rows_come_back_as_they_were(folder: Path, form: GraphFormat, data: st.DataObject) -> None:
    nodes = list({node.id: node for node in (node_of(data.draw(rows(kind, DATASET))) for kind in KINDS)}.values())
    names = st.sampled_from([node.id for node in nodes])
    edges = [
        GraphEdge(data.draw(names), data.draw(names), str(UUID(int=key)), data.draw(edges_between)) for key in range(3)
    ]

    back = read(written(nodes, edges, ABOUT, form), form, folder)

    assert same(back, expected(nodes, edges, ABOUT))


@pytest.mark.parametrize("form", GraphFormat)
@settings(deadline=None)
@given(
    values=st.dictionaries(st.sampled_from(sorted(set(NODE_ATTRIBUTES) - {"is_root", "stale", "withheld"})), anything)
)
def test_any_value_of_json_comes_back_with_its_type(folder: Path, form: GraphFormat, values: dict[str, Any]) -> None:
    fitting = {
        name: value
        for name, value in values.items()
        if not isinstance(value, bool | int | float | str) or type(value) is NODE_ATTRIBUTES[name]
    }
    nodes = [GraphNode("a", fitting)]

    back = read(written(nodes, [], ABOUT, form), form, folder)

    assert same(back, expected(nodes, [], ABOUT))


@pytest.mark.parametrize("form", GraphFormat)
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_come_back_as_they_were(folder: Path, form: GraphFormat, text: str) -> None:
    nodes = [GraphNode("a", {"text": text, "node_set": [text]})]
    edges = [GraphEdge("a", "a", "k", {"relationship_name": text})]

    back = read(written(nodes, edges, {**ABOUT, "dataset": text}, form), form, folder)

    assert same(back, expected(nodes, edges, {**ABOUT, "dataset": text}))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_line_of_json_is_a_line_for_every_reader(text: str) -> None:
    data = written([GraphNode("a", {"text": text})], [], ABOUT, GraphFormat.JSONL)

    lines = data.decode().splitlines()

    assert len(lines) == 2
    assert json.loads(lines[1])["node"]["text"] == text


@given(text=st.text(), value=anything)
def test_graphml_is_xml_without_what_xml_cannot_hold(text: str, value: Any) -> None:
    data = written([GraphNode("a", {"text": text, "facts": [value]})], [], ABOUT, GraphFormat.GRAPHML).decode()

    assert not graph_files._NOT_XML.search(data)
    assert nx.read_graphml(io.BytesIO(data.encode()), force_multigraph=True).has_node("a")


def test_graphml_needs_no_overstory(folder: Path) -> None:
    """As docs/interchange.md says: by networkx alone, plain attributes as they are, the others as JSON."""
    nodes = [
        GraphNode("a", {"text": "plain", "level": 2, "is_root": True, "importance_weight": 0.5, "node_set": ["x"]})
    ]
    file = folder / "plain.graphml"
    file.write_bytes(written(nodes, [], ABOUT, GraphFormat.GRAPHML))

    graph = nx.read_graphml(file, force_multigraph=True)

    assert graph.nodes["a"] == {
        "text": "plain",
        "level": 2,
        "is_root": True,
        "importance_weight": 0.5,
        "node_set.json": '["x"]',
    }


def test_every_key_is_declared_once_and_an_id_is_a_name(folder: Path) -> None:
    head = graph_files.graphml_head(ABOUT).decode()

    found = re.findall(r'<key id="([^"]+)"', head)

    assert len(found) == len(set(found))
    assert all(re.fullmatch(r"[\w.]+", one) for one in found)


@pytest.mark.parametrize(
    ("read_it", "content"),
    [
        (read_graphml, b"<graphml"),
        (
            read_graphml,
            b'<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="directed"/></graphml>',
        ),
        (
            read_graphml,
            b'<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="k" for="node" attr.name="facts.json" '
            b'attr.type="string"/><graph edgedefault="directed"><node id="a"><data key="k">[1,</data></node></graph>'
            b"</graphml>",
        ),
        (
            read_graphml,
            b'<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="k" for="graph" attr.name="format" '
            b'attr.type="string"/><graph edgedefault="directed"><data key="k">overstory-graph</data></graph></graphml>',
        ),
        (read_jsonl, b'{"graph": {"format": "another"}}\n'),
        (read_jsonl, b'{"graph": {"format": "overstory-graph"}}\n'),
        (read_jsonl, b'{"graph": {"format": "overstory-graph", "format_version": null}}\n'),
        (read_jsonl, b'{"node": {"id": "a", "facts": ' + b"[" * 100_000),
        (read_jsonl, b'{"node": '),
        (read_jsonl, b"[1]\n"),
        (read_jsonl, b'{"graph": {"format": "overstory-graph", "format_version": 99}}\n'),
    ],
)
def test_another_file_is_refused_with_its_name(tmp_path: Path, read_it: Any, content: bytes) -> None:
    file = tmp_path / "odd"
    file.write_bytes(content)

    with pytest.raises(UnreadableSourceError, match="odd"):
        read_it(file)


@pytest.mark.filterwarnings("ignore:No key type")  # networkx takes it for a text
@pytest.mark.parametrize("form", GraphFormat)
@settings(deadline=None, max_examples=300)
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused(folder: Path, form: GraphFormat, data: st.DataObject) -> None:
    nodes = [GraphNode("a", {"text": "plain", "level": 2, "is_root": True, "importance_weight": 0.5, "facts": [1]})]
    whole = written(nodes, [GraphEdge("a", "a", "k", {"position": 1})], ABOUT, form)
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, min(start + 20, len(whole))))
    damaged = whole[:start] + data.draw(st.binary(max_size=3)) + whole[end:]

    with suppress(UnreadableSourceError):
        assert read(damaged, form, folder).graph["format"] == "overstory-graph"


def test_the_format_is_that_of_the_files_name_unless_named() -> None:
    found = [format_of(Path("a.GraphML"), None), format_of(Path("a.jsonl"), None), format_of(Path("a"), "graphml")]

    assert found == ["graphml", "jsonl", "graphml"]
    with pytest.raises(InvalidOptionError, match="graphml or jsonl"):
        format_of(Path("a.txt"), None)
