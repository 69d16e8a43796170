"""A model behind real HTTP on the loopback interface that says what a script wants.

    with ScriptedModelServer() as server:
        server.when(fail(429, retry_after=2), share=0.3)
        settings = ModelSettings(model="openai/scripted", endpoint=server.url)

Without a script it answers Overstory's requests with extracts of what it is given, and others with a sentence
of the prompt; the same request gets the same answer.
"""

import asyncio
import hashlib
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from overstory.testing import replies
from overstory.testing.behaviours import Behaviour, Reply, Request
from overstory.testing.http import Response, serve_connection
from overstory.tokens import estimate_tokens

_DIMENSIONS = 64
_OK = 200


@dataclass(slots=True)
class _Rule:
    behaviour: Behaviour
    text: str
    share: float
    times: int | None
    kind: str
    schema: str
    seen: int = 0
    used: int = 0

    def applies(self, request: Request) -> bool:
        if request.kind != self.kind or self.text not in request.prompt:
            return False
        if self.schema not in ("", request.schema_name) or (self.times is not None and self.used >= self.times):
            return False
        self.seen += 1
        chosen = _fraction(self.seen) < self.share
        self.used += chosen
        return chosen


def _fraction(number: int) -> float:
    """Spread over [0, 1), the same for the same number."""
    return int.from_bytes(hashlib.sha256(str(number).encode()).digest()[:4], "big") / 2**32


