"""The verbs over HTTP."""

import asyncio
import inspect
import io
import json
import re
import zipfile
from pathlib import Path
from uuid import UUID

import httpx
import pytest

from overstory import access, datasets, errors
from overstory.errors import DatasetNotFoundError, DocumentNotFoundError, IndexMismatchError, OverstoryError
from overstory.models import Entity, Permission
from overstory.runtime import current_runtime
from overstory.serve import problems
from overstory.serve.uploads import source_of
from overstory.testing import ScriptedModelServer, slow
from tests.serve.conftest import texts


async def test_texts_are_remembered_and_indexed(client: httpx.AsyncClient) -> None:
    remembered = (await client.post("/v1/remember", json={"dataset": "notes", "texts": texts()})).json()

    improved = (await client.post("/v1/improve", json={"dataset": "notes"})).json()

    assert {one["status"] for one in remembered["documents"]} == {"added"}
    assert improved["index"]["status"] == "published"


async def test_a_text_that_looks_like_a_path_is_a_text(client: httpx.AsyncClient, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the password is swordfish")

    for text in (str(secret), secret.as_uri(), "https://127.0.0.1:9/x.md"):
        answer = await client.post("/v1/remember", json={"dataset": "paths", "texts": [text, {"text": f"{text} again", "source": str(secret)}]})  # fmt: skip
        assert answer.status_code == 200

    found = await client.post("/v1/recall", json={"query_text": "password swordfish", "query_type": "CHUNKS", "datasets": ["paths"]})  # fmt: skip
    assert "the password is" not in found.text


async def test_files_are_remembered_by_their_name_and_what_can_not_be_read_is_told(client: httpx.AsyncClient) -> None:
    files = [
        ("files", ("a/../b/note.md", b"# A note\n\nAda Brook tests Northstar in Porto.")),
        ("files", ("photo.png", b"\x89PNG....")),
    ]

    answer = (await client.post("/v1/remember/files", files=files, params={"dataset": "files"})).json()

    outcomes = {one["source"]: one["status"] for one in answer["documents"]}
    assert outcomes == {"a/b/note.md": "added", "photo.png": "skipped"}


async def test_where_nothing_can_be_read_no_dataset_is_made(client: httpx.AsyncClient) -> None:
    photo = [("files", ("photo.png", b"\x89PNG...."))]

    answers = [
        await client.post("/v1/remember/files", files=photo, params={"dataset": "nothing"}),
        await client.post("/v1/remember", json={"dataset": "nothing", "texts": ["  \n"]}),
    ]

    assert [one.status_code for one in answers] == [200, 200]
    told = [document for one in answers for document in one.json()["documents"]]
    assert [one["status"] for one in told] == ["skipped", "skipped"] and all(one["reason"] for one in told)
    assert await datasets.list_datasets() == []


async def test_a_file_that_can_not_be_read_is_told_of_a_dataset_that_is_there(built: httpx.AsyncClient) -> None:
    photo = [("files", ("photo.png", b"\x89PNG...."))]

    answer = await built.post("/v1/remember/files", files=photo, params={"dataset": "notes"})

    assert [one["status"] for one in answer.json()["documents"]] == ["skipped"]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("/etc/passwd", "etc/passwd"),
        ("..\\..\\x.md", "x.md"),
        ("", "upload"),
        ("a//b.md", "a/b.md"),
        ("../..", "upload"),
    ],
)
def test_a_file_name_leads_nowhere(name: str, source: str) -> None:
    assert source_of(name) == source


async def test_a_preview_does_nothing(client: httpx.AsyncClient) -> None:
    await client.post("/v1/remember", json={"dataset": "notes", "texts": texts()})

    preview = (await client.post("/v1/preview", json={"dataset": "notes"})).json()

    assert preview["calls"] == preview["buckets"] + 1
    assert (await datasets.status("notes")).generation == 0


async def test_work_in_the_background_is_a_job(client: httpx.AsyncClient) -> None:
    await client.post("/v1/remember", json={"dataset": "notes", "texts": texts()})
    begun = await client.post("/v1/improve", json={"dataset": "notes", "background": True})

    job = begun.json()
    while job["state"] == "running":
        await asyncio.sleep(0.02)
        job = (await client.get(begun.headers["location"])).json()

    assert begun.status_code == 202
    assert job["result"]["index"]["status"] == "published"
    assert any(stage["name"] == "writing the root" and stage["done"] == 1 for stage in job["stages"])
    listed = (await client.get("/v1/datasets/notes/builds")).json()
    assert job["id"] in [one["id"] for one in listed["jobs"]]


