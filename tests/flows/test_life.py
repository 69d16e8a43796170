"""An index that changes: growth, edits, forgetting, rebuild, rollback, two writers."""

import asyncio
import json
import os
import random
from pathlib import Path

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
from overstory.demo import read_notes
from overstory.errors import (
    DatasetBusyError,
    DatasetNotFoundError,
    DocumentNotFoundError,
    GenerationNotFoundError,
    InvalidOptionError,
)
from overstory.indexing.tree.bucketing import TreeOptions
from overstory.results import IndexStatus
from overstory.runtime import open_dataset
from overstory.testing import ScriptedModelServer, say
from tests.flows.conftest import notes

CANARY = "zorblaxite"
WITH_INDEX = {"include_global_context_index": True, "global_context_index_top_k": 10}


def documents(count: int, first: int = 0) -> list[SourceDocument]:
    return [SourceDocument(t, source=f"{first + i}.md") for i, t in enumerate(notes(count, first))]


async def build():
    return (await improve(build_global_context_index=True)).index


async def prelude(question: str = "What is going on?") -> str:
    found = await recall(question, "GRAPH_COMPLETION", only_context=True, retriever_specific_config=WITH_INDEX)
    return found[0].text if found else ""


async def index_texts() -> str:
    return "\n".join(e.text for e in await datasets.tree("main_dataset"))


def bytes_of(home: Path) -> bytes:
    return b"".join(p.read_bytes() for p in home.rglob("*") if p.is_file())


async def test_documents_added_one_at_a_time_are_all_covered():
    for i in range(24):
        await remember(documents(1, first=i), self_improvement=False)
        await build()
        assert await datasets.verify("main_dataset") == []

    status = await datasets.status("main_dataset")

    assert (status.summaries, status.pending) == (24, 0)
    assert status.level_sizes[0] <= 10


async def test_one_more_document_costs_a_path(model: ScriptedModelServer):
    await remember(documents(60))
    await build()
    await remember(documents(1, first=60), self_improvement=False)
    model.forget()

    index = await build()

    levels = len((await datasets.status("main_dataset")).level_sizes)
    assert index.status is IndexStatus.PUBLISHED
    assert index.model_calls == len(model.chats) <= levels + 4


async def test_an_edit_reaches_bucket_and_root(model: ScriptedModelServer):
    await remember([*documents(11), SourceDocument("The Harbour launch is on 3 May.", source="launch.md")])
    await build()
    await remember(SourceDocument("The Harbour launch is on 9 June.", source="launch.md"), self_improvement=False)
    model.forget()

    await build()

    texts = await index_texts()
    assert "9 June" in texts and "3 May" not in texts
    assert len(model.chats) <= 4
    assert await datasets.verify("main_dataset") == []


async def test_what_is_forgotten_is_gone_at_once_and_everywhere(plain_environment: Path):
    await remember([*documents(19), SourceDocument(f"The {CANARY} was found by Anna Hofer in Porto.", source="c.md")])
    await build()
    assert CANARY in await index_texts()

    result = await forget("main_dataset", document="c.md")

    assert result.documents == 1
    asked = await prelude(f"What is {CANARY}?")
    assert asked.count(CANARY) == 1 and CANARY in asked.splitlines()[0]
    assert CANARY not in await index_texts()
    assert "World summary:" in await prelude()
    await build()
    assert (await prelude(f"What is {CANARY}?")).count(CANARY) == 1
    (dataset,) = await datasets.list_datasets()
    await (await open_dataset(dataset.id)).tenant.erase_traces()
    assert CANARY.encode() not in bytes_of(plain_environment)


async def test_deletions_alone_rewrite_only_the_touched_path(model: ScriptedModelServer):
    await remember(documents(40))
    await build()
    await forget("main_dataset", document=["3.md", "4.md", "5.md"])
    model.forget()

    index = await build()

    levels = len((await datasets.status("main_dataset")).level_sizes)
    assert index.status is IndexStatus.PUBLISHED
    assert len(model.chats) <= 3 * (levels + 1) + 1
    assert await datasets.verify("main_dataset") == []


