"""Building the index: planned, paid for once, verified, published."""

import pytest

from overstory import (
    SourceDocument,
    datasets,
    forget,
    global_context_index_pipeline,
    improve,
    rebuild,
    recall,
    remember,
)
from overstory.errors import DatasetNotFoundError, IndexMismatchError, InvalidOptionError, ModelError
from overstory.results import IndexStatus
from overstory.testing import ScriptedModelServer, chatter, cut_off, fail, fenced, in_prose, refuse, say, trailing_comma
from tests.flows.conftest import make_empty, notes

BAD_OPTIONS = [
    {"max_bucket_size": 1},
    {"max_bucket_size": True},
    {"max_bucket_size": 2.0},
    {"placement_distance_threshold": -0.1},
    {"placement_distance_threshold": float("nan")},
    {"min_overlap": 1.1},
    {"min_overlap": float("inf")},
    {"bucketing_strategy": "random"},
]


def documents(count: int, first: int = 0) -> list[SourceDocument]:
    return [SourceDocument(t, source=f"{first + i}.md") for i, t in enumerate(notes(count, first))]


async def build(**options):
    return (await improve(build_global_context_index=True, **options)).index


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 9])
async def test_few_summaries_make_a_whole_tree(count: int):
    await (remember(notes(count)) if count else make_empty("main_dataset"))

    index = await build()

    levels = (await datasets.status("main_dataset")).level_sizes
    assert index.status is (IndexStatus.PUBLISHED if count else IndexStatus.EMPTY)
    assert levels == {0: (), 1: (1,), 2: (1,), 3: (1,), 4: (1,), 5: (2,), 9: (3,)}[count]
    assert await datasets.verify("main_dataset") == []


@pytest.mark.parametrize("strategy", ["graph", "vector"])
@pytest.mark.parametrize("count", [0, 1, 2, 4, 5])
async def test_few_summaries_cost_a_call_a_text_and_none_costs_nothing(
    model: ScriptedModelServer, count: int, strategy: str
):
    await (remember(notes(count)) if count else make_empty("main_dataset"))
    model.forget()

    index = await global_context_index_pipeline(bucketing_strategy=strategy, max_bucket_size=4)

    buckets = {0: 0, 1: 1, 2: 1, 4: 1, 5: 2}[count]
    assert index.buckets == buckets
    assert len(model.chats) == index.model_calls == (buckets + 1 if count else 0)
    assert model.embeddings == []


@pytest.mark.parametrize("left", [5, 4, 1, 0])
async def test_a_dataset_that_becomes_small_has_a_whole_tree(left: int):
    await remember(documents(21))
    await build()

    await forget("main_dataset", document=[f"{i}.md" for i in range(left, 21)])
    index = await build()

    sizes = (await datasets.status("main_dataset")).level_sizes
    assert sizes == {5: (2,), 4: (1,), 1: (1,), 0: ()}[left]
    assert index.buckets == sum(sizes)
    assert await datasets.verify("main_dataset") == []


async def test_one_call_a_bucket_and_one_for_the_root(model: ScriptedModelServer):
    await remember(notes(30))
    model.forget()

    index = await build()

    assert index.status is IndexStatus.PUBLISHED
    assert index.model_calls == index.written == index.buckets + 1 == len(model.chats)
    assert await datasets.verify("main_dataset") == []


async def test_nothing_new_costs_nothing_and_a_rebuild_pays_for_everything(model: ScriptedModelServer):
    await remember(notes(20))
    first = await build()
    model.forget()

    unchanged = await build()
    reused = await rebuild(reuse_unchanged=True)
    calls_so_far = len(model.chats)
    whole = await rebuild()

    assert (unchanged.status, unchanged.generation) == (IndexStatus.UNCHANGED, first.generation)
    assert (reused.model_calls, calls_so_far) == (0, 0)
    assert whole.model_calls == whole.buckets + 1
    assert whole.generation > reused.generation > first.generation


@pytest.mark.parametrize("options", BAD_OPTIONS, ids=str)
async def test_options_are_checked_before_anything_is_read(options: dict[str, object]):
    with pytest.raises(InvalidOptionError, match=next(iter(options))):
        await global_context_index_pipeline(dataset="never made", **options)


async def test_an_index_is_not_extended_with_other_options():
    await remember(notes(8))
    await build()

    with pytest.raises(IndexMismatchError, match="rebuild=True"):
        await global_context_index_pipeline(bucketing_strategy="vector", max_bucket_size=4)

    assert (await build()).status is IndexStatus.UNCHANGED


