"""The gateway to language models: one door for every call, whoever the provider is.

It owns retries, the limit on calls in flight, the translation of errors and the counting of tokens and cost.
litellm does the talking and is imported with the first call, since that takes seconds.
"""

import asyncio
import contextlib
import json
import logging
import os
import re
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from pydantic import BaseModel

from overstory import prompts, telemetry
from overstory.errors import (
    MissingPackageError,
    ModelError,
    ModelInputError,
    ModelInputTooLongError,
    ModelNotFoundError,
    ModelOutputError,
    ModelRefusedError,
    ModelUnavailableError,
)
from overstory.model_errors import translate
from overstory.model_limits import AdaptiveLimiter, RetryPolicy, limiter_for, with_retries
from overstory.models import Usage
from overstory.parsing import ThoughtFilter, strict_schema
from overstory.settings import ModelSettings
from overstory.telemetry import Kind, Told

Messages: TypeAlias = Sequence[Mapping[str, str]]
"""`{"role": "system" | "user" | "assistant", "content": …}`, in order."""

_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else the import asks the network for prices, and waits
    "LITELLM_MODE": "PRODUCTION",  # else the import loads the working folder's .env
    "LITELLM_LOG": "ERROR",
}
_OPENAI = "openai"
_OPENAI_LIKE = frozenset(
    {_OPENAI, "azure", "openai_like", "custom_openai", "hosted_vllm", "litellm_proxy", "lm_studio", "llamafile"}
)
_REFUSED = "content_filter"
_IGNORED = (
    ".*`ReadOnly` qualifier.*",
    ".*Accessing the.*attribute on the instance is deprecated.*",
    ".*conflict with protected namespace.*",
)


def load_litellm() -> Any:
    """litellm, imported so that it asks no network, reads no `.env` and leaves the logs to their owner.

    Raises:
        MissingPackageError: it is not installed.
    """
    litellm = _import_litellm()
    _ignore_warnings()
    return litellm


@cache
def _import_litellm() -> Any:
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        import litellm
    except ImportError as error:
        raise MissingPackageError("litellm", "models", "A model other than `offline`") from error
    litellm.suppress_debug_info = True
    _quiet(litellm)
    return litellm


def _quiet(litellm: Any) -> None:
    """Take away litellm's own handler; what it logs still reaches the handlers that the user has set."""
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logger = logging.getLogger(name)
        logger.removeHandler(litellm._logging.handler)
        logger.addHandler(logging.NullHandler())


def _ignore_warnings() -> None:
    """Ignore again what the import lets warnings ignore, which others undo: test runners do after every test.

    No caller can act on these warnings, and where warnings are errors they would end the call.
    """
    for message in _IGNORED:
        if ("ignore", re.compile(message, re.IGNORECASE), Warning, None, 0) not in warnings.filters:
            warnings.filterwarnings("ignore", message=message)


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs."""

    input_usd_per_token: float
    output_usd_per_token: float

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """In US dollars."""
        return prompt_tokens * self.input_usd_per_token + completion_tokens * self.output_usd_per_token


def price_of(model: str, settings: ModelSettings | None = None) -> Price | None:
    """The price of a model: as the settings give it for `LLM_MODEL`, else by litellm's table; None when unknown."""
    if settings and model == settings.model:
        given = (settings.input_usd_per_million, settings.output_usd_per_million)
        if given[0] is not None and given[1] is not None:
            return Price(given[0] / 1e6, given[1] / 1e6)
    table = load_litellm().model_cost
    entry = table.get(model) or table.get(model.partition("/")[2]) or {}
    costs = (entry.get("input_cost_per_token"), entry.get("output_cost_per_token"))
    return None if costs[0] is None or costs[1] is None else Price(costs[0], costs[1])


@dataclass(frozen=True, slots=True)
class Route:
    """Where the calls for a model go."""

    model: str
    service: str
    """Names the provider and endpoint: calls to the same one share a limiter."""
    arguments: Mapping[str, Any]
    takes_schema: bool


def find_route(model: str, api_key: str, endpoint: str) -> Route:
    """Which provider serves a model; an OpenAI-like server when there is an endpoint and the name says nothing.

    Raises:
        ModelNotFoundError: no provider is known for the name.
    """
    litellm = load_litellm()
    arguments: dict[str, Any] = {"model": model}
    try:
        name, provider, *_ = litellm.get_llm_provider(model=model, api_base=endpoint or None)
    except litellm.BadRequestError as error:
        if not endpoint:
            raise ModelNotFoundError(
                model, "the name says no provider; use provider/model, or set LLM_ENDPOINT"
            ) from error
        name, provider = model, _OPENAI
        arguments["custom_llm_provider"] = _OPENAI
    if endpoint:
        arguments["api_base"] = endpoint
    if api_key or (endpoint and provider in _OPENAI_LIKE):
        arguments["api_key"] = api_key or "none"  # a key of the environment is not for this endpoint
    takes_schema = provider in _OPENAI_LIKE or litellm.supports_response_schema(name, provider)
    return Route(model, f"{provider} {endpoint}", arguments, takes_schema)