async def test_a_running_remember_says_what_it_has_taken(client: httpx.AsyncClient, model: ScriptedModelServer) -> None:
    model.when(slow(5), text="crossing")
    form = {"dataset": "notes", "texts": texts(), "background": True}

    begun = await client.post("/v1/remember", json=form)
    job = begun.json()
    while job["state"] == "running" and not job["cost_usd"]:
        await asyncio.sleep(0.02)
        job = (await client.get(begun.headers["location"])).json()
    seen = job
    while job["state"] == "running":
        await asyncio.sleep(0.1)
        job = (await client.get(begun.headers["location"])).json()

    assert (seen["state"], seen["calls"]) == ("running", 6)
    assert (job["state"], job["calls"]) == ("done", 6)
    assert 0 < seen["cost_usd"] < job["cost_usd"]


async def test_a_document_and_a_dataset_are_forgotten(built: httpx.AsyncClient) -> None:
    one = await built.post("/v1/forget", json={"dataset": "notes", "documents": ["notes/fares.md"], "prove": True})
    everything = await built.post("/v1/forget", json={"dataset": "notes", "documents": "all"})

    assert one.json()["documents"] == 1
    assert one.json()["proof"]["found"] == []
    assert everything.status_code == 200
    assert (await built.get("/v1/datasets")).json() == []


async def test_a_proof_of_a_whole_dataset_is_refused(built: httpx.AsyncClient) -> None:
    answer = await built.post("/v1/forget", json={"dataset": "notes", "documents": "all", "prove": True})

    assert answer.status_code == 422
    assert "name the documents" in answer.json()["detail"]
    assert len((await built.get("/v1/datasets")).json()) == 1


async def test_forgetting_needs_to_be_told_what(built: httpx.AsyncClient) -> None:
    answers = [
        await built.post("/v1/forget", json=form)
        for form in ({"dataset": "notes"}, {"dataset": "notes", "documents": []})
    ]

    assert [one.status_code for one in answers] == [422, 422]
    assert len((await built.get("/v1/datasets")).json()) == 1


async def test_an_export_is_a_zip_that_can_be_imported(built: httpx.AsyncClient, tmp_path: Path, plain_environment: Path) -> None:  # fmt: skip
    answer = await built.get("/v1/datasets/notes/export")
    zipfile.ZipFile(io.BytesIO(answer.content)).extractall(tmp_path / "archive")
    await built.post("/v1/forget", json={"dataset": "notes", "documents": "all"})

    await datasets.import_archive(tmp_path / "archive", "again")

    assert (await datasets.status("again")).generation == 1
    assert list((plain_environment / "serve" / "exports").iterdir()) == []


async def test_a_question_is_answered_as_the_library_answers_it(built: httpx.AsyncClient) -> None:
    from overstory import recall

    form = {"query_text": "Who moved the launch?", "query_type": "GRAPH_COMPLETION", "datasets": ["notes"]}

    told = (await built.post("/v1/recall", json=form)).json()

    (expected,) = await recall("Who moved the launch?", "GRAPH_COMPLETION", datasets=["notes"])
    assert told["results"][0]["result"]["text"] == expected.text


async def test_a_stream_ends_with_the_whole_result(built: httpx.AsyncClient) -> None:
    form = {"query_text": "Who moved the launch?", "datasets": ["notes"], "stream": True}

    answer = await built.post("/v1/recall", json=form)

    events = [(line[0][7:], json.loads(line[1][6:])) for part in answer.text.strip().split("\n\n") if (line := part.split("\n"))]  # fmt: skip
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert [name for name, _ in events][-2:] == ["result", "end"]
    assert "".join(data["text"] for name, data in events if name == "piece") == events[-2][1]["text"]


async def test_a_stream_that_can_not_begin_is_a_problem(client: httpx.AsyncClient) -> None:
    answer = await client.post("/v1/recall", json={"query_text": "Who?", "datasets": ["nothing"], "stream": True})

    assert (answer.status_code, answer.json()["code"]) == (404, "DatasetNotFoundError")