async def test_forgetting_everything_leaves_no_index():
    await remember(documents(9))
    await build()
    await forget("main_dataset", document=[f"{i}.md" for i in range(9)])
    at_once = await datasets.status("main_dataset")

    index = await build()

    status = await datasets.status("main_dataset")
    assert index.status is IndexStatus.EMPTY
    assert (index.buckets, index.degraded) == (0, 0)
    assert await datasets.tree("main_dataset") == []
    assert (status.entities, status.pending) == (0, 0)
    for told in (at_once, status):
        assert (told.level_sizes, told.summaries, told.degraded) == ((), 0, 0)


async def test_an_index_that_was_emptied_grows_anew_and_a_rollback_finds_nothing_of_before():
    await remember(documents(9))
    await build()
    await remember(documents(3, first=9))
    await build()
    await forget("main_dataset", document=[f"{i}.md" for i in range(12)])
    kept = (await datasets.status("main_dataset")).generations

    await remember(documents(2, first=20), self_improvement=False)
    index = await build()
    await datasets.rollback("main_dataset", kept[0])

    assert kept == (2,)
    assert (index.status, index.generation, index.buckets) == (IndexStatus.PUBLISHED, 3, 1)
    assert await datasets.tree("main_dataset") == []
    assert await datasets.root_summary((await datasets.list_datasets())[0].id) is None
    assert (await datasets.status("main_dataset")).pending == 2
    assert (await build()).buckets == 1
    assert await datasets.verify("main_dataset") == []


async def test_deleted_and_added_again_costs_no_index_call(model: ScriptedModelServer):
    await remember(documents(12))
    await build()
    await forget("main_dataset", document="5.md")
    await build()
    await remember(documents(1, first=5), self_improvement=False)
    model.forget()

    await build()

    assert len(model.chats) <= 3
    assert await datasets.verify("main_dataset") == []


async def test_a_dropped_dataset_is_another_one_when_it_is_made_again():
    first = await remember(documents(3), "notes")
    await forget("notes")
    with pytest.raises(DatasetNotFoundError):
        await improve("notes")

    second = await remember(documents(1), "notes")

    assert first.dataset_id != second.dataset_id
    assert (await datasets.status("notes")).documents == 1


async def test_an_unknown_document_is_named():
    await remember(documents(3))

    with pytest.raises(DocumentNotFoundError, match="nope"):
        await forget("main_dataset", document="nope.md")

    assert (await datasets.status("main_dataset")).documents == 3


async def test_rollback_serves_the_older_generation_and_the_next_improve_catches_up():
    await remember(documents(12))
    first = await build()
    old_root = await datasets.root_summary("main_dataset")
    await remember(documents(6, first=12), self_improvement=False)
    second = await build()

    await datasets.rollback("main_dataset", first.generation)

    assert await datasets.root_summary("main_dataset") == old_root
    assert (await datasets.status("main_dataset")).pending >= 6
    third = await build()
    assert third.generation > second.generation
    assert (await datasets.status("main_dataset")).summaries == 18
    assert await datasets.verify("main_dataset") == []


async def test_an_older_generation_can_be_asked():
    await remember(documents(8))
    first = await build()
    await remember([SourceDocument(f"{CANARY} arrived.", source="c.md")], self_improvement=False)
    second = await build()

    old = await recall(
        "All?", "GRAPH_COMPLETION", only_context=True, retriever_specific_config=WITH_INDEX, generation=first.generation
    )

    assert old[0].generation == first.generation < second.generation
    with pytest.raises(GenerationNotFoundError):
        await recall("All?", "GRAPH_COMPLETION", generation=99)


async def test_a_rebuild_changes_strategy_and_size_while_the_old_one_is_served():
    await remember(documents(20))
    await build()

    index = await global_context_index_pipeline(rebuild=True, bucketing_strategy="vector", max_bucket_size=10)

    status = await datasets.status("main_dataset")
    assert (status.bucketing_strategy, status.max_bucket_size, status.level_sizes) == ("vector", 10, (2,))
    assert index.written == 3
    assert await datasets.verify("main_dataset") == []


