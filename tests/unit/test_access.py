"""Whose dataset a name means."""

import asyncio
from dataclasses import replace
from uuid import UUID

import pytest

from overstory import datasets, forget, recall, remember
from overstory.access import find_index, new_dataset, of_each, user_id
from overstory.cli import indexes
from overstory.errors import DatasetNotFoundError, PermissionDeniedError
from overstory.models import Dataset, Permission
from overstory.runtime import current_runtime


async def share(dataset_id, *permissions: Permission) -> None:
    await (await current_runtime()).store.grant(dataset_id, user_id("guest"), list(permissions))


async def test_a_shared_dataset_does_not_stand_in_the_way_of_ones_own():
    theirs = await remember("Anna Hofer leads Northstar.", user="owner")
    await share(theirs.dataset_id, Permission.READ, Permission.WRITE)

    own = await remember("Luis Ortega tests Bluebird.", user="guest")

    assert own.dataset_id != theirs.dataset_id
    assert (await datasets.status("main_dataset", "guest")).documents == 1
    assert (await datasets.status(theirs.dataset_id, "owner")).documents == 1


async def test_a_shared_dataset_is_written_by_its_id():
    theirs = await remember("Anna Hofer leads Northstar.", user="owner")
    await share(theirs.dataset_id, Permission.READ, Permission.WRITE)

    await remember("Luis Ortega tests Bluebird.", str(theirs.dataset_id), user="guest")

    assert (await datasets.status(theirs.dataset_id, "owner")).documents == 2


async def test_a_dataset_that_was_called_what_none_may_be_now_is_reached():
    runtime = await current_runtime()
    await runtime.store.create_dataset(replace(await new_dataset(runtime, "odd", "owner"), name="o\u202edd"))

    await remember("Luis Ortega tests Bluebird.", "o\u202edd", user="owner")

    assert (await datasets.status("o\u202edd", "owner")).documents == 1


async def test_reading_is_no_right_to_write():
    theirs = await remember("Anna Hofer leads Northstar.", user="owner")
    await share(theirs.dataset_id, Permission.READ)

    with pytest.raises(PermissionDeniedError, match="write"):
        await remember("Luis Ortega tests Bluebird.", str(theirs.dataset_id), user="guest")

    assert (await datasets.status(theirs.dataset_id, "owner")).documents == 1


async def test_of_a_list_what_was_dropped_since_is_left_out_and_few_are_looked_at_once():
    listed = [(await remember("Anna Hofer leads Northstar.", f"notes {i}")).dataset_id for i in range(20)]
    known, looking, most = await datasets.list_datasets(), 0, 0

    async def look(dataset_id: UUID) -> UUID:
        nonlocal looking, most
        looking += 1
        most = max(most, looking)
        status = await datasets.status(dataset_id)
        looking -= 1
        return status.id

    await forget(listed.pop(7))
    seen = await of_each(known, look)

    assert sorted(seen) == sorted(listed)
    assert 1 < most < len(listed)


async def test_a_dataset_that_is_dropped_while_all_are_asked_or_listed_fails_nobody(monkeypatch: pytest.MonkeyPatch):
    for name in ("kept", "gone"):
        await remember("Anna Hofer leads Northstar.", name)
    store = (await current_runtime()).store
    listed = await store.list_datasets()
    await forget("gone")

    async def stale(self: object, user_id: UUID | None = None) -> list[Dataset]:
        return listed

    monkeypatch.setattr(type(store), "list_datasets", stale)

    assert [one.dataset for one in await recall("Who leads Northstar?")] == ["kept"]
    assert [one.name for one in await indexes._statuses(None)] == ["kept"]


class Asked:
    """A store that counts in how many rounds it is asked: calls that are made at once are one."""

    def __init__(self, store):
        self._store, self.rounds, self._open = store, 0, 0

    def __getattr__(self, name):
        method = getattr(self._store, name)

        async def call(*args):
            self.rounds += not self._open
            self._open += 1
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            self._open -= 1
            return await method(*args)

        return call


async def test_a_dataset_that_was_found_before_is_opened_in_one_round():
    await remember("Anna Hofer leads Northstar.", user="owner")
    runtime = await current_runtime()
    watched = replace(runtime, store=Asked(runtime.store), found={})

    for rounds in (2, 3, 4):
        opened, _ = await find_index(watched, "main_dataset", "owner")
        assert opened.dataset.name == "main_dataset"
        assert watched.store.rounds == rounds


async def test_what_a_name_meant_before_is_not_what_it_means_now():
    first = await remember("Anna Hofer leads Northstar.", user="owner")
    runtime = await current_runtime()
    await find_index(runtime, "main_dataset", "owner")
    await forget("main_dataset", user="owner")
    with pytest.raises(DatasetNotFoundError):
        await find_index(runtime, "main_dataset", "owner")

    second = await remember("Luis Ortega tests Bluebird.", user="owner")
    opened, _ = await find_index(runtime, "main_dataset", "owner")

    assert opened.dataset.id == second.dataset_id != first.dataset_id


async def test_a_right_that_was_taken_away_is_gone_at_once():
    theirs = await remember("Anna Hofer leads Northstar.", user="owner")
    await share(theirs.dataset_id, Permission.READ)
    runtime = await current_runtime()
    await find_index(runtime, theirs.dataset_id, "guest")

    await share(theirs.dataset_id)

    with pytest.raises(DatasetNotFoundError):
        await find_index(runtime, theirs.dataset_id, "guest")
