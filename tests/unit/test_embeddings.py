"""Vectors of a service: in order, of length 1, and never of another size than was said."""

import asyncio
import math

import numpy as np
import pytest

from overstory import llm
from overstory.embeddings import LiteLLMEmbedder
from overstory.errors import (
    ConfigurationError,
    ModelAccessError,
    ModelInputError,
    ModelOutputError,
    ModelUnavailableError,
)
from overstory.model_limits import RetryPolicy
from overstory.settings import EmbeddingSettings
from overstory.testing import ScriptedModelServer, fail, slow, wrong_vectors
from overstory.testing.replies import embedding

QUICK = RetryPolicy(attempts=2, first_delay_seconds=0.001)


@pytest.fixture
def server():
    with ScriptedModelServer(dimensions=32) as running:
        yield running


@pytest.fixture(autouse=True)
async def closed():
    yield
    await llm.close()


def embedder(server, **settings):
    return LiteLLMEmbedder(EmbeddingSettings(model="openai/scripted", endpoint=server.url, **settings), policy=QUICK)


async def test_vectors_come_in_the_order_of_the_texts_and_have_length_one(server):
    texts = [f"text number {n}" for n in range(7)]

    vectors = await embedder(server, batch_size=3).embed(texts)

    expected = np.array([embedding(text, 32) for text in texts], dtype=np.float32)
    assert vectors.dtype == np.float32
    assert np.allclose(vectors, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert sorted(len(request.body["input"]) for request in server.embeddings) == [1, 3, 3]


async def test_no_more_requests_run_than_allowed(server):
    server.when(slow(0.02), kind="embedding")

    await embedder(server, batch_size=1, max_concurrency=2).embed(["a b"] * 8)

    assert server.max_in_flight == 2


async def test_dimensions_that_are_set_are_asked_for(server):
    made = embedder(server, dimensions=48)

    vectors = await made.embed(["a text"])

    assert (made.dimensions, vectors.shape) == (48, (1, 48))
    assert server.embeddings[0].body["dimensions"] == 48


async def test_unknown_dimensions_are_learned_from_the_vectors_themselves(server):
    made = embedder(server)

    vectors = await made.embed(["a text"])

    assert made.dimensions == vectors.shape[1] == 32
    assert len(server.embeddings) == 1
    assert "dimensions" not in server.embeddings[0].body


def test_unknown_dimensions_are_asked_for_once(server):
    first, second = embedder(server), embedder(server)

    assert first.dimensions == 32
    assert second.dimensions == 32
    assert len(server.embeddings) == 1


@pytest.mark.parametrize("status", [429, 503])
def test_the_request_that_learns_the_dimensions_is_tried_again_too(server, status):
    server.when(fail(status), kind="embedding", times=1)

    assert embedder(server).dimensions == 32
    assert len(server.embeddings) == 2


def test_dimensions_are_known_without_an_event_loop(server):
    assert embedder(server).dimensions == 32


def test_dimensions_of_a_listed_model_need_no_service():
    assert LiteLLMEmbedder(EmbeddingSettings(model="text-embedding-3-small")).dimensions == 1536


async def test_no_texts_are_no_request(server):
    made = embedder(server, dimensions=32)

    assert (await made.embed([])).shape == (0, 32)
    assert server.embeddings == []


async def test_long_texts_are_cut_to_the_models_limit(server):
    await embedder(server).embed(["word " * 50_000])

    assert len(server.embeddings[0].prompt) < 40_000


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (wrong_vectors(count=1), "1 vectors for 3 texts"),
        (wrong_vectors(value=math.nan), "not finite"),
        (wrong_vectors(value=math.inf), "not finite"),
    ],
)
async def test_vectors_that_can_not_be_right_are_refused(server, behaviour, reason):
    server.when(behaviour, kind="embedding")

    with pytest.raises(ModelOutputError, match=reason):
        await embedder(server).embed(["a", "b", "c"])


async def test_vectors_that_change_their_size_are_refused(server):
    made = embedder(server)
    await made.embed(["a text"])
    server.when(wrong_vectors(dimensions=16), kind="embedding")

    with pytest.raises(ModelOutputError, match="16 dimensions after some of 32"):
        await made.embed(["a text"])


async def test_a_service_that_ignores_the_dimensions_is_told_with_both(server):
    server.when(wrong_vectors(dimensions=16), kind="embedding")

    with pytest.raises(ConfigurationError, match=r"EMBEDDING_DIMENSIONS=48.* 16"):
        await embedder(server, dimensions=48).embed(["a text"])


async def test_a_service_that_fails_is_asked_again_by_one_layer_only(server):
    server.when(fail(503), kind="embedding", times=1)
    made = embedder(server)

    assert (await made.embed(["a text"])).shape == (1, 32)
    assert len(server.embeddings) == 2


async def test_a_service_that_keeps_failing_is_asked_so_often_and_no_more(server):
    server.when(fail(503), kind="embedding")

    with pytest.raises(ModelUnavailableError):
        await embedder(server).embed(["a text"])

    assert len(server.embeddings) == QUICK.attempts


@pytest.mark.parametrize(
    ("status", "error"), [(500, ModelUnavailableError), (401, ModelAccessError), (400, ModelInputError)]
)
async def test_errors_are_ours(server, status, error):
    server.when(fail(status), kind="embedding")

    with pytest.raises(error):
        await embedder(server).embed(["a text"])
    with pytest.raises(error):
        _ = embedder(server).dimensions


async def test_a_refused_key_is_not_repeated(server):
    server.when(fail(401, message="Incorrect API key provided: sk-secret123."), kind="embedding")

    with pytest.raises(ModelAccessError, match=r"provided: \*\*\*\.") as caught:
        await embedder(server, api_key="sk-secret123").embed(["a text"])

    assert "secret123" not in str(caught.value)


async def test_one_failed_batch_fails_the_call_and_leaves_nothing_running(server):
    server.when(fail(400), kind="embedding", text="bad")
    server.when(slow(0.1), kind="embedding", text="fine")
    made = embedder(server, batch_size=1)

    with pytest.raises(ModelInputError):
        await made.embed(["good", "bad", "fine"])

    left = [task for task in asyncio.all_tasks() if getattr(task.get_coro(), "__name__", "") == "_embed_batch"]
    assert left == []
    assert len(server.embeddings) == 3
