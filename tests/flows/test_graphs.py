"""A dataset's graph and tree outside of Overstory: for networkx, and in files."""

from collections import Counter
from pathlib import Path

import networkx as nx
import pytest

import overstory
from overstory import datasets
from overstory.errors import DatasetBusyError, InvalidOptionError, UsageError
from overstory.ids import summary_id
from overstory.indexing.leasing import writing
from overstory.interchange import read_graphml, read_jsonl
from overstory.models import FORGETTING, AreaContent, Category, Document, GlobalContextSummary
from overstory.runtime import current_runtime

NOTES = [
    overstory.SourceDocument(f"{text}", f"note-{number}", occurred_at=f"2026-05-0{number}", title="Ünïcode \u202etitle")
    for number, text in enumerate(
        [
            "Anna Hofer leads the Northstar project in Trieste.",
            "Luis Ortega designs the battery of Northstar.",
            "Anna Hofer moved the launch of Northstar from 3 May to 9 June.",
            "Luis Ortega tested the battery of Northstar in Trieste.",
            "Anna Hofer and Luis Ortega plan the launch of Northstar.",
            "The harbour office of Trieste allows the launch on 9 June.",
        ],
        1,
    )
]


@pytest.fixture
async def ferry() -> str:
    await overstory.remember(NOTES, "ferry", node_set=["a tag", "ein \x01 tag"])
    await overstory.improve("ferry", build_global_context_index=True)
    return "ferry"


def kinds(graph: nx.MultiDiGraph) -> Counter[str]:
    return Counter(kind for _, kind in graph.nodes(data="type"))


def names(graph: nx.MultiDiGraph) -> Counter[str]:
    return Counter(name for _, _, name in graph.edges(data="relationship_name"))


async def test_the_graph_holds_documents_graph_and_tree(ferry: str) -> None:
    graph = await datasets.to_networkx(ferry)

    status = await datasets.status(ferry)
    found, edges = kinds(graph), names(graph)
    assert (found["Document"], found["DocumentChunk"], found["TextSummary"]) == (6, 6, 6)
    assert found["Entity"] == status.entities
    assert found["GlobalContextSummary"] == sum(status.level_sizes) + 1
    assert edges["is_part_of"] == edges["made_from"] == 6
    assert edges["summarized_in"] == 6 + sum(status.level_sizes)
    assert (
        edges.total() - sum(edges[name] for name in ("is_part_of", "made_from", "contains", "summarized_in"))
        == status.edges
    )
    assert graph.graph["dataset"] == "ferry"
    assert all(data.get("type") for _, data in graph.nodes(data=True)), "no edge leads nowhere"


async def test_the_tree_in_it_has_one_root_above_all_summaries(ferry: str) -> None:
    graph = await datasets.to_networkx(ferry)

    tree = nx.DiGraph(
        (child, parent) for child, parent, name in graph.edges(data="relationship_name") if name == "summarized_in"
    )
    [root] = [node for node, is_root in graph.nodes(data="is_root") if is_root]
    summaries = {node for node, kind in graph.nodes(data="type") if kind == "TextSummary"}
    assert nx.is_arborescence(tree.reverse())
    assert summaries <= nx.ancestors(tree, root)


@pytest.mark.parametrize(("ending", "read"), [("graphml", read_graphml), ("jsonl", read_jsonl)])
async def test_a_file_of_it_is_read_back_without_loss(ferry: str, tmp_path: Path, ending: str, read) -> None:
    counts = await datasets.export_graph(ferry, tmp_path / f"ferry.{ending}")

    graph = read(tmp_path / f"ferry.{ending}")

    wanted = await datasets.to_networkx(ferry)
    assert counts == (len(wanted), wanted.size())
    assert graph.graph == wanted.graph
    assert dict(graph.nodes(data=True)) == dict(wanted.nodes(data=True))
    assert {edge[:3]: edge[3] for edge in graph.edges(keys=True, data=True)} == {
        edge[:3]: edge[3] for edge in wanted.edges(keys=True, data=True)
    }
    assert [path.name for path in tmp_path.glob("*ferry*")] == [f"ferry.{ending}"]


async def test_only_the_served_generation_is_in_it(ferry: str) -> None:
    await overstory.remember("Jonas Keller paints the hull.", ferry)
    later = await datasets.to_networkx(ferry)
    await datasets.rollback(ferry, 1)

    earlier = await datasets.to_networkx(ferry)

    assert (earlier.graph["generation"], later.graph["generation"]) == (1, 2)
    assert kinds(earlier)["TextSummary"] == 7
    assert names(earlier)["summarized_in"] < names(later)["summarized_in"]


async def test_a_dataset_without_an_index_has_its_graph() -> None:
    await overstory.remember(NOTES, "ferry")

    graph = await datasets.to_networkx("ferry")

    assert kinds(graph)["GlobalContextSummary"] == 0
    assert (graph.graph["generation"], graph.graph["built_at"]) == (0, None)


