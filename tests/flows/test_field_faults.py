"""What users of such systems report, as facts about this one."""

import asyncio
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from overstory import (
    SourceDocument,
    datasets,
    forget,
    global_context_index_pipeline,
    improve,
    processes,
    recall,
    remember,
)
from overstory.errors import ConfigurationError, DatasetBusyError, EmbeddingMismatchError, ModelError, NoDataError
from overstory.ids import uuid_of
from overstory.models import TextSummary
from overstory.results import IndexStatus, SearchType
from overstory.runtime import current_runtime, open_dataset
from overstory.stores.contract import Tenant
from overstory.testing import (
    Behaviour,
    ScriptedModelServer,
    echo_schema,
    empty,
    fail,
    refuse,
    think_aloud,
    too_long,
    wrapped,
)
from overstory.tokens import estimate_tokens
from tests.flows.conftest import make_empty, notes

ROOT = Path(__file__).parents[2]
WITH_INDEX = {"include_global_context_index": True}
ODD_NAMES = ['"quoted"', "it's", "back`tick", "a\\b", "new\nline", "tab\tbed", "---", "## Facts", "🚀", "x" * 300]


def documents(count: int, first: int = 0) -> list[SourceDocument]:
    return [SourceDocument(t, source=f"{first + i}.md") for i, t in enumerate(notes(count, first))]


async def build(**options):
    return (await improve(build_global_context_index=True, **options)).index


async def the_tenant() -> Tenant:
    return (await open_dataset((await datasets.list_datasets())[0].id)).tenant


def small_window(tokens: int) -> Behaviour:
    """A provider that refuses what is longer than its model's window."""
    refused = too_long()
    return lambda request, reply: refused(request, reply) if estimate_tokens(request.prompt) > tokens else reply


async def texts() -> str:
    return "\n".join(e.text for e in await datasets.tree("main_dataset"))


# --- what models answer ---


async def test_reasoning_never_reaches_a_stored_text(model: ScriptedModelServer):
    await remember(notes(8))
    model.forget()
    model.when(think_aloud(thought='My secret plan: {"facts": [{"text": "secret plan"}]}'), schema="AreaAnswer")

    index = await build()

    assert (index.degraded, len(model.chats)) == (0, index.buckets + 1)
    assert "secret plan" not in await texts()


@pytest.mark.parametrize(
    "behaviour",
    [think_aloud(closed=False), empty(), empty("  \n "), empty(None), echo_schema()],
    ids=["unclosed", "empty", "blank", "none", "schema"],
)
async def test_an_answer_without_content_is_asked_for_again_and_never_stored(model: ScriptedModelServer, behaviour):
    await remember(notes(8))
    model.forget()
    model.when(behaviour, schema="AreaAnswer", times=1)

    index = await build()

    assert index.degraded == 0
    assert len(model.chats) == index.buckets + 2
    assert all(e.text.strip() for e in await datasets.tree("main_dataset"))
    assert "secret plan" not in await texts()


async def test_an_answer_one_level_too_deep_is_used(model: ScriptedModelServer):
    await remember(notes(8))
    model.forget()
    model.when(wrapped("GlobalContextSummaryContent"), schema="AreaAnswer")

    index = await build()

    assert (index.degraded, len(model.chats)) == (0, index.buckets + 1)


async def test_what_a_provider_refuses_is_not_asked_for_ever(model: ScriptedModelServer):
    await remember(notes(12))
    model.forget()
    model.when(refuse(), text="Note 7:", schema="AreaAnswer")

    index = await build()

    fallen = [e.degraded for e in await datasets.tree("main_dataset") if e.degraded]
    assert fallen and all("content" in reason for reason in fallen)
    assert sum((await datasets.status("main_dataset")).degraded_reasons.values()) == len(fallen)
    assert len(model.chats) == index.buckets + 1


