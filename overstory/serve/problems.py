"""Every error as a problem document (RFC 9457) that carries the error's own name as its code."""

import json
import logging
import math
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Any
from uuid import UUID

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from overstory import errors
from overstory.errors import OverstoryError, TransientError
from overstory.serve.missing import NotThereError
from overstory.serve.views import Problem

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 5


STATUS_OF: Mapping[type[OverstoryError], int] = {
    OverstoryError: 500,
    TransientError: 503,
    errors.UsageError: 422,
    NotThereError: 404,
    errors.DatasetNotFoundError: 404,
    errors.DocumentNotFoundError: 404,
    errors.GenerationNotFoundError: 404,
    errors.IndexMismatchError: 409,
    errors.PermissionDeniedError: 403,
    errors.ConfigurationError: 500,
    errors.MissingPackageError: 501,
    errors.EmbeddingMismatchError: 409,
    errors.NoDataError: 409,
    errors.UnreadableSourceError: 422,
    errors.DatasetBusyError: 409,
    errors.OrchestratorUnavailableError: 503,
    errors.WorkerLostError: 503,
    errors.LeaseLostError: 409,
    errors.BudgetExceededError: 409,
    errors.InvalidIndexError: 500,
    errors.StoreError: 500,
    errors.StoreUnavailableError: 503,
    errors.StoreFullError: 507,
    errors.ModelError: 502,
    errors.ModelUnavailableError: 503,
    errors.ModelOverloadedError: 503,
    errors.ModelInputError: 422,
    errors.ModelRefusedError: 422,
}
_KEPT_INSIDE = (errors.StoreError, errors.ConfigurationError)
"""Speak of files and settings of the server: for its log."""
_STILL_TOLD = (errors.EmbeddingMismatchError, errors.MissingPackageError)
STATUSES: tuple[int, ...] = tuple(sorted({400, 401, 403, 404, 405, 413, 429, *STATUS_OF.values()}))
"""Those that a problem may have."""


_COMMAND = re.compile(r"`overstory (\w+)[^`]*`")
HTTP_CALLS: Mapping[str, str] = {
    "status": "`GET /v1/datasets`",
    "documents": "A search (`GET /v1/datasets/{dataset}/search`)",
    "rebuild": "`POST /v1/rebuild`",
}
"""What to call over HTTP where an error advises a command."""


def problem_of(
    error: OverstoryError,
    request_id: str,
    *,
    to_operator: bool = False,
    calls: Mapping[str, str] = HTTP_CALLS,
) -> Problem:
    """What a caller is told of an error of the library.

    Args:
        to_operator: to one who runs the server, who is told all of it.
        calls: by command, what to call instead.
    """
    detail = _COMMAND.sub(lambda found: calls.get(found[1], found[0]), str(error))
    data = {name: plain for name, value in vars(error).items() if (plain := _plain(value))}
    if not to_operator and isinstance(error, _KEPT_INSIDE) and not isinstance(error, _STILL_TOLD):
        logger.error("Request %s: %s: %s", request_id, type(error).__name__, error)
        detail, data = "Whoever runs this server must act; its log says more under the request's id.", {}
    return _problem(status_of(error), type(error).__name__, detail, request_id, isinstance(error, TransientError), data)


def plain_problem(status: int, detail: str, request_id: str, data: Mapping[str, Any] | None = None) -> Problem:
    """A problem of the request itself; its code is the name of the status."""
    code = HTTPStatus(status).phrase.title().replace(" ", "").replace("-", "") + "Error"
    return _problem(status, code, detail, request_id, status in (429, 503), data or {})


def status_of(error: OverstoryError) -> int:
    return next(STATUS_OF[kind] for kind in type(error).__mro__ if kind in STATUS_OF)


def response(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    body = json.dumps(problem.model_dump(), default=str)  # ASCII: a half character in a request can't break the answer
    more = {"Retry-After": str(_retry_after(problem))} if problem.transient else {}
    return _ProblemResponse(problem.code, body, problem.status, {**more, **(headers or {})})


class _ProblemResponse(Response):
    """Notes its code with the request, for `code_of`."""

    media_type = MEDIA_TYPE

    def __init__(self, code: str, body: str, status: int, headers: Mapping[str, str]) -> None:
        super().__init__(body, status, headers)
        self._code = code

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})["problem"] = self._code
        await super().__call__(scope, receive, send)


def code_of(scope: Scope) -> str | None:
    """The code of the problem that a request was answered with, if it was."""
    code: str | None = scope.get("state", {}).get("problem")
    return code


def _problem(status: int, code: str, detail: str, request_id: str, transient: bool, data: Mapping[str, Any]) -> Problem:
    title = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", code.removesuffix("Error")).capitalize()
    return Problem(
        type=f"urn:overstory:problem:{code}",
        title=title,
        status=status,
        detail=detail,
        code=code,
        transient=transient,
        request_id=request_id,
        data=dict(data),
    )


def _retry_after(problem: Problem) -> int:
    told = problem.data.get("retry_after_seconds")
    return max(1, math.ceil(told)) if isinstance(told, int | float) else RETRY_SECONDS


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(one) for one in value]
    return value if isinstance(value, str | int | float) else None
