from dataclasses import replace
from uuid import uuid4

import pytest

from overstory.errors import DatasetBusyError, DatasetNotFoundError, LeaseLostError
from overstory.models import Manifest
from tests.contract.samples import dataset


async def test_the_first_holder_gets_token_one_for_the_time_asked(store, registered, clock):
    lease = await store.acquire_lease(registered.id, "first", 60)

    assert (lease.dataset_id, lease.holder, lease.token, lease.acquired_at) == (registered.id, "first", 1, clock())
    assert (lease.expires_at - clock()).total_seconds() == 60
    assert await store.read_lease(registered.id) == lease


async def test_a_second_holder_is_told_who_has_it_and_until_when(store, registered):
    lease = await store.acquire_lease(registered.id, "first", 60)

    with pytest.raises(DatasetBusyError) as caught:
        await store.acquire_lease(registered.id, "second", 60)

    error = caught.value
    assert (error.dataset, error.holder, error.since, error.until) == (
        registered.name,
        "first",
        lease.acquired_at,
        lease.expires_at,
    )


async def test_acquiring_again_keeps_the_token(store, registered, clock):
    first = await store.acquire_lease(registered.id, "first", 60)
    clock.move(30)

    again = await store.acquire_lease(registered.id, "first", 60)

    assert (again.token, again.acquired_at) == (first.token, first.acquired_at)
    assert (again.expires_at - clock()).total_seconds() == 60


async def test_the_lease_of_a_holder_that_works_no_more_is_taken_over_with_a_higher_token(store, registered):
    lost = await store.acquire_lease(registered.id, "first", 60)

    lease = await store.acquire_lease(registered.id, "second", 60, over="first")

    assert (lease.holder, lease.token) == ("second", lost.token + 1)
    assert await store.read_lease(registered.id) == lease
    with pytest.raises(LeaseLostError):
        await store.renew_lease(lost, 60)
    with pytest.raises(LeaseLostError):
        await store.write_manifest(Manifest(dataset_id=registered.id, serving=1), lost)


async def test_nobody_is_taken_over_but_the_one_who_works_no_more(store, registered):
    lease = await store.acquire_lease(registered.id, "first", 60)

    with pytest.raises(DatasetBusyError):
        await store.acquire_lease(registered.id, "second", 60, over="another")

    assert await store.read_lease(registered.id) == lease


@pytest.mark.parametrize("seconds", [61, -61, 10**7, -(10**7)])
async def test_a_lease_expires_when_the_clock_is_too_far_from_its_renewal(store, registered, clock, seconds):
    await store.acquire_lease(registered.id, "first", 60)

    clock.move(seconds)

    assert await store.read_lease(registered.id) is None
    assert (await store.acquire_lease(registered.id, "second", 60)).token == 2


@pytest.mark.parametrize("seconds", [59, -59, 60, -60])
async def test_a_lease_lives_while_the_clock_is_near_its_renewal(store, registered, clock, seconds):
    lease = await store.acquire_lease(registered.id, "first", 60)

    clock.move(seconds)

    assert await store.read_lease(registered.id) == lease
    with pytest.raises(DatasetBusyError):
        await store.acquire_lease(registered.id, "second", 60)


async def test_renewing_extends_from_now(store, registered, clock):
    lease = await store.acquire_lease(registered.id, "first", 60)
    clock.move(50)

    renewed = await store.renew_lease(lease, 60)

    assert renewed.token == lease.token
    assert (renewed.expires_at - clock()).total_seconds() == 60
    clock.move(50)
    assert await store.read_lease(registered.id) == renewed


async def test_an_expired_lease_may_be_renewed_while_nobody_took_it(store, registered, clock):
    lease = await store.acquire_lease(registered.id, "first", 60)
    clock.move(100)

    renewed = await store.renew_lease(lease, 60)

    assert await store.read_lease(registered.id) == renewed


