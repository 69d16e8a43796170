"""Document sets through their versions: what was added can be found, what was removed is nowhere, at every step.

The sets are large and no part of this repository: they lie below OVERSTORY_TEST_DATA.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from overstory import SourceDocument, datasets, forget, improve, remember
from overstory.columns import Form, columns_of
from overstory.ids import uuid_of
from overstory.models import Document, DocumentChunk, Edge, Entity, GlobalContextSummary, TextSummary
from overstory.runtime import open_dataset
from tests.data_folder import DATA, REASON

FOLDER = DATA / "versions"
SETS = ["llm-docs", "site-policy"]
TEXTUAL = (Form.TEXT, Form.TEXTS, Form.GRAPH, Form.CONTENT)
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"{REASON} versions")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def flat(text: str) -> str:
    return " ".join(text.replace('\\"', '"').replace("\\n", " ").split())


async def tenant():
    return (await open_dataset((await datasets.list_datasets())[0].id)).tenant


async def documents_as_stored() -> dict[str, str]:
    """The chunks of each document, end to end."""
    store = await tenant()
    keys = [uuid_of(k) async for b in store.batches(Document, ["key"]) for k in b.column("key").to_pylist()]
    found = {}
    for document in await store.get(Document, keys):
        found[document.source] = "".join(c.text for c in await store.get(DocumentChunk, document.chunk_ids))
    return found


async def everything_said() -> str:
    """All texts of chunks, summaries, graph, and the tree that is served."""
    store = await tenant()
    serving, _ = await datasets.generations("main_dataset")
    said = []
    for kind in (DocumentChunk, TextSummary, Entity, Edge, GlobalContextSummary):
        names = [c.name for c in columns_of(kind) if c.form in TEXTUAL]
        generation = serving if kind is GlobalContextSummary else None
        async for batch in store.batches(kind, names, generation=generation):
            said += [str(value) for row in batch.to_pylist() for value in row.values()]
    return flat("\n".join(said))


async def missing(probes: Iterable[dict[str, Any]]) -> list[str]:
    """Probes that are not as they should be."""
    stored = {source: flat(text) for source, text in (await documents_as_stored()).items()}
    said = await everything_said()
    wrong = []
    for probe in probes:
        text = flat(probe["text"])
        if probe["kind"] in ("added", "present"):
            wrong += [] if text in stored.get(probe["path"], "") else [f"not found: {probe['path']}: {text}"]
        else:
            wrong += [f"still there: {probe['path']}: {text}"] if text in said else []
    return wrong


def read(folder: Path, version: str) -> dict[str, str]:
    root = folder / version
    return {
        str(path.relative_to(root)): path.read_text(encoding="utf-8")
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


async def go_to(wanted: dict[str, str]) -> None:
    """What someone does who keeps a dataset like a folder."""
    stored = await documents_as_stored() if await datasets.list_datasets() else {}
    if gone := [source for source in stored if source not in wanted]:
        await forget("main_dataset", document=gone)
    await remember([SourceDocument(text, source=name) for name, text in wanted.items()], self_improvement=False)


async def build() -> None:
    index = (await improve(build_global_context_index=True)).index
    assert index is not None and index.status in ("published", "unchanged"), index


@pytest.mark.parametrize("name", SETS)
async def test_every_version_holds_what_it_should_and_nothing_of_the_last(name: str):
    folder = FOLDER / name
    probes = lines(folder / "probes.jsonl")
    for version in ("v1", "v2", "v3"):
        wanted = read(folder, version)

        await go_to(wanted)
        await build()

        status = await datasets.status("main_dataset")
        assert sorted(await documents_as_stored()) == sorted(wanted)
        assert (status.documents, status.incomplete, status.pending) == (len(wanted), 0, 0)
        assert status.summaries == status.chunks
        assert await datasets.verify("main_dataset") == []
        assert await missing(p for p in probes if p["to"] == version) == []
    assert (await datasets.repair("main_dataset")).mended == 0


async def test_a_scenario_of_additions_updates_deletions_and_renames_step_by_step():
    folder = FOLDER / "site-policy"
    for step in lines(folder / "scenario.jsonl"):
        gone = [op.get("old_path") or op["path"] for op in step["ops"] if op["op"] in ("delete", "rename")]
        new = {op["path"]: op["source"] for op in step["ops"] if op["op"] != "delete"}

        if gone:
            await forget("main_dataset", document=gone)
        await remember(
            [SourceDocument((folder / at).read_text(encoding="utf-8"), source=path) for path, at in new.items()],
            self_improvement=False,
        )

        at_once = [p for p in step["probes"] if p["kind"] == "present" or not new]
        assert await missing(at_once) == [], step["what"]
        await build()
        assert await missing(step["probes"]) == [], step["what"]
        stored = await documents_as_stored()
        assert sorted(stored) == sorted(step["state"]), step["what"]
        assert await datasets.verify("main_dataset") == []
    assert (await datasets.repair("main_dataset")).mended == 0
