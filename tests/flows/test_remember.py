"""Taking documents in."""

from contextlib import suppress
from pathlib import Path

import fsspec
import pytest

from overstory import SourceDocument, datasets, forget, improve, recall, remember
from overstory.errors import DatasetNotFoundError, DocumentNotFoundError, InvalidOptionError, ModelError, UsageError
from overstory.progress import Silent, watched_by
from overstory.results import DocumentStatus
from overstory.testing import ScriptedModelServer, fail, say
from tests.flows.conftest import notes


async def test_one_call_a_chunk_and_none_the_second_time(model: ScriptedModelServer):
    first = await remember(notes(12))

    second = await remember(notes(12))

    assert (first.chunks, first.model_calls) == (12, 12)
    assert {d.status for d in first.documents} == {DocumentStatus.ADDED}
    assert (second.chunks, second.model_calls) == (0, 0)
    assert {d.status for d in second.documents} == {DocumentStatus.UNCHANGED}
    assert len(model.chats) == 12


async def test_an_edit_reads_only_what_it_touches(model: ScriptedModelServer):
    paragraphs = [f"Section {i}. " + " ".join(f"Word{i}x{j} stands here." for j in range(40)) for i in range(20)]
    await remember(SourceDocument("\n\n".join(paragraphs), source="long.md"))
    before = len(model.chats)
    paragraphs[10] += " A new sentence about Porto."

    result = await remember(SourceDocument("\n\n".join(paragraphs), source="long.md"))

    assert result.documents[0].status is DocumentStatus.UPDATED
    assert 1 <= result.model_calls <= 3 < before
    assert (await datasets.status("main_dataset")).incomplete == 0


