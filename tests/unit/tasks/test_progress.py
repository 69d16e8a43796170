"""What people see of a run that goes on."""

from collections import Counter
from typing import Any
from uuid import UUID, uuid4

import pytest

from overstory import improve, remember
from overstory.progress import Silent, watched_by
from tests.flows.conftest import notes


class Recorder:
    """A watcher that remembers."""

    def __init__(self) -> None:
        self.begun: Counter[str] = Counter()
        self.done: Counter[str] = Counter()
        self.ended: list[str] = []

    def begin(self, stage: str, total: int) -> None:
        self.begun[stage] += total

    def advance(self, stage: str, done: int = 1, **counts: int) -> None:
        assert stage not in self.ended
        self.done[stage] += done

    def end(self, stage: str) -> None:
        self.ended.append(stage)


async def test_every_stage_that_begins_ends_once_with_all_its_steps():
    recorder = Recorder()

    with watched_by(recorder):
        await remember(notes(30), "watched")
        await improve("watched", build_global_context_index=True)

    writing = {stage: total for stage, total in recorder.begun.items() if stage.startswith("writing")}
    assert {"writing level 0", "writing level 1", "writing the root"} <= set(writing)
    assert {stage: recorder.done[stage] for stage in writing} == writing
    assert Counter(recorder.ended) == Counter(recorder.begun.keys())


class TestArtifacts:
    @pytest.fixture
    def progress(self) -> Any:
        return pytest.importorskip("tasks.prefect_progress", reason="needs the extra `prefect`")

    def test_datasets_have_keys_of_their_own_whatever_letters_their_names_have(self, progress: Any):
        ids = [UUID(int=n << 96) for n in range(1, 5)]
        names = ("Нортстар", "北極星", "North Star", "north-star")

        keys = [progress.artifact_key(name, one, "levels") for name, one in zip(names, ids, strict=True)]

        assert len(set(keys)) == len(keys)
        assert all(set(key) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for key in keys)
        assert all(key.endswith("-levels") for key in keys)

    async def test_a_stage_may_begin_while_progress_is_shown(self, progress: Any, monkeypatch: pytest.MonkeyPatch):
        watcher = progress.RunWatcher(progress.Subject("north", uuid4()), also=Silent())
        watcher.begin("reading chunks", 3)
        watcher.begin("writing level 0", 3)
        shown = []

        async def show(name: str, activity: object, description: str) -> None:
            watcher.begin(f"verifying{len(shown)} everything", 1)
            shown.append(name)

        monkeypatch.setattr(watcher, "_show", show)
        await watcher.show()

        assert shown == ["reading", "writing"]