async def test_a_lease_that_was_taken_over_can_not_be_renewed(store, registered, clock):
    lost = await store.acquire_lease(registered.id, "first", 60)
    clock.move(61)
    held = await store.acquire_lease(registered.id, "second", 60)

    with pytest.raises(LeaseLostError):
        await store.renew_lease(lost, 60)

    assert await store.read_lease(registered.id) == held


async def test_a_released_lease_is_free_and_its_token_goes_on_growing(store, registered):
    first = await store.acquire_lease(registered.id, "first", 60)

    await store.release_lease(first)

    assert await store.read_lease(registered.id) is None
    assert (await store.acquire_lease(registered.id, "second", 60)).token == 2


async def test_a_released_lease_can_not_be_renewed(store, registered):
    lease = await store.acquire_lease(registered.id, "first", 60)
    await store.release_lease(lease)

    with pytest.raises(LeaseLostError):
        await store.renew_lease(lease, 60)


async def test_releasing_a_lost_lease_leaves_the_new_holder_alone(store, registered, clock):
    lost = await store.acquire_lease(registered.id, "first", 60)
    clock.move(61)
    held = await store.acquire_lease(registered.id, "second", 60)

    await store.release_lease(lost)
    await store.release_lease(lost)

    assert await store.read_lease(registered.id) == held


async def test_a_writer_that_was_taken_over_can_not_publish(store, registered, clock):
    lost = await store.acquire_lease(registered.id, "first", 60)
    clock.move(61)
    held = await store.acquire_lease(registered.id, "second", 60)
    await store.write_manifest(Manifest(dataset_id=registered.id, serving=2), held)

    with pytest.raises(LeaseLostError):
        await store.write_manifest(Manifest(dataset_id=registered.id, serving=1), lost)

    assert (await store.read_manifest(registered.id)).serving == 2


async def test_a_writer_is_refused_even_before_the_new_one_has_written(store, registered, clock):
    lost = await store.acquire_lease(registered.id, "first", 60)
    clock.move(61)
    await store.acquire_lease(registered.id, "second", 60)

    with pytest.raises(LeaseLostError):
        await store.write_manifest(Manifest(dataset_id=registered.id, serving=1), lost)

    assert await store.read_manifest(registered.id) == Manifest(dataset_id=registered.id)


async def test_a_lease_that_expired_may_publish_while_nobody_took_it(store, registered, clock):
    lease = await store.acquire_lease(registered.id, "first", 60)
    clock.move(100)

    await store.write_manifest(Manifest(dataset_id=registered.id, serving=1), lease)

    assert (await store.read_manifest(registered.id)).token == lease.token


async def test_leases_of_two_datasets_are_apart(store, registered):
    other = await store.create_dataset(dataset())
    await store.acquire_lease(registered.id, "first", 60)

    lease = await store.acquire_lease(other.id, "second", 60)

    assert lease.token == 1


async def test_a_dataset_that_does_not_exist_can_not_be_leased(store):
    unknown = uuid4()

    with pytest.raises(DatasetNotFoundError):
        await store.acquire_lease(unknown, "first", 60)

    assert await store.read_lease(unknown) is None


async def test_the_writer_of_a_dropped_dataset_can_not_publish(store):
    created = await store.create_dataset(dataset())
    lease = await store.acquire_lease(created.id, "first", 60)
    await store.drop_dataset(created.id)

    with pytest.raises(LeaseLostError):
        await store.write_manifest(Manifest(dataset_id=created.id, serving=1), lease)
    with pytest.raises(LeaseLostError):
        await store.renew_lease(lease, 60)


async def test_a_holder_needs_a_name(store, registered):
    with pytest.raises(ValueError, match="holder"):
        await store.acquire_lease(registered.id, "", 60)


async def test_a_stolen_name_does_not_help_without_the_token(store, registered):
    lease = await store.acquire_lease(registered.id, "first", 60)

    with pytest.raises(LeaseLostError):
        await store.renew_lease(replace(lease, token=lease.token + 1), 60)