async def test_inputs_beyond_the_window_are_condensed_and_every_child_keeps_a_share(model: ScriptedModelServer):
    await remember([SourceDocument(f"Site {i} is open.", source=f"{i}.md") for i in range(20)])
    tenant = await the_tenant()
    keys = [uuid_of(k) async for b in tenant.batches(TextSummary, ["key"]) for k in b.column("key").to_pylist()]
    long = {
        s.id: {"text": s.text + " The gate is counted once more." * 280} for s in await tenant.get(TextSummary, keys)
    }
    await tenant.patch(TextSummary, long)
    model.forget()
    model.when(small_window(8_000))

    index = await global_context_index_pipeline(bucketing_strategy="vector", max_bucket_size=20)

    assert all(estimate_tokens(change["text"]) >= 1_900 for change in long.values())
    assert (index.buckets, index.degraded, len(model.chats)) == (1, 0, 2)
    assert 4_000 <= max(estimate_tokens(chat.prompt) for chat in model.chats) <= 8_000
    (bucket,) = [entry for entry in await datasets.tree("main_dataset") if not entry.is_root]
    assert {key for fact in bucket.facts for key in fact.summary_ids} == set(keys)


async def test_a_request_that_is_too_long_after_all_stops_nothing(model: ScriptedModelServer):
    await remember(notes(8))
    model.forget()
    model.when(too_long(), schema="AreaAnswer", text="Note 3:", times=3)

    index = await build()

    (fallen,) = [e for e in await datasets.tree("main_dataset") if e.degraded]
    assert (index.status, index.degraded) == (IndexStatus.PUBLISHED, 1)
    assert "maximum context length" in fallen.degraded
    assert fallen.facts
    assert len(model.chats) == index.buckets + 3


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("LLM_CONTEXT_TOKENS", "1"),
        ("LLM_CONTEXT_TOKENS", "0"),
        ("LLM_OUTPUT_TOKENS", "1"),
        ("OVERSTORY_BUCKET_TOKENS", "1"),
    ],
)
async def test_a_budget_too_small_is_refused_before_anything_runs(monkeypatch, variable: str, value: str):
    monkeypatch.setenv(variable, value)

    with pytest.raises(ConfigurationError, match=variable):
        await remember("Anna Hofer leads Northstar.")


# --- trees ---


@pytest.mark.parametrize("count", [0, 1, 2, 3, 19, 20, 21])
async def test_vector_buckets_of_few_summaries_make_a_whole_tree(count: int):
    await (remember(notes(count)) if count else make_empty("main_dataset"))

    index = await global_context_index_pipeline()

    assert index.status is (IndexStatus.PUBLISHED if count else IndexStatus.EMPTY)
    assert index.buckets == (0 if not count else 1 if count <= 20 else 2)
    assert await datasets.verify("main_dataset") == []


async def test_the_same_input_gives_the_same_tree_every_time():
    trees = set()
    for i in range(6):
        await remember(["Anna Hofer leads Northstar.", "Anna Hofer leads Northstar!"], f"d{i}")
        await improve(f"d{i}", build_global_context_index=True)
        trees.add("\n".join(e.text for e in await datasets.tree(f"d{i}")))

    assert len(trees) == 1


async def test_a_new_prompt_makes_every_text_anew(model: ScriptedModelServer, monkeypatch: pytest.MonkeyPatch):
    await remember(notes(12))
    await build()
    runtime = await current_runtime()
    monkeypatch.setattr(type(runtime.writer), "prompt_version", property(lambda self: "another"))

    index = await global_context_index_pipeline(
        rebuild=True, reuse_unchanged=True, bucketing_strategy="graph", max_bucket_size=4
    )

    assert index.model_calls == index.buckets + 1


async def test_no_reference_is_lost_while_a_dataset_grows():
    for step in range(4):
        await remember(documents(10, first=10 * step), self_improvement=False)
        await build()

        entries = await datasets.tree("main_dataset")
        named = [c for e in entries for c in e.child_ids]
        assert await datasets.verify("main_dataset") == []
        assert len(named) == len(set(named)) == (len(entries) - 1) + 10 * (step + 1)


