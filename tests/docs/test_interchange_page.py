import re

from overstory.indexing import graphs
from overstory.indexing.graphs import EDGE_ATTRIBUTES, GRAPH_ATTRIBUTES, NODE_ATTRIBUTES
from tests.docs.blocks import ROOT

PAGE = (ROOT / "docs" / "interchange.md").read_text(encoding="utf-8")
ROWS = {row[0]: row[1] for row in re.findall(r"^\| `(\w+)` \| [^|]+ \| (.*) \|$", PAGE, re.MULTILINE)}


def names(text: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", text))


def test_the_page_lists_the_attributes_of_every_kind_of_node() -> None:
    extra = {"Entity": {"entity_type"}, "GlobalContextSummary": {"categories", "facts"}}

    for kind, fields in graphs._FIELDS.items():
        assert names(ROWS[kind.__name__]) == {*fields, *extra.get(kind.__name__, ())}
    assert {name for row in ROWS.values() for name in names(row)} >= set(NODE_ATTRIBUTES) - {"type"}


def test_the_page_lists_the_attributes_of_edges_and_of_the_graph() -> None:
    assert names(PAGE) >= {*EDGE_ATTRIBUTES, *GRAPH_ATTRIBUTES}