async def test_the_everyday_call_extends_an_index_of_any_options():
    await remember(notes(8))
    await global_context_index_pipeline(bucketing_strategy="vector", max_bucket_size=5)
    await remember(notes(3, first=8), self_improvement=False)

    index = await build()

    status = await datasets.status("main_dataset")
    assert index.status is IndexStatus.PUBLISHED
    assert (status.bucketing_strategy, status.max_bucket_size, status.pending) == ("vector", 5, 0)


async def test_a_misspelt_dataset_is_not_made():
    await remember(notes(2), "meetings")

    with pytest.raises(DatasetNotFoundError, match="'meetings'"):
        await improve("meetngs", build_global_context_index=True)

    assert [d.name for d in await datasets.list_datasets()] == ["meetings"]


async def test_identical_texts_end_in_a_tree_soon():
    same = [SourceDocument("Same text about Anna Hofer and Northstar.", source=f"{i}.md") for i in range(10)]
    await remember(same)

    index = await build()

    assert index.status is IndexStatus.PUBLISHED
    assert await datasets.verify("main_dataset") == []


async def test_unrelated_texts_make_no_singletons():
    await remember([f"Qz{i}ab wx{i}cd yv{i}ef gh{i}ij." for i in range(40)])

    await global_context_index_pipeline(bucketing_strategy="vector", max_bucket_size=4)

    status = await datasets.status("main_dataset")
    assert status.level_sizes == (10, 3)


# --- what models do ---


@pytest.mark.parametrize("behaviour", [fenced(), in_prose(), trailing_comma()], ids=["fenced", "prose", "comma"])
async def test_usable_answers_are_taken_at_the_first_try(model: ScriptedModelServer, behaviour):
    await remember(notes(8))
    model.forget()
    model.when(behaviour, schema="AreaAnswer")

    index = await build()

    assert index.degraded == 0
    assert len(model.chats) == index.buckets + 1


@pytest.mark.parametrize(
    "behaviour", [cut_off(), say("Just some words."), chatter(), refuse()], ids=["cut", "plain", "chat", "refused"]
)
async def test_an_unusable_answer_is_replaced_and_marked(model: ScriptedModelServer, behaviour):
    await remember(notes(12))
    model.when(behaviour, text="Note 7:", schema="AreaAnswer")

    index = await build()

    entries = await datasets.tree("main_dataset")
    fallen = [e for e in entries if e.degraded]
    assert index.status is IndexStatus.PUBLISHED
    assert 1 <= index.degraded == len(fallen)
    assert all(e.text.count("Facts:") == 1 for e in entries)
    assert "I will now" not in "".join(e.text for e in entries)


async def test_one_bucket_that_always_fails_stops_nothing(model: ScriptedModelServer):
    await remember(notes(48))
    model.when(fail(500), text="Note 7:", schema="AreaAnswer")

    index = await build()

    assert index.status is IndexStatus.PUBLISHED
    assert index.degraded >= 1
    assert await datasets.verify("main_dataset") == []


async def test_degraded_texts_are_tried_again(model: ScriptedModelServer):
    await remember(notes(12))
    model.when(say("Just some words."), text="Note 7:", schema="AreaAnswer")
    await build()
    model.behave()
    model.forget()

    index = await build()

    assert index.degraded == 0
    assert 1 <= index.model_calls < index.buckets + 1


async def test_texts_that_stay_degraded_publish_nothing_new(model: ScriptedModelServer):
    await remember(notes(24))
    first = await build()
    model.when(say("Just some words."), text="Note 7:", schema="AreaAnswer")
    model.when(refuse(), text="Note 19:", schema="AreaAnswer")
    await global_context_index_pipeline(rebuild=True, bucketing_strategy="graph", max_bucket_size=4)
    served, before = await datasets.tree("main_dataset"), await datasets.status("main_dataset")
    model.forget()

    again = [await build() for _ in range(3)]

    status = await datasets.status("main_dataset")
    assert {index.status for index in again} == {IndexStatus.UNCHANGED}
    assert all("still written by rules" in index.reason for index in again)
    assert all(index.degraded == before.degraded >= 2 and index.written == 0 for index in again)
    assert 3 * before.degraded <= len(model.chats) <= 3 * 3 * before.degraded
    assert await datasets.tree("main_dataset") == served
    assert status.generations == before.generations == (first.generation, before.generation)
    assert status.unpublished == 0


