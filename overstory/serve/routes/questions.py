"""recall, in one piece or as server-sent events, and what is thought of its answers."""

import json
import logging
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from starlette.responses import Response

import overstory
from overstory.errors import OverstoryError
from overstory.judging import Feedback
from overstory.results import RecallResult
from overstory.serve import problems
from overstory.serve.context import TheCaller
from overstory.serve.forms import FeedbackForm, RecallForm, UndoFeedbackForm
from overstory.serve.jobs import plain
from overstory.serve.prompt_parts import parts_of
from overstory.serve.views import RecallAnswer, RecallView
from overstory.tokens import estimate_tokens

logger = logging.getLogger(__name__)
router = APIRouter(prefix="/v1", tags=["verbs"])
EVENTS = "text/event-stream"
_EVENT = {
    "type": "object",
    "required": ["event", "data"],
    "properties": {
        "event": {"enum": ["piece", "result", "end", "error"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
}
"""Of each event, as OpenAPI 3.2 has it."""


@router.post(
    "/recall",
    response_model=RecallAnswer,
    responses={200: {"content": {EVENTS: {"itemSchema": _EVENT}}}},
)
async def recall(form: RecallForm, caller: TheCaller) -> RecallAnswer | Response:
    """Ask a question of one or several datasets."""
    if form.stream:
        return await _streamed(form, caller.user, caller.request_id)
    options = form.options()
    results = await overstory.recall(options.pop("query_text"), user=caller.user, **options)
    return RecallAnswer(results=[_view(result, explain=form.explain and form.only_context) for result in results])


@router.post("/feedback")
async def feedback(form: FeedbackForm, caller: TheCaller) -> Feedback:
    """Say how good an answer was. It moves the weights of its evidence; what comes back undoes that."""
    return await overstory.feedback(form.result, form.score, form.text, user=caller.user)


@router.post("/feedback/undo", status_code=204)
async def undo_feedback(form: UndoFeedbackForm, caller: TheCaller) -> None:
    """Take a feedback back."""
    await overstory.undo_feedback(form.feedback(), user=caller.user)


def _view(result: RecallResult, *, explain: bool) -> RecallView:
    return RecallView(result=result, parts=parts_of(result) if explain else [], tokens=estimate_tokens(result.text))


async def _streamed(form: RecallForm, user: str, request_id: str) -> Response:
    """What goes wrong before the first piece is an error of its own; what goes wrong later is the last event."""
    options = form.options()
    pieces = overstory.recall_stream(options.pop("query_text"), user=user, **options)
    first = await anext(pieces, None)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_events(first, pieces, request_id), media_type=EVENTS, headers=headers)


async def _events(
    first: str | RecallResult | None, pieces: AsyncIterator[str | RecallResult], request_id: str
) -> AsyncIterator[str]:
    try:
        if first is not None:
            yield _event(first)
            async for piece in pieces:
                yield _event(piece)
        yield _line("end", {})
    except OverstoryError as error:
        yield _line("error", problems.problem_of(error, request_id).model_dump(mode="json"))
    except Exception:  # the answer has begun: its reader is told, the log says why
        logger.exception("Request %s failed", request_id)
        problem = problems.plain_problem(500, "This was not foreseen; the server's log says more.", request_id)
        yield _line("error", problem.model_dump(mode="json"))


def _event(piece: str | RecallResult) -> str:
    return _line("piece", {"text": piece}) if isinstance(piece, str) else _line("result", plain(piece))


def _line(event: str, data: dict[str, Any]) -> str:
    return f"event: {event}\ndata: {json.dumps(data, ensure_ascii=True, default=str)}\n\n"