async def test_a_rebuild_keeps_the_options_of_the_index_but_those_given():
    await remember(documents(20))
    await global_context_index_pipeline(max_bucket_size=10, placement_distance_threshold=0.7, min_overlap=0.1)

    await rebuild(max_bucket_size=5, min_overlap=0.0)

    _, kept = await datasets.generations("main_dataset")
    built = [TreeOptions.of(generation) for generation in kept]
    assert built == [TreeOptions("vector", 10, 0.7, 0.1), TreeOptions("vector", 5, 0.7, 0.0)]


async def test_a_rebuild_where_there_is_no_index_has_the_options_of_improve():
    await remember(documents(5))

    await rebuild()

    status = await datasets.status("main_dataset")
    assert (status.bucketing_strategy, status.max_bucket_size) == ("graph", 4)


async def test_a_rebuild_refuses_an_option_that_makes_no_sense_and_serves_the_index_as_it_was():
    await remember(documents(5))
    first = await build()

    with pytest.raises(InvalidOptionError, match="max_bucket_size"):
        await rebuild(max_bucket_size=1)

    assert (await datasets.status("main_dataset")).generation == first.generation


async def test_one_of_four_builds_at_once_and_the_others_are_told(model: ScriptedModelServer):
    await remember(documents(12))
    await remember(documents(12), "other")
    jobs = [improve(build_global_context_index=True) for _ in range(4)]

    results = await asyncio.gather(*jobs, improve("other", build_global_context_index=True), return_exceptions=True)

    busy = [r for r in results[:4] if isinstance(r, DatasetBusyError)]
    done = [r for r in results[:4] if not isinstance(r, BaseException)]
    assert len(busy) + len(done) == 4 and done and busy
    assert f"process {os.getpid()}" in str(busy[0])
    assert results[4].index.status is IndexStatus.PUBLISHED
    assert await datasets.verify("main_dataset") == []


async def test_those_who_wait_come_after_one_another():
    await remember(documents(6))
    jobs = [improve(build_global_context_index=True, wait_seconds=30) for _ in range(3)]

    results = await asyncio.gather(*jobs)

    assert sorted(r.index.status for r in results) == ["published", "unchanged", "unchanged"]


async def test_every_fact_resolves_to_documents_that_exist():
    await remember(documents(30))
    await build()
    await forget("main_dataset", document="7.md")
    await build()

    facts = [f for e in await datasets.tree("main_dataset") for f in e.facts]
    sources = await datasets.sources_of("main_dataset", facts)

    assert facts and all(sources)
    assert "7.md" not in {s for several in sources for s in several}


async def test_export_and_import_give_the_same_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    await remember(documents(14), "notes")
    await improve("notes", build_global_context_index=True)
    tree, answers = await datasets.tree("notes"), await recall("Northstar?", "CHUNKS", datasets="notes")
    await datasets.export("notes", tmp_path / "out")
    monkeypatch.setenv("OVERSTORY_HOME", str(tmp_path / "other home"))

    await datasets.import_archive(tmp_path / "out")

    assert await datasets.tree("notes") == tree
    assert [a.text for a in await recall("Northstar?", "CHUNKS", datasets="notes")] == [a.text for a in answers]
    assert await datasets.verify("notes") == []


async def test_most_of_the_map_stays_when_one_of_a_hundred_is_forgotten():
    await remember(documents(100))
    await build()
    whole = await datasets.tree("main_dataset")

    await forget("main_dataset", document="50.md")

    served = [e for e in await datasets.tree("main_dataset") if not e.withheld]
    assert served[0].is_root
    assert len(served) / len(whole) >= 0.95