async def test_one_text_that_came_out_better_is_published_beside_one_that_did_not(model: ScriptedModelServer):
    await remember(notes(24))
    model.when(say("Just some words."), text="Note 7:", schema="AreaAnswer")
    model.when(say("Just some words."), text="Note 10:", schema="AreaAnswer")
    first = await build()
    model.behave()
    model.when(say("Just some words."), text="Note 10:", schema="AreaAnswer")

    better, same = await build(), await build()

    assert better.status is IndexStatus.PUBLISHED
    assert 1 <= better.degraded < first.degraded
    assert (same.status, same.generation, same.degraded) == (
        IndexStatus.UNCHANGED,
        better.generation,
        better.degraded,
    )


async def test_a_retry_that_was_stopped_is_not_taken_for_the_last_word(model: ScriptedModelServer):
    await remember(notes(24))
    model.when(say("Just some words."), text="Note 7:", schema="AreaAnswer")
    model.when(say("Just some words."), text="Note 10:", schema="AreaAnswer")
    await build()

    stopped = (await improve(build_global_context_index=True, max_calls=1)).index
    same = await build()
    model.behave()
    better = await build()

    assert (stopped.status, same.status) == (IndexStatus.STOPPED, IndexStatus.UNCHANGED)
    assert (better.status, better.degraded) == (IndexStatus.PUBLISHED, 0)


async def test_what_changes_and_changes_back_publishes_nothing(model: ScriptedModelServer):
    await remember(documents(12))
    first = await build()
    changed = SourceDocument("Luis Ortega cancelled all of it.", source="5.md")
    await remember(changed, self_improvement=False)
    await remember(documents(1, first=5), self_improvement=False)
    model.forget()

    index = await build()

    assert (index.status, index.generation) == (IndexStatus.UNCHANGED, first.generation)
    assert model.chats == []
    assert (await datasets.status("main_dataset")).pending == 0


async def test_a_model_that_is_down_leaves_no_half_index(model: ScriptedModelServer):
    await remember(notes(12))
    model.when(fail(500))

    failed = await improve(build_global_context_index=True)

    config = {"include_global_context_index": True}
    answers = await recall(
        "What about Northstar?", "GRAPH_COMPLETION", only_context=True, retriever_specific_config=config
    )
    assert failed.index.status is IndexStatus.FAILED
    assert "openai/scripted" in failed.index.reason and failed.warnings
    assert failed.index.generation == 0
    assert "World summary" not in answers[0].text


async def test_a_model_that_is_down_leaves_the_old_index_served(model: ScriptedModelServer):
    await remember(notes(12))
    first = await build()
    await remember(notes(4, first=12), self_improvement=False)
    model.when(fail(500))

    failed = await improve(build_global_context_index=True)

    assert failed.index.status is IndexStatus.FAILED
    assert failed.index.generation == first.generation
    assert await datasets.root_summary((await datasets.list_datasets())[0].id)


async def test_what_a_build_took_before_the_model_went_down_is_counted(model: ScriptedModelServer):
    await remember(notes(12))
    model.forget()
    model.when(fail(401), text="Entry: the whole dataset.")

    failed = await improve(build_global_context_index=True)

    assert failed.index.status is IndexStatus.FAILED
    assert failed.model_calls == failed.index.model_calls == failed.index.usage.calls == len(model.chats) == 4
    assert failed.usage.prompt_tokens == failed.index.usage.prompt_tokens > 0


async def test_the_pipeline_raises_what_improve_reports(model: ScriptedModelServer):
    await remember(notes(12))
    model.when(fail(500))

    with pytest.raises(ModelError):
        await global_context_index_pipeline()


async def test_a_wrong_key_ends_at_once(model: ScriptedModelServer):
    await remember(notes(12))
    model.forget()
    model.when(fail(401))

    failed = await improve(build_global_context_index=True)

    assert failed.index.status is IndexStatus.FAILED
    assert "LLM_API_KEY" in failed.index.reason
    assert len(model.chats) <= 16


async def test_a_stopped_build_goes_on_where_it_was(model: ScriptedModelServer):
    await remember(notes(40))
    model.forget()

    stopped = await build(max_calls=5)
    finished = await build()

    assert stopped.status is IndexStatus.STOPPED
    assert (stopped.model_calls, stopped.generation) == (5, 0)
    assert finished.status is IndexStatus.PUBLISHED
    assert finished.reused == 5
    assert len(model.chats) == finished.buckets + 1