class ScriptedModelServer:
    """An OpenAI-compatible server with chat completions, embeddings and models.

    It runs in a thread of its own, so that blocking code can talk to it as well.

    Args:
        port: 0 for any free one.
        dimensions: of embeddings, where a request does not say.
    """

    def __init__(self, port: int = 0, dimensions: int = _DIMENSIONS) -> None:
        self.port = port
        self.requests: list[Request] = []
        """Everything that was asked, in the order of arrival."""
        self.max_in_flight = 0
        self._dimensions = dimensions
        self._in_flight = 0
        self._rules: list[_Rule] = []
        self._connections: set[asyncio.Task[None]] = set()
        self._thread: threading.Thread | None = None

    # --- the script ---

    def when(
        self,
        behaviour: Behaviour,
        *,
        text: str = "",
        share: float = 1.0,
        times: int | None = None,
        kind: str = "chat",
        schema: str = "",
    ) -> None:
        """Misbehave from now on; several rules apply one after the other.

        Args:
            behaviour: what changes.
            text: only where the prompt holds this.
            share: only for about this share of the requests, the same ones in every run.
            times: only so often.
            kind: `chat` or `embedding`.
            schema: only where this form is asked for, such as `AreaAnswer`.
        """
        self._rules.append(_Rule(behaviour, text, share, times, kind, schema))

    def behave(self) -> None:
        """Forget all rules."""
        self._rules.clear()

    def forget(self) -> None:
        """Forget what was asked."""
        self.requests.clear()
        self.max_in_flight = 0

    @property
    def chats(self) -> list[Request]:
        return [request for request in self.requests if request.kind == "chat"]

    @property
    def embeddings(self) -> list[Request]:
        return [request for request in self.requests if request.kind == "embedding"]

    @property
    def url(self) -> str:
        """The base URL, for `LLM_ENDPOINT` and `EMBEDDING_ENDPOINT`."""
        return f"http://127.0.0.1:{self.port}/v1"

    # --- running ---

    def __enter__(self) -> "ScriptedModelServer":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Listen; `port` and `url` are right afterwards.

        Raises:
            OSError: the port is taken.
        """
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="scripted-model", daemon=True)
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        except OSError:
            self._end()
            raise

    def stop(self) -> None:
        """Stop listening and drop every connection."""
        if self._thread:
            asyncio.run_coroutine_threadsafe(self._drop(), self._loop).result()
            self._end()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        if self._thread:
            self._thread.join()
        self._loop.close()
        self._thread = None

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _drop(self) -> None:
        self._server.close()
        for connection in list(self._connections):
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await serve_connection(self._handle, reader, writer)
        except asyncio.CancelledError:
            pass  # the server stops
        finally:
            self._connections.discard(task)

    # --- answering ---

    async def _handle(self, method: str, path: str, body: dict[str, Any]) -> Response:
        if path.endswith("/models"):
            return Response(body={"object": "list", "data": [{"id": "scripted", "object": "model"}]})
        kind = "embedding" if path.endswith("/embeddings") else "chat"
        request = _request(len(self.requests) + 1, kind, body)
        self.requests.append(request)
        self._in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self._in_flight)
        try:
            return await self._respond(request)
        finally:
            self._in_flight -= 1

    async def _respond(self, request: Request) -> Response:
        reply = self._reply(request)
        if reply.delay_seconds:
            await asyncio.sleep(reply.delay_seconds)
        if reply.status != _OK:
            error = {"message": reply.message, "type": "scripted", "code": reply.code or None}
            return Response(status=reply.status, headers=reply.headers, body={"error": error})
        if request.kind == "embedding":
            return Response(body=_embedding_body(request, reply))
        return Response(events=_events(request, reply)) if request.stream else Response(body=_chat_body(request, reply))

    def _reply(self, request: Request) -> Reply:
        if request.kind == "embedding":
            size = request.body.get("dimensions") or self._dimensions
            reply = Reply(vectors=tuple(replies.embedding(text, size) for text in _texts(request.body)))
        else:
            reply = Reply(content=replies.answer(request.prompt, request.schema))
        for rule in self._rules:
            if rule.applies(request):
                reply = rule.behaviour(request, reply)
        return reply


def _request(number: int, kind: str, body: dict[str, Any]) -> Request:
    form = (body.get("response_format") or {}).get("json_schema") or {}
    parts = _texts(body) if kind == "embedding" else [message["content"] or "" for message in body.get("messages", ())]
    return Request(
        number=number,
        kind=kind,
        model=body.get("model", ""),
        prompt="\n".join(parts),
        schema=form.get("schema"),
        schema_name=form.get("name", ""),
        stream=bool(body.get("stream")),
        body=body,
        arrived_seconds=time.monotonic(),
    )


def _texts(body: dict[str, Any] | Any) -> list[str]:
    given = body.get("input", ())
    return [given] if isinstance(given, str) else list(given)


def _usage(request: Request, reply: Reply) -> dict[str, int]:
    asked, answered = estimate_tokens(request.prompt), estimate_tokens(reply.content or "")
    return {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}


def _chat_body(request: Request, reply: Reply) -> dict[str, Any]:
    message = {"role": "assistant", "content": reply.content}
    choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason}
    return {**_envelope(request, "chat.completion"), "choices": [choice], "usage": _usage(request, reply)}


def _envelope(request: Request, kind: str) -> dict[str, Any]:
    return {"id": f"scripted-{request.number}", "object": kind, "created": 0, "model": request.model}


def _events(request: Request, reply: Reply) -> Iterable[dict[str, Any]]:
    """The answer word by word, then how it ended, then what it took."""
    envelope = _envelope(request, "chat.completion.chunk")
    for word in (reply.content or "").split(" "):
        yield {**envelope, "choices": [{"index": 0, "delta": {"content": word + " "}, "finish_reason": None}]}
    yield {**envelope, "choices": [{"index": 0, "delta": {}, "finish_reason": reply.finish_reason}]}
    if (request.body.get("stream_options") or {}).get("include_usage"):
        yield {**envelope, "choices": [], "usage": _usage(request, reply)}


def _embedding_body(request: Request, reply: Reply) -> dict[str, Any]:
    data = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(reply.vectors)]
    tokens = estimate_tokens(request.prompt)
    return {
        "object": "list",
        "model": request.model,
        "data": data,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }
