import asyncio
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from rich.console import Console

from overstory.cli.rendering import proven
from overstory.indexing.sources import text_source
from overstory.models import COMPLETE, FORGETTING, Document
from overstory.results import ForgetProof
from overstory.runtime import open_dataset


def test_remember_says_what_was_read_and_what_comes_next(run: Any, notes: Path) -> None:
    result = run("remember", str(notes), "--dataset", "north")

    assert result.exit_code == 0
    assert "north: 5 documents (5 added), 5 chunks read." in result.stdout
    assert "Written by offline, vectors by hashing" in result.stdout
    assert "overstory improve --dataset north --index" in result.stdout


def test_the_same_again_is_no_work(run: Any, notes: Path) -> None:
    run("remember", str(notes), "--dataset", "north")

    result = run("remember", str(notes), "--dataset", "north")

    assert "5 documents (5 unchanged), 0 chunks read." in result.stdout


def test_what_cannot_be_read_is_named_and_the_exit_code_says_so(run: Any, notes: Path) -> None:
    (notes / "blank.md").write_bytes(b"\xef\xbb\xbf \n")

    result = run("remember", str(notes), str(notes / "none.md"), "--dataset", "north")

    assert result.exit_code == 3
    assert "5 added, 2 skipped" in result.stdout
    assert "none.md: " in result.stdout


def test_a_text_can_come_from_standard_input(run: Any) -> None:
    result = run("remember", "-", stdin="Anna Hofer leads Northstar.\n")

    assert "main_dataset: 1 document (1 added)" in result.stdout


@pytest.mark.parametrize("text", ["and/or", "notes.md", "https://127.0.0.1:9/notes", "."])
def test_a_text_from_standard_input_is_a_text_whatever_it_looks_like(run: Any, text: str) -> None:
    result = run("remember", "-", "--json", stdin=text)

    [document] = json.loads(result.stdout)["documents"]
    assert (document["status"], document["reason"]) == ("added", "")
    assert document["source"].startswith("text:")


def test_who_gives_a_text_as_a_path_is_told_of_standard_input(run: Any) -> None:
    result = run("remember", "Anna Hofer leads Northstar.")

    assert result.exit_code == 3
    assert "no such file or folder; a text is read from standard input, with - as the path" in result.stdout


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_standard_input_is_decoded_as_a_file_is(run: Any, encoding: str) -> None:
    text = "The café is open on Monday.\n"

    result = run("remember", "-", "--json", stdin=text.encode(encoding))

    [document] = json.loads(result.stdout)["documents"]
    assert document["source"] == text_source(text)


@pytest.mark.parametrize("said", [bytes(range(256)) * 12, b"caf\xe9 is open on Monday.\n"])
def test_what_is_refused_as_a_file_is_refused_on_standard_input(run: Any, tmp_path: Path, said: bytes) -> None:
    (tmp_path / "said.txt").write_bytes(said)

    results = [run("remember", path, "--json", stdin=said) for path in ("-", str(tmp_path / "said.txt"))]

    [[piped], [file]] = [json.loads(result.stdout)["documents"] for result in results]
    assert piped["status"] == "skipped"
    assert piped["reason"] == file["reason"]
    assert results[0].exit_code == results[1].exit_code


def test_an_index_is_built_shown_and_sound(run: Any, indexed: str) -> None:
    tree = run("tree", "--dataset", indexed)
    verdict = run("verify", "--dataset", indexed)

    assert tree.stdout.startswith("root · ")
    assert "level 0 · " in tree.stdout
    assert (verdict.exit_code, verdict.stdout) == (0, "The index of north is sound.\n")


def test_a_page_is_written_into_a_new_file_only(run: Any, indexed: str, tmp_path: Path) -> None:
    page = tmp_path / "tree.html"

    written = run("tree", "-d", indexed, "--html", str(page), "--levels", "1")
    content = page.read_bytes()
    again = run("tree", "-d", indexed, "--html", str(page))

    assert (written.exit_code, again.exit_code) == (0, 2)
    assert "is there already: choose another name." in again.stderr
    assert page.read_bytes() == content