async def test_blank_documents_are_skipped_and_the_rest_goes_on(tmp_path: Path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("Anna Hofer leads Northstar.")
    (folder / "b.md").write_text("  \n ")
    (folder / "c.md").write_bytes(b"")
    (folder / "d.txt").write_bytes(b"\xef\xbb\xbf")
    (folder / "e.txt").write_text("Luis Ortega tests Bluebird.")

    result = await remember(folder)

    skipped = [d for d in result.documents if d.status is DocumentStatus.SKIPPED]
    assert len(skipped) == 3 and all(d.reason for d in skipped)
    assert (await datasets.status("main_dataset")).documents == 2


async def test_a_model_that_is_down_loses_nothing(model: ScriptedModelServer):
    model.when(fail(500))
    with pytest.raises(ModelError):
        await remember(notes(4))
    model.behave()

    result = await improve()

    status = await datasets.status("main_dataset")
    assert result.completed_chunks == 4
    assert (status.documents, status.incomplete, status.chunks) == (4, 0, 4)


async def test_a_document_is_added_until_a_version_of_it_was_complete_and_updated_from_then_on(
    model: ScriptedModelServer,
):
    first, second = (SourceDocument(f"Anna Hofer leads Northstar in {place}.", "n.md") for place in ("Porto", "Rome"))
    told = []

    for document, up in ((first, False), (first, False), (second, True), (first, False), (first, True)):
        model.behave()
        if not up:
            model.when(fail(500))
        with suppress(ModelError):
            told += [outcome.status for outcome in (await remember(document)).documents]

    assert told == [DocumentStatus.ADDED, DocumentStatus.UPDATED]


async def test_the_refresh_of_the_index_is_counted_with_what_it_finished(model: ScriptedModelServer):
    await remember(notes(12))
    await improve(build_global_context_index=True)
    model.when(fail(500))
    with pytest.raises(ModelError):
        await remember(notes(3, first=12))
    model.behave()
    model.forget()

    result = await remember(notes(2, first=15))

    assert result.index is not None
    assert result.chunks == 5
    assert result.model_calls == result.usage.calls == len(model.chats) == 5 + result.index.model_calls


async def test_a_document_with_a_chunk_that_rules_read_is_told_as_others_and_finished_by_improve(
    model: ScriptedModelServer,
):
    first, second = (SourceDocument(f"Anna Hofer leads Northstar in {place}.", "n.md") for place in ("Porto", "Rome"))
    model.when(say("Just some words."), schema="ChunkAnswer")

    told = [await remember(document) for document in (first, first, second, second)]
    state = (await datasets.documents("main_dataset"))[0].state
    incomplete = (await datasets.status("main_dataset")).incomplete
    model.behave()
    finished = await improve()

    assert [one.documents[0].status for one in told] == ["added", "unchanged", "updated", "unchanged"]
    assert [(one.model_calls, one.degraded) for one in told] == [(1, 1), (0, 0), (1, 1), (0, 0)]
    assert (state, incomplete, finished.completed_chunks) == ("degraded", 1, 1)
    assert (await datasets.documents("main_dataset"))[0].state == "complete"


async def test_what_was_read_by_rules_before_a_stop_is_still_added(model: ScriptedModelServer):
    model.when(say("Just some words."), schema="ChunkAnswer", text="Note 0")
    model.when(fail(401), text="Note 1")
    with pytest.raises(ModelError):
        await remember(notes(2))
    model.behave()

    result = await remember(notes(2))

    assert [one.status for one in result.documents] == [DocumentStatus.ADDED] * 2


class Steps(Silent):
    """A watcher of one stage."""

    def __init__(self, stage: str) -> None:
        self.stage, self.total, self.steps = stage, 0, list[int]()

    def begin(self, stage: str, total: int) -> None:
        self.total = total if stage == self.stage else self.total

    def advance(self, stage: str, done: int = 1, **counts: int) -> None:
        if stage == self.stage:
            self.steps.append(done)


@pytest.mark.parametrize("go_on", [lambda: remember(notes(6)), improve], ids=["remember", "improve"])
async def test_what_was_read_before_a_stop_counts_at_once(model: ScriptedModelServer, monkeypatch, go_on):
    monkeypatch.setenv("OVERSTORY_BATCH_SIZE", "2")
    model.when(fail(401), text="Note 4")
    with pytest.raises(ModelError):
        await remember(notes(6))
    model.behave()
    steps = Steps("reading chunks")

    with watched_by(steps):
        await go_on()

    assert (steps.total, steps.steps[0], sum(steps.steps)) == (6, 5, 6)


async def test_odd_names_are_only_names():
    odd = ['"quoted"', "it's", "back`tick", "a\\b", "new\nline", "tab\tbed", "---", "## Facts", "🚀", "x" * 300]
    documents = [SourceDocument(f"Anna Hofer wrote number {i}.", source=name) for i, name in enumerate(odd)]

    result = await remember(documents, 'odd "dataset" `name` ## x')

    assert len(result.documents) == len(odd)
    assert (await datasets.status('odd "dataset" `name` ## x')).documents == len(odd)


@pytest.mark.parametrize("texts", [("first", "first"), ("first", "second"), ("first", "second", "first")])
async def test_a_source_that_is_given_twice_is_read_once_and_the_last_text_stays(texts: tuple[str, ...]):
    documents = [SourceDocument(f"Ada Brook wrote the {text} note.", "note.md") for text in texts]

    result = await remember(documents, "twice")

    assert result.documents[0].status is DocumentStatus.ADDED
    nodes, _ = await datasets.graph_data("twice")
    assert [about["text"] for _, about in nodes if about["type"] == "DocumentChunk"] == [documents[-1].text]


async def test_where_nothing_can_be_read_no_dataset_is_made_and_the_reasons_are_told(tmp_path: Path):
    (tmp_path / "blank.md").write_text(" \n", encoding="utf-8")
    missing = [tmp_path / "blank.md", tmp_path / "nots"]

    result = await remember(missing, "typo")
    made = await remember([*missing, "Anna Hofer leads Northstar."], "typo")

    assert [outcome.status for outcome in result.documents] == [DocumentStatus.SKIPPED] * 2
    assert all(outcome.reason for outcome in result.documents)
    assert (result.chunks, result.model_calls) == (0, 0)
    assert made.dataset_id == result.dataset_id, "the id that was told is the one that it then has"
    assert len(made.documents) == 3


@pytest.mark.parametrize("nothing", [[], [[], []], ()])
async def test_of_no_source_at_all_no_dataset_is_made(nothing: list[list[str]]):
    result = await remember(nothing, "nobody")

    assert result.documents == ()
    assert await datasets.list_datasets() == []


@pytest.mark.parametrize("name", [" ", "we\nird", "\x1b[31mred", "a\u202eb", "a\u200fb", "na\ud800me", "x" * 301])
async def test_a_name_that_no_dataset_may_have_is_refused_before_anything_is_read(tmp_path: Path, name: str):
    with pytest.raises(InvalidOptionError, match="dataset_name="):
        await remember(tmp_path / "nots", name)

    assert await datasets.list_datasets() == []


async def test_an_argument_of_another_type_is_refused_by_its_name():
    await remember("Anna Hofer leads Northstar.", "north")
    calls = {
        "dataset_name=7": lambda: remember("hello", 7),
        "node_set=7": lambda: remember("hello", node_set=7),
        "dataset=None": lambda: improve(None),
        "document=5": lambda: forget("north", document=5),
        r"document=\[5\]": lambda: forget("north", document=[5]),
        "datasets=5": lambda: recall("Northstar?", datasets=5),
        "no option bogus": lambda: recall("Northstar?", datasets="north", bogus=1),
    }

    for match, call in calls.items():
        with pytest.raises(UsageError, match=match):
            await call()

    assert (await datasets.status("north")).documents == 1


async def test_documents_and_datasets_may_come_from_a_generator():
    await remember(["Anna Hofer leads Northstar.", "Luis Ortega tests Bluebird."], "north")
    first, second = await datasets.documents("north")

    forgotten = await forget("north", document=(one.id for one in (first, second)))

    assert forgotten.documents == 2
    with pytest.raises(UsageError, match="'north', 7"):
        await recall("Northstar?", datasets=["north", 7])
    with pytest.raises(DatasetNotFoundError, match="nowhere"):
        await recall("Northstar?", datasets=(name for name in ("north", "nowhere")))


async def test_half_a_character_in_a_name_finds_nothing():
    await remember("Anna Hofer leads Northstar.", "north")

    with pytest.raises(DocumentNotFoundError):
        await forget("north", document="s\ud800.md")
    with pytest.raises(DatasetNotFoundError):
        await improve("na\ud800me")
    with pytest.raises(DatasetNotFoundError):
        await improve("north", user="an\ud800na")


async def test_a_new_dataset_fetches_each_url_once(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe({"/once/a.md": b"Anna Hofer leads Northstar.", "/once/b.md": b"Luis Ortega tests Bluebird."})
    opened: list[str] = []
    whole = type(memory).open

    def counted(self: object, path: str, *args: object, **kwargs: object) -> object:
        opened.append(path)
        return whole(self, path, *args, **kwargs)

    monkeypatch.setattr(type(memory), "open", counted)

    result = await remember(["memory://once/none.md", "memory://once/a.md", "memory://once/b.md"], node_set="tag")

    assert [one.status for one in result.documents] == [DocumentStatus.SKIPPED, *2 * [DocumentStatus.ADDED]]
    assert sorted(opened) == ["/once/a.md", "/once/b.md", "/once/none.md"]
    assert [d.node_set for d in await datasets.documents("main_dataset")] == [("tag",), ("tag",)]


async def test_a_thing_is_told_in_the_words_of_a_text_that_is_about_it_while_there_is_one():
    letter = "Kira Weller wrote to Anna Hofer about the station windows."
    about = "Anna Hofer is a glazier from Porto who mends station windows."
    later = "Anna Hofer is a glazier and came by ferry on Monday."

    described = []
    for text in (letter, about, later):
        await remember([SourceDocument(text, source=text[:4] + text[-8:])])
        described.append(await _description("Anna Hofer"))
    for text in (about, later):
        await forget("main_dataset", document=text[:4] + text[-8:])
        described.append(await _description("Anna Hofer"))

    assert described == [letter, about, about, later, letter]


async def _description(name: str) -> str:
    graph = await datasets.to_networkx("main_dataset")
    [described] = [facts["description"] for _, facts in graph.nodes(data=True) if facts.get("name") == name]
    return described
