"""All datasets of one Weaviate server."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from uuid import UUID

from weaviate.classes.query import Filter

from overstory.models import KINDS, Dataset, Lease, Manifest, Permission, Turn
from overstory.settings import StoreSettings
from overstory.stores import leases
from overstory.stores.sessions import session_key
from overstory.stores.weaviate import registry, sessions, writing
from overstory.stores.weaviate.address import parse_address
from overstory.stores.weaviate.calls import Patience
from overstory.stores.weaviate.connecting import Connections, Link
from overstory.stores.weaviate.registry import ACTIVE, DELETING, DROPPED, Registered
from overstory.stores.weaviate.schema import SHARED_TENANT
from overstory.stores.weaviate.tenant import WeaviateTenant
from overstory.waves import together

SETTLE_SECONDS = 0.05
"""How much later than another one a lease's write may arrive and still be noticed."""
_SEEN_SECONDS = 1.0
"""So long a dataset that was listed counts as there; its rows say so themselves when it is not."""


class WeaviateStore:
    """Datasets on a server; may be used from several event loops, each of which gets a client of its own.

    It connects at the first call, which may raise StoreUnavailableError, ConfigurationError or StoreVersionError.

    Args:
        settings: `url` names the server; `weaviate_api_key` and `access_control` are read.
        clock: the time, with its zone, by which leases expire.
        settle_seconds: how long a new lease is left alone before it is read again, see `registry`.
        patience: how long calls may take.

    Raises:
        ConfigurationError: the URL can't be a server's.
    """

    def __init__(
        self,
        settings: StoreSettings,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        settle_seconds: float = SETTLE_SECONDS,
        patience: Patience | None = None,
    ) -> None:
        self._shared, self._clock, self._settle_seconds = not settings.access_control, clock, settle_seconds
        self._seen: dict[UUID, tuple[Dataset, float]] = {}
        self._connections = Connections(
            parse_address(settings.url),
            settings.weaviate_api_key,
            shared=self._shared,
            patience=patience or Patience(),
            prepare=registry.check_version,
        )

    async def create_dataset(self, dataset: Dataset) -> Dataset:
        link = await self._connections.link()
        known = await registry.named(link, dataset.owner_id, dataset.name)
        if known.status == DELETING and known.dataset:
            await self._drop(link, known)
            known = await registry.named(link, dataset.owner_id, dataset.name)
        if known.status == ACTIVE and known.dataset:
            await self._make_tenant(link, known.dataset.id)
            return known.dataset
        if await registry.of_id(link, dataset.id):
            raise ValueError(f"the id {dataset.id} belongs to another dataset")
        # The tenant first: a dataset that is registered has one.
        await self._make_tenant(link, dataset.id)
        await registry.keep(link, replace(known, dataset=dataset, status=ACTIVE))
        standing = (await registry.named(link, dataset.owner_id, dataset.name)).dataset or dataset
        if standing.id != dataset.id:  # another process took the name at the same time
            await self._remove_rows(link, dataset.id)
        return standing

    async def get_dataset(self, dataset_id: UUID) -> Dataset | None:
        return await registry.active(await self._connections.link(), dataset_id)

    async def list_datasets(self, user_id: UUID | None = None) -> list[Dataset]:
        found = await registry.list_datasets(await self._connections.link(), user_id)
        now = time.monotonic()
        self._seen |= {dataset.id: (dataset, now) for dataset in found}
        return found

    async def next_occurrence(self, owner_id: UUID, name: str) -> int:
        return (await registry.named(await self._connections.link(), owner_id, name)).occurrence

    async def drop_dataset(self, dataset_id: UUID) -> None:
        link = await self._connections.link()
        registered = await registry.of_id(link, dataset_id)
        if registered is not None:
            await self._drop(link, registered)

    async def finish_drop(self, owner_id: UUID, name: str) -> bool:
        link = await self._connections.link()
        known = await registry.named(link, owner_id, name)
        if known.status != DELETING:
            return False
        await self._drop(link, known)
        return True

    async def grant(self, dataset_id: UUID, user_id: UUID, permissions: Sequence[Permission]) -> None:
        await registry.grant(await self._connections.link(), dataset_id, user_id, permissions)

    async def permissions(self, dataset_id: UUID, user_id: UUID) -> frozenset[Permission]:
        return await registry.permissions(await self._connections.link(), dataset_id, user_id)

    async def tenant(self, dataset: Dataset) -> WeaviateTenant:
        seen, at = self._seen.get(dataset.id, (None, 0.0))
        if seen is None or time.monotonic() - at > _SEEN_SECONDS:
            seen = await registry.existing(await self._connections.link(), dataset.id)
        return WeaviateTenant(self._connections, seen, shared=self._shared)

    async def read_manifest(self, dataset_id: UUID) -> Manifest:
        return await registry.read_manifest(await self._connections.link(), dataset_id)

    async def write_manifest(self, manifest: Manifest, lease: Lease) -> None:
        await registry.write_manifest(await self._connections.link(), manifest, lease)

    async def acquire_lease(self, dataset_id: UUID, holder: str, ttl_seconds: float, *, over: str = "") -> Lease:
        link = await self._connections.link()
        name = (await registry.existing(link, dataset_id)).name
        record = await registry.change_lease(
            link,
            dataset_id,
            lambda known: leases.acquire(known, dataset_id, name, holder, ttl_seconds, self._clock(), over=over),
            settle_seconds=self._settle_seconds,
        )
        return record.lease

    async def renew_lease(self, lease: Lease, ttl_seconds: float) -> Lease:
        link, name = await self._connections.link(), str(lease.dataset_id)
        record = await registry.change_lease(
            link,
            lease.dataset_id,
            lambda known: leases.renew(known, lease, name, ttl_seconds, self._clock()),
            settle_seconds=0,
        )
        return record.lease

    async def release_lease(self, lease: Lease) -> None:
        link = await self._connections.link()
        known = await registry.read_lease(link, lease.dataset_id)
        if released := leases.release(known, lease):
            await registry.change_lease(link, lease.dataset_id, lambda _: released, settle_seconds=0)

    async def read_lease(self, dataset_id: UUID) -> Lease | None:
        record = await registry.read_lease(await self._connections.link(), dataset_id)
        return record.lease if record and record.is_held(self._clock()) else None

    async def read_session(self, user_id: UUID, session_id: str) -> tuple[Turn, ...]:
        return await sessions.read(await self._connections.link(), session_key(user_id, session_id))

    async def add_turn(self, user_id: UUID, session_id: str, turn: Turn) -> None:
        await sessions.add(await self._connections.link(), session_key(user_id, session_id), turn)

    async def erase_session(self, user_id: UUID, session_id: str) -> bool:
        return await sessions.erase(await self._connections.link(), session_key(user_id, session_id))

    async def erase_turns(self, dataset_id: UUID) -> None:
        await sessions.erase_turns(await self._connections.link(), dataset_id)

    async def close(self) -> None:
        await self._connections.close()

    async def _drop(self, link: Link, registered: Registered) -> None:
        """Each step may be the last one that was done: whoever comes next begins again from the first."""
        if registered.dataset is None:
            return
        self._seen.pop(registered.dataset.id, None)
        await registry.keep(link, replace(registered, status=DELETING))
        await registry.remove_rest(link, registered.dataset.id)
        await self._remove_rows(link, registered.dataset.id)
        await sessions.erase_turns(link, registered.dataset.id)
        standing = await registry.of_id(link, registered.dataset.id)
        if standing is None or standing.status != DELETING:
            return  # another one was first, and the name may be taken again
        await registry.keep(link, replace(registered, dataset=None, status=DROPPED, dropped=registered.dropped + 1))

    async def _make_tenant(self, link: Link, dataset_id: UUID) -> None:
        tenant = SHARED_TENANT if self._shared else str(dataset_id)
        await together(link.write(partial(link.collection(kind).tenants.create, [tenant])) for kind in KINDS)

    async def _remove_rows(self, link: Link, dataset_id: UUID) -> None:
        if self._shared:
            own = Filter.by_property("dataset_id").equal(dataset_id)
            await together(writing.delete_matching(link, link.rows(kind, SHARED_TENANT), own) for kind in KINDS)
            return
        tenant = str(dataset_id)
        await together(link.write(partial(link.collection(kind).tenants.remove, [tenant])) for kind in KINDS)
        link.forget(tenant)
