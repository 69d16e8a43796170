"""The registry: one small collection without tenants that says which datasets there are, and who may write them.

The server knows neither transactions nor compare-and-set. What follows from that:

- **A dataset** is one object, whose id follows from owner and name, so that a name can't be taken twice. Its status
  goes from `active` over `deleting` to `dropped`, each by one write; only `active` ones are visible. The dropped
  object keeps no name, only how often that name was used.
- **A manifest** is one object: publishing is one write. The fencing token is read just before it. A writer that
  loses its lease in the milliseconds between the two is not noticed.
- **A lease** is one object that is written, left alone for `settle_seconds`, and read again: of several that ask at
  once the last to write has it. Two can both believe to hold it when one's write takes longer to arrive than that.
  The next renewal, or publish, of the one that was overwritten says that it is lost, since holders have different
  names: what it had written is in rows of a generation that nobody reads.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import Any, Final, TypeVar
from uuid import UUID, uuid4

from pydantic import TypeAdapter, ValidationError
from weaviate.classes.data import DataObject
from weaviate.classes.query import Filter

from overstory import ids
from overstory.errors import DatasetNotFoundError, LeaseLostError, StoreDamagedError, StoreVersionError
from overstory.models import Dataset, Lease, Manifest, Permission
from overstory.stores import leases
from overstory.stores.leases import LeaseRecord
from overstory.stores.weaviate import schema, wire, writing
from overstory.stores.weaviate.connecting import Link
from overstory.stores.weaviate.reading import IDS_AT_ONCE, MOST, any_of, scan
from overstory.waves import together

T = TypeVar("T")
ACTIVE: Final = "active"
DELETING: Final = "deleting"
DROPPED: Final = "dropped"
DATASET, GRANT, MANIFEST, LEASE, SCHEMA = "dataset", "grant", "manifest", "lease", "schema"
_PROPERTIES = ("record", "status", "dataset_id", "user_id", "body")


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """What is known of the datasets of one owner and name."""

    key: UUID
    dataset: Dataset | None = None
    """The one that has the name now, or is being removed."""
    status: str = DROPPED
    dropped: int = 0
    """How many of the name were dropped before."""

    @property
    def occurrence(self) -> int:
        """The number of the next dataset of this name."""
        return self.dropped + (self.status == DELETING)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """A lease as it is stored; the nonce tells two writes of one holder apart."""

    record: LeaseRecord
    nonce: str


async def check_version(link: Link) -> None:
    """Refuse what a newer Overstory wrote; write the version where there is none.

    Raises:
        StoreVersionError
    """
    key = ids.make_id("registry", SCHEMA)
    found = await _by_key(link, [key])
    if not found:
        await _write(link, key, SCHEMA, body=json.dumps({"version": schema.VERSION}))
        return
    version = json.loads(found[key]["body"])["version"]
    if version > schema.VERSION:
        raise StoreVersionError(link.address.place, version, schema.VERSION)


# --- datasets --------------------------------------------------------------------------------------


def name_key(owner_id: UUID, name: str) -> UUID:
    return ids.make_id("registry", DATASET, owner_id, name)


async def named(link: Link, owner_id: UUID, name: str) -> Registered:
    key = name_key(owner_id, name)
    found = await _by_key(link, [key])
    return _registered(key, found[key]) if key in found else Registered(key=key)


async def of_id(link: Link, dataset_id: UUID) -> Registered | None:
    """The dataset of an id, whatever its status, but not one that is gone."""
    condition = _is(DATASET) & Filter.by_property("dataset_id").equal(dataset_id)
    return next((_registered(key, found) for key, found in await _fetch(link, condition, 1)), None)


async def active(link: Link, dataset_id: UUID) -> Dataset | None:
    found = await of_id(link, dataset_id)
    return found.dataset if found and found.status == ACTIVE else None


async def existing(link: Link, dataset_id: UUID) -> Dataset:
    """The dataset of this id.

    Raises:
        DatasetNotFoundError: there is none.
    """
    dataset = await active(link, dataset_id)
    if dataset is None:
        raise DatasetNotFoundError(str(dataset_id))
    return dataset


async def keep(link: Link, registered: Registered) -> None:
    """Write what is known of a name, in one write."""
    dataset = registered.dataset
    body = {
        "dropped": registered.dropped,
        "dataset": _of(Dataset).dump_python(dataset, mode="json") if dataset else None,
    }
    await _write(
        link,
        registered.key,
        DATASET,
        status=registered.status,
        dataset_id=dataset.id if dataset else None,
        user_id=dataset.owner_id if dataset else None,
        body=json.dumps(body, ensure_ascii=False),
    )


async def list_datasets(link: Link, user_id: UUID | None) -> list[Dataset]:
    datasets = await (_all_active(link) if user_id is None else _readable(link, user_id))
    return sorted(datasets, key=lambda d: (d.name, d.id))


async def _all_active(link: Link) -> list[Dataset]:
    return _active(await _matching(link, "record", [DATASET]))


async def _readable(link: Link, user_id: UUID) -> list[Dataset]:
    """What a user owns or may read; more questions only where something was shared with them."""
    records = await _matching(link, "user_id", [user_id])
    granted = [
        record["dataset_id"]
        for _, record in records
        if record["record"] == GRANT and Permission.READ.value in json.loads(record["body"])
    ]
    parts = [granted[i : i + IDS_AT_ONCE] for i in range(0, len(granted), IDS_AT_ONCE)]
    shared = await together(_fetch(link, _is(DATASET) & any_of("dataset_id", part), len(part)) for part in parts)
    records += chain.from_iterable(shared)
    found = _active([(key, record) for key, record in records if record["record"] == DATASET])
    return list({dataset.id: dataset for dataset in found}.values())


def _active(records: Iterable[tuple[UUID, dict[str, Any]]]) -> list[Dataset]:
    found = [_registered(key, record) for key, record in records]
    return [r.dataset for r in found if r.dataset and r.status == ACTIVE]


async def datasets_of_all_states(link: Link) -> list[Registered]:
    return [_registered(key, record) for key, record in await _matching(link, "record", [DATASET])]


async def datasets_with_records(link: Link) -> frozenset[UUID]:
    """Datasets of which a grant, a manifest or a lease is stored, whether they are there or not."""
    found = await _matching(link, "record", [GRANT, MANIFEST, LEASE], ("record", "dataset_id"))
    return frozenset(record["dataset_id"] for _, record in found)


# --- grants ----------------------------------------------------------------------------------------


async def grant(link: Link, dataset_id: UUID, user_id: UUID, permissions: Iterable[Permission]) -> None:
    await existing(link, dataset_id)
    given = sorted(permission.value for permission in set(permissions))
    key = _grant_key(dataset_id, user_id)
    if given:
        await _write(link, key, GRANT, dataset_id=dataset_id, user_id=user_id, body=json.dumps(given))
    else:
        await writing.delete(link, link.registry, [key])


async def permissions(link: Link, dataset_id: UUID, user_id: UUID) -> frozenset[Permission]:
    own = _is(DATASET) & Filter.by_property("dataset_id").equal(dataset_id)
    key = _grant_key(dataset_id, user_id)
    found = dict(await _fetch(link, own | Filter.by_id().equal(key), 2))
    granted = found.pop(key, None)
    dataset = next((_registered(k, record) for k, record in found.items()), None)
    if dataset is None or dataset.status != ACTIVE or dataset.dataset is None:
        return frozenset()
    if dataset.dataset.owner_id == user_id:
        return frozenset(Permission)
    return frozenset(Permission(value) for value in json.loads(granted["body"])) if granted else frozenset()


def _grant_key(dataset_id: UUID, user_id: UUID) -> UUID:
    return ids.make_id("registry", GRANT, dataset_id, user_id)


async def remove_rest(link: Link, dataset_id: UUID) -> None:
    """Remove everything that is known of a dataset but its name's object."""
    condition = Filter.by_property("dataset_id").equal(dataset_id) & Filter.by_property("record").contains_any(
        [GRANT, MANIFEST, LEASE]
    )
    await writing.delete_matching(link, link.registry, condition)


