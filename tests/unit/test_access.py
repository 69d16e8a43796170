"""Whose dataset a name means."""

import pytest

from overstory import datasets, remember
from overstory.access import user_id
from overstory.errors import PermissionDeniedError
from overstory.models import Permission
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


async def test_reading_is_no_right_to_write():
    theirs = await remember("Anna Hofer leads Northstar.", user="owner")
    await share(theirs.dataset_id, Permission.READ)

    with pytest.raises(PermissionDeniedError, match="write"):
        await remember("Luis Ortega tests Bluebird.", str(theirs.dataset_id), user="guest")

    assert (await datasets.status(theirs.dataset_id, "owner")).documents == 1
