"""What breaks around a writer: the disk, rights to files, the model service, the clock, other writers."""

import asyncio
import ctypes
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks import fault_rounds as rounds
from benchmarks.fault_rounds import DATASET, FORK, Child, Prepared, Work, run
from overstory.llm import load_litellm
from overstory.testing import ScriptedModelServer, fail, slow

CONCURRENCY = 4
_NO_RIGHTS_VERSION = 0x20080522
_SYS_CAPSET = {"x86_64": 126, "aarch64": 91}


# --- the model -------------------------------------------------------------------------------------


class ModelProcess:
    """A scripted model in a process of its own that counts what it is asked, whoever dies."""

    def __init__(self, seconds: float = 0.02) -> None:
        load_litellm()  # once, not in each process that is forked from here
        self._line, theirs = FORK.Pipe()
        self._process = FORK.Process(target=_serve, args=(theirs, seconds), daemon=True)
        self._process.start()
        self.url = self._line.recv()

    def ask(self, command: str, *values: Any) -> Any:
        self._line.send((command, values))
        return self._line.recv()

    @property
    def calls(self) -> int:
        return int(self.ask("calls"))

    @property
    def environment(self) -> dict[str, str]:
        return {
            "LLM_MODEL": "openai/scripted",
            "LLM_ENDPOINT": self.url,
            "LLM_API_KEY": "none",
            "LLM_MAX_CONCURRENCY": str(CONCURRENCY),
        }

    def stop(self) -> None:
        self._process.terminate()
        self._process.join()


def _serve(line: Any, seconds: float) -> None:
    with ScriptedModelServer() as server, suppress(EOFError):
        server.when(slow(seconds))
        line.send(server.url)
        while True:
            command, values = line.recv()
            line.send(_COMMANDS[command](server, *values))


def _overload(server: ScriptedModelServer, share: float, retry_after: float, after: int = 0) -> None:
    first = len(server.chats) + after

    def overloaded(request: Any, reply: Any) -> Any:
        if len(server.chats) <= first:
            return reply
        return fail(429, retry_after=retry_after)(request, reply)

    server.when(overloaded, share=share)


def _behave(server: ScriptedModelServer) -> None:
    server.behave()
    server.forget()


_COMMANDS: dict[str, Callable[..., Any]] = {
    "calls": lambda server: len(server.chats),
    "most in flight": lambda server: server.max_in_flight,
    "forget": lambda server: server.forget(),
    "behave": _behave,
    "overload": _overload,
}


async def durable() -> int:
    """Texts that are paid for and stored beyond generation 1: index rows and read chunks."""
    from overstory import datasets
    from overstory.models import DocumentChunk, GlobalContextSummary
    from overstory.runtime import open_dataset

    (dataset,) = await datasets.list_datasets()
    tenant = (await open_dataset(dataset.id)).tenant
    count = 0
    async for batch in tenant.batches(GlobalContextSummary, ["valid_from", "degraded"]):
        count += sum(row["valid_from"] > 1 and not row["degraded"] for row in batch.to_pylist())
    async for batch in tenant.batches(DocumentChunk, ["graph"]):
        count += batch.num_rows - batch.column("graph").null_count
    return count


# --- files -----------------------------------------------------------------------------------------


def without_rights(work: Work) -> Work:
    """The work of one whom modes of files bind, also when it is root that runs it."""

    async def bound() -> Any:
        _drop_rights()
        return await work()

    return bound


def _drop_rights() -> None:
    if os.geteuid() != 0:
        return
    header = (ctypes.c_uint32 * 2)(_NO_RIGHTS_VERSION, 0)
    nothing = (ctypes.c_uint32 * 6)()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(_SYS_CAPSET[os.uname().machine], header, nothing) != 0:
        raise OSError(ctypes.get_errno(), "the rights of root could not be given up")