@pytest.mark.parametrize("option", [("--node", "ab"), ("--children", "8"), ("--facts", "0"), ("--sources",)])
def test_options_that_a_page_does_not_follow_are_refused(
    run: Any, indexed: str, tmp_path: Path, option: tuple[str, ...]
) -> None:
    result = run("tree", "-d", indexed, "--html", str(tmp_path / "tree.html"), *option, "--json")

    assert result.exit_code == 2
    assert f"leave out {option[0]}" in json.loads(result.stdout)["error"]["message"]
    assert not (tmp_path / "tree.html").exists()


def test_a_dataset_without_an_index_says_how_to_get_one(run: Any, notes: Path) -> None:
    run("remember", str(notes), "--dataset", "north")

    result = run("tree", "--dataset", "north")

    assert "north has no index yet." in result.stdout
    assert "overstory improve --dataset north --index" in result.stdout


def test_the_index_comes_before_the_local_context_when_asked_for(run: Any, indexed: str) -> None:
    question = ("recall", "When is the launch of Northstar?", "--dataset", indexed, "--only-context")

    local, whole = run(*question).stdout, run(*question, "--index").stdout

    assert "World summary:" not in local
    assert whole.index("World summary:") < whole.index("Nodes:")


def test_the_text_of_an_answer_is_not_wrapped_in_a_file(run: Any, indexed: str) -> None:
    text = run("recall", "Northstar", "--dataset", indexed, "--only-context").stdout

    form = json.loads(run("recall", "Northstar", "--dataset", indexed, "--only-context", "--json").stdout)
    assert text == form["results"][0]["text"] + "\n"


def test_status_lists_all_datasets_or_shows_one(run: Any, indexed: str) -> None:
    everything, one = run("status"), run("status", "--dataset", indexed)

    assert everything.stdout.splitlines()[1].split()[:3] == ["north", "5", "5"]
    assert "generation 1 of " in one.stdout


def test_an_empty_home_says_how_to_begin(run: Any) -> None:
    result = run("status")

    assert result.exit_code == 0
    assert "overstory demo" in result.stdout


@pytest.mark.parametrize("what", [("--dataset", "north", "--yes"), ("--dataset", "north"), ("--session", "talk")])
def test_a_proof_without_documents_is_refused(run: Any, indexed: str, what: tuple[str, ...]) -> None:
    result = run("forget", *what, "--prove")

    assert result.exit_code == 2
    assert "name them with --document" in result.stderr
    assert json.loads(run("status", "--json").stdout)["datasets"][0]["documents"] == 5


def test_a_forgotten_document_is_gone(run: Any, indexed: str, notes: Path) -> None:
    sources = [
        d["source"] for d in json.loads(run("remember", str(notes), "-d", indexed, "--json").stdout)["documents"]
    ]

    result = run("forget", "--dataset", indexed, "--document", sources[0])

    assert result.exit_code == 0
    assert "Forgotten from north: 1 document, 1 chunk" in result.stdout
    assert json.loads(run("status", "--json").stdout)["datasets"][0]["documents"] == 4


def test_a_whole_dataset_is_not_forgotten_by_a_slip(run: Any, indexed: str) -> None:
    slip = run("forget", "--dataset", indexed)
    meant = run("forget", "--dataset", indexed, "--yes")

    assert slip.exit_code == 2
    assert "--yes" in slip.stderr
    assert meant.exit_code == 0
    assert "no dataset yet" in run("status").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("recall", "?", "--dataset", "noth"), 2, "Did you mean 'north'?"),
        (("improve", "--dataset", "noth"), 2, "Did you mean 'north'?"),
        (("recall", " ", "--dataset", "north"), 2, "overstory: "),
        (("recall", "Northstar", "--dataset", "north", "--top-k", "0"), 2, "top_k=0"),
        (("recall", "Northstar", "--dataset", "north", "--type", "GUESS"), 2, "'--type'"),
        (("recall", "?", "--type", "Guess"), 2, "'Guess' is not one of GRAPH_COMPLETION, HYBRID_COMPLETION, "),
        (("tree", "--dataset", "north", "--generation", "9"), 2, "Generation 9"),
        (("forget", "--dataset", "north", "--document", "9.md"), 2, "no document '9.md'"),
        (("remember",), 2, "PATH"),
    ],
)
def test_wrong_use_is_one_clear_line(run: Any, indexed: str, arguments: tuple[str, ...], code: int, says: str) -> None:
    result = run(*arguments)

    assert result.exit_code == code
    assert says in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_an_error_has_a_json_form(run: Any, indexed: str) -> None:
    result = run("improve", "--dataset", "noth", "--json")

    assert result.exit_code == 2
    assert json.loads(result.stdout) == {
        "command": "improve",
        "error": {
            "kind": "DatasetNotFoundError",
            "message": "There is no dataset 'noth'. Did you mean 'north'?",
            "transient": False,
            "data": {"name": "noth", "nearest": "north"},
        },
    }