async def test_spellings_of_one_name_come_together():
    same = ["ACME Corp opened a mill in Ghent.", "Acme corp. closed a mill in Turin.", "ACME  Corp sold boats."]
    await remember([*same, "Luis Ortega repairs clocks in Porto.", "Mira Sand paints bridges in Bergen."])
    await remember(["Tom Weller grows pears.", "Ines Prado writes songs."])
    await build()

    entities = (await datasets.status("main_dataset")).entities
    nodes, _ = await datasets.graph_data("main_dataset")
    names = [p["name"] for _, p in nodes if p["type"] == "Entity" and p["name"].casefold().startswith("acme")]
    areas = [e.text for e in await datasets.tree("main_dataset") if e.level == 0 and not e.is_root]
    (together,) = [text for text in areas if "ACME Corp opened" in text]
    assert entities and len(names) == 1
    assert "Acme corp. closed" in together and "Corp sold boats" in together


async def test_odd_names_travel_through_index_recall_export_and_forgetting(tmp_path: Path):
    name = 'odd "dataset"\'s `name` \\## Facts: x World summary:'
    await remember([SourceDocument(f"Anna Hofer wrote number {i}.", source=n) for i, n in enumerate(ODD_NAMES)], name)
    await improve(name, build_global_context_index=True)
    found_by_word = [await recall(f"wrote {odd}", "CHUNKS_LEXICAL", datasets=name) for odd in ODD_NAMES]

    found = await recall(
        "What did Anna Hofer write?",
        "GRAPH_COMPLETION",
        datasets=name,
        only_context=True,
        retriever_specific_config=WITH_INDEX,
    )
    await datasets.export(name, tmp_path / "out")
    forgotten = await forget(name, document=ODD_NAMES)
    left = (await datasets.status(name)).documents
    await forget(name)
    await datasets.import_archive(tmp_path / "out")

    assert all(found_by_word)
    assert (forgotten.documents, left) == (len(ODD_NAMES), 0)
    assert {d.source for d in await datasets.documents(name)} == set(ODD_NAMES)
    assert found[0].text.count("World summary:") == 1
    assert sum(line.startswith("## ") for line in found[0].text.splitlines()) == 0
    assert (await datasets.status(name)).documents == len(ODD_NAMES)


@pytest.mark.parametrize(
    "texts_of_a_language",
    [
        ["王伟在北京领导北星项目。", "李娜在上海测试电池。", "王伟把北星项目的发布推迟到六月九日。"],
        ["Anna Hofer leitet das Projekt Nordstern.", "Luis Ortega prüft die Batterie.", "Der Start ist am 9. Juni."],
        ["王伟在北京领导北星项目。", "Anna Hofer leitet das Projekt Nordstern.", "Luis Ortega tests the battery."],
    ],
    ids=["chinese", "german", "mixed"],
)
async def test_facts_stay_in_the_language_of_their_source(texts_of_a_language: list[str]):
    await remember(texts_of_a_language)
    await build()

    entries = await datasets.tree("main_dataset")

    assert entries[0].text.startswith("This dataset is about:")
    assert all(entry.facts for entry in entries)
    assert {fact.text for entry in entries for fact in entry.facts} <= set(texts_of_a_language)


# --- life ---


SLOW_BUILD = """
import asyncio, overstory
asyncio.run(overstory.improve(build_global_context_index=True))
"""


