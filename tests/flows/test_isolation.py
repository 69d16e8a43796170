"""Nothing of one dataset, or of one user, shows in another's answers: on every store, in both modes of access."""

import asyncio
import os
import random
import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from itertools import starmap
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from overstory import SearchType, SourceDocument, datasets, forget, improve, recall, remember
from overstory.errors import DatasetNotFoundError, NoDataError, OverstoryError, StoreError
from overstory.models import Entity, Permission
from overstory.runtime import current_runtime, open_dataset
from overstory.settings import Settings
from overstory.stores.opening import open_store

GRAPH = SearchType.GRAPH_COMPLETION
QUESTION = "When is the Northstar launch in Porto?"
WITH_INDEX = {"include_global_context_index": True}
STORES = ["memory", "embedded", pytest.param("weaviate", marks=pytest.mark.weaviate)]


OWN_COLLECTIONS = f"Isolated{uuid4().hex[:8]}"
"""A tenant that all datasets share holds vectors of one size; other tests have other sizes."""


@pytest.fixture(params=STORES)
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Which store the settings name."""
    urls = {
        "memory": lambda: f"memory://{tmp_path.name}",
        "weaviate": lambda: (
            f"{request.getfixturevalue('weaviate_url').partition('prefix=')[0]}prefix={OWN_COLLECTIONS}"
        ),
    }
    if request.param in urls:
        monkeypatch.setenv("OVERSTORY_STORE_URL", urls[request.param]())
    yield request.param
    if request.param == "weaviate":
        asyncio.run(_drop_everything())


async def _drop_everything() -> None:
    store = open_store(Settings.from_environment().store)
    for one in await store.list_datasets():
        await store.drop_dataset(one.id)
    await store.close()


@pytest.fixture(params=[True, False], ids=["a tenant each", "one tenant"])
def separate(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, place: str) -> bool:
    """Whether each dataset has its own tenant."""
    monkeypatch.setenv("ENABLE_BACKEND_ACCESS_CONTROL", str(request.param).lower())
    return request.param


def canary(name: str) -> str:
    return f"Zebra{name}"


def documents(name: str) -> list[SourceDocument]:
    return [
        SourceDocument(f"{canary(name)} set the Northstar launch in Porto for 2 May 2025.", f"{name}-a.md"),
        SourceDocument(f"The Northstar launch in Porto costs {canary(name)} 9 coins.", f"{name}-b.md"),
        SourceDocument(f"Anna Hofer told {canary(name)} of the Northstar launch.", f"{name}-c.md"),
    ]


async def fill(name: str, *, index: bool = True, user: str | None = None) -> None:
    await remember(documents(name), name, user=user)
    if index:
        await improve(name, build_global_context_index=True, user=user)


async def test_no_search_type_shows_another_dataset(place):
    for name, index in (("one", True), ("two", True), ("three", False)):
        await fill(name, index=index)

    for name in ("one", "three"):
        for query_type in SearchType:
            for config in (None, WITH_INDEX):
                for only_context in (False, True):
                    found = await recall(
                        QUESTION,
                        query_type,
                        datasets=name,
                        retriever_specific_config=config,
                        only_context=only_context,
                        include_references=True,
                    )
                    shown = str(found)
                    assert not any(canary(other) in shown for other in ("one", "two", "three") if other != name)
                    assert not any(f"{other}-a.md" in shown for other in ("one", "two", "three") if other != name)


async def test_each_dataset_has_its_own_root(separate):
    for name in ("one", "two"):
        await fill(name)

    roots = {d.name: await datasets.root_summary(d.id) for d in await datasets.list_datasets()}

    assert canary("one") in roots["one"]
    assert canary("two") not in roots["one"]
    assert canary("two") in roots["two"]
    [found] = await recall(QUESTION, GRAPH, datasets="one", only_context=True, retriever_specific_config=WITH_INDEX)
    assert canary("two") not in found.text.partition("Nodes:")[0]


async def test_a_dataset_without_an_index_borrows_none(separate):
    await fill("one")
    await fill("two", index=False)

    [found] = await recall(QUESTION, GRAPH, datasets="two", only_context=True, retriever_specific_config=WITH_INDEX)

    assert "World summary:" not in found.text
    assert any("no index" in note for note in found.evidence.notes)


async def test_forgetting_one_dataset_leaves_the_other_whole(separate):
    await fill("one")
    await fill("two")

    await forget("one")

    assert [d.name for d in await datasets.list_datasets()] == ["two"]
    assert await datasets.verify("two") == []
    found = await recall(QUESTION, GRAPH, datasets="two", only_context=True, retriever_specific_config=WITH_INDEX)
    assert canary("two") in str(found)
    assert canary("one") not in str(found)


async def test_a_name_that_is_used_again_holds_nothing_of_before(separate):
    await fill("one")
    (before,) = await datasets.list_datasets()
    assert canary("one") in str(await recall(QUESTION, GRAPH, datasets="one", only_context=True))
    await forget("one")

    await remember("Luis Ortega pays for the Northstar launch in Porto.", "one")
    (after,) = await datasets.list_datasets()

    assert after.id != before.id
    assert canary("one") not in str(await recall(QUESTION, GRAPH, datasets="one", only_context=True))
    assert (await datasets.status("one")).generation == 0


async def test_datasets_of_one_name_are_each_users_own(place):
    for user in ("anna", "luis"):
        await remember(documents(user), "one", user=user, self_improvement=False)

    for user, other in (("anna", "luis"), ("luis", "anna"), ("anna", "luis")):
        shown = str(await recall(QUESTION, GRAPH, datasets="one", user=user, only_context=True))
        assert canary(user) in shown
        assert canary(other) not in shown


@pytest.mark.parametrize("by_id", [False, True], ids=["by name", "by id"])
async def test_a_stranger_reaches_nothing(separate, by_id):
    await fill("quimberly", user="anna")
    (known,) = await datasets.list_datasets(user="anna")
    key = known.id if by_id else "quimberly"

    for call in (
        lambda: recall(QUESTION, GRAPH, datasets=key, user="luis"),
        lambda: datasets.status(key, user="luis"),
        lambda: datasets.tree(key, user="luis"),
        lambda: datasets.root_summary(key, user="luis"),
        lambda: forget(key, user="luis"),
        lambda: improve(key, user="luis"),
    ):
        with pytest.raises(DatasetNotFoundError) as caught:
            await call()
        assert canary("quimberly") not in str(caught.value)
        assert not by_id or "quimberly" not in str(caught.value)


async def test_a_grant_opens_what_it_names_and_no_more(place):
    await fill("one", user="anna")
    (granted,) = await datasets.list_datasets(user="anna")
    from overstory.access import user_id

    await (await current_runtime()).store.grant(granted.id, user_id("luis"), [Permission.READ])

    assert canary("one") in str(await recall(QUESTION, GRAPH, datasets="one", user="luis", only_context=True))
    with pytest.raises(OverstoryError, match="delete"):
        await forget("one", user="luis")


# --- nothing found is no failure, a failure is not nothing found -----------------------------------


async def test_an_empty_dataset_says_that_it_is_empty(separate):
    await fill("one", index=False)
    await forget("one", document=["one-a.md", "one-b.md", "one-c.md"])

    if separate:
        with pytest.raises(NoDataError):
            await recall(QUESTION, GRAPH, datasets="one")


async def test_a_question_that_nothing_answers_finds_nothing(place):
    await fill("one")

    found = await recall("qwertz asdf yxcv", "CHUNKS_LEXICAL", datasets="one")

    assert found == []


async def test_rows_that_are_gone_below_a_dataset_are_an_error(place, tmp_path):
    if place != "weaviate":
        pytest.skip("tested where it can happen")
    await fill("one")
    (one,) = await datasets.list_datasets()
    tenant = (await open_dataset(one.id)).tenant
    link = await tenant._connections.link()
    await link.collection(Entity).tenants.remove([str(one.id)])

    with pytest.raises((StoreError, DatasetNotFoundError)):
        await recall(QUESTION, GRAPH, datasets="one")


# --- many users ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1])
async def test_random_calls_of_many_users_reveal_nothing(place, separate, seed):
    count, users = map(int, os.environ.get("OVERSTORY_TEST_ISOLATION", "8x4").split("x"))
    chooser = random.Random(seed)
    owners = {f"set{i:05}": f"user{chooser.randrange(users)}" for i in range(count)}
    keys = await _remember_all(owners)
    statuses = set()

    for _ in range(max(120, 5 * count)):
        name, user = chooser.choice(list(owners)), f"user{chooser.randrange(users)}"
        own = {other for other, owner in owners.items() if owner == user}
        call, is_filtered = _random_call(chooser, chooser.choice([name, keys[name]]), user, mine=name in own)
        shown = await _shown(call)
        assert _strange_ids(shown, keys, own) <= {name}
        if is_filtered or separate:
            assert set(re.findall(r"Zebra(set\d{5})", shown)) <= own
        if name not in own:
            assert shown.startswith("DatasetNotFoundError: ")
            assert set(re.findall(r"set\d{5}", shown)) <= {name, *own}
    for name, user in owners.items():
        status = await datasets.status(name, user=user)
        statuses.add((status.documents, status.chunks, status.entities, status.edges, status.generation))
    for user in {f"user{i}" for i in range(users)}:
        own = {name for name, owner in owners.items() if owner == user}
        assert {dataset.name for dataset in await datasets.list_datasets(user=user)} == own
        asked_of_all = await _shown(lambda user=user: recall(QUESTION, "CHUNKS", user=user, only_context=True))
        assert not separate or set(re.findall(r"Zebra(set\d{5})", asked_of_all)) == own

    assert len(statuses) == 1, "a count tells of others' rows"
    assert next(iter(statuses))[:2] == (3, 3)


async def _remember_all(owners: Mapping[str, str]) -> dict[str, UUID]:
    """Three documents in each dataset, by its owner; the ids."""
    places = asyncio.Semaphore(8)

    async def remember_one(name: str, user: str) -> UUID:
        async with places:
            return (await remember(documents(name), name, user=user, self_improvement=False)).dataset_id

    return dict(zip(owners, await asyncio.gather(*starmap(remember_one, owners.items())), strict=True))


def _random_call(
    chooser: random.Random, key: str | UUID, user: str, *, mine: bool
) -> tuple[Callable[[], Awaitable[object]], bool]:
    """A call of a user, and whether it shows the named dataset alone where all share one tenant, too."""
    if chooser.random() < 0.4:
        query_type = chooser.choice(list(SearchType))
        return lambda: recall(QUESTION, query_type, datasets=key, user=user, only_context=True), False
    reading = [
        datasets.status,
        datasets.graph_data,
        datasets.tree,
        datasets.documents,
        datasets.generations,
        datasets.verify,
    ]
    called = chooser.choice(reading if mine else [*reading, forget, improve])
    return lambda: called(key, user=user), True


async def _shown(call: Callable[[], Awaitable[object]]) -> str:
    """What a user sees of one call, errors included."""
    try:
        return str(await call())
    except OverstoryError as error:
        return f"{type(error).__name__}: {error}"


def _strange_ids(shown: str, keys: Mapping[str, UUID], own: Collection[str]) -> set[str]:
    """Datasets of others whose ids can be seen."""
    return {name for name, key in keys.items() if name not in own and str(key) in shown}
