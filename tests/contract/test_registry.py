from uuid import uuid4

import pytest

from overstory.errors import DatasetNotFoundError
from overstory.models import Build, Entity, Manifest, Permission
from overstory.stores.memory import MemoryStore
from tests.contract.samples import HOSTILE_TEXTS, dataset, generation, row


async def test_a_dataset_comes_back_as_it_was_created(store):
    created = await store.create_dataset(dataset("research"))

    read = await store.get_dataset(created.id)

    assert read == created
    await store.drop_dataset(created.id)


async def test_creating_a_taken_name_gives_the_existing_dataset(store):
    first = await store.create_dataset(dataset("research"))

    second = await store.create_dataset(dataset("research", owner=first.owner_id))

    assert second == first
    assert await store.list_datasets(first.owner_id) == [first]


async def test_two_owners_may_use_one_name(store):
    first, second = dataset("research"), dataset("research")

    created = [await store.create_dataset(first), await store.create_dataset(second)]

    assert created == [first, second]
    assert await store.list_datasets(second.owner_id) == [second]


async def test_an_unknown_dataset_is_none(store):
    unknown = uuid4()

    found = await store.get_dataset(unknown)

    assert found is None


async def test_the_tenant_of_an_unknown_dataset_is_an_error(store):
    unknown = dataset()

    with pytest.raises(DatasetNotFoundError):
        await store.tenant(unknown)


@pytest.mark.parametrize("name", HOSTILE_TEXTS[:5])
async def test_names_may_hold_any_characters(store, name):
    created = await store.create_dataset(dataset(name))

    listed = await store.list_datasets(created.owner_id)

    assert [one.name for one in listed] == [name]
    assert await store.next_occurrence(created.owner_id, name) == 0
    await store.drop_dataset(created.id)
    assert await store.next_occurrence(created.owner_id, name) == 1


async def test_datasets_are_listed_by_name(store):
    owner = uuid4()
    for name in ("beta", "alpha", "gamma"):
        await store.create_dataset(dataset(name, owner=owner))

    listed = await store.list_datasets(owner)

    assert [one.name for one in listed] == ["alpha", "beta", "gamma"]


async def test_all_datasets_are_listed_for_no_user(store):
    created = [await store.create_dataset(dataset()) for _ in range(2)]

    listed = await store.list_datasets()

    assert {one.id for one in created} <= {one.id for one in listed}


# --- grants --------------------------------------------------------------------------------------------------------


async def test_the_owner_may_do_everything(store, registered):
    owner = registered.owner_id

    allowed = await store.permissions(registered.id, owner)

    assert allowed == frozenset(Permission)


async def test_a_stranger_may_do_nothing(store, registered):
    stranger = uuid4()

    allowed = await store.permissions(registered.id, stranger)

    assert allowed == frozenset()
    assert await store.list_datasets(stranger) == []


async def test_a_grant_replaces_the_one_before(store, registered):
    user = uuid4()
    await store.grant(registered.id, user, [Permission.READ, Permission.WRITE])

    await store.grant(registered.id, user, [Permission.READ])

    assert await store.permissions(registered.id, user) == {Permission.READ}


async def test_who_may_read_sees_the_dataset_listed(store, registered):
    reader, writer = uuid4(), uuid4()

    await store.grant(registered.id, reader, [Permission.READ])
    await store.grant(registered.id, writer, [Permission.WRITE])

    assert await store.list_datasets(reader) == [registered]
    assert await store.list_datasets(writer) == []


async def test_an_empty_grant_takes_everything_away(store, registered):
    user = uuid4()
    await store.grant(registered.id, user, list(Permission))

    await store.grant(registered.id, user, [])

    assert await store.permissions(registered.id, user) == frozenset()
    assert await store.list_datasets(user) == []


async def test_granting_on_an_unknown_dataset_is_an_error(store):
    unknown = uuid4()

    with pytest.raises(DatasetNotFoundError):
        await store.grant(unknown, uuid4(), [Permission.READ])