@pytest.mark.parametrize("tells", [True, False], ids=["at once", "after its lease"])
async def test_a_killed_build_is_taken_over(model: ScriptedModelServer, monkeypatch: pytest.MonkeyPatch, tells: bool):
    from overstory.testing import slow

    monkeypatch.setenv("OVERSTORY_LEASE_SECONDS", "3600")
    if not tells:
        monkeypatch.setattr(processes, "has_ended", lambda text: False)
    elif not processes.mark():
        pytest.skip("this system does not tell processes apart")
    await remember(notes(24))
    model.forget()
    model.when(slow(0.5), schema="AreaAnswer")
    process = subprocess.Popen([sys.executable, "-c", SLOW_BUILD], cwd=ROOT, env=dict(os.environ))
    while len(model.chats) < 3:
        await asyncio.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    model.behave()

    shown = await datasets.status("main_dataset")
    if not tells:
        with pytest.raises(DatasetBusyError, match=f"process {process.pid} .* busy until"):
            await build()
        later = datetime.now(UTC) + timedelta(seconds=3601)
        monkeypatch.setattr((await current_runtime()).store, "_clock", lambda: later)
    index = await build()

    assert (shown.unpublished, shown.generation, bool(shown.held_by)) == (1, 0, not tells)
    assert index.status is IndexStatus.PUBLISHED
    assert (await datasets.status("main_dataset")).unpublished == 0


async def test_another_embedding_size_is_refused_at_every_door(monkeypatch: pytest.MonkeyPatch):
    await remember(notes(3))
    monkeypatch.setenv("EMBEDDING_DIMENSIONS", "768")

    for call in (recall("Northstar?", datasets="main_dataset"), improve(), remember("More.")):
        with pytest.raises(EmbeddingMismatchError, match=r"384 dimensions.*768"):
            await call


# --- recall ---


@pytest.mark.parametrize("query_type", list(SearchType))
async def test_a_dataset_without_an_index_shows_no_foreign_root(query_type: SearchType):
    await remember([*notes(6), "The zorblaxite is kept in Ghent."], "with")
    await improve("with", build_global_context_index=True)
    await remember([*notes(6), "The quimberly is kept in Ghent."], "without")

    found = await recall(
        "What is kept in Ghent?",
        query_type,
        datasets="without",
        only_context=True,
        retriever_specific_config=WITH_INDEX,
    )

    assert "zorblaxite" not in str(found)
    assert "World summary" not in str(found)


async def test_a_service_that_is_down_is_no_empty_answer(model: ScriptedModelServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("EMBEDDING_MODEL", "openai/scripted")
    monkeypatch.setenv("EMBEDDING_ENDPOINT", model.url)
    monkeypatch.setenv("EMBEDDING_API_KEY", "test")
    await remember(notes(3))
    model.when(fail(500), kind="embedding")

    with pytest.raises(ModelError):
        await recall("Northstar?", datasets="main_dataset", only_context=True)


async def test_nothing_stored_is_an_error_and_nothing_found_an_empty_list(model: ScriptedModelServer):
    await make_empty("empty")
    await remember(notes(3))
    model.forget()

    with pytest.raises(NoDataError):
        await recall("Northstar?", datasets="empty")
    found = await recall("qwxyz vbnml ghjkt", "CHUNKS_LEXICAL", datasets="main_dataset")

    assert found == []
    assert model.chats == []


async def test_every_fact_of_root_and_areas_names_its_document():
    planted = [SourceDocument(f"{t} The code of site {i} is K{i}x.", source=f"{i}.md") for i, t in enumerate(notes(30))]
    await remember(planted)
    await build()

    for entry in await datasets.tree("main_dataset"):
        for fact, sources in zip(entry.facts, await datasets.sources_of("main_dataset", entry.facts), strict=True):
            assert sources
            for i in range(30):
                if f"K{i}x" in fact.text:
                    assert f"{i}.md" in sources


async def test_what_stands_in_a_store_is_of_the_dataset_alone():
    await remember(notes(3), "one")
    await remember(notes(3, first=3), "two")

    ids = {d.name: d.id for d in await datasets.list_datasets()}
    one = await open_dataset(ids["one"])

    from overstory.models import Document

    assert await one.tenant.count(Document) == 3
