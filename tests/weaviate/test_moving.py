"""From files to a server and back: the same ids, tree and answers."""

import pytest

from overstory import datasets, improve, recall, remember
from overstory.results import RecallResult
from tests.flows.conftest import notes

QUESTION = "What did Anna Hofer ask for in Porto?"
WITH_INDEX = {"include_global_context_index": True}


async def picture() -> list[object]:
    """What a reader sees."""
    tree = [(e.id, e.level, e.text, e.child_ids, e.is_root) for e in await datasets.tree("notes")]
    found: list[RecallResult] = await recall(
        QUESTION, "GRAPH_COMPLETION", datasets="notes", only_context=True, retriever_specific_config=WITH_INDEX
    )
    words = await recall(QUESTION, "CHUNKS", datasets="notes")
    return [tree, [one.text for one in found], sorted(p.id for one in words for p in one.evidence.passages)]


@pytest.mark.parametrize("index", ["flat", "hnsw"])
async def test_a_dataset_moves_from_files_to_a_server_and_back(url, monkeypatch, tmp_path, index):
    await remember(notes(20), "notes")
    await improve("notes", build_global_context_index=True)
    at_home = await picture()
    await datasets.export("notes", tmp_path / "first")

    monkeypatch.setenv("OVERSTORY_STORE_URL", f"{url}&index={index}")
    moved = await datasets.import_archive(tmp_path / "first")
    on_server = await picture()
    facts = (await datasets.status("notes")).store
    await datasets.export("notes", tmp_path / "second")
    monkeypatch.delenv("OVERSTORY_STORE_URL")
    monkeypatch.setenv("OVERSTORY_HOME", str(tmp_path / "other home"))
    back = await datasets.import_archive(tmp_path / "second")

    assert on_server == at_home
    assert await picture() == at_home
    assert moved == back
    assert index in facts["index"]