async def test_forgetting_can_be_proven(plain_environment: Path):
    await remember([*documents(9), SourceDocument(f"The {CANARY} was found by Anna Hofer in Porto.", source="c.md")])
    await build()
    before = await datasets.prove_forgotten("main_dataset", [CANARY])

    result = await forget("main_dataset", document="c.md", prove=True)

    after = await datasets.prove_forgotten("main_dataset", [CANARY])
    assert before.found
    assert (after.found, after.forgotten) == ((), True)
    assert result.proof is not None and result.proof.forgotten and result.proof.words >= 1
    assert result.proof.rows["DocumentChunk"] == 9


async def test_a_proof_is_refused_for_a_whole_dataset_before_anything_is_forgotten():
    await remember(documents(3))

    with pytest.raises(InvalidOptionError, match="name the documents"):
        await forget("main_dataset", prove=True)

    assert (await datasets.status("main_dataset")).documents == 3


async def test_the_name_of_a_dropped_dataset_is_in_no_file(plain_environment: Path):
    await remember(documents(3), CANARY)
    await improve(CANARY, build_global_context_index=True)

    await forget(CANARY)

    assert CANARY.encode() not in bytes_of(plain_environment)


async def test_sources_of_an_updated_document_name_nothing_that_is_gone():
    await remember([*documents(9), SourceDocument("The Harbour launch is on 3 May.", source="launch.md")])
    await build()
    await remember(SourceDocument("The Harbour launch is on 9 June.", source="launch.md"), self_improvement=False)

    entries = await datasets.tree("main_dataset")
    old = [f for e in entries for f in e.facts if "3 May" in f.text]
    found = await recall(
        "When is the launch?", "GRAPH_COMPLETION", only_context=True, retriever_specific_config=WITH_INDEX
    )

    assert old and await datasets.sources_of("main_dataset", old) == [()] * len(old)
    assert found[0].freshness.pending == 2


async def test_every_answer_and_the_status_say_how_fresh_they_are():
    await remember(documents(9))
    index = await build()
    await remember(documents(2, first=9), self_improvement=False)

    status = await datasets.status("main_dataset")
    (answer,) = await recall("What about Northstar?", "CHUNKS", datasets="main_dataset")

    fresh = answer.freshness
    assert (fresh.generation, fresh.summaries, fresh.pending) == (index.generation, 9, 2)
    assert (fresh.built_at, fresh.model, fresh.degraded) == (status.built_at, "offline", 0)
    assert (status.generation, status.summaries, status.pending) == (index.generation, 9, 2)


async def test_the_proof_takes_no_word_of_ours_or_of_other_documents_names_for_a_trace(tmp_path: Path):
    """Files called by their date, a text that says "people" and "2026": any folder of minutes."""
    for note in read_notes()[:6]:
        (tmp_path / note.source).write_text(note.text, encoding="utf-8")
    await remember(tmp_path, "minutes")
    await improve("minutes", build_global_context_index=True)

    for note in read_notes()[:5]:
        result = await forget("minutes", document=str(tmp_path / note.source), prove=True)

        assert result.proof is not None
        assert result.proof.words > 5
        assert result.proof.found == ()


async def test_the_proof_takes_no_name_of_a_table_or_a_dataset_for_a_trace():
    said = (
        "Dropped: a permission, the manifest, a lease, its holder, what was acquired, an integer, primary, tokenize, "
        "segments, vector, importance_weight, document, sqlite, format, bucketing, threshold. Zanzibarians sing."
    )
    await remember(documents(3), "zanzibarians")
    await remember([*documents(9), SourceDocument(said, source="c.md")])
    await build()
    await recall("Who leads Northstar?", "CHUNKS", datasets="zanzibarians", session_id="one")

    result = await forget("main_dataset", document="c.md", prove=True)

    assert result.proof is not None
    assert result.proof.words > 10
    assert result.proof.found == ()


