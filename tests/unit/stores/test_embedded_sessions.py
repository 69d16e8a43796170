"""Conversations in their file: no trace is left of what was erased, and damage stands in nobody's way."""

from pathlib import Path
from uuid import uuid4

import pytest

from overstory.errors import StoreDamagedError, StoreFullError
from overstory.models import Turn
from overstory.stores.embedded import EmbeddedStore, erasing
from overstory.stores.sessions import session_key

CANARY = "zorblaxite"


def traces(home: Path) -> list[str]:
    return [path.name for path in home.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]


def spoil(store: EmbeddedStore, key: bytes) -> None:
    with store._sessions._database.write() as connection:
        connection.execute("UPDATE turn SET body = 'no conversation' WHERE session = ?", (key,))


async def test_nobody_who_has_no_conversation_has_a_file_of_them(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path)

    assert await store.read_session(uuid4(), "talk") == ()
    assert not await store.erase_session(uuid4(), "talk")
    await store.erase_turns(uuid4())

    assert not (tmp_path / "sessions.db").exists()


async def test_no_byte_is_left_of_what_was_erased(tmp_path: Path) -> None:
    store, user, dataset = EmbeddedStore(tmp_path), uuid4(), uuid4()
    await store.add_turn(user, "talk", Turn(question="What?", answer=f"The {CANARY}.", dataset_ids=(dataset,)))
    await store.add_turn(user, "other", Turn(question=f"Which {CANARY}?", answer="None."))
    assert traces(tmp_path)

    await store.erase_turns(dataset)
    await store.erase_session(user, "other")

    assert traces(tmp_path) == []
    await store.close()


async def test_a_conversation_that_can_t_be_read_is_told_and_can_be_erased(tmp_path: Path) -> None:
    store, user = EmbeddedStore(tmp_path), uuid4()
    await store.add_turn(user, "talk", Turn(question="Who?", answer="Anna."))
    spoil(store, session_key(user, "talk").bytes)

    with pytest.raises(StoreDamagedError, match=r"sessions\.db: .* erase it"):
        await store.read_session(user, "talk")

    assert await store.erase_session(user, "talk")
    assert await store.read_session(user, "talk") == ()
    await store.close()


async def test_a_conversation_that_can_t_be_read_goes_with_the_dataset_that_it_may_speak_of(tmp_path: Path) -> None:
    store, user, dataset = EmbeddedStore(tmp_path), uuid4(), uuid4()
    await store.add_turn(user, "talk", Turn(question="Who?", answer="Anna.", dataset_ids=(dataset,)))
    spoil(store, session_key(user, "talk").bytes)

    await store.erase_turns(dataset)

    assert await store.read_session(user, "talk") == ()
    await store.close()


async def test_what_a_stopped_erasing_left_is_erased_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, dataset = EmbeddedStore(tmp_path), uuid4()
    await store.add_turn(uuid4(), "talk", Turn(question="What?", answer=f"The {CANARY}.", dataset_ids=(dataset,)))

    def killed(database: object) -> None:
        raise StoreFullError("no space is left")

    with monkeypatch.context() as patch:
        patch.setattr(erasing, "rewrite", killed)
        with pytest.raises(StoreFullError):
            await store.erase_turns(dataset)
    assert traces(tmp_path)

    await store.erase_turns(dataset)

    assert traces(tmp_path) == []
    await store.close()