def test_every_command_prints_one_object(run_json: Any, indexed: str, notes: Path) -> None:
    assert run_json("remember", str(notes), "-d", indexed)["documents"][0]["status"] == "unchanged"
    assert run_json("improve", "-d", indexed, "--index")["index"]["status"] == "unchanged"
    assert run_json("recall", "Northstar", "-d", indexed)["results"][0]["dataset"] == indexed
    assert run_json("tree", "-d", indexed)["entries"][0]["is_root"]
    assert run_json("status")["datasets"][0]["name"] == indexed
    assert run_json("verify", "-d", indexed) == {
        "command": "verify",
        "dataset": indexed,
        "sound": True,
        "violations": [],
        "forgetting": 0,
    }
    assert run_json("rebuild", "-d", indexed)["status"] == "published"
    assert run_json("generations", "-d", indexed)["served"] == 2
    assert run_json("rollback", "1", "-d", indexed)["served"] == 1
    assert run_json("export", str(notes.parent / "out"), "-d", indexed)["rows"]["Document"] == 5
    assert run_json("config")["settings"][0]["variable"] == "OVERSTORY_HOME"
    assert run_json("forget", "-d", indexed, "--yes")["dataset"] == indexed


def test_a_preview_says_what_a_build_would_take_and_does_nothing(run: Any, notes: Path) -> None:
    run("remember", str(notes), "--dataset", "north")

    shown = run("improve", "--dataset", "north", "--preview").stdout

    assert shown.startswith("The index would have 2 areas and a root: 3 texts written by rules")
    assert "no index yet" in run("tree", "--dataset", "north").stdout


def test_a_preview_of_an_index_that_is_up_to_date_says_so(run: Any, run_json: Any, indexed: str) -> None:
    shown = run("improve", "--dataset", indexed, "--preview").stdout

    preview = run_json("improve", "--dataset", indexed, "--preview")["preview"]

    assert shown.startswith(
        "The index is up to date: 2 areas and a root, written by offline. There is nothing to write"
    )
    assert f"overstory rebuild --dataset {indexed}" in shown
    assert (preview["buckets"], preview["calls"], preview["written_by"]) == (2, 0, "offline")


def test_a_rebuild_keeps_the_shape_unless_told_otherwise(run: Any, run_json: Any, indexed: str) -> None:
    run("rebuild", "--dataset", indexed)
    as_before = run_json("status", "--dataset", indexed)["datasets"][0]
    run("rebuild", "--dataset", indexed, "--strategy", "vector", "--max-bucket-size", "3")
    other = run_json("status", "--dataset", indexed)["datasets"][0]

    assert (as_before["bucketing_strategy"], as_before["max_bucket_size"]) == ("graph", 4)
    assert (other["bucketing_strategy"], other["max_bucket_size"]) == ("vector", 3)


def test_generations_can_be_listed_and_rolled_back(run: Any, indexed: str) -> None:
    run("rebuild", "--dataset", indexed)

    listed = run("generations", "--dataset", indexed).stdout
    back = run("rollback", "1", "--dataset", indexed)

    assert "2 (served)" in listed
    assert "overstory rollback 1 --dataset north" in listed
    assert back.stdout.startswith("north serves generation 1.\n")
    assert run("rollback", "9", "--dataset", indexed).exit_code == 2