# --- manifests and leases --------------------------------------------------------------------------


async def read_manifest(link: Link, dataset_id: UUID) -> Manifest:
    key = _manifest_key(dataset_id)
    return _manifest(link, await _by_key(link, [key]), dataset_id) or Manifest(dataset_id=dataset_id)


async def write_manifest(link: Link, manifest: Manifest, lease: Lease) -> None:
    dataset_id = manifest.dataset_id
    found = await _by_key(link, [_lease_key(dataset_id), _manifest_key(dataset_id)])
    held, stored = _held(link, found, dataset_id), _manifest(link, found, dataset_id)
    leases.check_writer(held.record if held else None, stored, lease, str(dataset_id))
    if held and held.record.token == lease.token and held.record.holder not in ("", lease.holder):
        raise LeaseLostError(str(dataset_id), lease.holder)
    body = _of(Manifest).dump_json(replace(manifest, token=lease.token)).decode()
    await _write(link, _manifest_key(dataset_id), MANIFEST, dataset_id=dataset_id, body=body)


async def read_lease(link: Link, dataset_id: UUID) -> LeaseRecord | None:
    held = _held(link, await _by_key(link, [_lease_key(dataset_id)]), dataset_id)
    return held.record if held else None


async def all_leases(link: Link) -> dict[UUID, LeaseRecord]:
    """By dataset."""
    found = await _matching(link, "record", [LEASE])
    held = {record["dataset_id"]: _read(link, _Held, record) for _, record in found}
    return {dataset_id: one.record for dataset_id, one in held.items() if one}


