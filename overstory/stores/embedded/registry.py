"""The registry file: datasets, grants, manifests and leases. Each function runs inside one transaction."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

import apsw
from pydantic import TypeAdapter

from overstory import ids
from overstory.errors import DatasetNotFoundError
from overstory.models import Dataset, Lease, Manifest, Permission
from overstory.stores import leases
from overstory.stores.embedded.connections import fetch
from overstory.stores.leases import LeaseRecord

STATEMENTS = (
    """CREATE TABLE dataset(
        id BLOB PRIMARY KEY, name TEXT NOT NULL, owner_id BLOB NOT NULL, created_at TEXT NOT NULL,
        embedding_model TEXT NOT NULL, embedding_dimensions INTEGER NOT NULL, UNIQUE(owner_id, name)
    ) WITHOUT ROWID""",
    "CREATE TABLE dropped(name_id BLOB PRIMARY KEY, times INTEGER NOT NULL) WITHOUT ROWID",
    """CREATE TABLE permission(
        dataset_id BLOB, user_id BLOB, permission TEXT, PRIMARY KEY(dataset_id, user_id, permission)
    ) WITHOUT ROWID""",
    "CREATE TABLE manifest(dataset_id BLOB PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE lease(
        dataset_id BLOB PRIMARY KEY, holder TEXT NOT NULL, token INTEGER NOT NULL,
        acquired_at TEXT NOT NULL, renewed_at TEXT NOT NULL, ttl_seconds REAL NOT NULL
    ) WITHOUT ROWID""",
)
_DATASET = "id, name, owner_id, created_at, embedding_model, embedding_dimensions"


@cache
def _manifests() -> TypeAdapter[Manifest]:
    return TypeAdapter(Manifest)


def add_dataset(connection: apsw.Connection, dataset: Dataset) -> Dataset:
    """Register a dataset; the one that exists if owner and name are taken."""
    existing = named_dataset(connection, dataset.owner_id, dataset.name)
    if existing:
        return existing
    if get_dataset(connection, dataset.id):
        raise ValueError(f"the id {dataset.id} belongs to another dataset")
    connection.execute(
        f"INSERT INTO dataset({_DATASET}) VALUES (?, ?, ?, ?, ?, ?)",
        (
            dataset.id.bytes,
            dataset.name,
            dataset.owner_id.bytes,
            dataset.created_at.isoformat(),
            dataset.embedding_model,
            dataset.embedding_dimensions,
        ),
    )
    return dataset


def named_dataset(connection: apsw.Connection, owner_id: UUID, name: str) -> Dataset | None:
    return _one(_datasets(connection, "owner_id = ? AND name = ?", owner_id.bytes, name))


def get_dataset(connection: apsw.Connection, dataset_id: UUID) -> Dataset | None:
    return _one(_datasets(connection, "id = ?", dataset_id.bytes))


def list_datasets(connection: apsw.Connection, user_id: UUID | None) -> list[Dataset]:
    if user_id is None:
        return _datasets(connection, "TRUE")
    readable = "owner_id = ? OR id IN (SELECT dataset_id FROM permission WHERE user_id = ? AND permission = ?)"
    return _datasets(connection, readable, user_id.bytes, user_id.bytes, Permission.READ.value)


def texts(connection: apsw.Connection) -> list[str]:
    """All that it says in words of datasets, their models, manifests and writers."""
    found = fetch(
        connection,
        "SELECT name FROM dataset UNION SELECT embedding_model FROM dataset UNION SELECT body FROM manifest "
        "UNION SELECT holder FROM lease UNION SELECT permission FROM permission",
    )
    return [text for (text,) in found]


def next_occurrence(connection: apsw.Connection, owner_id: UUID, name: str) -> int:
    found = fetch(connection, "SELECT times FROM dropped WHERE name_id = ?", (_name_id(owner_id, name),))
    return sum(times for (times,) in found)


def forget_dataset(connection: apsw.Connection, dataset_id: UUID) -> None:
    """Remove everything that is known of a dataset but how often its name was used."""
    dataset = get_dataset(connection, dataset_id)
    if dataset:
        connection.execute(
            "INSERT INTO dropped(name_id, times) VALUES (?, 1) ON CONFLICT DO UPDATE SET times = times + 1",
            (_name_id(dataset.owner_id, dataset.name),),
        )
    for table, key in (
        ("permission", "dataset_id"),
        ("manifest", "dataset_id"),
        ("lease", "dataset_id"),
        ("dataset", "id"),
    ):
        connection.execute(f"DELETE FROM {table} WHERE {key} = ?", (dataset_id.bytes,))


def grant(connection: apsw.Connection, dataset_id: UUID, user_id: UUID, permissions: Sequence[Permission]) -> None:
    existing(connection, dataset_id)
    connection.execute("DELETE FROM permission WHERE dataset_id = ? AND user_id = ?", (dataset_id.bytes, user_id.bytes))
    connection.executemany(
        "INSERT INTO permission(dataset_id, user_id, permission) VALUES (?, ?, ?)",
        [(dataset_id.bytes, user_id.bytes, permission.value) for permission in set(permissions)],
    )