def test_a_dataset_travels_as_a_folder(run: Any, indexed: str, tmp_path: Path) -> None:
    before = run("tree", "--dataset", indexed, "--json").stdout
    written = run("export", str(tmp_path / "out"), "--dataset", indexed)
    again = run("export", str(tmp_path / "out"), "--dataset", indexed)
    run("forget", "--dataset", indexed, "--yes")

    brought = run("import", str(tmp_path / "out"))

    assert (written.exit_code, again.exit_code, brought.exit_code) == (0, 2, 0)
    assert run("tree", "--dataset", indexed, "--json").stdout == before


def test_each_fact_can_be_shown_with_its_documents(run: Any, indexed: str) -> None:
    shown = run("tree", "--dataset", indexed, "--sources").stdout

    assert "  · " in shown
    assert "1.md" in shown
    assert "gone" not in shown


def test_several_documents_are_forgotten_and_it_is_proven(run: Any, run_json: Any, indexed: str, notes: Path) -> None:
    sources = [str(notes / "1.md"), str(notes / "3.md")]

    result = run("forget", "-d", indexed, "--document", sources[0], "--document", sources[1], "--prove")

    assert result.exit_code == 0
    assert "Forgotten from north: 2 documents" in result.stdout
    assert "Verdict: nothing is left." in result.stdout
    assert "registry.db" in result.stdout


@pytest.mark.parametrize("options", [[], ["--dataset", "north"], ["--dataset", "north", "--yes", "--prove"]])
def test_what_is_not_forgotten_is_said_in_json_too(run: Any, options: list[str]) -> None:
    result = run("forget", *options, "--json")

    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"]["kind"] == "UsageError"


def test_status_counts_the_chunks_that_have_no_summary(run: Any, tmp_path: Path) -> None:
    (tmp_path / "numbers.csv").write_text("1,2,3\n4,5,6\n7,8,9\n", encoding="utf-8")
    (tmp_path / "note.md").write_text("Anna Hofer leads the Northstar project in Trieste.\n", encoding="utf-8")
    run("remember", str(tmp_path / "numbers.csv"), str(tmp_path / "note.md"), "-d", "north")
    run("improve", "-d", "north", "--index")

    result = run("status", "-d", "north")

    assert "1 summary, all there are; 1 chunk with nothing to summarise" in result.stdout


def test_where_all_documents_are_forgotten_new_ones_come_next(run: Any, indexed: str, notes: Path) -> None:
    documents = [part for note in sorted(notes.iterdir()) for part in ("--document", str(note))]
    run("forget", "-d", indexed, *documents)

    built = run("improve", "-d", indexed, "--index")
    others = [run(command, "-d", indexed) for command in ("rebuild", "tree", "documents")]

    for result in (built, *others):
        assert "Next: overstory remember path/to/your/files --dataset north" in result.stdout, result.stdout


def test_an_index_that_needs_no_repair_says_so(run: Any, run_json: Any, indexed: str) -> None:
    result = run("verify", "--dataset", indexed, "--repair")

    assert result.exit_code == 0
    assert result.stdout == "There was nothing to mend.\nThe index of north is sound.\n"
    assert run_json("verify", "-d", indexed, "--repair")["repaired"]["advice"] == ""


