"""The client of an event loop: connected on first use, with everything on the server that Overstory needs."""

import asyncio
import logging
import re
import weakref
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import weaviate
from weaviate import WeaviateAsyncClient
from weaviate.classes.init import AdditionalConfig, Auth, Timeout
from weaviate.collections import CollectionAsync
from weaviate.exceptions import UnexpectedStatusCodeError

from overstory.errors import StoreUnavailableError
from overstory.models import Row
from overstory.stores.weaviate import calls, schema
from overstory.stores.weaviate.address import Address
from overstory.stores.weaviate.calls import Patience
from overstory.stores.weaviate.faults import is_taken

T = TypeVar("T")
Collection = CollectionAsync[Any, Any]

OLDEST_TESTED = (1, 38)
READS_AT_ONCE, WRITES_AT_ONCE = 16, 4
logger = logging.getLogger(__name__)
# The client logs whole objects, texts and vectors included, when the server refuses some of them.
logging.getLogger("weaviate-client").setLevel(logging.CRITICAL)


@dataclass(slots=True)
class Link:
    """A connected client with what belongs to its event loop."""

    client: WeaviateAsyncClient
    address: Address
    shared: bool
    patience: Patience
    version: str
    _reads: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(READS_AT_ONCE))
    _writes: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(WRITES_AT_ONCE))
    _handles: dict[tuple[str, str], Collection] = field(default_factory=dict)

    @property
    def registry(self) -> Collection:
        return self._handle(schema.registry_name(self.address), "")

    @property
    def sessions(self) -> Collection:
        return self._handle(schema.sessions_name(self.address), "")

    def collection(self, kind: type[Row]) -> Collection:
        """All tenants of a kind."""
        return self._handle(schema.collection_name(self.address, kind, self.shared), "")

    def rows(self, kind: type[Row], tenant: str) -> Collection:
        """One tenant's rows of a kind."""
        return self._handle(schema.collection_name(self.address, kind, self.shared), tenant)

    def _handle(self, name: str, tenant: str) -> Collection:
        if (name, tenant) not in self._handles:
            handle = self.client.collections.use(name, skip_argument_validation=True)  # ours are checked, and its own
            self._handles[name, tenant] = handle.with_tenant(tenant) if tenant else handle
        return self._handles[name, tenant]

    async def read(self, call: Callable[[], Awaitable[T]]) -> T:
        """Ask the server, within the seconds that a reader has."""
        async with self._reads:
            return await calls.once(self.address.place, self.patience.read_seconds, call)

    async def write(self, call: Callable[[], Awaitable[T]]) -> T:
        """Tell the server, again where it is not available."""
        async with self._writes:
            return await calls.insisting(self.address.place, self.patience.write_seconds, call)

    def forget(self, tenant: str) -> None:
        """Let go of what was kept for a tenant."""
        for name in [key for key in self._handles if key[1] == tenant]:
            del self._handles[name]


class Connections:
    """A link for each event loop that uses the store."""

    def __init__(
        self,
        address: Address,
        api_key: str,
        *,
        shared: bool,
        patience: Patience,
        prepare: Callable[[Link], Awaitable[None]],
    ) -> None:
        self._address, self._api_key, self._shared, self._patience = address, api_key, shared, patience
        self._prepare = prepare
        self._links: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[Link]] = (
            weakref.WeakKeyDictionary()
        )

    async def link(self) -> Link:
        """The link of this loop; whoever asks first connects.

        Raises:
            StoreUnavailableError, ConfigurationError, StoreVersionError
        """
        loop = asyncio.get_running_loop()
        task = self._links.get(loop)
        if task is None or (task.done() and (task.cancelled() or task.exception())):
            task = self._links[loop] = loop.create_task(self._connect())
        return await asyncio.shield(task)

    async def close(self) -> None:
        task = self._links.pop(asyncio.get_running_loop(), None)
        if task is not None and task.done() and not task.cancelled() and task.exception() is None:
            await task.result().client.close()

    async def _connect(self) -> Link:
        place, seconds = self._address.place, self._patience.read_seconds
        client = _client(self._address, self._api_key)
        try:
            await calls.once(place, seconds, client.connect)
            version = (await calls.once(place, seconds, client.get_meta))["version"]
            _warn_of_old(place, version)
            link = Link(client, self._address, self._shared, self._patience, version)
            await make_collections(link)
            await self._begin(link)
        except BaseException:
            await client.close()
            raise
        return link

    async def _begin(self, link: Link) -> None:
        """Prepare the link; so far the server answered over HTTP alone."""
        address = self._address
        try:
            await self._prepare(link)
        except StoreUnavailableError as error:
            raise StoreUnavailableError(
                f"{address.place} answers over HTTP, but not over gRPC at {address.grpc_host}:{address.grpc_port}: "
                "check grpc_port and grpc_host in OVERSTORY_STORE_URL. If they are right, try again."
            ) from error


def _client(address: Address, api_key: str) -> WeaviateAsyncClient:
    return weaviate.use_async_with_custom(
        http_host=address.host,
        http_port=address.port,
        http_secure=address.secure,
        grpc_host=address.grpc_host,
        grpc_port=address.grpc_port,
        grpc_secure=address.secure,
        auth_credentials=Auth.api_key(api_key) if api_key else None,
        additional_config=AdditionalConfig(timeout=Timeout(init=5, query=30, insert=120)),
        skip_init_checks=True,
    )


def _warn_of_old(place: str, version: str) -> None:
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if numbers < OLDEST_TESTED:
        oldest = ".".join(map(str, OLDEST_TESTED))
        logger.warning("%s runs Weaviate %s; Overstory is tested with %s and later.", place, version, oldest)


async def make_collections(link: Link) -> None:
    """Make the collections that are missing."""
    existing = await link.read(lambda: link.client.collections.list_all(simple=True))
    for name, definition in schema.definitions(link.address, link.shared).items():
        if name not in existing:
            await link.write(partial(_create, link.client, name, definition))


async def _create(client: WeaviateAsyncClient, name: str, definition: dict[str, Any]) -> None:
    try:
        await client.collections.create(name, **definition)
    except UnexpectedStatusCodeError as error:
        if not is_taken(error):  # by another process, at the same time
            raise
