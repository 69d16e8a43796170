"""As much of an HTTP/1.1 server as a scripted model needs: loopback, keep-alive, JSON in, JSON or a stream out."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeAlias

_HEAD_LIMIT = 64 * 1024
_PHRASES = {status.value: status.phrase for status in HTTPStatus}


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    events: Iterable[Any] | None = None
    """Sent one by one as server-sent events instead of a body."""


Handler: TypeAlias = Callable[[str, str, dict[str, Any]], Awaitable[Response]]
"""Method, path and parsed body of a request → its response."""


async def serve_connection(handler: Handler, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection until the client leaves."""
    try:
        while (request := await _read_request(reader)) is not None:
            response = await handler(*request)
            _write(writer, response)
            await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        pass  # the client left in the middle, as one whose time is up does
    finally:
        writer.close()


async def _read_request(reader: asyncio.StreamReader) -> tuple[str, str, dict[str, Any]] | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n"))[:_HEAD_LIMIT].decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    line, *headers = head.split("\r\n")
    method, path, _ = line.split(" ", 2)
    length = next((int(value[15:]) for value in headers if value.lower().startswith("content-length:")), 0)
    body = await reader.readexactly(length) if length else b"{}"
    return method, path.partition("?")[0], json.loads(body)


def _write(writer: asyncio.StreamWriter, response: Response) -> None:
    if response.events is None:
        body = json.dumps(response.body, ensure_ascii=False).encode()
        writer.write(_head(response, f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n") + body)
        return
    writer.write(_head(response, "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"))
    for event in response.events:
        writer.write(_piece(f"data: {json.dumps(event, ensure_ascii=False)}\n\n".encode()))
    writer.write(_piece(b"data: [DONE]\n\n") + b"0\r\n\r\n")


def _piece(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def _head(response: Response, more: str) -> bytes:
    own = "".join(f"{name}: {value}\r\n" for name, value in response.headers.items())
    return f"HTTP/1.1 {response.status} {_PHRASES.get(response.status, 'Unknown')}\r\n{more}{own}\r\n".encode("latin-1")