async def test_what_is_being_forgotten_is_not_in_it(ferry: str, tmp_path: Path) -> None:
    await overstory.remember(overstory.SourceDocument("Zorbax is a secret of Quillon.", "secret"), ferry)
    runtime = await current_runtime()
    dataset = next(one for one in await datasets.list_datasets() if one.name == ferry)
    tenant = await runtime.store.tenant(dataset)
    [key] = await tenant.find(Document, "source", ["secret"])
    await tenant.patch(Document, {key: {"state": FORGETTING}})

    graph = await datasets.to_networkx(ferry)
    await datasets.export_graph(ferry, tmp_path / "ferry.jsonl")

    assert "Zorbax" not in repr((list(graph.nodes(data=True)), list(graph.edges(data=True))))
    assert "Zorbax" not in (tmp_path / "ferry.jsonl").read_text(encoding="utf-8")


async def test_an_area_over_what_is_being_forgotten_is_not_shown_even_where_no_fact_names_it(ferry: str) -> None:
    dataset = next(one for one in await datasets.list_datasets() if one.name == ferry)
    tenant = await (await current_runtime()).store.tenant(dataset)
    [document] = await tenant.get(Document, await tenant.find(Document, "source", ["note-1"]))
    [area] = await tenant.find(GlobalContextSummary, "child_ids", [summary_id(document.chunk_ids[0])])
    topics = AreaContent(categories=(Category(name="Names", topics=("Quillon",)),))
    await tenant.patch(GlobalContextSummary, {area: {"content": topics, "text": "Quillon"}})
    before = repr(await datasets.graph_data(dataset.id))
    await tenant.patch(Document, {document.id: {"state": FORGETTING}})

    graph = await datasets.to_networkx(ferry)
    data = await datasets.graph_data(dataset.id)

    assert "Quillon" in before
    assert "Quillon" not in repr((list(graph.nodes(data=True)), data))


async def test_the_data_of_the_graph_are_its_nodes_and_edges_without_the_documents(ferry: str) -> None:
    graph = await datasets.to_networkx(ferry)
    nodes, edges = await datasets.graph_data(ferry)

    documents = {node for node, kind in graph.nodes(data="type") if kind == "Document"}
    assert {str(key) for key, _ in nodes} == set(graph.nodes) - documents
    assert {(str(source), str(target), name) for source, target, name, _ in edges} == {
        (source, target, name)
        for source, target, name in graph.edges(data="relationship_name")
        if target not in documents
    }
    about = {properties["type"]: properties.keys() - {"type", "dataset_id"} for _, properties in nodes}
    assert about == {
        "DocumentChunk": {"text"},
        "TextSummary": {"text"},
        "Entity": {"name", "text"},
        "GlobalContextSummary": {"text", "level", "is_root"},
    }


async def test_a_file_that_is_there_is_left_alone(ferry: str, tmp_path: Path) -> None:
    file = tmp_path / "ferry.graphml"
    file.write_text("mine", encoding="utf-8")

    with pytest.raises(UsageError, match="already"):
        await datasets.export_graph(ferry, file)
    with pytest.raises(InvalidOptionError, match="graphml or jsonl"):
        await datasets.export_graph(ferry, tmp_path / "ferry.csv")
    with pytest.raises(UsageError, match="can't be written"):
        await datasets.export_graph(ferry, tmp_path / "none" / "ferry.graphml")

    assert file.read_text(encoding="utf-8") == "mine"
    assert [path.name for path in tmp_path.glob("*ferry*")] == ["ferry.graphml"]


async def test_a_file_is_of_one_moment(ferry: str, tmp_path: Path) -> None:
    runtime = await current_runtime()
    dataset = next(one for one in await datasets.list_datasets() if one.name == ferry)

    async with writing(runtime.store, dataset, "build", ttl_seconds=30):
        with pytest.raises(DatasetBusyError):
            await datasets.export_graph(ferry, tmp_path / "ferry.jsonl")

    assert not (tmp_path / "ferry.jsonl").exists()


async def test_a_forgetting_that_stopped_is_told_by_the_status(ferry: str) -> None:
    runtime = await current_runtime()
    dataset = next(one for one in await datasets.list_datasets() if one.name == ferry)
    tenant = await runtime.store.tenant(dataset)
    before = await datasets.status(ferry)
    [key] = await tenant.find(Document, "source", ["note-1"])
    await tenant.patch(Document, {key: {"state": FORGETTING}})

    stopped = await datasets.status(ferry)
    await overstory.improve(ferry, build_global_context_index=True)
    finished = await datasets.status(ferry)

    assert (stopped.documents, stopped.forgetting) == (before.documents - 1, 1)
    assert (finished.documents, finished.forgetting) == (before.documents - 1, 0)
    assert (stopped.needs_improving, finished.needs_improving) == (True, False)