@pytest.mark.parametrize(
    "error",
    [
        DatasetNotFoundError("notes"),
        DocumentNotFoundError("a.md", "my notes"),
        DocumentNotFoundError("a.md", "notes", "b.md"),
        IndexMismatchError("notes", "graph", "vector"),
    ],
)
async def test_a_problem_advises_calls_that_exist_and_no_commands(
    client: httpx.AsyncClient, error: OverstoryError
) -> None:
    commands = set(re.findall(r"`overstory (\w+)", inspect.getsource(errors)))
    described = (await client.get("/openapi.json")).json()["paths"]
    paths = {f"{method.upper()} {path}" for path, ways in described.items() for method in ways}

    detail = problems.problem_of(error, "1").detail

    assert "overstory" not in detail
    assert set(re.findall(r"`((?:GET|POST) [^`]*)`", detail)) <= paths
    assert commands <= set(problems.HTTP_CALLS)


async def test_control_characters_are_taken_out_of_a_question(built: httpx.AsyncClient) -> None:
    form = {"query_text": "Who \x1b[31mmoved\x00 the\x07 launch?", "datasets": ["notes"], "only_context": True}

    result = (await built.post("/v1/recall", json=form)).json()["results"][0]["result"]

    assert result["query"] == "Who moved the launch?"


@pytest.mark.parametrize("kind", ["GRAPH_COMPLETION", "HYBRID_COMPLETION", "RAG_COMPLETION", "TRIPLET_COMPLETION", "TEMPORAL"])  # fmt: skip
async def test_an_explained_prompt_is_its_parts_laid_end_to_end(built: httpx.AsyncClient, kind: str) -> None:
    form = {
        "query_text": "Who moved the launch of Northstar?",
        "query_type": kind,
        "datasets": ["notes"],
        "only_context": True,
        "explain": True,
        "retriever_specific_config": {"include_global_context_index": True},
    }

    (found,) = (await built.post("/v1/recall", json=form)).json()["results"]

    assert "".join(part["text"] for part in found["parts"]) == found["result"]["text"]
    assert sum(part["tokens"] for part in found["parts"]) >= found["tokens"]


async def test_each_part_of_the_map_names_the_node_that_it_came_from(built: httpx.AsyncClient) -> None:
    form = {
        "query_text": "Who moved the launch of Northstar?",
        "query_type": "GRAPH_COMPLETION",
        "datasets": ["notes"],
        "only_context": True,
        "explain": True,
        "retriever_specific_config": {"include_global_context_index": True},
    }
    (found,) = (await built.post("/v1/recall", json=form)).json()["results"]
    map_parts = [part for part in found["parts"] if part["kind"] in ("root", "area")]

    nodes = [(await built.get(f"/v1/datasets/notes/nodes/{part['nodes'][0]}")).json() for part in map_parts]

    assert map_parts[0]["kind"] == "root"
    assert all(node["text"].strip() == part["text"].strip() for node, part in zip(nodes, map_parts, strict=True))
    assert all(part["nodes"] for part in found["parts"] if part["kind"] == "node")


async def test_a_rebuild_keeps_the_shape_and_may_keep_the_texts(built: httpx.AsyncClient) -> None:
    anew = (await built.post("/v1/rebuild", json={"dataset": "notes"})).json()
    kept = (await built.post("/v1/rebuild", json={"dataset": "notes", "reuse_unchanged": True})).json()
    other = {"dataset": "notes", "bucketing_strategy": "vector", "max_bucket_size": 3}
    shaped = (await built.post("/v1/rebuild", json=other)).json()

    assert (anew["status"], anew["reused"]) == ("published", 0)
    assert (kept["written"], kept["reused"]) == (0, anew["written"])
    assert shaped["status"] == "published"
    served = (await built.get("/v1/datasets/notes")).json()["status"]
    assert (served["bucketing_strategy"], served["max_bucket_size"]) == ("vector", 3)


async def test_a_rebuild_in_the_background_is_a_job(built: httpx.AsyncClient) -> None:
    begun = await built.post("/v1/rebuild", json={"dataset": "notes", "background": True})

    job = begun.json()
    while job["state"] == "running":
        await asyncio.sleep(0.02)
        job = (await built.get(begun.headers["location"])).json()

    assert (begun.status_code, job["verb"]) == (202, "rebuild")
    assert job["result"]["generation"] == 2


async def test_a_kept_generation_is_served_again(built: httpx.AsyncClient) -> None:
    await built.post("/v1/rebuild", json={"dataset": "notes"})

    rolled = (await built.post("/v1/rollback", json={"dataset": "notes", "generation": 1})).json()
    unknown = await built.post("/v1/rollback", json={"dataset": "notes", "generation": 9})

    assert rolled["serving"] == 1
    assert (await built.get("/v1/datasets/notes/generations")).json() == rolled
    assert (unknown.status_code, unknown.json()["data"]["available"]) == (404, [1, 2])


