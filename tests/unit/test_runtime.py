"""Opening what a call works with."""

import asyncio

import pytest

from overstory import llm, runtime
from overstory.errors import StoreUnavailableError
from overstory.runtime import Runtime, current_runtime
from overstory.settings import Settings
from overstory.stores.embedded.store import EmbeddedStore


async def test_of_several_who_wait_for_an_opening_that_fails_none_undoes_the_next_one(
    plain_environment: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, opened, whole = Settings.from_environment(), list[Runtime](), runtime._open

    def fails_first(given: Settings) -> Runtime:
        if not failures:
            failures.append("the store does not answer")
            raise StoreUnavailableError(failures[0])
        opened.append(whole(given))
        return opened[-1]

    async def tries_again() -> Runtime:
        try:
            return await current_runtime(settings)
        except StoreUnavailableError:
            return await current_runtime(settings)

    failures: list[str] = []
    monkeypatch.setattr(runtime, "_open", fails_first)

    found = await asyncio.gather(*(tries_again() for _ in range(3)))

    assert len(opened) == 1
    assert {id(one) for one in found} == {id(opened[0])}
    assert await current_runtime(settings) is opened[0]


async def test_a_model_that_can_not_be_closed_leaves_no_store_open(
    plain_environment: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLM_MODEL", "openai/scripted")
    closed = list[str]()

    async def fails() -> None:
        closed.append("model")
        raise OSError("the connection is gone")

    async def closes(self: EmbeddedStore) -> None:
        closed.append("store")

    monkeypatch.setattr(llm, "close", fails)
    monkeypatch.setattr(EmbeddedStore, "close", closes)
    opened = await current_runtime()

    with pytest.raises(OSError, match="the connection is gone"):
        await opened.close()

    assert sorted(closed) == ["model", "store"]


def test_at_the_end_of_a_loop_each_runtime_is_closed_though_one_fails(
    plain_environment: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings.from_environment()
    others = settings.model_copy(update={"index": settings.index.model_copy(update={"batch_size": 2})})
    closed = list[Runtime]()

    async def fails(self: Runtime) -> None:
        closed.append(self)
        raise OSError("the disk is gone")

    async def opened() -> list[Runtime]:
        return [await current_runtime(settings), await current_runtime(others)]

    monkeypatch.setattr(Runtime, "close", fails)

    assert {id(one) for one in asyncio.run(opened())} == {id(one) for one in closed}
