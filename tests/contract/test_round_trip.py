"""What is put is got, whatever it is."""

from dataclasses import fields

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overstory.models import KINDS
from tests import strategies

few = settings(
    max_examples=20,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.differing_executors],
)


@pytest.mark.parametrize("kind", KINDS)
@few
@given(data=st.data())
async def test_rows_come_back_as_they_were_put(tenant, kind, data):
    rows = data.draw(strategies.row_lists(kind, tenant.dataset_id))

    await tenant.put(rows)

    assert await tenant.get(kind, [row.key for row in rows]) == rows
    assert await tenant.delete(kind, [row.key for row in rows]) == len(rows)
    assert await tenant.count(kind) == 0


@pytest.mark.parametrize("kind", KINDS)
@few
@given(data=st.data())
async def test_a_patch_to_another_row_makes_it_that_row(tenant, kind, data):
    old, new = data.draw(strategies.rows(kind, tenant.dataset_id)), data.draw(strategies.rows(kind, tenant.dataset_id))
    fixed = {"id", "summary_id", "dataset_id", "valid_from"}
    change = {field.name: getattr(new, field.name) for field in fields(kind) if field.name not in fixed}
    await tenant.put([old])

    await tenant.patch(kind, {old.key: change})

    (stored,) = await tenant.get(kind, [old.key])
    assert {name: getattr(stored, name) for name in change} == change
    assert stored.key == old.key
    await tenant.delete(kind, [old.key])


@few
@given(dataset=strategies.datasets)
async def test_datasets_come_back_as_they_were_created(store, dataset):
    created = await store.create_dataset(dataset)

    assert created == dataset
    assert await store.get_dataset(dataset.id) == dataset
    await store.drop_dataset(dataset.id)
    assert await store.get_dataset(dataset.id) is None