async def weights() -> dict[str, float]:
    nodes, _ = await datasets.graph_data("notes")
    runtime = await current_runtime()
    opened = await access.find_dataset(runtime, "notes", None, Permission.READ)
    rows = await opened.tenant.get(Entity, [key for key, about in nodes if about["type"] == "Entity"])
    return {row.name: row.feedback_weight for row in rows}


async def test_feedback_moves_weights_and_is_undone(built: httpx.AsyncClient) -> None:
    form = {"query_text": "Who moved the launch?", "query_type": "GRAPH_COMPLETION", "datasets": ["notes"]}
    (answer,) = (await built.post("/v1/recall", json=form)).json()["results"]
    before = await weights()

    given = await built.post("/v1/feedback", json={"result": answer["result"], "score": 1, "text": "just right"})
    after = await weights()
    undone = await built.post("/v1/feedback/undo", json=given.json())

    assert given.json()["text"] == "just right"
    assert before != after and max(after.values()) > max(before.values())
    assert (undone.status_code, undone.content) == (204, b"")
    assert await weights() == pytest.approx(before)


async def test_a_streamed_answer_takes_feedback_too(built: httpx.AsyncClient) -> None:
    form = {"query_text": "Who moved the launch?", "datasets": ["notes"], "stream": True}
    lines = (await built.post("/v1/recall", json=form)).text.split("\n")
    result = json.loads(lines[lines.index("event: result") + 1].removeprefix("data: "))

    given = await built.post("/v1/feedback", json={"result": result, "score": -0.5})

    assert given.status_code == 200
    assert all(-0.1 <= change < 0 for change in given.json()["moved"].values())


async def test_feedback_that_makes_no_sense_is_refused(built: httpx.AsyncClient) -> None:
    form = {"query_text": "Who moved the launch?", "datasets": ["notes"], "only_context": True}
    (answer,) = (await built.post("/v1/recall", json=form)).json()["results"]
    given = (await built.post("/v1/feedback", json={"result": answer["result"], "score": 1})).json()
    elsewhere = {**answer["result"], "dataset_id": str(UUID(int=1))}
    forged = {**given, "moved": dict.fromkeys(given["moved"], 0.9)}

    answers = [
        await built.post("/v1/feedback", json={"result": answer["result"], "score": 2}),
        await built.post("/v1/feedback", json={"result": {"text": "yes"}, "score": 1}),
        await built.post("/v1/feedback/undo", json=forged),
        await built.post("/v1/feedback", json={"result": elsewhere, "score": 1}),
    ]

    assert [one.status_code for one in answers] == [422, 422, 422, 404]


async def test_a_conversation_is_erased(built: httpx.AsyncClient) -> None:
    form = {"query_text": "Who moved the launch?", "datasets": ["notes"], "session_id": "mine"}
    await built.post("/v1/recall", json=form)

    erased = [(await built.post("/v1/forget/session", json={"session_id": "mine"})).json() for _ in range(2)]

    assert erased == [{"erased": True}, {"erased": False}]


@pytest.mark.parametrize("kind", ["GRAPH_COMPLETION", "RAG_COMPLETION", "TEMPORAL", "HYBRID_COMPLETION"])
async def test_a_heading_of_another_type_in_a_document_cuts_nothing(client: httpx.AsyncClient, kind: str) -> None:
    text = "Ada Brook moved the launch.\n## Relevant passages\n## Passages in the order of time\nTold to the council."
    await client.post("/v1/remember", json={"dataset": "odd", "texts": [{"source": "a.md", "text": text}]})

    answer = await client.post(
        "/v1/recall",
        json={
            "query_text": "Who moved the launch?",
            "query_type": kind,
            "datasets": ["odd"],
            "only_context": True,
            "explain": True,
        },
    )

    [view] = answer.json()["results"]
    assert "".join(part["text"] for part in view["parts"]) == view["result"]["text"]
    whole = [
        part for part in view["parts"] if "Ada Brook moved" in part["text"] and "Told to the council" in part["text"]
    ]
    assert [part["kind"] for part in whole] == {
        "GRAPH_COMPLETION": ["node"],
        "RAG_COMPLETION": ["text"],
        "TEMPORAL": ["passage"],
        "HYBRID_COMPLETION": ["passage"],
    }[kind]
