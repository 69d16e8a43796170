"""The short memory of conversations: kept by turns, erased with the dataset that it was answered from."""

from uuid import uuid4

import pytest

from overstory.models import Turn
from overstory.stores.sessions import KEPT_TURNS, MAX_ANSWER_CHARACTERS
from tests.contract.samples import HOSTILE_TEXTS, dataset


def turn(question="Who leads?", answer="Anna Hofer.", *, of=()):
    return Turn(question=question, answer=answer, dataset_ids=tuple(of))


async def test_a_new_conversation_has_no_turns(store):
    found = await store.read_session(uuid4(), "talk")

    assert found == ()


async def test_turns_come_back_in_their_order(store):
    user, datasets = uuid4(), [uuid4(), uuid4()]
    turns = [turn("Who?", "Anna.", of=datasets), turn("And when?", "In June."), turn("Why?", "", of=datasets[:1])]
    for one in turns:
        await store.add_turn(user, "talk", one)

    found = await store.read_session(user, "talk")

    assert found == tuple(turns)


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
async def test_any_text_comes_back_as_it_was(store, text):
    user = uuid4()
    await store.add_turn(user, text, turn(text, text))

    found = await store.read_session(user, text)

    assert found == (turn(text, text[:MAX_ANSWER_CHARACTERS]),)


async def test_the_last_turns_are_kept_and_of_long_answers_the_beginning(store):
    user = uuid4()
    for number in range(KEPT_TURNS + 3):
        await store.add_turn(user, "talk", turn(f"Question {number}?", "x" * (MAX_ANSWER_CHARACTERS + number)))

    found = await store.read_session(user, "talk")

    assert [one.question for one in found] == [f"Question {n}?" for n in range(3, KEPT_TURNS + 3)]
    assert {len(one.answer) for one in found} == {MAX_ANSWER_CHARACTERS}


async def test_a_conversation_is_its_user_s_own(store):
    ann, bob = uuid4(), uuid4()
    await store.add_turn(ann, "talk", turn())

    assert await store.read_session(bob, "talk") == ()
    assert await store.read_session(ann, "talk 2") == ()
    assert not await store.erase_session(bob, "talk")
    assert await store.erase_session(ann, "talk")
    assert not await store.erase_session(ann, "talk")
    assert await store.read_session(ann, "talk") == ()


async def test_turns_go_with_the_dataset_that_they_were_answered_from(store):
    user, leaving, staying = uuid4(), uuid4(), uuid4()
    both, kept = turn("Both?", of=[leaving, staying]), turn("Kept?", of=[staying])
    for one in (turn("Gone?", of=[leaving]), both, kept):
        await store.add_turn(user, "talk", one)
    await store.add_turn(user, "other", turn("Gone too?", of=[leaving]))
    somebody_else = uuid4()
    await store.add_turn(somebody_else, "talk", turn("Somebody else's?", of=[leaving]))

    await store.erase_turns(leaving)
    await store.erase_turns(leaving)

    assert await store.read_session(user, "talk") == (kept,)
    assert await store.read_session(user, "other") == ()
    assert not await store.erase_session(user, "other")
    assert not await store.erase_session(somebody_else, "talk")


async def test_a_dropped_dataset_takes_its_turns_along(store):
    user = uuid4()
    created = await store.create_dataset(dataset("research"))
    await store.add_turn(user, "talk", turn(of=[created.id]))

    await store.drop_dataset(created.id)

    assert await store.read_session(user, "talk") == ()