class Gateway:
    """Calls language models.

    Args:
        settings: models, key, endpoint, limits.
        policy: when to try again; by default as the settings say.
    """

    def __init__(self, settings: ModelSettings, *, policy: RetryPolicy | None = None) -> None:
        self.settings = settings
        self._policy = policy or RetryPolicy(attempts=settings.max_attempts)
        self._routes: dict[str, Route] = {}
        self._prices: dict[str, Price | None] = {}
        self._plain: set[str] = set()
        self._told: set[str] = set()

    async def complete(
        self,
        messages: Messages,
        *,
        usage: Usage,
        max_tokens: int,
        schema: type[BaseModel] | None = None,
        model: str = "",
        again: bool = False,
    ) -> str:
        """Ask for one text.

        Args:
            messages: the last one is the user's.
            max_tokens: what the answer may hold.
            usage: what the call takes is added here, also when it fails.
            schema: the form asked for; it is not enforced, see `parsing.parse_answer`.
            model: another than `LLM_MODEL`.
            again: a further try for a text that was asked for before; counted as a retry.

        Returns:
            The answer as it is, possibly empty.

        Raises:
            ModelError: by its kind, after as many tries as the policy allows.
        """
        route = await self._route(model or self.settings.model)
        _count(usage, again)

        async def call() -> str:
            return await self._ask(route, messages, schema, max_tokens, usage)

        return await with_retries(call, self._limiter(route), self._policy, usage)

    async def stream(self, messages: Messages, *, usage: Usage, max_tokens: int) -> AsyncIterator[str]:
        """Ask for one text, piece by piece, without the model's leading reasoning.

        Tried again only as long as nothing was given out; it counts as a call in flight until its first piece.

        Raises:
            ModelOutputError: the answer is empty.
            ModelError: by its kind.
        """
        route = await self._route(self.settings.model)
        _count(usage, again=False)
        arguments = {
            "messages": list(messages),
            "max_tokens": max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }

        with telemetry.operation(Kind.MODEL, "chat", surrounds=False, model=route.model, operation="chat") as told:

            async def begin() -> "_Pieces":
                return await _Pieces.begin(await self._send(route, arguments), self, route, usage, told)

            pieces = await with_retries(begin, self._limiter(route), self._policy, usage)
            async with contextlib.aclosing(pieces.rest()) as rest:
                async for piece in rest:
                    yield piece

    async def price(self, model: str = "") -> Price | None:
        """See `price_of`."""
        name = model or self.settings.model
        if name not in self._prices:
            self._prices[name] = await asyncio.to_thread(price_of, name, self.settings)
        return self._prices[name]

    def schema_ignored(self, model: str = "") -> None:
        """The service did not make the model keep to a schema: from now on the prompt says it too."""
        self._told.add(model or self.settings.model)

    async def _route(self, model: str) -> Route:
        if model not in self._routes:
            await asyncio.to_thread(load_litellm)
            await self.price(model)
            self._routes[model] = find_route(model, self.settings.api_key, self.settings.endpoint)
        return self._routes[model]

    def _limiter(self, route: Route) -> AdaptiveLimiter:
        return limiter_for(f"chat {route.service}", self.settings.max_concurrency)

    async def _ask(
        self, route: Route, messages: Messages, schema: type[BaseModel] | None, max_tokens: int, usage: Usage
    ) -> str:
        formed = schema is not None and route.takes_schema and route.model not in self._plain
        try:
            return await self._answer(route, self._request(route, messages, schema, max_tokens, formed), usage)
        except ModelInputTooLongError:
            raise  # it would be longer still with the schema in the prompt
        except ModelInputError:
            if not formed:
                raise
        usage.retries += 1
        answer = await self._answer(route, self._request(route, messages, schema, max_tokens, False), usage)
        self._plain.add(route.model)  # so it was the schema that the service refused
        return answer

    def _request(
        self, route: Route, messages: Messages, schema: type[BaseModel] | None, max_tokens: int, formed: bool
    ) -> dict[str, Any]:
        request: dict[str, Any] = {"messages": list(messages), "max_tokens": max_tokens}
        if formed and schema:
            request["response_format"] = _response_format(schema)
        if schema and (not formed or route.model in self._told):
            last = request["messages"][-1]
            request["messages"][-1] = {**last, "content": f"{last['content']}\n\n{_told_schema(schema)}"}
        return request

    async def _answer(self, route: Route, request: Mapping[str, Any], usage: Usage) -> str:
        with telemetry.operation(Kind.MODEL, "chat", model=route.model, operation="chat") as told:
            response = await self._send(route, request)
            self.count_tokens(route.model, getattr(response, "usage", None), usage, told)
        if not response.choices:
            return ""
        choice = response.choices[0]
        refusal = getattr(choice.message, "refusal", None)
        if choice.finish_reason == _REFUSED or refusal:
            raise ModelRefusedError(route.model, "the provider declines this content")
        return choice.message.content or ""

    async def _send(self, route: Route, request: Mapping[str, Any]) -> Any:
        timeout = self.settings.timeout_seconds
        try:
            async with asyncio.timeout(timeout):
                return await load_litellm().acompletion(
                    **route.arguments, **request, timeout=timeout, max_retries=0, drop_params=True
                )
        except TimeoutError as error:
            raise ModelUnavailableError(route.model, f"no answer within {timeout:g} s") from error
        except Exception as error:
            raise translate(route.model, error, self.settings.api_key) from error

    def count_tokens(self, model: str, counted: Any, usage: Usage, told: Told) -> None:
        """Add what the service says that a call took, and tell it."""
        if counted is None:
            return
        tokens = (counted.prompt_tokens or 0, counted.completion_tokens or 0)
        price = self._prices.get(model)
        cost = price.cost(*tokens) if price else None
        told.note(prompt_tokens=tokens[0], completion_tokens=tokens[1], cost_usd=cost)
        usage += Usage(prompt_tokens=tokens[0], completion_tokens=tokens[1], cost_usd=cost)


