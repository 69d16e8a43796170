"""API keys and roles: a server that knows a writer, a reader, and nobody else."""

from collections.abc import Iterator

import pytest
import weaviate
from weaviate.classes.init import Auth
from weaviate.classes.rbac import Permissions

from overstory.errors import ConfigurationError
from overstory.models import Entity
from overstory.settings import StoreSettings
from overstory.stores.weaviate import WeaviateStore
from overstory.stores.weaviate.address import parse_address
from tests.contract.samples import dataset, row, unit
from tests.weaviate_server import WeaviateServer, started

KEYS = {"admin": "key-of-admin", "writer": "key-of-writer", "reader": "key-of-reader", "stranger": "key-of-stranger"}
ENVIRONMENT = {
    "AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED": "false",
    "AUTHENTICATION_APIKEY_ENABLED": "true",
    "AUTHENTICATION_APIKEY_ALLOWED_KEYS": ",".join(KEYS.values()),
    "AUTHENTICATION_APIKEY_USERS": ",".join(KEYS),
    "AUTHORIZATION_RBAC_ENABLED": "true",
    "AUTHORIZATION_RBAC_ROOT_USERS": "admin",
}

pytestmark = pytest.mark.weaviate


@pytest.fixture(scope="module")
def guarded_server() -> Iterator[WeaviateServer]:
    for server in started(ENVIRONMENT):
        _make_roles(server.url)
        yield server


def _make_roles(url: str) -> None:
    """The two roles of `docs/weaviate.md`."""
    address, ours = parse_address(url), "Overstory*"
    with weaviate.connect_to_custom(
        http_host=address.host,
        http_port=address.port,
        http_secure=False,
        grpc_host=address.grpc_host,
        grpc_port=address.grpc_port,
        grpc_secure=False,
        auth_credentials=Auth.api_key(KEYS["admin"]),
        skip_init_checks=True,
    ) as client:
        writer = [
            Permissions.collections(collection=ours, create_collection=True, read_config=True),
            Permissions.tenants(collection=ours, tenant="*", create=True, read=True, update=True, delete=True),
            Permissions.data(collection=ours, tenant="*", create=True, read=True, update=True, delete=True),
        ]
        reader = [
            Permissions.collections(collection=ours, read_config=True),
            Permissions.tenants(collection=ours, tenant="*", read=True),
            Permissions.data(collection=ours, tenant="*", read=True),
        ]
        for name, permissions in (("writer", writer), ("reader", reader)):
            client.roles.create(role_name=f"overstory-{name}", permissions=permissions)
            client.users.db.assign_roles(user_id=name, role_names=f"overstory-{name}")


def _store(server: WeaviateServer, user: str) -> WeaviateStore:
    return WeaviateStore(StoreSettings(url=server.url, weaviate_api_key=KEYS.get(user, user)), settle_seconds=0)


async def test_a_writer_may_do_everything_and_a_reader_may_read(guarded_server):
    writer, reader = _store(guarded_server, "writer"), _store(guarded_server, "reader")
    created = await writer.create_dataset(dataset())
    one = row(Entity, created.id, name="Northstar")
    await (await writer.tenant(created)).put([one], unit(1)[None])
    lease = await writer.acquire_lease(created.id, "a", 60)
    await writer.release_lease(lease)

    tenant = await reader.tenant(created)

    assert await reader.list_datasets() == [created]
    assert await tenant.get(Entity, [one.key]) == [one]
    assert len(await tenant.search_vectors(Entity, unit(1), 5)) == 1
    assert len(await tenant.search_text(Entity, "northstar", 5)) == 1
    for call in (
        lambda: tenant.put([row(Entity, created.id)]),
        lambda: tenant.patch(Entity, {one.key: {"name": "x"}}),
        lambda: tenant.delete(Entity, [one.key]),
        lambda: reader.acquire_lease(created.id, "b", 60),
        lambda: reader.create_dataset(dataset("other")),
    ):
        with pytest.raises(ConfigurationError, match="WEAVIATE_API_KEY"):
            await call()
    assert await tenant.count(Entity) == 1
    await writer.drop_dataset(created.id)
    await reader.close()
    await writer.close()


@pytest.mark.parametrize("user", ["stranger", "no key at all", ""])
async def test_a_wrong_key_is_a_matter_of_settings_and_is_not_shown(guarded_server, user):
    store = _store(guarded_server, user)

    with pytest.raises(ConfigurationError, match="WEAVIATE_API_KEY") as caught:
        await store.create_dataset(dataset())

    assert KEYS.get(user, user or "key-of") not in str(caught.value)
    await store.close()
