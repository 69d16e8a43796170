"""How many calls a model service gets at once, and when a failed one is tried again.

One limiter per service and event loop: calls of all who use the service in this process share it. It shrinks
by half when the service is overloaded and recovers by about one call a round (additive increase,
multiplicative decrease).
"""

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from overstory.errors import ModelOverloadedError, ModelUnavailableError
from overstory.models import Usage

ResultT = TypeVar("ResultT")
ServiceError: TypeAlias = ModelOverloadedError | ModelUnavailableError
SERVICE_ERRORS = (ModelOverloadedError, ModelUnavailableError)
"""The service failed; the same call may succeed later. An answer that can't be used is not among them."""


class AdaptiveLimiter:
    """Lets at most `allowed` calls run at once; who waits goes in the order of arrival."""

    def __init__(self, maximum: int) -> None:
        self.maximum = maximum
        self.in_flight = 0
        self._allowed = float(maximum)
        self._round = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def allowed(self) -> int:
        """Between 1 and `maximum`."""
        return int(self._allowed)

    def resize(self, maximum: int) -> None:
        """Set another maximum; the newest setting holds."""
        if maximum != self.maximum:
            self.maximum, self._allowed = maximum, float(maximum)
            self._wake()

    async def acquire(self) -> int:
        """Wait for a place; the number it returns tells `shrink` in which round the call began."""
        if self._waiting or self.in_flight >= self.allowed:
            await self._wait()
        else:
            self.in_flight += 1
        return self._round

    def release(self) -> None:
        self.in_flight -= 1
        self._wake()

    def shrink(self, began: int) -> None:
        """The service is overloaded. Calls of one round halve the limit once, however many of them fail."""
        if began == self._round:
            self._allowed = max(1.0, self._allowed / 2)
            self._round += 1

    def grow(self) -> None:
        """A call succeeded."""
        self._allowed = min(float(self.maximum), self._allowed + 1 / self._allowed)

    async def _wait(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            self._give_up(turn)
            raise

    def _give_up(self, turn: "asyncio.Future[None]") -> None:
        if turn.done() and not turn.cancelled():
            self.release()
        elif turn in self._waiting:
            self._waiting.remove(turn)

    def _wake(self) -> None:
        while self._waiting and self.in_flight < self.allowed:
            turn = self._waiting.popleft()
            if not turn.done():
                self.in_flight += 1
                turn.set_result(None)


_limiters: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, AdaptiveLimiter]]" = WeakKeyDictionary()


def limiter_for(service: str, maximum: int) -> AdaptiveLimiter:
    """The limiter of a service on the running event loop."""
    known = _limiters.setdefault(asyncio.get_running_loop(), {})
    if service not in known:
        known[service] = AdaptiveLimiter(maximum)
    known[service].resize(maximum)
    return known[service]


# --- retries ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """When to give up, and how long to wait before."""

    attempts: int = 4
    """Tries of one call when the service fails; twice as many when it is merely overloaded."""
    total_seconds: float = 600
    """No further try begins after this long."""
    first_delay_seconds: float = 0.5
    longest_delay_seconds: float = 30

    def allows(self, tries: int, error: ServiceError) -> bool:
        return tries < self.attempts * (2 if isinstance(error, ModelOverloadedError) else 1)

    def delay(self, tries: int, error: ServiceError) -> float:
        """What the service asks, with a little jitter so that not all come back at once; else exponential."""
        asked = error.retry_after_seconds if isinstance(error, ModelOverloadedError) else None
        if asked is not None:
            return asked * random.uniform(1.0, 1.1)
        longest = min(self.longest_delay_seconds, self.first_delay_seconds * 2.0 ** (tries - 1))
        return longest * random.uniform(0.5, 1.0)


async def with_retries(
    call: Callable[[], Awaitable[ResultT]], limiter: AdaptiveLimiter, policy: RetryPolicy, usage: Usage
) -> ResultT:
    """Call until it succeeds, within the limiter, as long as the policy allows.

    Raises:
        ModelError: the last try's, or the first that another try can't help.
    """
    clock = asyncio.get_running_loop().time
    deadline = clock() + policy.total_seconds
    tries = 0
    while True:
        tries += 1
        try:
            return await limited(call, limiter)
        except SERVICE_ERRORS as error:
            delay = policy.delay(tries, error)
            if not policy.allows(tries, error) or clock() + delay > deadline:
                raise
        usage.retries += 1
        await asyncio.sleep(delay)


async def limited(call: Callable[[], Awaitable[ResultT]], limiter: AdaptiveLimiter) -> ResultT:
    """One call within the limiter, which learns from its outcome."""
    began = await limiter.acquire()
    try:
        result = await call()
    except SERVICE_ERRORS:
        limiter.shrink(began)
        raise
    else:
        limiter.grow()
        return result
    finally:
        limiter.release()
