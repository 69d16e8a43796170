"""Processes that write, read, and are killed, on homes that are copies of a prepared one.

Every piece of work runs in a forked process of its own: the one that conducts opens no store, has no threads and no
event loop, so that a fork of it is as good as a new process and starts at once.
"""

import asyncio
import logging
import multiprocessing
import os
import random
import shutil
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import networkx
import numpy
import pyarrow.parquet

import overstory.api
import overstory.datasets
from benchmarks.measuring import leave_services
from overstory import SourceDocument
from overstory.layout import flows, retrieval, tasks
from overstory.stores import embedded

PRELOADED = (flows, retrieval, tasks, embedded, networkx, numpy, pyarrow.parquet, overstory.api, overstory.datasets)
"""Children are forked with everything in memory that they would have to import."""
FORK = multiprocessing.get_context("fork")
LEASE_SECONDS = "1"
WAIT_SECONDS = 60
PEOPLE = ("Anna Hofer", "Luis Ortega", "Mira Sand", "Tom Weller", "Ines Prado", "Joel Baker")
THINGS = ("Northstar", "Bluebird", "Granite", "Lantern", "Harbour", "Meadow")
PLACES = ("Porto", "Bergen", "Ghent", "Turin")
DATASET = "main_dataset"
Work = Callable[[], Awaitable[Any]]


def documents(first: int, end: int, changes: int = 3) -> list[SourceDocument]:
    """Notes whose names overlap; `changes` tells one version from another."""
    return [
        SourceDocument(
            f"Note {i}: {PEOPLE[i % 6]} reviewed the {THINGS[(i // 2) % 6]} plan in {PLACES[(i // 3) % 4]} "
            f"and asked for {i + changes} changes.",
            source=f"{i}.md",
        )
        for i in range(first, end)
    ]


# --- processes -------------------------------------------------------------------------------------


class Child:
    """Work that has begun in a process of its own."""

    def __init__(self, work: Work, home: Path, environment: dict[str, str]) -> None:
        self._answers, theirs = FORK.Pipe(duplex=False)
        self.process: BaseProcess = FORK.Process(target=_run, args=(work, home, environment, theirs))
        self.process.start()
        theirs.close()
        self.begun = self._answers.recv()

    def kill(self) -> None:
        self.process.kill()
        self.process.join()

    def result(self) -> Any:
        """What the work returned; its error is raised.

        Raises:
            EOFError: the process died.
        """
        try:
            kind, value = self._answers.recv()
        finally:
            self.process.join()
        if kind == "error":
            raise value
        return value


def run(work: Work, home: Path, environment: dict[str, str] | None = None) -> Any:
    return Child(work, home, environment or {}).result()


def _run(work: Work, home: Path, environment: dict[str, str], answers: Connection) -> None:
    leave_services()
    os.environ |= {
        "OVERSTORY_HOME": str(home),
        "EMBEDDING_MODEL": "hashing",
        "OVERSTORY_LEASE_SECONDS": LEASE_SECONDS,
        **environment,
    }
    logging.disable(logging.WARNING)
    answers.send(time.monotonic())
    try:
        answer = ("result", asyncio.run(work()))
    except Exception as error:  # noqa: BLE001 - raised again by the one who asks for the result
        answer = ("error", _portable(error))
    answers.send(answer)


def _portable(error: Exception) -> Exception:
    """An error that survives the way to another process; ours take other arguments than they show."""
    return RuntimeError(f"{type(error).__name__}: {error}")


# --- what is done ----------------------------------------------------------------------------------


async def remember() -> None:
    from overstory import remember

    changed = documents(0, 3, changes=50)
    await remember([*changed, *documents(24, 34)], self_improvement=False, wait_seconds=WAIT_SECONDS)


async def improve() -> dict[str, Any]:
    from overstory import improve

    index = (await improve(build_global_context_index=True, wait_seconds=WAIT_SECONDS)).index
    assert index is not None
    if index.status in ("failed", "skipped"):
        raise RuntimeError(index.reason)
    return {"status": str(index.status), "calls": index.model_calls, "generation": index.generation}


async def rebuild() -> dict[str, Any]:
    from overstory import global_context_index_pipeline

    index = await global_context_index_pipeline(
        rebuild=True, bucketing_strategy="graph", max_bucket_size=4, wait_seconds=WAIT_SECONDS
    )
    return {"status": str(index.status), "calls": index.model_calls, "generation": index.generation}


async def forget() -> None:
    from overstory import forget

    await forget(DATASET, document=[f"{i}.md" for i in range(2, 6)], wait_seconds=WAIT_SECONDS)


async def forget_what_is_left() -> None:
    from overstory import forget
    from overstory.errors import DocumentNotFoundError

    for i in range(2, 6):
        try:
            await forget(DATASET, document=f"{i}.md", wait_seconds=WAIT_SECONDS)
        except DocumentNotFoundError:
            continue


async def export() -> None:
    from overstory import datasets

    folder = Path(os.environ["OVERSTORY_HOME"]) / "exported"
    if not folder.exists():
        await datasets.export(DATASET, folder, wait_seconds=WAIT_SECONDS)


async def first_index() -> None:
    from overstory import remember as take_in

    await take_in(documents(0, 24), self_improvement=False)
    await improve()


async def prepare_pending() -> None:
    await first_index()
    await remember()


def then(*works: Work) -> Work:
    async def one_after_the_other() -> Any:
        result = None
        for work in works:
            result = await work()
        return result

    return one_after_the_other


@dataclass(frozen=True)
class Verb:
    name: str
    prepare: Work
    act: Work
    finish: Work
    """The next run."""


