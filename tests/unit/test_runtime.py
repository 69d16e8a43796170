"""Opening what a call works with."""

import asyncio

import pytest

from overstory import runtime
from overstory.errors import StoreUnavailableError
from overstory.runtime import Runtime, current_runtime
from overstory.settings import Settings


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
