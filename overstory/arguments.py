"""Whether the arguments of a public call are of the types that it names."""

import inspect
from collections.abc import Callable, Collection, Coroutine, Iterable
from functools import wraps
from types import UnionType
from typing import Any, ParamSpec, TypeVar, get_args, get_origin

from overstory.errors import InvalidOptionError, UsageError

P = ParamSpec("P")
T = TypeVar("T")
_Call = Callable[P, Coroutine[Any, Any, T]]


def checked(*unchecked: str) -> Callable[[_Call[P, T]], _Call[P, T]]:
    """Refuse arguments that are not of their types, with InvalidOptionError, before the call does anything.

    Args:
        unchecked: names of parameters that the call checks by itself.
    """

    def decorate(call: _Call[P, T]) -> _Call[P, T]:
        signature = inspect.signature(call)
        kinds = {name: p.annotation for name, p in signature.parameters.items() if name not in unchecked}

        @wraps(call)
        async def with_checks(*args: P.args, **kwargs: P.kwargs) -> T:
            for name, value in signature.bind(*args, **kwargs).arguments.items():
                if name in kinds and not _is_of(value, kinds[name]):
                    raise InvalidOptionError(name, value, f"it takes {inspect.formatannotation(kinds[name])}")
            return await call(*args, **kwargs)

        return with_checks

    return decorate


def _is_of(value: object, kind: Any) -> bool:
    """Whether a value is of a class, of one of several, or a sequence of such; a flag is no number."""
    if isinstance(kind, UnionType):
        return any(_is_of(value, one) for one in get_args(kind))
    if get_origin(kind) is not None:
        [inner] = get_args(kind)
        return isinstance(value, Collection) and not isinstance(value, str) and all(_is_of(one, inner) for one in value)
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, int | float if kind is float else kind)


def several(value: object, kind: type | UnionType, refusal: UsageError) -> list[Any]:
    """One of a kind, or several of it, as a list; `refusal` is raised where it is neither."""
    found = list(value) if isinstance(value, Iterable) and not isinstance(value, kind) else [value]
    if not all(isinstance(one, kind) for one in found):
        raise refusal
    return found
