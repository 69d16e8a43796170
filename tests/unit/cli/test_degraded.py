"""Texts that rules wrote in place of the model are told by every command and by its exit code."""

from pathlib import Path
from typing import Any

import pytest

from overstory.testing import ScriptedModelServer, say


def test_degraded_texts_are_counted_by_result_status_and_exit_code_until_they_are_written(
    run: Any, run_json: Any, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedModelServer() as model:
        for name, value in {"MODEL": "openai/scripted", "ENDPOINT": model.url, "API_KEY": "test"}.items():
            monkeypatch.setenv(f"LLM_{name}", value)
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