VERBS = (
    Verb("remember", first_index, remember, then(remember, improve)),
    Verb("improve", prepare_pending, improve, improve),
    Verb("rebuild", first_index, rebuild, rebuild),
    Verb("forget", first_index, forget, then(forget_what_is_left, improve)),
    Verb("export", first_index, export, export),
)


async def picture() -> dict[str, Any]:
    """Texts and child ids of the tree, what the dataset holds, and what is wrong with it."""
    from overstory import datasets

    status = await datasets.status(DATASET)
    exported = Path(os.environ["OVERSTORY_HOME"]) / "exported" / "manifest.json"
    return {
        "tree": [(str(e.id), e.text, [str(c) for c in e.child_ids]) for e in await datasets.tree(DATASET)],
        "holds": (status.documents, status.chunks, status.entities, status.edges, status.incomplete, status.pending),
        "violations": [v.message for v in await datasets.verify(DATASET)],
        "exported": _archived(exported),
    }


def _archived(manifest: Path) -> dict[str, Any]:
    import json

    return json.loads(manifest.read_text())["files"] if manifest.exists() else {}


# --- readers ---------------------------------------------------------------------------------------


@dataclass
class Seen:
    """What a reader has seen."""

    recalls: int = 0
    generations: set[int] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)


async def _read_until(stop: Any, ready: Any) -> Seen:
    """Ask again and again; root and areas of each answer must belong to one whole generation."""
    from overstory import datasets, recall
    from overstory.errors import OverstoryError

    seen, known = Seen(), _Generations()
    served, _ = await datasets.generations(DATASET)
    await known.read(served)
    ready.release()
    options = {"include_global_context_index": True, "global_context_index_top_k": 6}
    while not stop.is_set():
        try:
            answers = await recall(
                f"What did {random.choice(PEOPLE)} ask for?",
                "GRAPH_COMPLETION",
                datasets=DATASET,
                only_context=True,
                retriever_specific_config=options,
            )
            seen.recalls += 1
            for answer in answers:
                seen.generations.add(answer.generation)
                seen.faults += await known.faults_of(answer)
        except OverstoryError as error:
            seen.faults.append(f"{type(error).__name__}: {error}")
        await asyncio.sleep(0.02)
    return seen


class _Generations:
    """The texts of each generation by id, as they were whenever its tree was read."""

    def __init__(self) -> None:
        self._texts: dict[int, dict[Any, set[str]]] = {}

    async def faults_of(self, answer: Any) -> list[str]:
        evidence = answer.evidence
        areas = [*([evidence.root] if evidence.root else []), *evidence.areas]
        if answer.generation and not evidence.root:
            return [] if evidence.notes or not await self.read(answer.generation) else ["an index without a root"]
        unknown = [a for a in areas if not self._has(answer.generation, a)]
        if not unknown or not await self.read(answer.generation):
            return []
        return [
            f"generation {answer.generation} has no such text: {a.id}"
            for a in unknown
            if not self._has(answer.generation, a)
        ]

    def _has(self, generation: int, area: Any) -> bool:
        texts = self._texts.get(generation, {}).get(area.id, set())
        return any(area.text == text or area.stale for text in texts)

    async def read(self, generation: int) -> bool:
        """Read a generation's tree and check that it is whole; False when it is not kept any more."""
        from overstory import datasets
        from overstory.errors import GenerationNotFoundError

        try:
            entries = await datasets.tree(DATASET, generation=generation)
        except GenerationNotFoundError:
            return False
        texts = self._texts.setdefault(generation, {})
        for entry in entries:
            texts.setdefault(entry.id, set()).add(entry.text)
        return bool(entries) and entries[0].is_root


@contextmanager
def readers(home: Path, count: int, environment: dict[str, str] | None = None) -> Iterator[Callable[[], list[Seen]]]:
    """Readers that read while the block runs; afterwards the call gives what they saw."""
    stop, ready = FORK.Event(), FORK.Semaphore(0)
    children = [Child(lambda: _read_until(stop, ready), home, environment or {}) for _ in range(count)]
    for _ in children:
        ready.acquire()
    found: list[Seen] = []
    try:
        yield lambda: found
    finally:
        stop.set()
        found += [child.result() for child in children]


# --- a round ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Prepared:
    verb: Verb
    home: Path
    expected: dict[str, Any]
    seconds: float
    """That the verb takes undisturbed."""
    environment: dict[str, str]


def prepare(verb: Verb, folder: Path, environment: dict[str, str] | None = None) -> Prepared:
    """A home in which the verb can begin, and what an undisturbed run makes of it."""
    environment = environment or {}
    home = folder / f"{verb.name}-prepared"
    run(verb.prepare, home, environment)
    whole = folder / f"{verb.name}-whole"
    shutil.copytree(home, whole)
    begun = time.monotonic()
    run(verb.act, whole, environment)
    seconds = time.monotonic() - begun
    run(verb.finish, whole, environment)
    return Prepared(verb, home, run(picture, whole, environment), seconds, environment)


@dataclass
class Round:
    killed_after: float
    was_running: bool
    seen: list[Seen]
    faults: list[str]


def kill_once(prepared: Prepared, folder: Path, chance: random.Random, reading: int) -> Round:
    """Kill the verb at a random moment while others read, run it again, and compare."""
    home = folder / "round"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(prepared.home, home)
    with readers(home, reading) as seen:
        child = Child(prepared.verb.act, home, prepared.environment)
        moment = chance.uniform(0, prepared.seconds * 1.2)
        time.sleep(moment)
        running = child.process.is_alive()
        child.kill()
        run(prepared.verb.finish, home, prepared.environment)
    found = run(picture, home, prepared.environment)
    faults = [f"{name} differs" for name in found if found[name] != prepared.expected[name]]
    faults += [fault for one in seen() for fault in one.faults]
    return Round(moment, running, seen(), faults)
