"""The scripted model: real HTTP, the same answers every time, and misbehaviour on demand."""

import http.client
import json
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from overstory.testing import ScriptedModelServer, fail, say, slow


@pytest.fixture
def server():
    with ScriptedModelServer() as running:
        yield running


def post(server, path, body):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        connection.request("POST", f"/v1{path}", json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, response.headers, response.read().decode()
    finally:
        connection.close()


def chat(server, text, **more):
    status, _, body = post(
        server, "/chat/completions", {"model": "m", "messages": [{"role": "user", "content": text}], **more}
    )
    return status, json.loads(body)


def said(server, text):
    return chat(server, text)[1]["choices"][0]["message"]["content"]


def test_it_lists_a_model(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", "/v1/models")

    listed = json.loads(connection.getresponse().read())

    connection.close()
    assert listed["data"][0]["id"] == "scripted"


def test_the_same_question_gets_the_same_answer_from_the_prompt(server):
    asked = "Anna moved the launch. Luis was in Berlin. Who moved the launch?"

    assert said(server, asked) == said(server, asked) == "Anna moved the launch."


def test_a_connection_is_kept_for_the_next_request(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    socket = None
    for _ in range(3):
        connection.request(
            "POST", "/v1/chat/completions", json.dumps({"messages": [{"role": "user", "content": "Hi."}]})
        )
        connection.getresponse().read()
        socket = socket or connection.sock

        assert connection.sock is socket
    connection.close()


def test_a_stream_ends_with_the_mark_that_clients_wait_for(server):
    body = {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": "One. Two?"}],
    }

    _, headers, text = post(server, "/chat/completions", body)

    events = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert headers["Content-Type"] == "text/event-stream"
    assert events[-1] == "[DONE]"
    assert json.loads(events[-2])["usage"]["total_tokens"] > 0


def test_embeddings_of_the_same_words_are_near(server):
    _, _, body = post(
        server, "/embeddings", {"model": "m", "input": ["red boats", "Red boats!", "tax law"], "dimensions": 16}
    )

    one, same, other = (item["embedding"] for item in json.loads(body)["data"])
    assert one == same != other
    assert len(one) == 16


def test_rules_apply_by_text_times_and_kind(server):
    server.when(say("No."), text="Berlin", times=1)
    server.when(fail(500), kind="embedding")

    answers = [said(server, text) for text in ("Rome is old.", "Berlin is new.", "Berlin is new.")]

    assert answers == ["I do not know.", "No.", "I do not know."]
    assert post(server, "/embeddings", {"input": "x"})[0] == 500


def test_a_share_of_calls_is_the_same_in_every_run():
    def statuses():
        with ScriptedModelServer() as server:
            server.when(fail(429, retry_after=2), share=0.3)
            return [chat(server, "Hello.")[0] for _ in range(60)]

    first, second = statuses(), statuses()

    assert first == second
    assert 10 <= first.count(429) <= 26


def test_a_failure_says_when_to_come_back(server):
    server.when(fail(429, retry_after=2, message="slow down"))

    status, headers, body = post(server, "/chat/completions", {"messages": []})

    assert (status, headers["Retry-After"], json.loads(body)["error"]["message"]) == (429, "2", "slow down")


def test_what_was_asked_is_recorded_and_can_be_forgotten(server):
    server.when(slow(0.05))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: said(server, f"Hello {n}."), range(4)))

    assert server.max_in_flight == 4
    assert sorted(request.prompt for request in server.chats) == [f"Hello {n}." for n in range(4)]
    assert [request.number for request in server.requests] == [1, 2, 3, 4]


def test_what_was_asked_and_the_script_can_be_forgotten(server):
    server.when(say("No."))
    said(server, "Hello.")

    server.forget()
    server.behave()

    assert (server.requests, server.max_in_flight) == ([], 0)
    assert said(server, "Hello.") == "I do not know."


def test_a_taken_port_is_an_error_and_leaves_no_thread(server):
    before = threading.active_count()

    with pytest.raises(OSError, match="address"):
        ScriptedModelServer(port=server.port).start()

    assert threading.active_count() == before


def test_stopping_frees_the_port_and_may_be_repeated():
    server = ScriptedModelServer()
    server.start()
    server.stop()
    server.stop()

    with ScriptedModelServer(port=server.port) as again:
        assert said(again, "Hi.")


def test_it_runs_by_itself_and_says_how_to_use_it():
    process = subprocess.Popen([sys.executable, "-m", "overstory.testing"], stdout=subprocess.PIPE, text=True)
    try:
        hint = "".join(process.stdout.readline() for _ in range(4))
    finally:
        process.terminate()
        process.communicate(timeout=60)

    assert re.search(r"export LLM_MODEL=openai/scripted LLM_ENDPOINT=http://127\.0\.0\.1:\d+/v1", hint)


def test_importing_it_needs_no_model_library():
    code = "import sys, overstory.testing; assert not {'litellm', 'httpx', 'aiohttp', 'openai'} & set(sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
