"""Which datasets the nightly run improves, and what it says of them. The runs themselves need a server."""

from typing import Any

import pytest

pytest.importorskip("prefect", reason="needs the extra `prefect`")

from prefect.states import Completed, Failed

from flows import improve_all
from overstory import datasets, improve, remember
from overstory.access import user_id
from overstory.errors import StoreDamagedError
from overstory.models import COMPLETE, FORGETTING, Document, Permission
from overstory.results import COMPLETED_WITH_ERRORS
from overstory.runtime import open_dataset


async def found(user: str) -> list[tuple[str, Any]]:
    return [(dataset.name, who) for dataset, who in await improve_all._writable(user)]


async def test_the_night_covers_the_datasets_of_all_users_each_once_and_as_its_owner():
    await remember(["Anna Hofer leads Northstar."], "north")
    await remember(["Luis Ortega leads Bluebird."], "blue", user="luis")
    blue = (await datasets.status("blue", "luis")).id
    await datasets.grant(blue, user_id(None), [Permission.WRITE], user="luis")

    everything = await found("")

    assert sorted(everything) == [("blue", user_id("luis")), ("north", user_id(None))]


async def test_the_night_of_one_user_leaves_out_what_they_may_only_read():
    await remember(["Anna Hofer leads Northstar."], "read")
    await remember(["Mira Sand leads Granite."], "written")
    await remember(["Luis Ortega leads Bluebird."], "own", user="luis")
    for name, permissions in (("read", [Permission.READ]), ("written", [Permission.READ, Permission.WRITE])):
        await datasets.grant((await datasets.status(name)).id, "luis", permissions)

    mine = await found("luis")

    assert sorted(mine) == [("own", user_id("luis")), ("written", user_id("luis"))]


async def test_the_work_of_a_night_is_a_first_index_and_what_is_pending():
    await remember(["Anna Hofer leads Northstar."], "north")
    new = await datasets.status("north")

    assert improve_all.has_work(new, first_index=True)
    assert not improve_all.has_work(new, first_index=False)


@pytest.mark.parametrize("first_index", [True, False])
@pytest.mark.parametrize("is_indexed", [True, False])
async def test_a_forgetting_that_stopped_is_work_of_a_night(first_index: bool, is_indexed: bool):
    await remember(["Anna Hofer leads Northstar.", "Luis Ortega leads Bluebird."], "north", self_improvement=False)
    await improve("north", build_global_context_index=is_indexed)
    opened = await open_dataset((await datasets.status("north")).id)
    [document, _] = await opened.tenant.find(Document, "state", [COMPLETE])
    await opened.tenant.patch(Document, {document: {"state": FORGETTING}})

    begun = await datasets.status("north")
    await improve("north", build_global_context_index=is_indexed)
    finished = await datasets.status("north")

    assert improve_all.has_work(begun, first_index=first_index)
    assert improve_all.has_work(finished, first_index=first_index) == (first_index and not is_indexed)


async def test_a_dataset_that_cannot_be_looked_at_has_failed_and_the_others_count():
    await remember(["Anna Hofer leads Northstar."], "broken")
    ((broken, _),) = await improve_all._writable("")

    state = improve_all._state_of(broken, StoreDamagedError("bytes that can't be right"))
    night = improve_all._summary([("broken", state), ("north", Completed(message="fine"))])

    assert state.is_failed()
    assert (night.type.value, night.name) == ("COMPLETED", COMPLETED_WITH_ERRORS)
    assert night.message == "1 of 2 datasets improved; failed: broken"


def test_a_night_in_which_everything_fails_has_failed():
    night = improve_all._summary([("a", Failed(message="no answer")), ("b", Failed(message="no answer"))])

    assert night.is_failed()
