"""What a build will cost, and where it stops."""

import json

import pytest

from overstory import datasets, global_context_index_pipeline, improve, remember
from overstory.errors import ConfigurationError, ModelError
from overstory.results import IndexStatus
from overstory.testing import ScriptedModelServer, fail, say
from tests.flows.conftest import notes


@pytest.fixture
def priced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_INPUT_USD_PER_MILLION", "1")
    monkeypatch.setenv("LLM_OUTPUT_USD_PER_MILLION", "4")


async def preview():
    found = (await improve(preview=True)).preview
    assert found is not None
    return found


async def test_the_preview_is_what_the_build_then_does(model: ScriptedModelServer, priced: None):
    await remember(notes(50))
    model.forget()

    expected = await preview()
    nothing_asked = len(model.chats)
    index = (await improve(build_global_context_index=True)).index

    assert nothing_asked == 0
    assert expected.calls == index.model_calls == sum(level.calls for level in expected.levels)
    assert index.usage.prompt_tokens <= expected.prompt_tokens
    assert index.usage.completion_tokens <= expected.completion_tokens
    assert 0 < index.usage.cost_usd <= expected.cost_usd


async def test_the_preview_of_an_increment_counts_only_what_it_touches(model: ScriptedModelServer):
    await remember(notes(40))
    await improve(build_global_context_index=True)
    await remember(notes(3, first=40), self_improvement=False)

    expected = await preview()
    index = (await improve(build_global_context_index=True)).index

    assert expected.calls == index.model_calls < expected.buckets
    assert (await preview()).calls == 0


async def test_the_preview_counts_what_an_interrupted_build_left(model: ScriptedModelServer):
    await remember(notes(40))
    whole = await preview()
    await improve(build_global_context_index=True, max_calls=4)

    rest = await preview()

    assert rest.calls == whole.calls - 4


async def test_without_a_price_the_cost_is_unknown_and_a_cap_in_money_refused(model: ScriptedModelServer):
    await remember(notes(4))

    assert (await preview()).cost_usd is None
    with pytest.raises(ConfigurationError, match="LLM_INPUT_USD_PER_MILLION"):
        await improve(build_global_context_index=True, max_cost_usd=1)


async def test_a_cap_in_money_is_never_passed(model: ScriptedModelServer, priced: None):
    await remember(notes(60))

    stopped = (await improve(build_global_context_index=True, max_cost_usd=0.0435)).index

    assert stopped.status is IndexStatus.STOPPED
    assert 0.001 < stopped.usage.cost_usd <= 0.0435
    assert (await datasets.status("main_dataset")).generation == 0


async def test_without_a_model_it_costs_nothing():
    await remember(notes(10))

    found = await preview()

    assert (found.prompt_tokens, found.cost_usd) == (0, 0.0)


async def test_a_model_that_always_chats_costs_at_most_attempts_times_texts(model: ScriptedModelServer):
    await remember(notes(16))
    model.forget()
    model.when(say("Let me think about this."), schema="AreaAnswer")

    index = (await improve(build_global_context_index=True)).index

    assert index.degraded == index.buckets + 1
    assert len(model.chats) <= 3 * (index.buckets + 1)


async def test_a_model_that_always_fails_is_asked_a_bounded_number_of_times(model: ScriptedModelServer):
    await remember(notes(16))
    model.forget()
    model.when(fail(500))

    await improve(build_global_context_index=True)

    assert len(model.chats) <= 2 * 5


async def test_a_rebuild_can_be_stopped_too(model: ScriptedModelServer):
    await remember(notes(20))
    first = (await improve(build_global_context_index=True)).index
    options = {"rebuild": True, "bucketing_strategy": "graph", "max_bucket_size": 4}

    stopped = await global_context_index_pipeline(max_calls=2, **options)
    finished = await global_context_index_pipeline(**options)

    assert (stopped.status, stopped.generation) == (IndexStatus.STOPPED, first.generation)
    assert (finished.reused, finished.written) == (2, finished.buckets - 1)