async def change_lease(
    link: Link,
    dataset_id: UUID,
    change: Callable[[LeaseRecord | None], LeaseRecord],
    *,
    settle_seconds: float,
) -> LeaseRecord:
    """Replace the record of a lease by what `change` makes of it.

    Whoever writes last has it: the others are told, by `change`, of the record that stands.
    """
    record = change(await read_lease(link, dataset_id))
    held = _Held(record=record, nonce=uuid4().hex)
    await _write(link, _lease_key(dataset_id), LEASE, dataset_id=dataset_id, body=_of(_Held).dump_json(held).decode())
    if not settle_seconds:
        return record
    await asyncio.sleep(settle_seconds)
    standing = _held(link, await _by_key(link, [_lease_key(dataset_id)]), dataset_id)
    if standing is None or standing.nonce != held.nonce:
        return change(standing.record if standing else None)
    return record


def _manifest_key(dataset_id: UUID) -> UUID:
    return ids.make_id("registry", MANIFEST, dataset_id)


def _lease_key(dataset_id: UUID) -> UUID:
    return ids.make_id("registry", LEASE, dataset_id)


def _manifest(link: Link, found: dict[UUID, dict[str, Any]], dataset_id: UUID) -> Manifest | None:
    return _read(link, Manifest, found.get(_manifest_key(dataset_id)))


def _held(link: Link, found: dict[UUID, dict[str, Any]], dataset_id: UUID) -> _Held | None:
    return _read(link, _Held, found.get(_lease_key(dataset_id)))


# --- objects ---------------------------------------------------------------------------------------


@cache
def _of(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _read(link: Link, kind: type[T], record: dict[str, Any] | None) -> T | None:
    hashable: Any = kind  # which mypy does not see of a class of records
    if record is None:
        return None
    try:
        value: T = _of(hashable).validate_json(record["body"])
    except ValidationError as error:
        raise StoreDamagedError(f"{link.address.place}: a {kind.__name__.strip('_')} record can't be read.") from error
    return value


def _registered(key: UUID, record: dict[str, Any]) -> Registered:
    body = json.loads(record["body"])
    dataset = _of(Dataset).validate_python(body["dataset"]) if body["dataset"] else None
    return Registered(key=key, dataset=dataset, status=record["status"], dropped=body["dropped"])


def _is(record: str) -> Any:
    return Filter.by_property("record").equal(record)


async def _by_key(link: Link, keys: Sequence[UUID]) -> dict[UUID, dict[str, Any]]:
    return dict(await _fetch(link, Filter.by_id().contains_any(keys), len(keys)))


async def _matching(
    link: Link, field: str, values: Sequence[Any], properties: Sequence[str] = _PROPERTIES
) -> list[tuple[UUID, dict[str, Any]]]:
    """All records whose property is one of the values; every record is looked at where the server may keep some back.

    Args:
        properties: those that are read, `field` among them.
    """
    found = await _fetch(link, Filter.by_property(field).contains_any(values), MOST, properties)
    if len(found) < MOST:
        return found
    every = scan(link, link.registry, properties)
    return [(stored.key, _record(stored, properties)) async for stored in every if stored[field] in values]


async def _fetch(
    link: Link, condition: Any, limit: int, properties: Sequence[str] = _PROPERTIES
) -> list[tuple[UUID, dict[str, Any]]]:
    found = await link.read(lambda: wire.fetch(link.registry, properties, limit=limit, condition=condition))
    return [(stored.key, _record(stored, properties)) for stored in found]


def _record(stored: wire.Stored, properties: Sequence[str]) -> dict[str, Any]:
    return {name: stored[name] for name in properties}


async def _write(link: Link, key: UUID, record: str, **properties: Any) -> None:
    given = {name: value for name, value in properties.items() if value is not None}
    await writing.put_objects(
        link, link.registry, "registry", [DataObject(uuid=key, properties={"record": record, **given})]
    )
