"""How much one client may ask for: requests in a minute, and bytes in a request."""

import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.exceptions import HTTPException
from starlette.types import Message, Receive

_MOST_CLIENTS = 10_000


class RateLimiter:
    """A bucket of tokens a client: a minute's worth at first, refilled evenly."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute, self._clock = per_minute, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_seconds(self, client: str) -> float:
        """Take a token: 0 when there was one, else how long until there is."""
        now = self._clock()
        left, then = self._buckets.pop(client, (float(self._per_minute), now))
        left = min(self._per_minute, left + (now - then) * self._per_minute / 60)
        taken = left >= 1
        self._buckets[client] = (left - 1 if taken else left, now)
        if len(self._buckets) > _MOST_CLIENTS:
            self._buckets.popitem(last=False)
        return 0.0 if taken else (1 - left) * 60 / self._per_minute


def limited(receive: Receive, max_bytes: int) -> Receive:
    """The body of a request, which ends with 413 when it is longer than it may be."""
    read = 0

    async def receive_some() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > max_bytes:
            raise too_large(max_bytes)
        return message

    return receive_some


def too_large(max_bytes: int) -> HTTPException:
    return HTTPException(413, f"The request is larger than {max_bytes / 1_000_000:g} MB: send less at once.")