async def test_a_cap_holds_for_chunks_that_an_earlier_run_left(model: ScriptedModelServer):
    model.when(fail(500))
    with pytest.raises(ModelError):
        await remember(notes(20))
    model.behave()
    model.forget()

    stopped = (await improve(build_global_context_index=True, max_calls=6)).index
    calls = len(model.chats)
    finished = (await improve(build_global_context_index=True)).index

    assert (stopped.status, calls) == (IndexStatus.STOPPED, 6)
    assert finished.status is IndexStatus.PUBLISHED
    assert len(model.chats) == 20 + finished.buckets + 1


@pytest.fixture
def two_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the second one litellm's table has the price."""
    monkeypatch.setenv("LLM_SUMMARIZATION_MODEL", "openai/gpt-4o")


async def leave_chunks(model: ScriptedModelServer, count: int) -> None:
    model.when(fail(500))
    with pytest.raises(ModelError):
        await remember(notes(count))
    model.behave()
    model.forget()


async def test_a_cap_counts_both_calls_for_a_chunk(model: ScriptedModelServer, two_models: None):
    await leave_chunks(model, 8)

    stopped = await improve(max_calls=5)

    assert len(model.chats) == stopped.model_calls == 4
    assert stopped.completed_chunks == 2


async def test_a_cap_in_money_holds_for_both_models_of_a_chunk(
    model: ScriptedModelServer, two_models: None, monkeypatch: pytest.MonkeyPatch
):
    for name in ("LLM_INPUT_USD_PER_MILLION", "LLM_OUTPUT_USD_PER_MILLION"):
        monkeypatch.setenv(name, "0")
    await leave_chunks(model, 8)
    monkeypatch.setenv("LLM_SUMMARIZATION_MODEL", "openai/nobody-knows-its-price")
    with pytest.raises(ConfigurationError, match="nobody-knows-its-price"):
        await improve(max_cost_usd=0.11)
    monkeypatch.setenv("LLM_SUMMARIZATION_MODEL", "openai/gpt-4o")

    stopped = await improve(max_cost_usd=0.11)

    assert 0 < stopped.completed_chunks < 8
    assert 0 < stopped.usage.cost_usd <= 0.11


@pytest.mark.parametrize("index", [False, True])
async def test_what_a_cap_let_be_read_is_counted(model: ScriptedModelServer, priced: None, monkeypatch, index: bool):
    monkeypatch.setenv("OVERSTORY_BATCH_SIZE", "4")
    model.when(fail(500))
    with pytest.raises(ModelError):
        await remember(notes(20))
    model.behave()

    stopped = await improve(build_global_context_index=index, max_calls=6)
    status = await datasets.status("main_dataset")
    finished = await improve()

    assert (stopped.model_calls, stopped.usage.calls, stopped.completed_chunks) == (6, 6, 6)
    assert stopped.usage.cost_usd > 0
    assert len(stopped.warnings) == 1 and "Chunks are left to be read" in stopped.warnings[0]
    assert (stopped.index.status if stopped.index else None) == (IndexStatus.STOPPED if index else None)
    assert (status.incomplete, finished.completed_chunks, finished.warnings) == (20, 14, ())


async def test_a_cap_of_one_call_comes_to_an_end_though_every_text_is_a_fallback(model: ScriptedModelServer):
    await remember(notes(12))
    model.forget()
    model.when(say("Just some words."), schema="AreaAnswer")

    runs = [(await improve(build_global_context_index=True, max_calls=1)).index for _ in range(4)]

    assert [run.status for run in runs] == [IndexStatus.STOPPED] * 3 + [IndexStatus.PUBLISHED]
    assert runs[-1].degraded == runs[-1].buckets + 1 == 4


async def test_a_model_that_repeats_digits_without_end_costs_its_tries_and_not_the_build(model: ScriptedModelServer):
    await remember(notes(8))
    endless = {"text": f"It cost {'9' * 5_000} million euros.", "inputs": [1]}
    answer = {"categories": [{"name": "Money", "topics": ["cost"]}], "facts": [endless]}
    model.when(say(json.dumps(answer)), schema="AreaAnswer")

    index = (await improve(build_global_context_index=True)).index

    assert (index.status, index.degraded) == (IndexStatus.PUBLISHED, index.buckets + 1)