async def test_the_proof_names_what_it_finds_in_conversations_too():
    await remember([*documents(3), SourceDocument(f"The {CANARY} is in Porto.", source="c.md")])
    await forget("main_dataset", document="c.md")
    await recall(f"Has Anna Hofer the {CANARY}?", "CHUNKS", datasets="main_dataset", session_id="one")

    proof = await datasets.prove_forgotten("main_dataset", [CANARY, "elsewhere"])

    assert "sessions.db" in " ".join(proof.found)
    assert proof.words_found == (CANARY,)


async def test_another_form_of_a_word_is_no_trace_of_it():
    await remember([*documents(3), SourceDocument("Luis Ortega plays the organ in Porto.", source="organ.md")])
    await remember(SourceDocument("The organization of the feast is in Porto.", source="c.md"))

    result = await forget("main_dataset", document="c.md", prove=True)
    proof = await datasets.prove_forgotten("main_dataset", ["organization"])
    there = await datasets.prove_forgotten("main_dataset", ["organ", "organ Granada"])

    assert (proof.found, result.proof.found) == ((), ())
    assert result.proof.words == 2
    assert there.words_found == ("organ",)


async def test_a_fact_with_a_word_of_a_forgotten_document_goes_though_others_have_a_form_of_it(
    model: ScriptedModelServer,
):
    organ = SourceDocument("Luis Ortega plays the organ in Porto.", source="a.md")
    await remember([organ, SourceDocument("The organization of the feast is in Porto.", source="b.md")])
    draft = {
        "categories": [{"name": "People", "topics": ["Luis Ortega"]}],
        "facts": [{"text": "Luis Ortega plays for the organization in Porto.", "inputs": [1]}],
    }
    model.when(say(json.dumps(draft)), schema="AreaAnswer")
    await build()
    before = await index_texts()

    await forget("main_dataset", document="b.md")

    assert "organization" in before
    assert "organization" not in await index_texts()


@pytest.mark.parametrize("word", ["Zörblaxité", "ZÖRBLAXITÉ", "zo\u0308rblaxite\u0301", "Ёлочник", "東京都庁"])
async def test_the_proof_finds_words_that_are_not_ascii_in_rows_and_files(word: str):
    await remember([*documents(3), SourceDocument(f"The {word} is in Porto.", source="c.md")])

    proof = await datasets.prove_forgotten("main_dataset", [word])
    after = await forget("main_dataset", document="c.md", prove=True)
    await recall(f"Has Anna Hofer the {word}?", "CHUNKS", datasets="main_dataset", session_id="one")
    asked = await datasets.prove_forgotten("main_dataset", [word])

    assert "DocumentChunk rows" in proof.found
    assert after.proof is not None
    assert after.proof.found == ()
    assert not asked.files or "sessions.db" in " ".join(asked.found)


async def test_what_is_forgotten_leaves_a_tree_as_tight_as_a_fresh_one():
    await remember(documents(160))
    await build()
    leaving = random.Random(5).sample(range(160), 80)
    for first in range(0, 80, 20):
        await forget("main_dataset", document=[f"{i}.md" for i in leaving[first : first + 20]])
        await build()
    left = (await datasets.status("main_dataset")).level_sizes

    await global_context_index_pipeline(rebuild=True, bucketing_strategy="graph", max_bucket_size=4)

    fresh = (await datasets.status("main_dataset")).level_sizes
    assert sum(left) <= 1.25 * sum(fresh)
    assert len(left) <= len(fresh) + 1


async def test_after_a_rollback_answers_and_status_count_only_what_the_served_index_lacks():
    await remember(documents(9))
    await build()
    await remember(documents(2, first=9), self_improvement=False)
    await build()
    await datasets.rollback("main_dataset", 1)
    await remember(documents(1, first=11), self_improvement=False)
    await forget("main_dataset", document="0.md")

    status = await datasets.status("main_dataset")
    (answer,) = await recall("What about Northstar?", "CHUNKS", datasets="main_dataset")

    assert status.pending_covered > 0
    assert status.pending == 4, "two of the newer generation, one that came after it, one that is gone"
    assert (answer.freshness.generation, answer.freshness.pending) == (1, status.pending)
