"""Vectors from an embedding service, by any model name that litellm knows."""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np

from overstory import telemetry
from overstory.errors import ConfigurationError, ModelOutputError, ModelUnavailableError
from overstory.llm import Route, close, find_route, load_litellm, price_of
from overstory.model_errors import translate
from overstory.model_limits import RetryPolicy, limiter_for, with_retries
from overstory.models import Usage, Vectors
from overstory.settings import EmbeddingSettings
from overstory.telemetry import Kind
from overstory.tokens import TokenRuler

_USUAL_LIMIT_TOKENS = 8_000
_TIMEOUT_SECONDS = 120.0
_PROBE = "How long is a vector?"

_Place: TypeAlias = tuple[str, str, int | None]


class _Zero(int):
    """A zero that counts as given: litellm takes a plain one in embeddings for none, and retries by itself."""

    def __bool__(self) -> bool:
        return True


_NONE = _Zero()
_known_dimensions: dict[_Place, int] = {}
"""By model, endpoint and what was asked for; learned once in a process."""


class LiteLLMEmbedder:
    """An `Embedder` that asks a service.

    Args:
        settings: which model, and its limits.
        policy: when to try again.
    """

    def __init__(self, settings: EmbeddingSettings, *, policy: RetryPolicy | None = None) -> None:
        self._settings = settings
        self._policy = policy or RetryPolicy()
        self._found: Route | None = None

    @property
    def model(self) -> str:
        return self._settings.model

    @property
    def dimensions(self) -> int:
        """As set, as litellm's table says, or else as one vector shows: then it waits for the service once.

        Raises:
            ModelError: the service did not give that vector.
        """
        known = self._settings.dimensions or _known_dimensions.get(self._place) or self._listed("output_vector_size")
        return known or self._learn(self._probe())

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.embed`.

        Raises:
            ModelOutputError: the service returned other vectors than were asked for.
            ConfigurationError: they have not the dimensions that are set.
        """
        await asyncio.to_thread(load_litellm)
        size = self._settings.batch_size
        batches = [texts[start : start + size] for start in range(0, len(texts), size)]
        done = await asyncio.gather(*map(self._embed_batch, batches), return_exceptions=True)
        for vectors in done:
            if isinstance(vectors, BaseException):
                raise vectors
        made = [vectors for vectors in done if not isinstance(vectors, BaseException)]
        return np.concatenate(made) if made else np.empty((0, self.dimensions), dtype=np.float32)

    async def _embed_batch(self, texts: Sequence[str]) -> Vectors:
        limit = self._listed("max_input_tokens") or _USUAL_LIMIT_TOKENS
        cut = [text[: TokenRuler(text).reach(limit)] for text in texts]
        limiter = limiter_for(f"embedding {self._route.service}", self._settings.max_concurrency)

        async def call() -> Any:
            return await self._request(cut)

        response = await with_retries(call, limiter, self._policy, Usage())
        return self._checked(response.data, len(cut))

    async def _request(self, texts: list[str]) -> Any:
        with telemetry.operation(
            Kind.EMBEDDING, "embeddings", model=self.model, operation="embeddings", texts=len(texts)
        ) as told:
            response = await self._send(texts)
            tokens = getattr(response.usage, "prompt_tokens", 0) or 0
            price = price_of(self.model)
            told.note(prompt_tokens=tokens, cost_usd=price.cost(tokens, 0) if price else None)
            return response

    async def _send(self, texts: list[str]) -> Any:
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                return await load_litellm().aembedding(input=texts, **self._arguments)
        except TimeoutError as error:
            raise ModelUnavailableError(self.model, f"no answer within {_TIMEOUT_SECONDS:g} s") from error
        except Exception as error:
            raise translate(self.model, error, self._settings.api_key) from error

    def _probe(self) -> int:
        with ThreadPoolExecutor(1) as pool:  # the caller's thread may have an event loop already
            return pool.submit(lambda: asyncio.run(self._ask_once())).result()

    async def _ask_once(self) -> int:
        try:
            return int((await self._embed_batch([_PROBE])).shape[1])
        finally:
            await close()

    @property
    def _arguments(self) -> dict[str, Any]:
        arguments = {**self._route.arguments, "max_retries": _NONE, "timeout": _TIMEOUT_SECONDS}
        if self._settings.dimensions:  # for names it does not know, litellm would refuse or drop it
            arguments |= {"dimensions": self._settings.dimensions, "allowed_openai_params": ["dimensions"]}
        return arguments

    def _checked(self, data: Sequence[Mapping[str, Any]], expected: int) -> Vectors:
        """The vectors in the order of the texts, each of length 1."""
        if len(data) != expected:
            raise ModelOutputError(self.model, f"{len(data)} vectors for {expected} texts")
        rows = [item["embedding"] for item in sorted(data, key=lambda item: item.get("index") or 0)]
        if len(lengths := {len(row) for row in rows}) != 1:
            raise ModelOutputError(self.model, f"vectors of {len(lengths)} different lengths")
        vectors = np.asarray(rows, dtype=np.float32)
        self._check_dimensions(vectors.shape[1])
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(vectors).all() or not (norms > 0).all():
            raise ModelOutputError(self.model, "a vector is zero or not finite")
        made: Vectors = (vectors / norms).astype(np.float32)
        return made

    def _check_dimensions(self, returned: int) -> None:
        wanted = self._settings.dimensions
        if wanted and returned != wanted:
            raise ConfigurationError(
                f"EMBEDDING_DIMENSIONS={wanted}, but {self.model} returns {returned}: set it to {returned}, or leave it unset."
            )
        if returned != self._learn(returned):
            raise ModelOutputError(
                self.model, f"vectors of {returned} dimensions after some of {self._learn(returned)}"
            )

    def _learn(self, dimensions: int) -> int:
        return _known_dimensions.setdefault(self._place, dimensions)

    @property
    def _place(self) -> _Place:
        return self.model, self._settings.endpoint, self._settings.dimensions

    @property
    def _route(self) -> Route:
        if self._found is None:
            self._found = find_route(self.model, self._settings.api_key, self._settings.endpoint)
        return self._found

    def _listed(self, field: str) -> int | None:
        """What litellm's table says of the model, nothing for a model of one's own server."""
        if self._settings.endpoint:
            return None
        table = load_litellm().model_cost
        entry = table.get(self.model) or table.get(self.model.partition("/")[2]) or {}
        value = entry.get(field)
        return int(value) if value else None
