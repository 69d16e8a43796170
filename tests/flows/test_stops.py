"""What a stop between two writes leaves behind, and that the next call mends it: at each write of each verb."""

import asyncio
import shutil
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from overstory import OverstoryError, SourceDocument, datasets, forget, improve, recall, remember
from overstory.columns import columns_of
from overstory.errors import StoreFullError
from overstory.models import KINDS, GlobalContextSummary, PendingChange, TextSummary
from overstory.results import IndexStatus
from overstory.runtime import open_dataset
from overstory.serve import looking
from overstory.stores.embedded import EmbeddedStore, erasing, registry
from overstory.stores.embedded.tenant import EmbeddedTenant
from tests.flows.conftest import notes

CANARY = "zorblaxite"
Act = Callable[[], Awaitable[object]]


def documents(count: int, first: int = 0) -> list[SourceDocument]:
    return [SourceDocument(t, source=f"{first + i}.md") for i, t in enumerate(notes(count, first))]


def canary(text: str = f"The {CANARY} was found by Anna Hofer in Porto.") -> SourceDocument:
    return SourceDocument(text, source="c.md")


async def build():
    return (await improve(build_global_context_index=True)).index


@contextmanager
def full_after(writes: int) -> Iterator[list[str]]:
    """A disk that takes so many more writes, and then none; the list names those that it refused."""
    refused: list[str] = []
    taken = 0

    def guard(owner: type, name: str, patch: pytest.MonkeyPatch) -> None:
        whole = getattr(owner, name)

        async def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
            nonlocal taken
            taken += 1
            if taken > writes:
                refused.append(name)
                raise StoreFullError("no space is left")
            return await whole(self, *args, **kwargs)

        patch.setattr(owner, name, guarded)

    with pytest.MonkeyPatch.context() as patch:
        for name in ("put", "patch", "delete", "sweep", "erase_traces"):
            guard(EmbeddedTenant, name, patch)
        guard(EmbeddedStore, "write_manifest", patch)
        yield refused


async def stopped_everywhere(home: Path, prepared: Path, act: Act, patch: pytest.MonkeyPatch) -> AsyncIterator[int]:
    """Act in a copy of what was prepared, stopping before the first write, the second, …, until none stops it."""
    for writes in range(1_000):
        at = home.with_name(f"home-{writes}")
        shutil.copytree(prepared, at)
        patch.setenv("OVERSTORY_HOME", str(at))
        with full_after(writes) as refused, suppress(OverstoryError):
            await act()
        if not refused:
            return
        yield writes
    raise AssertionError("it never ended")


async def prepared(home: Path, patch: pytest.MonkeyPatch, prepare: Act) -> Path:
    """A home in which something was done, closed, ready to be copied."""
    patch.setenv("OVERSTORY_HOME", str(home.with_name("first")))
    await prepare()
    shutil.copytree(home.with_name("first"), home.with_name("prepared"))
    return home.with_name("prepared")


async def undisturbed(home: Path, origin: Path, patch: pytest.MonkeyPatch, *acts: Act) -> list[object]:
    shutil.copytree(origin, home.with_name("undisturbed"))
    patch.setenv("OVERSTORY_HOME", str(home.with_name("undisturbed")))
    for act in acts:
        await act()
    return await picture()


async def rows(kind: type[Any], name: str = "main_dataset", generation: int | None = None) -> list[dict[str, Any]]:
    (dataset,) = [d for d in await datasets.list_datasets() if d.name == name]
    tenant = (await open_dataset(dataset.id)).tenant
    columns = ["key", *(c.name for c in columns_of(kind))]
    return [row async for batch in tenant.batches(kind, columns, generation=generation) for row in batch.to_pylist()]


async def picture() -> list[object]:
    """All that the dataset says: every row but of the index, and the served tree."""
    others = [await rows(kind) for kind in KINDS if kind not in (GlobalContextSummary, PendingChange)]
    tree = [(e.id, e.level, e.text, e.child_ids, e.stale, e.withheld) for e in await datasets.tree("main_dataset")]
    return [*others, tree, await datasets.verify("main_dataset")]


async def test_forgetting_that_stops_anywhere_is_finished_by_the_next_improve(plain_environment: Path, monkeypatch):
    async def prepare() -> None:
        await remember([*documents(9), canary()])
        await build()
        await remember(canary(f"The {CANARY} was lost by Anna Hofer."), self_improvement=False)

    async def act() -> None:
        await forget("main_dataset", document="c.md")

    origin = await prepared(plain_environment, monkeypatch, prepare)
    expected = await undisturbed(plain_environment, origin, monkeypatch, act, build)
    stops = 0

    async for writes in stopped_everywhere(plain_environment, origin, act, monkeypatch):
        stops += 1
        if writes == 0:  # nobody knows that it was begun
            await act()
        await build()
        assert await picture() == expected
        assert CANARY not in str([await rows(kind) for kind in KINDS])

    assert stops >= 10