# --- dropping ------------------------------------------------------------------------------------------------------


async def test_dropping_removes_everything_that_belonged_to_a_dataset(store):
    created, user = await store.create_dataset(dataset()), uuid4()
    tenant = await store.tenant(created)
    await tenant.put([row(Entity, created.id)])
    await store.grant(created.id, user, [Permission.READ])
    lease = await store.acquire_lease(created.id, "a", 60)
    await store.write_manifest(Manifest(dataset_id=created.id, serving=1, generations=(generation(1),)), lease)

    await store.drop_dataset(created.id)

    assert await store.get_dataset(created.id) is None
    assert await store.permissions(created.id, user) == frozenset()
    assert await store.read_lease(created.id) is None
    assert await store.read_manifest(created.id) == Manifest(dataset_id=created.id)
    with pytest.raises(DatasetNotFoundError):
        await store.tenant(created)


async def test_dropping_twice_counts_once(store):
    created = await store.create_dataset(dataset())

    await store.drop_dataset(created.id)
    await store.drop_dataset(created.id)

    assert await store.next_occurrence(created.owner_id, created.name) == 1


async def test_nothing_is_left_to_finish_of_a_dataset_that_is_there_or_was_dropped(store):
    created = await store.create_dataset(dataset())

    there = await store.finish_drop(created.owner_id, created.name)

    assert not there and await store.get_dataset(created.id) == created
    await store.drop_dataset(created.id)
    assert not await store.finish_drop(created.owner_id, created.name)
    assert await store.next_occurrence(created.owner_id, created.name) == 1


async def test_a_dataset_of_a_dropped_name_starts_empty(store):
    first = await store.create_dataset(dataset())
    await (await store.tenant(first)).put([row(Entity, first.id)])
    await store.drop_dataset(first.id)

    second = await store.create_dataset(dataset(owner=first.owner_id))

    assert second.id != first.id
    assert await (await store.tenant(second)).count(Entity) == 0


# --- manifests -----------------------------------------------------------------------------------------------------


async def test_the_manifest_is_empty_before_anything_is_published(store, registered):
    manifest = await store.read_manifest(registered.id)

    assert manifest == Manifest(dataset_id=registered.id)
    assert manifest.current is None


async def test_a_manifest_comes_back_with_the_token_it_was_written_under(store, registered, clock):
    lease = await store.acquire_lease(registered.id, "a", 60)
    manifest = Manifest(
        dataset_id=registered.id,
        serving=2,
        generations=(generation(1), generation(2, root_id=uuid4())),
        last_number=3,
        unpublished=(Build(number=3, purpose="improve", started_at=clock()),),
        token=lease.token,
    )

    await store.write_manifest(manifest, lease)

    assert await store.read_manifest(registered.id) == manifest


async def test_manifests_of_two_datasets_do_not_mix(store, registered):
    other = await store.create_dataset(dataset())
    lease = await store.acquire_lease(registered.id, "a", 60)

    await store.write_manifest(Manifest(dataset_id=registered.id, serving=7), lease)

    assert (await store.read_manifest(other.id)).serving == 0


async def test_a_persistent_store_knows_everything_when_it_is_opened_again(new_store):
    first = await new_store()
    if isinstance(first, MemoryStore):
        pytest.skip("this store keeps nothing")
    created = await first.create_dataset(dataset())
    entity = row(Entity, created.id)
    await (await first.tenant(created)).put([entity])
    lease = await first.acquire_lease(created.id, "a", 60)
    await first.write_manifest(Manifest(dataset_id=created.id, serving=1), lease)

    second = await new_store()

    assert await second.get_dataset(created.id) == created
    assert await (await second.tenant(created)).get(Entity, [entity.id]) == [entity]
    assert (await second.read_manifest(created.id)).serving == 1
    assert await second.read_lease(created.id) == lease
