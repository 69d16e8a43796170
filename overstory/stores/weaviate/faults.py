"""What goes wrong with the server or on the way to it, as what the reader of the message has to do about it.

A gRPC status or an HTTP status decides; the server's own words only where it has but one status for everything.
"""

import re
from collections.abc import Iterator
from http import HTTPStatus

import httpx
from grpc import RpcError, StatusCode  # type: ignore[import-untyped]
from weaviate import exceptions as foreign

from overstory.errors import (
    ConfigurationError,
    DatasetNotFoundError,
    OverstoryError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
)

FOREIGN = (foreign.WeaviateBaseError, httpx.HTTPError, RpcError, TimeoutError, OSError)
"""What a call of the client may raise."""

_WORDS_SHOWN = 300
_NO_DETAILS = re.compile(r" ?Details: ?\.?$")
_TENANT_GONE = re.compile(r"tenant not found: \\?\"([A-Za-z0-9_-]+)")
_FULL = re.compile(r"read-?\s?only|no space left|disk (?:usage|is full)|insufficient storage", re.IGNORECASE)
_PASSING = re.compile(
    r"deadline exceeded|not ready|leader not found|shutting down|shutdown|context canceled|not enough memory"
    r"|connection (?:refused|reset)|too many requests|is not active|loading",
    re.IGNORECASE,
)
_FORBIDDEN = re.compile(r"forbidden action|insufficient permissions|unauthorized", re.IGNORECASE)
_TOO_LARGE = re.compile(r"message larger than|larger than max|too large", re.IGNORECASE)

_NO_RIGHT = {StatusCode.UNAUTHENTICATED, StatusCode.PERMISSION_DENIED, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
_UNAVAILABLE = {
    StatusCode.UNAVAILABLE,
    StatusCode.DEADLINE_EXCEEDED,
    StatusCode.RESOURCE_EXHAUSTED,
    StatusCode.ABORTED,
    StatusCode.CANCELLED,
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
}
_LOST = (
    foreign.WeaviateConnectionError,
    foreign.WeaviateTimeoutError,
    foreign.WeaviateRetryError,
    foreign.WeaviateGRPCUnavailableError,
    httpx.TransportError,
    TimeoutError,
    OSError,
)
_UNREADABLE = (
    foreign.ResponseCannotBeDecodedError,
    foreign.EmptyResponseError,
    foreign.SchemaValidationError,
    httpx.DecodingError,
)
_NO_KEY = (foreign.AuthenticationFailedError, foreign.MissingScopeError)
_OTHER_SERVER = (foreign.WeaviateUnsupportedFeatureError, foreign.WeaviateStartUpError)


def fault(error: BaseException, place: str) -> OverstoryError:
    """The error of ours that says the same."""
    chain, words = list(_chain(error)), _words(error)
    statuses = {status for one in chain if (status := _status(one)) is not None}
    if statuses & _NO_RIGHT or _any(chain, _NO_KEY) or _FORBIDDEN.search(words):
        return ConfigurationError(
            f"{place} refuses this key: check WEAVIATE_API_KEY and what its role may do ({words})."
        )
    if gone := _TENANT_GONE.search(str(error)):
        return DatasetNotFoundError(gone.group(1))
    if _FULL.search(words) or HTTPStatus.INSUFFICIENT_STORAGE in statuses:
        return StoreFullError(f"{place} can't be written ({words}): free space on the server, or make it writable.")
    if statuses & _UNAVAILABLE or _any(chain, _LOST) or _PASSING.search(words):
        return StoreUnavailableError(f"{place} can't be used now ({words}): is the server running? Try again.")
    if StatusCode.DATA_LOSS in statuses or _any(chain, _UNREADABLE):
        return StoreDamagedError(f"{place} answers what can't be right ({words}): see the server's log.")
    if StatusCode.UNIMPLEMENTED in statuses or _any(chain, _OTHER_SERVER):
        return ConfigurationError(f"{place} is no Weaviate server that Overstory can use ({words}).")
    return StoreError(f"{place}: {words}")


def refusal(message: str, place: str) -> OverstoryError | None:
    """What the server's words on one refused row say of the whole store; None when it is the row's fault."""
    told = fault(foreign.WeaviateBaseError(message), place)
    return None if type(told) is StoreError else told


def is_too_large(error: BaseException) -> bool:
    """Whether the request was, and a smaller one may pass."""
    chain = list(_chain(error))
    statuses = {_status(one) for one in chain}
    if HTTPStatus.REQUEST_ENTITY_TOO_LARGE in statuses:
        return True
    return StatusCode.RESOURCE_EXHAUSTED in statuses and any(_TOO_LARGE.search(str(one)) for one in chain)


def is_missing(error: BaseException) -> bool:
    """Whether what was to be changed does not exist."""
    return _status(error) == HTTPStatus.NOT_FOUND


def is_taken(error: BaseException) -> bool:
    """Whether what was to be made exists already."""
    return _status(error) == HTTPStatus.UNPROCESSABLE_ENTITY and "already exists" in str(error)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _any(chain: list[BaseException], kinds: tuple[type[BaseException], ...]) -> bool:
    return any(isinstance(one, kinds) for one in chain)


def _status(error: BaseException) -> StatusCode | int | None:
    if isinstance(error, RpcError):
        code = getattr(error, "code", None)
        return code() if callable(code) else None
    if isinstance(error, foreign.UnexpectedStatusCodeError | foreign.ResponseCannotBeDecodedError):
        return None if isinstance(error.__cause__, RpcError) else error.status_code
    return None


def _words(error: BaseException) -> str:
    """The server's words, short enough that they can hold no text of a document."""
    text = " ".join((getattr(error, "message", "") or str(error) or type(error).__name__).split())
    text = _NO_DETAILS.sub("", text)
    return text if len(text) <= _WORDS_SHOWN else text[:_WORDS_SHOWN] + "…"