def test_secrets_are_never_shown(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_API_KEY", "sk-very-secret")
    monkeypatch.setenv("EMBEDDING_API_KEY", "sk-very-secret")
    monkeypatch.setenv("LLM_ENDPOINT", "http://me:very-secret@localhost:1/v1")

    shown = run("config").stdout + run("config", "--json").stdout

    assert "very-secret" not in shown
    assert "http://***@localhost:1/v1" in shown


def test_a_wrong_setting_names_its_variable(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_MAX_CONCURRENCY", "many")

    result = run("status")

    assert result.exit_code == 2
    assert "LLM_MAX_CONCURRENCY='many'" in result.stderr


def test_documents_do_not_steer_the_terminal(run: Any, tmp_path: Path) -> None:
    hostile = tmp_path / "note.md"
    hostile.write_text("Anna Hofer \x1b]0;owned\x07leads [red]Northstar[/red]\x1b[2J in Trieste.\n", encoding="utf-8")
    run("remember", str(hostile), "-d", "odd")

    shown = run("recall", "Northstar", "-d", "odd", "--only-context").stdout

    assert "\x1b" not in shown
    assert "\x07" not in shown


@pytest.mark.parametrize(
    "name", ["a 'quoted' name", "line\nbreak", "[bold]markup[/bold]", "🚢 한국어", "-d", "x" * 300]
)
def test_odd_names_of_datasets_work_or_are_refused_in_a_line(run: Any, notes: Path, name: str) -> None:
    result = run("remember", str(notes), f"--dataset={name}")

    assert result.exit_code in {0, 2}
    assert "Traceback" not in result.output


def test_a_dataset_of_another_embedder_can_be_seen_and_forgotten(
    run: Any, indexed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBEDDING_DIMENSIONS", "256")

    asked = run("recall", "Northstar", "--dataset", indexed)
    seen = [run(command, "--dataset", indexed).exit_code for command in ("status", "tree", "verify")]

    assert asked.exit_code == 2
    assert "EMBEDDING_DIMENSIONS=384" in asked.stderr
    assert seen == [0, 0, 0]
    assert run("forget", "--dataset", indexed, "--yes").exit_code == 0


def test_verify_tells_a_forgetting_that_was_begun(run: Any, run_json: Any, indexed: str) -> None:
    dataset_id = UUID(run_json("status", "-d", indexed)["datasets"][0]["id"])

    async def begin() -> None:
        tenant = (await open_dataset(dataset_id)).tenant
        (document, *_) = await tenant.find(Document, "state", [COMPLETE])
        await tenant.patch(Document, {document: {"state": FORGETTING}})

    asyncio.run(begin())

    told, form = run("verify", "--dataset", indexed), run_json("verify", "--dataset", indexed)
    mended = run("verify", "--dataset", indexed, "--repair")
    after = run_json("verify", "--dataset", indexed)

    assert (told.exit_code, form["sound"], form["forgetting"], after["forgetting"]) == (0, True, 1, 0)
    assert "1 document still to be removed" in told.stdout
    assert "overstory verify --repair --dataset north" in told.stdout
    assert "1 documents forgotten" in mended.stdout


@pytest.mark.parametrize("form", ["graphml", "jsonl"])
def test_a_graph_is_written_into_one_file(run: Any, run_json: Any, indexed: str, tmp_path: Path, form: str) -> None:
    file = tmp_path / f"out.{form}"

    written = run_json("export", str(file), "-d", indexed, "--format", form)
    again = run("export", str(file), "-d", indexed, "--format", form)

    assert written["nodes"] > 15
    assert written["file"] == str(file)
    assert again.exit_code == 2
    assert "already" in again.stderr


def test_a_copy_beside_its_original_is_refused_with_the_reason(run: Any, indexed: str, tmp_path: Path) -> None:
    run("export", str(tmp_path / "out"), "--dataset", indexed)

    result = run("import", str(tmp_path / "out"), "--name", "copy")

    assert result.exit_code == 2
    assert "is here already, as 'north': forget it first, or import into another home" in result.stderr


def test_documents_are_listed_in_pages(run: Any, run_json: Any, indexed: str, notes: Path) -> None:
    first = run("documents", "--dataset", indexed, "--limit", "2")
    rest = run_json("documents", "--dataset", indexed, "--offset", "3", "--limit", "0")
    beyond = run("documents", "--dataset", indexed, "--offset", "9")

    assert "1.md" in first.stdout
    assert "1 to 2 of 5 documents" in first.stdout
    assert "overstory documents --dataset north --offset 2" in first.stdout
    assert [one["source"] for one in rest["documents"]] == [str(notes / "4.md"), str(notes / "5.md")]
    assert (rest["total"], rest["documents"][0]["chunks"], rest["documents"][0]["state"]) == (5, 1, "complete")
    assert "There are no more than 5 documents." in beyond.stdout


@pytest.mark.parametrize("wanted", ["4.md", "elsewhere/4.md", "4.m"])
def test_a_document_that_is_not_there_is_told_with_the_nearest(
    run_json: Any, indexed: str, notes: Path, run: Any, wanted: str
) -> None:
    result = run("forget", "--dataset", indexed, "--document", wanted, "--json")

    data = json.loads(result.stdout)["error"]["data"]
    assert result.exit_code == 2
    assert data["nearest"].startswith(str(notes))
    assert "`overstory documents --dataset north` lists them" in result.stderr


def test_a_path_that_is_not_there_makes_no_dataset(run: Any, run_json: Any, tmp_path: Path) -> None:
    (tmp_path / "blank.md").write_text(" \n", encoding="utf-8")

    result = run("remember", "nots/", str(tmp_path / "blank.md"), "--dataset", "typo")

    assert result.exit_code == 3
    assert "no such file or folder" in result.stdout
    assert "Nothing could be read, so nothing was stored." in result.stdout
    assert run_json("status")["datasets"] == []


def test_a_dataset_that_is_there_keeps_what_it_has_when_nothing_can_be_read(
    run: Any, run_json: Any, indexed: str
) -> None:
    result = run("remember", "nots/", "--dataset", indexed)

    assert result.exit_code == 3
    assert run_json("status")["datasets"][0]["documents"] == 5


def test_an_answer_names_its_sources_and_its_map(run: Any, indexed: str) -> None:
    local = run("recall", "When is the launch of Northstar?", "--dataset", indexed).stdout
    whole = run("recall", "When is the launch of Northstar?", "--dataset", indexed, "--index").stdout

    assert "\nSources: " in local
    assert "3.md" in local.partition("\nSources: ")[2]
    assert "Map: not used" in local
    assert "Map: generation 1 of " in whole
    assert " over 5 summaries, written by offline" in whole


def test_the_documents_of_the_map_are_among_the_sources(run: Any, indexed: str) -> None:
    asked = run("recall", "When is the launch of Northstar?", "--dataset", indexed, "--index", "--top-k", "1").stdout

    assert all(f"{number}.md" in asked.partition("\nSources: ")[2] for number in range(1, 6))


def test_files_below_the_working_folder_are_named_from_there(
    run: Any, indexed: str, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(notes.parent)

    listed = run("documents", "--dataset", indexed).stdout
    asked = run("recall", "When is the launch of Northstar?", "--dataset", indexed).stdout
    forgotten = run("forget", "--dataset", indexed, "--document", "notes/1.md")

    assert listed.splitlines()[1].split()[0] == "notes/1.md"
    assert "Sources: notes/" in asked
    assert forgotten.exit_code == 0


def test_when_the_index_came_along_the_next_step_is_a_question(run: Any, indexed: str, notes: Path) -> None:
    (notes / "6.md").write_text("Jonas Keller paints the hull of Northstar.", encoding="utf-8")

    shown = run("remember", str(notes), "--dataset", indexed).stdout

    assert "Next: overstory recall" in shown
    assert "overstory improve" not in shown


def test_without_an_index_the_next_command_makes_one(run: Any, notes: Path) -> None:
    run("remember", str(notes), "--dataset", "north")

    asked = run("recall", "When is the launch of Northstar?", "--dataset", "north", "--index")
    checked = run("verify", "--dataset", "north")

    assert (asked.exit_code, checked.exit_code) == (3, 0)
    assert "overstory improve --dataset north --index" in asked.stdout
    assert checked.stdout.startswith("north has no index yet.")


def test_a_search_type_may_be_typed_in_lower_case(run_json: Any, indexed: str) -> None:
    found = run_json("recall", "Northstar", "--dataset", indexed, "--type", "chunks")

    assert {result["query_type"] for result in found["results"]} == {"CHUNKS"}


def test_nothing_found_says_where_to_look(run: Any, indexed: str) -> None:
    result = run("recall", "zzz", "--dataset", indexed, "--type", "CHUNKS_LEXICAL")

    assert "Nothing found in north." in result.stdout
    assert "overstory documents --dataset north" in result.stdout


def test_status_after_a_rollback_says_what_the_index_covers(run: Any, run_json: Any, indexed: str, notes: Path) -> None:
    run("rebuild", "--dataset", indexed)
    run("rollback", "1", "--dataset", indexed)
    back = run("status", "--dataset", indexed).stdout
    (notes / "6.md").write_text("Jonas Keller paints the hull of Northstar.", encoding="utf-8")
    run("remember", str(notes / "6.md"), "--dataset", indexed, "--no-improve")

    after = run_json("status", "--dataset", indexed)["datasets"][0]

    assert "5 summaries, 5 that the next improve places again, as after a rollback" in " ".join(back.split())
    assert (after["pending"], after["pending_covered"]) == (1, 5)
    shown = " ".join(run("status", "-d", indexed).stdout.split())
    assert "5 summaries, 1 new, changed or gone since; 5 that the next improve" in shown


def test_long_rows_of_the_tree_are_folded_and_open_one_by_one(run: Any, run_json: Any) -> None:
    run_json("demo")
    folded = run("tree", "-d", "demo", "--children", "2").stdout
    inner = re.search(r"… and 2 more: --node (\w{8}) --children 0", folded)
    assert inner

    opened = run("tree", "-d", "demo", "--node", inner[1], "--children", "0").stdout
    leaf = re.search(r"Next: overstory tree --dataset demo --node (\w{8})", opened)
    assert leaf
    summaries = run("tree", "-d", "demo", "--node", leaf[1]).stdout

    assert opened.startswith("level 1 · 4 areas")
    assert opened.count("level 0 · 4 summaries") == 4
    assert summaries.startswith("level 0 · 4 summaries")
    assert summaries.count("      2026-") == 4
    assert run("tree", "-d", "demo", "--node", "zz").exit_code == 2


def test_a_proof_says_no_more_than_was_looked_at() -> None:
    nothing = ForgetProof(
        words=0, rows={"Document": 3}, generations=(1,), files={"d.db": 9}, words_in_files=0, found=()
    )
    rows_alone = replace(nothing, words=4, files={})

    assert "nothing to look for" in told(nothing)
    assert told(rows_alone).endswith("Verdict: nothing is left in rows and word indexes.")
    found = replace(rows_alone, found=("rows",), words_found=("cedar", "larch"))
    assert told(found).endswith("Verdict: found in rows (cedar, larch).")


def told(proof: ForgetProof) -> str:
    written = io.StringIO()
    proven(proof, Console(file=written, width=200))
    return written.getvalue().strip()


def test_an_archive_that_is_not_there_is_wrong_use(run: Any, tmp_path: Path) -> None:
    result = run("import", str(tmp_path / "nowhere"))

    assert result.exit_code == 2
    assert "There is no folder" in result.stderr


def test_a_conversation_goes_on_by_its_name_and_can_be_forgotten(run: Any, run_json: Any, indexed: str) -> None:
    first = ("recall", "Who designs the battery of Northstar?", "-d", indexed, "--session", "mine")
    follow_up = ("recall", "And where?", "-d", indexed, "--session", "mine", "--only-context")

    assert run(*first).exit_code == 0
    assert "Asked: Who designs the battery of Northstar?" in run(*follow_up).stdout
    assert "mine is forgotten" in run("forget", "--session", "mine").stdout
    assert "The conversation so far" not in run(*follow_up).stdout
    assert run_json("forget", "--session", "mine")["forgotten"] is False


@pytest.mark.parametrize(
    "arguments", [(), ("-d", "north", "--session", "mine"), ("--session", "mine", "--document", "x")]
)
def test_what_is_to_be_forgotten_must_be_named_once(run: Any, indexed: str, arguments: tuple[str, ...]) -> None:
    result = run("forget", *arguments)

    assert result.exit_code == 2
    assert "Name what is to be forgotten" in result.stderr


def test_a_budget_holds_and_one_without_room_says_how_much_to_give(run: Any, run_json: Any, indexed: str) -> None:
    question = ("recall", "When is the launch of Northstar?", "-d", indexed)

    [fitting] = run_json(*question, "--budget", "150")["results"]
    small = run(*question, "--budget", "1")

    assert fitting["evidence"]["context_tokens"] <= 150
    assert small.exit_code == 2
    assert "A budget of 1 token has no room" in small.stderr


def test_what_is_read_can_be_chosen(run: Any, run_json: Any, indexed: str, notes: Path, tmp_path: Path) -> None:
    (notes / "pier.md").write_text("Mara Lind mends the pier of Trieste.", encoding="utf-8")
    run("remember", str(notes / "pier.md"), "-d", indexed, "--node-set", "pier")
    rhyme = tmp_path / "rhyme.txt"
    rhyme.write_text("Answer in rhyme.", encoding="utf-8")
    asked = ("recall", "What is in Trieste?", "-d", indexed)

    def areas(*options: str) -> list[Any]:
        found: list[Any] = run_json(*asked, "--index", *options)["results"][0]["evidence"]["areas"]
        return found

    sources = {p["source"] for p in run_json(*asked, "--node-set", "pier")["results"][0]["evidence"]["passages"]}
    assert [Path(source).name for source in sources] == ["pier.md"]
    assert run_json(*asked, "--node-set", "pier", "--node-set", "other", "--every-node-set")["results"] == []
    assert (len(areas("--areas", "0")), len(areas("--areas", "1"))) == (0, 1)
    assert areas("--mode", "adaptive") != areas("--mode", "plain")
    assert run(*asked, "--neighborhood", "9").exit_code == 2
    assert run(*asked, "--generation", "77").exit_code == 2
    assert run(*asked, "--system-prompt", str(rhyme)).exit_code == 0
    assert run(*asked, "--system-prompt", str(tmp_path / "none.txt")).exit_code == 2


@pytest.mark.parametrize(
    "name", ["a\x1b[31mred.md", "line\nbreak.md", "two  spaces.md", "both  \x07.md", "right\u202eleft.md"]
)
def test_a_document_is_forgotten_by_the_name_that_is_shown(
    run: Any, run_json: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text("Anna Hofer leads Northstar.", encoding="utf-8")
    run("remember", f"./{name}", "-d", "odd")
    shown = run("documents", "-d", "odd").stdout.splitlines()[1].rpartition(".md")[0] + ".md"
    missed = run("forget", "-d", "odd", "--document", "other.md").stderr
    quoted = missed.partition("Did you mean '")[2].partition("'?")[0]

    forgotten = [run_json("forget", "-d", "odd", "--document", shown)["documents"]]
    run("remember", f"./{name}", "-d", "odd")
    forgotten += [run_json("forget", "-d", "odd", "--document", one)["documents"] for one in [quoted] if one]

    assert set(forgotten) == {1}


def test_a_shown_name_that_several_documents_have_is_refused_with_their_ids(
    run: Any, run_json: Any, tmp_path: Path
) -> None:
    for name in ("a b.md", "a  b.md", "a\nb.md"):
        (tmp_path / name).write_text(f"Anna Hofer leads {name!r}.", encoding="utf-8")
    run("remember", str(tmp_path / "a  b.md"), str(tmp_path / "a\nb.md"), "-d", "odd")

    refused = run("forget", "-d", "odd", "--document", str(tmp_path / "a b.md"))

    ids = {one["id"] for one in run_json("documents", "-d", "odd")["documents"]}
    assert refused.exit_code == 2
    assert len(ids) == 2
    assert all(one in refused.stderr for one in ids)


def test_the_exact_name_of_a_document_wins_over_one_that_is_shown_so(run: Any, run_json: Any, tmp_path: Path) -> None:
    for name in ("a b.md", "a  b.md"):
        (tmp_path / name).write_text(f"Anna Hofer leads {name!r}.", encoding="utf-8")
    run("remember", str(tmp_path), "-d", "odd")

    run("forget", "-d", "odd", "--document", str(tmp_path / "a b.md"))

    [left] = run_json("documents", "-d", "odd")["documents"]
    assert left["source"].endswith("a  b.md")


@pytest.mark.parametrize(
    ("options", "missing"),
    [
        (("--mode", "adaptive"), "--index"),
        (("--areas", "2"), "--index"),
        (("--generation", "1"), "--index"),
        (("--every-node-set",), "--node-set"),
    ],
)
def test_an_option_that_means_nothing_alone_is_refused(
    run: Any, indexed: str, options: tuple[str, ...], missing: str
) -> None:
    refused = run("recall", "When is the launch?", "--dataset", indexed, *options)

    assert refused.exit_code == 2
    assert f"{options[0]}: means nothing without {missing}." in refused.stderr


def test_a_map_that_has_no_room_is_said_to_be_unused_and_not_to_be_asked_for(run: Any, indexed: str) -> None:
    shown = run("recall", "When is the launch of Northstar?", "--dataset", indexed, "--index", "--budget", "80")

    assert shown.exit_code == 3
    assert "prelude left out: the budget has no room for it" in shown.stderr
    assert "Map: not used\n" in shown.stdout
