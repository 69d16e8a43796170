"""Conversations on the server: one object each, in a collection without tenants.

An object is read and written again as a whole. Of two answers that are kept in one conversation at the same instant,
one may be lost.
"""

from typing import Any
from uuid import UUID

from weaviate.classes.data import DataObject
from weaviate.classes.query import Filter

from overstory.models import Turn
from overstory.stores import sessions
from overstory.stores.weaviate import wire, writing
from overstory.stores.weaviate.connecting import Link
from overstory.stores.weaviate.reading import PAGE


async def read(link: Link, key: UUID) -> tuple[Turn, ...]:
    found = await _fetch(link, Filter.by_id().equal(key), 1)
    return sessions.load(found[0]["body"], link.address.place) if found else ()


async def add(link: Link, key: UUID, turn: Turn) -> None:
    await _replace(link, key, sessions.extended(await read(link, key), turn))


async def erase(link: Link, key: UUID) -> bool:
    return bool(await writing.delete(link, link.sessions, [key]))


async def erase_turns(link: Link, dataset_id: UUID) -> int:
    erased, condition = 0, Filter.by_property("dataset_ids").contains_any([dataset_id])
    while found := await _fetch(link, condition, PAGE):
        for stored in found:
            kept, lost = sessions.load_without(stored["body"], dataset_id)
            await _replace(link, stored.key, kept)
            erased += lost
    return erased


async def _fetch(link: Link, condition: Any, limit: int) -> list[wire.Stored]:
    return await link.read(lambda: wire.fetch(link.sessions, ("body",), limit=limit, condition=condition))


async def _replace(link: Link, key: UUID, turns: tuple[Turn, ...]) -> None:
    if not turns:
        await writing.delete(link, link.sessions, [key])
        return
    properties = {"body": sessions.dump(turns), "dataset_ids": sessions.datasets_of(turns)}
    await writing.put_objects(link, link.sessions, "session", [DataObject(uuid=key, properties=properties)])
