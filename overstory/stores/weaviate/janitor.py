"""What a stop at a bad moment, or a restored backup, can leave behind, and how to take it away; and cold datasets.

    python -m overstory.stores.weaviate.janitor [--remove] [--cool]

reads OVERSTORY_STORE_URL and WEAVIATE_API_KEY. Nothing is removed that was not there, without a dataset, on two
looks so far apart that no dataset can be in the middle of being made.

With --cool, tenants of datasets that were not written for OVERSTORY_COLD_AFTER_DAYS are deactivated: they take disk
space, but no memory. The server activates one again when it is next asked for something.
"""

import argparse
import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID

from overstory.models import KINDS, Row
from overstory.settings import Settings, StoreSettings
from overstory.stores.weaviate import registry
from overstory.stores.weaviate.address import parse_address
from overstory.stores.weaviate.calls import Patience
from overstory.stores.weaviate.connecting import Connections, Link
from overstory.stores.weaviate.registry import ACTIVE, DELETING
from overstory.waves import together

GRACE_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Strays:
    """What does not belong together."""

    tenants: frozenset[str]
    """Tenants without a dataset."""
    half_dropped: frozenset[UUID]
    """Datasets whose removal was begun."""
    without_tenant: frozenset[UUID]
    """Datasets with no tenant, or not one for each kind: their rows are lost."""
    records: frozenset[UUID]
    """Datasets that are gone, of which a grant, a manifest or a lease is left."""

    def both(self, other: "Strays") -> "Strays":
        """What two looks have in common."""
        return Strays(
            tenants=self.tenants & other.tenants,
            half_dropped=self.half_dropped & other.half_dropped,
            without_tenant=self.without_tenant & other.without_tenant,
            records=self.records & other.records,
        )


async def find_strays(settings: StoreSettings) -> Strays:
    """Compare the registry with the tenants that there are."""
    async with _linked(settings) as link:
        return await _compare(link)


async def remove_strays(settings: StoreSettings, *, grace_seconds: float = GRACE_SECONDS) -> Strays:
    """Remove tenants and records without a dataset, and finish removals that were begun; what was removed.

    Datasets without a tenant are named and left: whoever can bring their rows back should do so, or drop them.
    """
    from overstory.stores.weaviate.store import WeaviateStore

    first = await find_strays(settings)
    await asyncio.sleep(grace_seconds)
    found = first.both(await find_strays(settings))
    store = WeaviateStore(settings)
    async with _linked(settings) as link, AsyncExitStack() as closers:
        closers.push_async_callback(store.close)
        for dataset_id in found.half_dropped:
            await store.drop_dataset(dataset_id)
        for kind in KINDS if found.tenants else ():
            await link.write(partial(link.collection(kind).tenants.remove, sorted(found.tenants)))
        for dataset_id in found.records:
            await registry.remove_rest(link, dataset_id)
    return found


async def cool(settings: StoreSettings) -> frozenset[UUID]:
    """Deactivate the tenants of datasets that nobody has written for a long time; those datasets.

    Nothing for `cold_after_days` of 0. One whose writer is at work is left alone.
    """
    if not settings.cold_after_days:
        return frozenset()
    before = datetime.now(UTC) - timedelta(days=settings.cold_after_days)
    async with _linked(settings) as link:
        known = [r.dataset for r in await registry.datasets_of_all_states(link) if r.dataset and r.status == ACTIVE]
        leases = await registry.all_leases(link)
        written = {d.id: leases[d.id].renewed_at if d.id in leases else d.created_at for d in known}
        cold = sorted(str(dataset_id) for dataset_id, at in written.items() if at < before)
        for kind in KINDS if cold else ():
            await link.write(partial(link.collection(kind).tenants.deactivate, cold))
    return frozenset(map(UUID, cold))


@asynccontextmanager
async def _linked(settings: StoreSettings) -> AsyncIterator[Link]:
    if not settings.access_control:
        raise ValueError("datasets that share one tenant leave no tenants behind")
    connections = Connections(
        parse_address(settings.url),
        settings.weaviate_api_key,
        shared=False,
        patience=Patience(),
        prepare=registry.check_version,
    )
    try:
        yield await connections.link()
    finally:
        await connections.close()


async def _compare(link: Link) -> Strays:
    # The tenants first: one that is made in between has no dataset yet, one that is registered has all its tenants.
    names = await together(_tenants(link, kind) for kind in KINDS)
    known = {r.dataset.id: r.status for r in await registry.datasets_of_all_states(link) if r.dataset}
    everywhere = frozenset.intersection(*names)
    return Strays(
        tenants=frozenset.union(*names) - {str(id_) for id_ in known},
        half_dropped=_of_status(known.items(), DELETING),
        without_tenant=frozenset(i for i in _of_status(known.items(), ACTIVE) if str(i) not in everywhere),
        records=await registry.datasets_with_records(link) - known.keys(),
    )


async def _tenants(link: Link, kind: type[Row]) -> frozenset[str]:
    return frozenset(await link.read(link.collection(kind).tenants.get))


def _of_status(known: Iterable[tuple[UUID, str]], status: str) -> frozenset[UUID]:
    return frozenset(dataset_id for dataset_id, found in known if found == status)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--remove", action="store_true", help=f"remove what is still there after {GRACE_SECONDS:.0f} s")
    parser.add_argument("--cool", action="store_true", help="deactivate what was not written for a long time")
    settings, asked = Settings.from_environment().store, parser.parse_args()
    strays = asyncio.run(remove_strays(settings) if asked.remove else find_strays(settings))
    found = {name: sorted(map(str, getattr(strays, name))) for name in Strays.__slots__}
    if asked.cool:
        found["cooled"] = sorted(map(str, asyncio.run(cool(settings))))
    print(json.dumps(found, indent=2))  # noqa: T201 - its output is its purpose


if __name__ == "__main__":
    main()