async def test_forgetting_that_stops_is_finished_by_remembering_too(plain_environment: Path, monkeypatch):
    async def prepare() -> None:
        await remember([*documents(5), canary()])
        await build()

    async def act() -> None:
        await forget("main_dataset", document="c.md")

    origin = await prepared(plain_environment, monkeypatch, prepare)
    async for writes in stopped_everywhere(plain_environment, origin, act, monkeypatch):
        if writes == 0:
            continue
        await remember(documents(1, first=20), self_improvement=False)
        assert (await datasets.status("main_dataset")).documents == 6
        assert CANARY not in str([await rows(kind) for kind in KINDS])


async def test_nothing_shows_what_is_being_forgotten(plain_environment: Path) -> None:
    await remember([*documents(9), canary()])
    await build()
    (dataset,) = await datasets.list_datasets()
    facts = [f for entry in await datasets.tree("main_dataset") for f in entry.facts]
    keys = [UUID(bytes=row["key"]) for row in await rows(TextSummary)]
    assert CANARY in str(await datasets.tree("main_dataset"))
    with full_after(1), pytest.raises(StoreFullError):
        await forget("main_dataset", document="c.md")
    seen = await looking.look((await open_dataset(dataset.id)).runtime, "main_dataset", "")
    nodes, edges = await datasets.graph_data(dataset.id)
    tree = await datasets.tree("main_dataset")
    shown = [
        nodes,
        edges,
        tree,
        await datasets.root_summary("main_dataset"),
        await datasets.summaries("main_dataset", keys),
        await datasets.sources_of("main_dataset", facts),
        await looking.tree(seen, None, 5, 0, 100),
        *[await looking.node(seen, entry.id) for entry in tree],
        *[await looking.history(seen, entry.id) for entry in tree],
    ]

    assert CANARY in str([await rows(kind) for kind in KINDS])
    assert not [one for one in shown if CANARY in str(one) or "c.md" in str(one)]
    assert len(await datasets.summaries("main_dataset", keys)) == len(keys) - 1
    ends = {end for source, target, *_ in edges for end in (source, target)}
    assert ends <= {key for key, _ in nodes}