@contextmanager
def small_disk(folder: Path, kib: int) -> Iterator[Path]:
    """A file system of so many KiB.

    Raises:
        PermissionError: this user may not mount one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    size = f"size={kib}k"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode != 0:
        raise PermissionError(mounted.stderr.decode().strip())
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False, capture_output=True)


def grow_disk(folder: Path, kib: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={kib}k", str(folder)], check=True, capture_output=True)


def size_kib(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) // 1024


def dataset_files(home: Path) -> list[Path]:
    return sorted((home / "datasets").glob("*.db*"))


def error_of(work: Work, home: Path, environment: dict[str, str] | None = None) -> str:
    """What the work says when it fails; empty when it does not."""
    try:
        run(work, home, environment)
    except RuntimeError as error:
        return str(error)
    return ""


def full_disk(prepared: Prepared, folder: Path, spare_kib: int) -> tuple[str, list[str]]:
    """Run out of space in the middle of a build; what it said, and what was wrong."""
    with small_disk(folder / "disk", size_kib(prepared.home) + spare_kib) as disk:
        home = disk / "home"
        shutil.copytree(prepared.home, home)
        before = run(rounds.picture, home)["tree"]
        said = error_of(prepared.verb.act, home)
        grow_disk(disk, 65_536)
        after = run(rounds.picture, home)["tree"]
        faults = [] if not said or after == before else ["the last index is not served"]
        run(prepared.verb.finish, home)
        faults += differences(run(rounds.picture, home), prepared)
    return said, faults


def read_only(prepared: Prepared, folder: Path) -> tuple[str, list[str]]:
    home = fresh(prepared, folder)
    for path in dataset_files(home):
        path.chmod(0o444)
    said = error_of(without_rights(prepared.verb.act), home)
    served = run(without_rights(rounds.picture), home)["tree"]
    for path in dataset_files(home):
        path.chmod(0o644)
    faults = ["no error"] if not said else []
    faults += [] if served == run(rounds.picture, home)["tree"] else ["the last index is not served"]
    run(prepared.verb.finish, home)
    return said, faults + differences(run(rounds.picture, home), prepared)


def unreadable_in_the_middle(prepared: Prepared, folder: Path, after_seconds: float) -> tuple[str, list[str]]:
    """Take away the right to read while a build runs; who comes then is told, the build ends or is told."""
    home = fresh(prepared, folder)
    child = Child(without_rights(prepared.verb.act), home, {})
    time.sleep(after_seconds)
    for path in dataset_files(home):
        with suppress(FileNotFoundError):
            path.chmod(0)
    said = error_of(without_rights(rounds.picture), home)
    with suppress(RuntimeError):
        child.result()
    for path in dataset_files(home):
        path.chmod(0o644)
    faults = ["no error"] if not said else []
    run(prepared.verb.finish, home)
    return said, faults + differences(run(rounds.picture, home), prepared)


def fresh(prepared: Prepared, folder: Path) -> Path:
    home = folder / "fresh"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(prepared.home, home)
    return home


def differences(found: dict[str, Any], prepared: Prepared) -> list[str]:
    return [f"{name} differs" for name in found if found[name] != prepared.expected[name]]


# --- writers ---------------------------------------------------------------------------------------


async def improve_or_busy() -> str:
    from overstory import improve
    from overstory.errors import DatasetBusyError

    try:
        index = (await improve(build_global_context_index=True)).index
    except DatasetBusyError as error:
        return f"busy: {error.holder}"
    assert index is not None
    return f"{index.status}{index.reason}"


def improve_other() -> Work:
    async def work() -> str:
        from overstory import improve

        index = (await improve("other", build_global_context_index=True)).index
        assert index is not None
        return str(index.status)

    return work


async def prepare_two() -> None:
    from overstory import remember

    await rounds.prepare_pending()
    await remember(rounds.documents(0, 16), "other")


def many_writers(prepared: Prepared, folder: Path, count: int) -> tuple[list[str], list[str]]:
    """Several improve one dataset, one another, at once; what each said, and what was wrong."""
    home = fresh(prepared, folder)
    children = [Child(improve_or_busy, home, {}) for _ in range(count)]
    other = Child(improve_other(), home, {})
    said = [child.result() for child in children]
    faults = [] if other.result() == "published" else ["the other dataset was held up"]
    faults += [] if said.count("published") == 1 else [f"published: {said}"]
    faults += [s for s in said if not s.startswith(("published", "unchanged", "busy: improve"))]
    return said, faults + differences(run(rounds.picture, home), prepared)


# --- the clock -------------------------------------------------------------------------------------


def clock_jumps(home: Path, days: float) -> list[str]:
    """Set the clock while a writer holds its lease: no two may publish, and none may hold it for ever."""
    return list(run(lambda: _clock_jumps(home, timedelta(days=days)), home))


async def _clock_jumps(home: Path, jump: timedelta) -> list[str]:
    from overstory import datasets
    from overstory.errors import DatasetBusyError, LeaseLostError
    from overstory.stores.embedded import EmbeddedStore

    shift = timedelta()
    store = EmbeddedStore(home, clock=lambda: datetime.now(UTC) + shift)
    (dataset,) = [d for d in await datasets.list_datasets() if d.name == DATASET]
    first = await store.acquire_lease(dataset.id, "first", 60)
    manifest = await store.read_manifest(dataset.id)
    shift = jump
    faults = []
    try:
        second = await store.acquire_lease(dataset.id, "second", 60)
    except DatasetBusyError:
        return ["the lease is held for ever"]
    await store.write_manifest(replace(manifest, token=second.token), second)
    for attempt in (store.write_manifest(manifest, first), store.renew_lease(first, 60)):
        try:
            await attempt
        except LeaseLostError:
            continue
        faults.append("two writers publish")
    shift = timedelta()
    third = await store.acquire_lease(dataset.id, "third", 60)
    await store.release_lease(third)
    await store.close()
    return faults


# --- too many requests -----------------------------------------------------------------------------


async def improve_against_overload() -> dict[str, Any]:
    """Build, and note how far the concurrency fell and rose meanwhile."""
    from overstory import datasets, improve, model_limits

    lowest, calls = [CONCURRENCY], asyncio.create_task(improve(build_global_context_index=True))
    while not calls.done():
        known = [one for group in model_limits._limiters.values() for one in group.values()]
        lowest += [one.allowed for one in known]
        await asyncio.sleep(0.005)
    index = (await calls).index
    assert index is not None
    status = await datasets.status(DATASET)
    return {
        "status": str(index.status),
        "reason": index.reason,
        "calls": index.model_calls,
        "retries": index.usage.retries,
        "degraded": index.degraded,
        "generation": status.generation,
        "lowest": min(lowest),
        "last": lowest[-1],
    }
