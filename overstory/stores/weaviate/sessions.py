"""Conversations on the server: an object for each turn, in a collection without tenants.

A turn is written once and never changed, so that keeping one and erasing others can go on at the same time.
"""

import time
from uuid import UUID, uuid4

from weaviate.classes.data import DataObject
from weaviate.classes.query import Filter

from overstory.models import Turn
from overstory.stores import sessions
from overstory.stores.weaviate import wire, writing
from overstory.stores.weaviate.connecting import Link
from overstory.stores.weaviate.reading import PAGE


async def read(link: Link, key: UUID) -> tuple[Turn, ...]:
    found = await _turns(link, key)
    return tuple(sessions.load_turn(stored["body"], link.address.place) for stored in found[-sessions.KEPT_TURNS :])


async def add(link: Link, key: UUID, turn: Turn) -> None:
    properties = {
        "session_id": key,
        "dataset_ids": list(turn.dataset_ids),
        "kept_at": time.time(),
        "body": sessions.dump_turn(turn),
    }
    await writing.put_objects(link, link.sessions, "session", [DataObject(uuid=uuid4(), properties=properties)])
    old = (await _turns(link, key))[: -sessions.KEPT_TURNS]
    await writing.delete(link, link.sessions, [stored.key for stored in old])


async def erase(link: Link, key: UUID) -> bool:
    return bool(await writing.delete_matching(link, link.sessions, Filter.by_property("session_id").equal(key)))


async def erase_turns(link: Link, dataset_id: UUID) -> None:
    answered_from = Filter.by_property("dataset_ids").contains_any([dataset_id])
    await writing.delete_matching(link, link.sessions, answered_from)


async def _turns(link: Link, key: UUID) -> list[wire.Stored]:
    """Oldest first, by the clocks of those who kept them."""
    of_session = Filter.by_property("session_id").equal(key)
    found = await link.read(lambda: wire.fetch(link.sessions, ("kept_at", "body"), limit=PAGE, condition=of_session))
    return sorted(found, key=lambda stored: (stored["kept_at"], stored.key))
