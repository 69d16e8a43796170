"""Who may reach which dataset, and under which name."""

import asyncio
import difflib
import re
from collections.abc import Awaitable, Callable, Sequence, Set
from datetime import UTC, datetime
from typing import Any, TypeVar
from uuid import UUID

from overstory import ids
from overstory.errors import DatasetNotFoundError, InvalidOptionError, PermissionDeniedError
from overstory.models import Dataset, Manifest, Permission
from overstory.runtime import OpenDataset, Runtime, check_embedding
from overstory.stores.contract import Tenant
from overstory.waves import together

DEFAULT_USER = "default_user"
MAX_NAME_CHARACTERS = 300
_AT_ONCE = 16
_UNTYPEABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, line ends, marks of direction and half characters: they are not shown, or change how others are."""
T = TypeVar("T")
User = str | UUID | None
"""A user's name or id; None is the default user."""


def user_id(user: User) -> UUID:
    """The id of a user given by name or id; of the default user for None."""
    if not isinstance(user, str | UUID | None):
        raise InvalidOptionError("user", user, "a user's name or id")
    return user if isinstance(user, UUID) else ids.user_id(user or DEFAULT_USER)


async def find_dataset(
    runtime: Runtime,
    name: str | UUID,
    user: User,
    permission: Permission,
    *,
    any_embedder: bool = False,
) -> OpenDataset:
    """Open a dataset that exists, by name or id.

    With `any_embedder`, for work that compares and writes no vectors, also one with the vectors of another model.

    Raises:
        DatasetNotFoundError: none that this user may see is called so; one of another user is not revealed.
        PermissionDeniedError: the user sees it and may not do this.
        EmbeddingMismatchError: it was stored with another embedding model.
    """
    who, store = user_id(user), runtime.store
    dataset = await _visible(runtime, name, who)
    permissions, tenant = await asyncio.gather(_permissions(runtime, dataset, who), store.tenant(dataset))
    _check(runtime, dataset, permissions, permission, any_embedder)
    return OpenDataset(dataset=dataset, tenant=tenant, runtime=runtime)


async def find_index(runtime: Runtime, name: str | UUID, user: User) -> tuple[OpenDataset, Manifest]:
    """Open a dataset for reading, by name or id, with what is published of its index; errors as `find_dataset`.

    Where it is the dataset that was last found by this name, all that is asked of the store is asked at once.
    """
    who = user_id(user)
    guess = runtime.found.get((who, name))
    early = asyncio.create_task(_open_index(runtime, guess, who)) if guess else None
    try:
        dataset = await _visible(runtime, name, who)
        opened = await early if early and dataset == guess else await _open_index(runtime, dataset, who)
    finally:
        await _drop(early)
    permissions, tenant, manifest = opened
    _check(runtime, dataset, permissions, Permission.READ)
    runtime.keep_found(who, name, dataset)
    return OpenDataset(dataset=dataset, tenant=tenant, runtime=runtime), manifest


async def _open_index(runtime: Runtime, dataset: Dataset, who: UUID) -> tuple[frozenset[Permission], Tenant, Manifest]:
    store = runtime.store
    return await asyncio.gather(
        _permissions(runtime, dataset, who), store.tenant(dataset), store.read_manifest(dataset.id)
    )


async def _permissions(runtime: Runtime, dataset: Dataset, who: UUID) -> frozenset[Permission]:
    """An owner may do everything, whatever the store says."""
    return frozenset(Permission) if dataset.owner_id == who else await runtime.store.permissions(dataset.id, who)


async def _drop(task: "asyncio.Task[Any] | None") -> None:
    """End a task whose result, or error, nobody needs."""
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def of_each(listed: Sequence[Dataset], look: Callable[[UUID], Awaitable[T]]) -> list[T]:
    """What is seen of each dataset of a list, a few at once; those that were dropped since are left out."""
    slots = asyncio.Semaphore(_AT_ONCE)

    async def one(dataset: Dataset) -> list[T]:
        async with slots:
            try:
                return [await look(dataset.id)]
            except DatasetNotFoundError:
                return []

    return [seen for found in await together(map(one, listed)) for seen in found]