def permissions(connection: apsw.Connection, dataset_id: UUID, user_id: UUID) -> frozenset[Permission]:
    dataset = get_dataset(connection, dataset_id)
    if dataset and dataset.owner_id == user_id:
        return frozenset(Permission)
    found = fetch(
        connection,
        "SELECT permission FROM permission WHERE dataset_id = ? AND user_id = ?",
        (dataset_id.bytes, user_id.bytes),
    )
    return frozenset(Permission(permission) for (permission,) in found)


def read_manifest(connection: apsw.Connection, dataset_id: UUID) -> Manifest:
    return _stored_manifest(connection, dataset_id) or Manifest(dataset_id=dataset_id)


def write_manifest(connection: apsw.Connection, manifest: Manifest, lease: Lease) -> None:
    dataset_id = manifest.dataset_id
    record, stored = _lease(connection, dataset_id), _stored_manifest(connection, dataset_id)
    leases.check_writer(record, stored, lease, _name(connection, dataset_id))
    body = _manifests().dump_json(replace(manifest, token=lease.token)).decode()
    connection.execute("INSERT OR REPLACE INTO manifest(dataset_id, body) VALUES (?, ?)", (dataset_id.bytes, body))


def remove_manifest(connection: apsw.Connection, dataset_id: UUID) -> None:
    """Forget every generation of a dataset, as when their rows are gone."""
    connection.execute("DELETE FROM manifest WHERE dataset_id = ?", (dataset_id.bytes,))


def acquire_lease(
    connection: apsw.Connection, dataset_id: UUID, holder: str, ttl_seconds: float, now: datetime, *, over: str
) -> Lease:
    name, known = existing(connection, dataset_id).name, _lease(connection, dataset_id)
    return _keep(connection, leases.acquire(known, dataset_id, name, holder, ttl_seconds, now, over=over))


def renew_lease(connection: apsw.Connection, lease: Lease, ttl_seconds: float, now: datetime) -> Lease:
    name = _name(connection, lease.dataset_id)
    return _keep(connection, leases.renew(_lease(connection, lease.dataset_id), lease, name, ttl_seconds, now))


def release_lease(connection: apsw.Connection, lease: Lease) -> None:
    if record := leases.release(_lease(connection, lease.dataset_id), lease):
        _keep(connection, record)


def read_lease(connection: apsw.Connection, dataset_id: UUID, now: datetime) -> Lease | None:
    record = _lease(connection, dataset_id)
    return record.lease if record and record.is_held(now) else None


def existing(connection: apsw.Connection, dataset_id: UUID) -> Dataset:
    """The dataset of this id.

    Raises:
        DatasetNotFoundError: there is none.
    """
    dataset = get_dataset(connection, dataset_id)
    if dataset is None:
        raise DatasetNotFoundError(str(dataset_id))
    return dataset


def _name_id(owner_id: UUID, name: str) -> bytes:
    """What stands for a name that was dropped, so that the name itself is gone."""
    return ids.dataset_id(owner_id, name).bytes


def _name(connection: apsw.Connection, dataset_id: UUID) -> str:
    dataset = get_dataset(connection, dataset_id)
    return dataset.name if dataset else str(dataset_id)


def _datasets(connection: apsw.Connection, condition: str, *values: Any) -> list[Dataset]:
    found = fetch(connection, f"SELECT {_DATASET} FROM dataset WHERE {condition} ORDER BY name, id", values)
    return [
        Dataset(
            id=UUID(bytes=id_),
            name=name,
            owner_id=UUID(bytes=owner_id),
            created_at=datetime.fromisoformat(created_at),
            embedding_model=model,
            embedding_dimensions=dimensions,
        )
        for id_, name, owner_id, created_at, model, dimensions in found
    ]


def _one(datasets: Sequence[Dataset]) -> Dataset | None:
    return datasets[0] if datasets else None


def _stored_manifest(connection: apsw.Connection, dataset_id: UUID) -> Manifest | None:
    found = fetch(connection, "SELECT body FROM manifest WHERE dataset_id = ?", (dataset_id.bytes,))
    return _manifests().validate_json(found[0][0]) if found else None


def _lease(connection: apsw.Connection, dataset_id: UUID) -> LeaseRecord | None:
    sql = "SELECT holder, token, acquired_at, renewed_at, ttl_seconds FROM lease WHERE dataset_id = ?"
    found = fetch(connection, sql, (dataset_id.bytes,))
    if not found:
        return None
    holder, token, acquired_at, renewed_at, ttl_seconds = found[0]
    return LeaseRecord(
        dataset_id=dataset_id,
        holder=holder,
        token=token,
        acquired_at=datetime.fromisoformat(acquired_at),
        renewed_at=datetime.fromisoformat(renewed_at),
        ttl_seconds=ttl_seconds,
    )


def _keep(connection: apsw.Connection, record: LeaseRecord) -> Lease:
    connection.execute(
        "INSERT OR REPLACE INTO lease(dataset_id, holder, token, acquired_at, renewed_at, ttl_seconds) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (
            record.dataset_id.bytes,
            record.holder,
            record.token,
            record.acquired_at.isoformat(),
            record.renewed_at.isoformat(),
            record.ttl_seconds,
        ),
    )
    return record.lease
