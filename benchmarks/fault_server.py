"""A writer that is killed before one of its writes to a Weaviate server, and before the next, while others read."""

import os
import signal
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import fault_rounds as rounds
from benchmarks.fault_rounds import DATASET, WAIT_SECONDS, Work

CANARY = "zorblaxite"


@dataclass(frozen=True)
class Stopped:
    """What is done to a dataset that has an index, and what must be true after the next run."""

    name: str
    prepare: Work
    act: Work
    finish: Work
    """The next run; it returns what is wrong."""
    is_read: bool = True
    """Others read while it is killed and done again."""


@dataclass
class Outcome:
    kills: int
    recalls: int
    faults: list[str]


def kill_before_writes(what: Stopped, url: str, folder: Path, readers: int, step: int) -> Outcome:
    """Kill the work before its first write, before the one `step` writes later, and so on to its end."""
    environment = {"OVERSTORY_STORE_URL": url}
    rounds.run(_index_anew, folder, environment)
    outcome = Outcome(0, 0, [])
    with rounds.readers(folder, readers, environment) if what.is_read else nullcontext(list) as seen:
        while True:
            rounds.run(what.prepare, folder, environment)
            ended = _ends_before(what.act, outcome.kills * step, folder, environment)
            outcome.faults += rounds.run(what.finish, folder, environment)
            if ended:
                break
            outcome.kills += 1
    outcome.recalls = sum(one.recalls for one in seen())
    outcome.faults += [fault for one in seen() for fault in one.faults]
    return outcome


def _ends_before(act: Work, writes: int, folder: Path, environment: dict[str, str]) -> bool:
    """Whether the work ends with so many writes; if not, it is killed there."""
    try:
        rounds.run(lambda: _killed_after(act, writes), folder, environment)
    except EOFError:
        return False
    return True


async def _killed_after(act: Work, writes: int) -> Any:
    from overstory.runtime import current_runtime
    from overstory.stores.weaviate.connecting import Link

    await (await current_runtime()).store.list_datasets(None)  # what is written to connect is not counted
    write, left = Link.write, writes

    async def counted(self: Link, call: Any) -> Any:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return await write(self, call)

    Link.write = counted  # type: ignore[method-assign]
    return await act()


# --- what is done ----------------------------------------------------------------------------------


async def _one_more() -> None:
    from overstory import datasets, remember

    count = (await datasets.status(DATASET)).documents
    await remember(rounds.documents(count, count + 1), self_improvement=False, wait_seconds=WAIT_SECONDS)


async def _one_to_forget() -> None:
    from overstory import SourceDocument, remember

    text = f"The {CANARY} was found by Anna Hofer in Porto."
    await remember(SourceDocument(text, source="c.md"), self_improvement=False, wait_seconds=WAIT_SECONDS)
    await rounds.improve()


async def _forget_one() -> None:
    from overstory import forget

    await forget(DATASET, document="c.md", wait_seconds=WAIT_SECONDS)


async def _drop() -> None:
    from overstory import forget

    await forget(DATASET, wait_seconds=WAIT_SECONDS)


async def _improved() -> list[str]:
    from overstory import datasets

    await rounds.improve()
    status, violations = await datasets.status(DATASET), await datasets.verify(DATASET)
    return [f"{status.pending} pending, {status.unpublished} unpublished"] * bool(
        status.pending or status.unpublished
    ) + [violation.message for violation in violations]


async def _forgotten() -> list[str]:
    from overstory import datasets, recall
    from overstory.errors import DocumentNotFoundError

    with suppress(DocumentNotFoundError):
        await _forget_one()
    faults = await _improved()
    found = await recall(f"Where was the {CANARY}?", "GRAPH_COMPLETION", datasets=DATASET, only_context=True)
    told = f"{await datasets.tree(DATASET)} {[one.evidence for one in found]}"
    return [*faults, *["what was forgotten is told"] * (CANARY in told)]


async def _dropped() -> list[str]:
    from overstory import datasets
    from overstory.errors import DatasetNotFoundError

    with suppress(DatasetNotFoundError):
        await _drop()
    return [f"{one.name} is still there" for one in await datasets.list_datasets()]


async def _index_anew() -> None:
    from overstory import datasets

    if not await datasets.list_datasets():
        await rounds.first_index()


WORKS = (
    Stopped("improve", _one_more, rounds.improve, _improved),
    Stopped("forget", _one_to_forget, _forget_one, _forgotten),
    Stopped("drop", _index_anew, _drop, _dropped, is_read=False),
)