async def find_or_create_dataset(runtime: Runtime, name: str, user: User) -> OpenDataset:
    """Open a dataset of this user for writing; a new one when they own none of the name.

    One that another user shared is reached by its id, never by its name: a name alone always means one's own.
    """
    if found := await find_own(runtime, name, user):
        return await find_dataset(runtime, found.id, user, Permission.WRITE)
    dataset = await runtime.store.create_dataset(await new_dataset(runtime, name, user))
    return OpenDataset(dataset=dataset, tenant=await runtime.store.tenant(dataset), runtime=runtime)


async def find_or_plan_dataset(runtime: Runtime, name: str, user: User) -> Dataset:
    """The dataset that `find_or_create_dataset` would open; nothing is made. Errors as that."""
    if found := await find_own(runtime, name, user):
        return (await find_dataset(runtime, found.id, user, Permission.WRITE)).dataset
    return await new_dataset(runtime, name, user)


async def find_own(runtime: Runtime, name: str, user: User) -> Dataset | None:
    """The user's own dataset of this name, or one that they may see of this id."""
    owner = user_id(user)
    visible = await runtime.store.list_datasets(owner)
    shared = next((d for d in visible if name == str(d.id)), None)
    return next((d for d in visible if d.name == name and d.owner_id == owner), shared)


async def new_dataset(runtime: Runtime, name: str, user: User) -> Dataset:
    """What a new dataset of this name would be; nothing is made."""
    check_name(name)
    owner = user_id(user)
    occurrence = await runtime.store.next_occurrence(owner, name)
    return Dataset(
        id=ids.dataset_id(owner, name, occurrence),
        name=name,
        owner_id=owner,
        created_at=datetime.now(UTC),
        embedding_model=runtime.embedder.model,
        embedding_dimensions=runtime.embedder.dimensions,
    )


def check_name(name: object) -> None:
    """Refuse what no new dataset may be called, with InvalidOptionError; those that exist are reached all the same."""
    if not isinstance(name, str) or not name.strip():
        raise InvalidOptionError("dataset_name", name, "a name of at least one character")
    if _UNTYPEABLE.search(name):
        raise InvalidOptionError("dataset_name", name, "a name without control characters and marks of direction")
    if len(name) > MAX_NAME_CHARACTERS:
        raise InvalidOptionError("dataset_name", name[:40] + "…", f"at most {MAX_NAME_CHARACTERS} characters")


def _check(
    runtime: Runtime, dataset: Dataset, permissions: Set[Permission], needed: Permission, any_embedder: bool = False
) -> None:
    if needed not in permissions:
        raise PermissionDeniedError(needed.value, dataset.name)
    if not any_embedder:
        check_embedding(dataset, runtime.embedder)


async def _visible(runtime: Runtime, name: str | UUID, who: UUID) -> Dataset:
    if not isinstance(name, str | UUID):
        raise InvalidOptionError("dataset", name, "a dataset's name or id")
    return await _by_id(runtime, name, who) if isinstance(name, UUID) else await _by_name(runtime, name, who)


async def _by_id(runtime: Runtime, key: UUID, who: UUID) -> Dataset:
    dataset, permissions = await asyncio.gather(runtime.store.get_dataset(key), runtime.store.permissions(key, who))
    if dataset is None or not permissions:
        raise DatasetNotFoundError(str(key))
    return dataset


async def _by_name(runtime: Runtime, name: str, who: UUID) -> Dataset:
    visible = await runtime.store.list_datasets(who)
    dataset = _pick(visible, name, who)
    if dataset is None:
        raise DatasetNotFoundError(name, _nearest(name, [d.name for d in visible]))
    return dataset


def _pick(visible: list[Dataset], name: str, who: UUID) -> Dataset | None:
    """The user's own dataset of this name goes before one that was shared with them."""
    found = [d for d in visible if name in (str(d.id), d.name)]
    return min(found, key=lambda d: (d.owner_id != who, d.created_at), default=None)


def _nearest(name: str, names: list[str]) -> str | None:
    return next(iter(difflib.get_close_matches(name, names, n=1)), None)
