"""Texts that rules wrote in place of the model, or that a cap left, are told by every command and by its exit code."""

from pathlib import Path
from typing import Any

import pytest

from overstory.testing import ScriptedModelServer, fail, say


def ask(model: ScriptedModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"MODEL": "openai/scripted", "ENDPOINT": model.url, "API_KEY": "test", "MAX_ATTEMPTS": "1"}
    for name, value in settings.items():
        monkeypatch.setenv(f"LLM_{name}", value)


def test_degraded_texts_are_counted_by_result_status_and_exit_code_until_they_are_written(
    run: Any, run_json: Any, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedModelServer() as model:
        ask(model, monkeypatch)
        assert run("remember", str(notes), "--dataset", "north", "--no-improve").exit_code == 0
        model.when(say("Just some words."), schema="AreaAnswer")

        poor = run("improve", "--dataset", "north", "--index")
        [status] = run_json("status", "--dataset", "north")["datasets"]
        model.behave()
        good = run("improve", "--dataset", "north", "--index")
        [after] = run_json("status", "--dataset", "north")["datasets"]

    assert (poor.exit_code, good.exit_code) == (3, 0)
    assert "degraded" in poor.output
    assert status["degraded"] == sum(status["degraded_reasons"].values()) > 0
    assert after["degraded"] == 0


def test_chunks_that_a_cap_left_are_told_with_what_was_paid(
    run: Any, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedModelServer() as model:
        ask(model, monkeypatch)
        model.when(fail(500))
        assert run("remember", str(notes), "--dataset", "north").exit_code == 1
        model.behave()

        stopped = run("improve", "--dataset", "north", "--max-calls", "2")
        finished = run("improve", "--dataset", "north")

    assert (stopped.exit_code, finished.exit_code) == (3, 0)
    assert "not complete yet. 2 model calls" in stopped.output
    assert "north is complete. 3 model calls" in finished.output