async def test_a_dataset_that_is_dropped_before_a_stop_leaves_no_conversation(
    plain_environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await remember([*documents(3), canary()], self_improvement=False)
    await recall(f"Who found the {CANARY}?", "CHUNKS", datasets="main_dataset", session_id="talk")
    whole = EmbeddedStore.drop_dataset

    async def dropped_then_killed(self: EmbeddedStore, dataset_id: UUID) -> None:
        await whole(self, dataset_id)
        raise StoreFullError("no space is left")

    monkeypatch.setattr(EmbeddedStore, "drop_dataset", dropped_then_killed)
    with pytest.raises(StoreFullError):
        await forget("main_dataset")

    assert await datasets.list_datasets() == []
    files = [path for path in plain_environment.rglob("*") if path.is_file()]
    assert not [path.name for path in files if CANARY.encode() in path.read_bytes()]


_DROPPING = ((EmbeddedStore, "_remove_file"), (registry, "forget_dataset"), (erasing, "rewrite"))


@pytest.mark.parametrize("stop", _DROPPING, ids=lambda stop: stop[1])
async def test_forgetting_a_dataset_that_stops_anywhere_hinders_nobody_and_is_done_by_the_next(
    plain_environment: Path, monkeypatch: pytest.MonkeyPatch, stop: tuple[object, str]
) -> None:
    await remember([*documents(5), canary()])
    await build()
    await recall(f"Who found the {CANARY}?", "CHUNKS", datasets="main_dataset", session_id="talk")
    await remember(documents(2), "other", self_improvement=False)
    (old,) = [d for d in await datasets.list_datasets() if d.name == "main_dataset"]

    def full(*args: object) -> None:
        raise StoreFullError("no space is left")

    with monkeypatch.context() as patch:
        patch.setattr(*stop, full)
        with pytest.raises(StoreFullError):
            await forget("main_dataset")

    standing = {(await datasets.status(d.id)).name for d in await datasets.list_datasets()}
    assert "other" in standing
    if "main_dataset" in standing:
        await remember(documents(1, first=20))  # as whoever does not know that it was to be forgotten
        assert await datasets.verify("main_dataset") == []
        await forget("main_dataset")
    await remember(documents(1, first=30))
    assert [d.source for d in await datasets.documents("main_dataset")] == ["30.md"]
    assert (await datasets.status("main_dataset")).generation == 0
    assert not list(plain_environment.rglob(f"{old.id}*"))
    assert not [p for p in plain_environment.rglob("*") if p.is_file() and CANARY.encode() in p.read_bytes()]


async def test_who_reads_while_a_dataset_is_dropped_leaves_no_file_of_it(
    plain_environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await remember(documents(2), self_improvement=False)
    (old,) = await datasets.list_datasets()
    store = (await open_dataset(old.id)).runtime.store
    removed, goes_on = threading.Event(), threading.Event()

    def remove_and_wait(self: EmbeddedStore, dataset_id: UUID, remove=EmbeddedStore._remove_file) -> None:
        remove(self, dataset_id)
        removed.set()
        goes_on.wait(60)

    monkeypatch.setattr(EmbeddedStore, "_remove_file", remove_and_wait)
    dropping = asyncio.create_task(store.drop_dataset(old.id))
    await asyncio.to_thread(removed.wait, 60)
    await store.tenant(old)
    goes_on.set()
    await dropping

    assert not list(plain_environment.rglob(f"{old.id}*"))


async def test_an_update_that_stops_anywhere_leaves_one_whole_version(plain_environment: Path, monkeypatch):
    paragraphs = [f"Part {i}. " + " ".join(f"Word{i}x{j} stands here." for j in range(60)) for i in range(6)]

    async def prepare() -> None:
        await remember([*documents(4), SourceDocument("\n\n".join(paragraphs), source="long.md")])
        await build()

    async def act() -> None:
        changed = [paragraphs[0], "Luis Ortega wrote this anew in Ghent.", *paragraphs[2:]]
        fresh = SourceDocument("\n\n".join(changed), source="long.md")
        await remember([fresh, *documents(2, first=4)], self_improvement=False)

    origin = await prepared(plain_environment, monkeypatch, prepare)
    expected = await undisturbed(plain_environment, origin, monkeypatch, act, build)
    monkeypatch.setenv("OVERSTORY_HOME", str(origin))
    before = await _text_of("long.md")
    monkeypatch.setenv("OVERSTORY_HOME", str(plain_environment.with_name("undisturbed")))
    after = await _text_of("long.md")

    async for _ in stopped_everywhere(plain_environment, origin, act, monkeypatch):
        await build()
        assert await _text_of("long.md") in (before, after)
        await act()
        await build()
        assert await picture() == expected


async def _text_of(source: str) -> str:
    from overstory.models import Document, DocumentChunk

    (document,) = [d for d in await rows(Document) if d["source"] == source]
    chunks = [c for c in await rows(DocumentChunk) if c["document_id"] == document["id"]]
    return "".join(c["text"] for c in sorted(chunks, key=lambda c: c["position"]))


async def test_a_build_that_stops_anywhere_ends_with_the_same_tree(plain_environment: Path, monkeypatch):
    async def prepare() -> None:
        await remember(documents(14))
        await build()
        await remember(documents(5, first=14), self_improvement=False)

    origin = await prepared(plain_environment, monkeypatch, prepare)
    expected = await undisturbed(plain_environment, origin, monkeypatch, build)
    monkeypatch.setenv("OVERSTORY_HOME", str(origin))
    served = await datasets.tree("main_dataset")

    async for _ in stopped_everywhere(plain_environment, origin, build, monkeypatch):
        status = await datasets.status("main_dataset")
        assert status.generation == 2 or await datasets.tree("main_dataset") == served
        assert await datasets.verify("main_dataset") == []
        await build()
        assert await picture() == expected
        assert (await build()).status is IndexStatus.UNCHANGED


async def test_an_import_that_stops_anywhere_may_be_repeated(plain_environment: Path, monkeypatch, tmp_path: Path):
    await remember([*documents(9), canary()])
    await build()
    expected = await picture()
    await datasets.export("main_dataset", tmp_path / "out")

    async def act() -> None:
        await datasets.import_archive(tmp_path / "out")

    (tmp_path / "nothing").mkdir()
    async for _ in stopped_everywhere(plain_environment, tmp_path / "nothing", act, monkeypatch):
        await act()
        assert await picture() == expected


async def test_after_a_rollback_forgetting_leaves_no_two_trees():
    await remember(documents(6))
    first = await build()
    await remember([*documents(3, first=6), canary()], self_improvement=False)
    await build()
    await datasets.rollback("main_dataset", first.generation)

    await forget("main_dataset", document="c.md")

    index = await build()
    assert index.status is IndexStatus.PUBLISHED
    assert (await datasets.status("main_dataset")).summaries == 9
    assert await datasets.verify("main_dataset") == []


async def test_what_an_unpublished_build_wrote_is_forgotten_with_its_document(model):
    await remember([*documents(19), canary()])
    stopped = (await improve(build_global_context_index=True, max_calls=6)).index
    assert stopped.status is IndexStatus.STOPPED

    await forget("main_dataset", document="c.md")

    assert CANARY not in str(await rows(GlobalContextSummary))
    await build()
    assert CANARY not in "".join(e.text for e in await datasets.tree("main_dataset"))


async def test_an_earlier_version_is_forgotten_with_its_document():
    await remember([*documents(9), canary()])
    await build()
    await remember(canary("Luis Ortega found nothing in Porto."), self_improvement=False)
    await build()

    await forget("main_dataset", document="c.md")

    assert CANARY not in str([await rows(kind) for kind in KINDS])
    assert (await datasets.status("main_dataset")).generations == (2,)


async def test_a_fact_of_an_earlier_version_does_not_outlive_its_document():
    await remember([*documents(9), canary()])
    await build()
    await remember(canary("Luis Ortega found nothing in Porto."), self_improvement=False)
    assert CANARY in "".join(e.text for e in await datasets.tree("main_dataset"))

    await forget("main_dataset", document="c.md")

    assert CANARY not in "".join(e.text for e in await datasets.tree("main_dataset"))
