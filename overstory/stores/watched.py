"""A store whose calls are told of, where there is someone to tell."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, cast
from uuid import UUID

from overstory.models import Dataset
from overstory.stores.contract import Store, Tenant
from overstory.telemetry import Kind, Value, operation


def watched(store: Store, system: str) -> Store:
    """The same store; each call of it and of its tenants is an operation.

    Args:
        system: what kind of store it is, such as `embedded`.
    """
    return cast(Store, _WatchedStore(store, system))


class _Watched:
    """Hands every call on; which calls there are, the contract knows."""

    def __init__(self, inner: Any, about: dict[str, Value]) -> None:
        self._inner, self._about = inner, about

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._inner, name)
        if not callable(member) or name.startswith("_"):
            return member
        told = _stream(member, name, self._about) if name == "batches" else _call(member, name, self._about)
        self.__dict__[name] = told
        return told


class _WatchedStore(_Watched):
    def __init__(self, inner: Store, system: str) -> None:
        super().__init__(inner, {"store": system})

    async def tenant(self, dataset: Dataset) -> Tenant:
        tenant = await self._inner.tenant(dataset)
        return cast(Tenant, _Watched(tenant, {**self._about, "dataset_id": str(dataset.id)}))


def _call(member: Callable[..., Any], name: str, about: dict[str, Value]) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        with operation(Kind.STORE, name, call=name) as told:
            told.note(**about, **_of(args))
            return await member(*args, **kwargs)

    return call


def _stream(member: Callable[..., Any], name: str, about: dict[str, Value]) -> Callable[..., Any]:
    async def stream(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        with operation(Kind.STORE, name, surrounds=False, call=name) as told:
            told.note(**about, **_of(args))
            async for one in member(*args, **kwargs):
                yield one

    return stream


def _of(args: Sequence[Any]) -> dict[str, Value]:
    """The kind of rows that a call is about, and how many it names."""
    if not args:
        return {}
    if isinstance(args[0], type):
        named = next((one for one in args[1:] if isinstance(one, list | tuple | dict | set) or _is_table(one)), None)
        return {"rows_of": args[0].__name__, **({} if named is None else {"rows": len(named)})}
    if isinstance(args[0], list | tuple):
        rows = args[0] and not isinstance(args[0][0], UUID)
        return {"rows": len(args[0]), **({"rows_of": type(args[0][0]).__name__} if rows else {})}
    return {}


def _is_table(value: Any) -> bool:
    """An Arrow table, without importing Arrow to ask."""
    return hasattr(value, "num_rows")
