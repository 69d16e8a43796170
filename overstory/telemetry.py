"""What others may know of what goes on here: which work began, how it ended, what it took. Never a text.

Nobody is told by default, and then an operation costs no more than to look whether there is someone.
"""

import functools
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractContextManager
from enum import StrEnum
from types import MappingProxyType, TracebackType
from typing import Any, ParamSpec, Protocol, TypeAlias, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
Value: TypeAlias = str | int | float | bool


class Kind(StrEnum):
    MODEL = "model"
    """One request to a language model, each try for itself."""
    EMBEDDING = "embedding"
    STORE = "store"
    RECALL = "recall"
    """A question, and the steps to its answer."""
    FLOW = "flow"
    """remember, improve, a build of the index, forget."""
    TASK = "task"
    """A step of these."""
    REQUEST = "request"
    """Of somebody over HTTP."""


class Operation:
    """Some work, from its beginning to its end; a context manager."""

    __slots__ = ("_ends", "attributes", "caller", "kind", "name", "surrounds")

    def __init__(
        self, kind: Kind, name: str, surrounds: bool, caller: Mapping[str, str], attributes: dict[str, Value]
    ) -> None:
        self.kind, self.name, self.attributes = kind, name, attributes
        self.surrounds = surrounds
        """Whether what begins before its end, in the same task, is part of it."""
        self.caller = caller
        """What a request says of the work that it is part of, in its headers."""
        self._ends: list[End] = []

    def note(self, **attributes: Value | None) -> None:
        """Add what is known by now; None is left out."""
        self.attributes.update({name: value for name, value in attributes.items() if value is not None})

    def __enter__(self) -> "Operation":
        self._ends = [observer.begin(self) for observer in _observers]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for end in reversed(self._ends):
            end(error)


End: TypeAlias = Callable[[BaseException | None], None]


class Observer(Protocol):
    """Told of operations; must return at once and never raise."""

    def begin(self, operation: Operation) -> End:
        """An operation begins; what is returned is called at its end, with its error if it has one."""
        ...


class _Nothing:
    """The operation that nobody is told of."""

    def note(self, **attributes: Value | None) -> None:
        pass

    def __enter__(self) -> "_Nothing":
        return self

    def __exit__(self, *error: object) -> None:
        pass


Told: TypeAlias = Operation | _Nothing
_NOTHING = _Nothing()
_NOBODY: Mapping[str, str] = MappingProxyType({})
_observers: tuple[Observer, ...] = ()


def observe(observer: Observer) -> None:
    """Tell an observer of everything from now on; once, however often this is called."""
    global _observers
    if observer not in _observers:
        _observers = (*_observers, observer)


def leave(observer: Observer) -> None:
    """Tell it no more."""
    global _observers
    _observers = tuple(one for one in _observers if one is not observer)


def observed() -> bool:
    """Whether there is someone to tell."""
    return bool(_observers)


def operation(
    kind: Kind, name: str, *, surrounds: bool = True, caller: Mapping[str, str] = _NOBODY, **attributes: Value
) -> "AbstractContextManager[Told]":
    """Some work to tell of; nothing where there is nobody to tell.

    Args:
        name: one of few: it names a span and labels a metric.
        surrounds: False where the work is given up and taken up again, as in a generator.
        caller: the headers of a request, which may say what it is part of.
        attributes: ids, names of models and options, counts.
    """
    return Operation(kind, name, surrounds, caller, attributes) if _observers else _NOTHING


def step(kind: Kind, name: str) -> Callable[[Callable[P, Coroutine[Any, Any, R]]], Callable[P, Coroutine[Any, Any, R]]]:
    """Make an operation of each call of a coroutine function."""

    def mark(function: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, Coroutine[Any, Any, R]]:
        async def tell(*args: P.args, **kwargs: P.kwargs) -> R:
            with operation(kind, name):
                return await function(*args, **kwargs)

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
            return tell(*args, **kwargs) if _observers else function(*args, **kwargs)

        return call

    return mark
