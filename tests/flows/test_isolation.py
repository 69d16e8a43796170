"""Nothing of one dataset, or of one user, shows in another's answers: on every store, in both modes of access."""

import asyncio
import random
from pathlib import Path
from uuid import uuid4

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
    await forget("one")

    await remember("Luis Ortega pays for the Northstar launch in Porto.", "one")
    (after,) = await datasets.list_datasets()

    assert after.id != before.id
    assert canary("one") not in str(await recall(QUESTION, GRAPH, datasets="one", only_context=True))
    assert (await datasets.status("one")).generation == 0


async def test_a_stranger_reaches_nothing(separate):
    await fill("one", user="anna")

    for call in (
        lambda: recall(QUESTION, GRAPH, datasets="one", user="luis"),
        lambda: datasets.status("one", user="luis"),
        lambda: datasets.tree("one", user="luis"),
        lambda: forget("one", user="luis"),
        lambda: improve("one", user="luis"),
    ):
        with pytest.raises(DatasetNotFoundError) as caught:
            await call()
        assert canary("one") not in str(caught.value)


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
async def test_random_calls_of_many_users_reveal_nothing(place, seed):
    chooser, users, count = random.Random(seed), [f"user{i}" for i in range(4)], 8
    owners = {f"set{i}": chooser.choice(users) for i in range(count)}
    for name, user in owners.items():
        await remember(documents(name), name, user=user, self_improvement=False)

    for _ in range(60):
        name, user = chooser.choice(list(owners)), chooser.choice(users)
        shown = await _random_call(chooser, name, user)
        foreign = [canary(other) for other, owner in owners.items() if owner != user]
        assert not [mark for mark in foreign if mark in shown]
        if owners[name] != user:
            assert shown.startswith("DatasetNotFoundError")


async def _random_call(chooser: random.Random, name: str, user: str) -> str:
    """What a user sees of one call, errors included."""
    calls = [
        lambda: recall(QUESTION, chooser.choice(list(SearchType)), datasets=name, user=user, only_context=True),
        lambda: datasets.status(name, user=user),
        lambda: datasets.graph_data(name, user=user),
        lambda: datasets.tree(name, user=user),
    ]
    try:
        return str(await chooser.choice(calls)())
    except OverstoryError as error:
        return f"{type(error).__name__}: {error}"
