"""From what a model library raises to our own errors: by class where that is certain, else by status and cause.

The library is not imported for it: names of classes and HTTP statuses are enough, and a test walks its classes.
"""

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from overstory.errors import (
    ModelAccessError,
    ModelError,
    ModelInputError,
    ModelInputTooLongError,
    ModelNotFoundError,
    ModelOutputError,
    ModelOverloadedError,
    ModelRefusedError,
    ModelUnavailableError,
)

_BY_CLASS: dict[str, type[ModelError]] = {
    "ContentPolicyViolationError": ModelRefusedError,
    "GuardrailRaisedException": ModelRefusedError,
    "BlockedPiiEntityError": ModelRefusedError,
    "SensitiveDataRouteException": ModelRefusedError,
    "ModifyResponseException": ModelRefusedError,
    "RejectedRequestError": ModelRefusedError,
    "ContextWindowExceededError": ModelInputTooLongError,
    "PaymentRequiredError": ModelAccessError,
    "BudgetExceededError": ModelAccessError,
    "LiteLLMUnknownProvider": ModelNotFoundError,
    "ModelNotMappedError": ModelNotFoundError,
    "EndpointNotSupportedByModelError": ModelNotFoundError,
    "UnsupportedEndpointError": ModelNotFoundError,
    "JSONSchemaValidationError": ModelOutputError,
    "APIResponseValidationError": ModelUnavailableError,
    "Timeout": ModelUnavailableError,
    "APIConnectionError": ModelUnavailableError,
    "TimeoutError": ModelUnavailableError,
    "OSError": ModelUnavailableError,
}
_BY_STATUS: dict[int, type[ModelError]] = {
    401: ModelAccessError,
    402: ModelAccessError,
    403: ModelAccessError,
    404: ModelNotFoundError,
    408: ModelUnavailableError,
    409: ModelUnavailableError,
    413: ModelInputTooLongError,
    425: ModelUnavailableError,
    429: ModelOverloadedError,
    529: ModelOverloadedError,
}
_REFUSAL = re.compile(r"content[ _-]?filter|content management policy|content policy|safety system", re.IGNORECASE)
_TOO_LONG = re.compile(r"context[ _-]?(?:length|window)|prompt is too long", re.IGNORECASE)
_NO_KEY = re.compile(r"missing credentials|api_key client option must be set", re.IGNORECASE)
"""Said by the client libraries before any call, as an error of the connection."""
_PREFIXES = re.compile(r"^(?:(?:litellm\.)?\w*(?:Error|Exception)(?:: | - )(?=\S))+")
_UNKNOWN_PROVIDER = "LLM Provider NOT provided"
_NO_CREDIT = "insufficient_quota"
_SERVER_FAULT = 500
_UNAVAILABLE = 503
_MESSAGE_CHARACTERS = 240
_SHORTEST_KEY = 8
"""Characters; a shorter one stands in for a key that a server of one's own does not ask for, and may be any word."""


def translate(model: str, error: Exception, key: str = "") -> ModelError:
    """The error of ours that says the same, without the key; the caller raises it from `error`."""
    if isinstance(error, ModelError):
        return error
    kind = _kind(error)
    message = _message(error, key)
    if kind is ModelOverloadedError:
        return ModelOverloadedError(model, message, retry_after_seconds(error))
    if kind is ModelOutputError:
        return ModelOutputError(model, message)
    return kind(model, message)


def _kind(error: Exception) -> type[ModelError]:
    if _NO_KEY.search(str(error)):
        return ModelAccessError
    for ancestor in type(error).__mro__:
        if ancestor.__name__ in _BY_CLASS:
            return _BY_CLASS[ancestor.__name__]
    status = _status(error)
    return ModelError if status is None else _kind_by_status(status, error)


def _kind_by_status(status: int, error: Exception) -> type[ModelError]:
    if status >= _SERVER_FAULT and status not in _BY_STATUS:
        waits = status == _UNAVAILABLE and retry_after_seconds(error) is not None
        return ModelOverloadedError if waits else ModelUnavailableError
    text = str(error)
    if status in _BY_STATUS:
        return ModelAccessError if _NO_CREDIT in text else _BY_STATUS[status]
    if _UNKNOWN_PROVIDER in text:
        return ModelNotFoundError
    if _TOO_LONG.search(text):
        return ModelInputTooLongError
    return ModelRefusedError if _REFUSAL.search(text) else ModelInputError


def _status(error: Exception) -> int | None:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _message(error: Exception, key: str) -> str:
    """One short line, without the library's own prefixes and without the key, which services repeat."""
    text = " ".join((str(error) or type(error).__name__).split())
    if len(key) >= _SHORTEST_KEY:
        text = text.replace(key, "***")
    return _PREFIXES.sub("", text)[:_MESSAGE_CHARACTERS]


# --- Retry-After -----------------------------------------------------------------------------------


def retry_after_seconds(error: Exception) -> float | None:
    """What the service asks to wait, None when it asks nothing."""
    for headers in _headers(error):
        if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
            return milliseconds / 1000
        if (asked := headers.get("retry-after")) is not None:
            return _seconds(str(asked))
    return None


def _headers(error: Exception) -> list[Mapping[str, str]]:
    sources = (getattr(error, "response", None), error)
    found = [getattr(source, "headers", None) for source in sources]
    found.append(getattr(error, "litellm_response_headers", None))
    return [headers for headers in found if isinstance(headers, Mapping)]


def _seconds(asked: str) -> float | None:
    if (seconds := _number(asked)) is not None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(asked).timestamp() - time.time())
    except ValueError:
        return None


def _number(value: str | None) -> float | None:
    try:
        return max(0.0, float(value)) if value is not None else None
    except ValueError:
        return None