def _count(usage: Usage, again: bool) -> None:
    if again:
        usage.retries += 1
    else:
        usage.calls += 1


@cache
def _response_format(schema: type[BaseModel]) -> dict[str, Any]:
    form = {"name": schema.__name__, "schema": strict_schema(schema), "strict": True}
    return {"type": "json_schema", "json_schema": form}


@cache
def _told_schema(schema: type[BaseModel]) -> str:
    return prompts.fill("schema", schema=json.dumps(strict_schema(schema), ensure_ascii=False))


class _Pieces:
    """A streamed answer whose first visible piece has arrived."""

    def __init__(self, stream: Any, gateway: Gateway, route: Route, usage: Usage, told: Told) -> None:
        self._stream, self._gateway, self._route, self._usage = stream, gateway, route, usage
        self._told = told
        self._filter = ThoughtFilter()
        self._first = ""
        self._reading = self._read()

    @classmethod
    async def begin(cls, stream: Any, gateway: Gateway, route: Route, usage: Usage, told: Told) -> "_Pieces":
        pieces = cls(stream, gateway, route, usage, told)
        async for piece in pieces._reading:
            if piece.strip():
                pieces._first = piece.lstrip()
                return pieces
        raise ModelOutputError(route.model, "empty")

    async def rest(self) -> AsyncGenerator[str, None]:
        async with contextlib.aclosing(self._reading):
            yield self._first
            async for piece in self._reading:
                yield piece

    async def _read(self) -> AsyncGenerator[str, None]:
        try:
            async for part in self._stream:
                counted = getattr(part, "usage", None)
                self._gateway.count_tokens(self._route.model, counted, self._usage, self._told)
                if shown := self._filter.feed(self._text(part)):
                    yield shown
        except ModelError:
            raise
        except Exception as error:
            raise translate(self._route.model, error, self._gateway.settings.api_key) from error
        if held := self._filter.finish():
            yield held

    def _text(self, part: Any) -> str:
        if not part.choices:
            return ""
        if part.choices[0].finish_reason == _REFUSED:
            raise ModelRefusedError(self._route.model, "the provider declines this content")
        return part.choices[0].delta.content or ""


async def close() -> None:
    """Close the connections that litellm keeps for the running event loop; other loops keep theirs."""
    if not _import_litellm.cache_info().currsize:
        return
    from litellm.caching.evicted_client_closer import running_loop_token

    clients = load_litellm().in_memory_llm_clients_cache
    suffix = f"-{running_loop_token()}"
    async with contextlib.AsyncExitStack() as closers:
        for key in [key for key in clients.cache_dict if str(key).endswith(suffix)]:
            client = clients.cache_dict.pop(key)
            clients.ttl_dict.pop(key, None)
            closers.push_async_callback(_close, getattr(client, "client", client))


async def _close(client: Any) -> None:
    closing = getattr(client, "aclose", None) or getattr(client, "close", None)
    if closing and asyncio.iscoroutinefunction(closing):
        await closing()
