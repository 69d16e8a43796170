"""Knowing that a process has ended, and never saying so of one that lives."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from overstory import processes

pytestmark = pytest.mark.skipif(not processes.mark(), reason="this system does not tell processes apart")
WAITS = """
import sys
from overstory import processes
print(processes.mark(), flush=True)
sys.stdin.read()
"""
WAITS_IN_A_THREAD = """
import ctypes, sys, threading
from overstory import processes
threading.Thread(target=lambda: (print(processes.mark(), flush=True), sys.stdin.read())).start()
ctypes.CDLL(None).syscall({exit_of_the_main_thread}, 0)
"""
_SYS_EXIT = {"x86_64": 60, "aarch64": 93}


@pytest.fixture
def child() -> Iterator[subprocess.Popen[str]]:
    process = _start(WAITS)
    yield process
    process.kill()
    process.communicate()


def _start(program: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    )


def _mark_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_this_process_has_not_ended():
    assert not processes.has_ended(f"build {processes.mark()} (somewhere)")


def test_a_process_has_ended_once_it_is_killed_and_gone(child):
    name = f"improve {_mark_of(child)}.1 (process {child.pid} on a host)"
    alive = processes.has_ended(name)

    child.kill()
    child.communicate()

    assert not alive
    assert processes.has_ended(name)


def test_a_killed_process_whose_parent_has_not_looked_yet_has_ended(child):
    name = _mark_of(child)

    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

    assert processes.has_ended(name)


@pytest.mark.skipif(os.uname().machine not in _SYS_EXIT, reason="the number of the call is not known")
def test_a_process_whose_main_thread_alone_is_gone_lives():
    program = WAITS_IN_A_THREAD.replace("{exit_of_the_main_thread}", str(_SYS_EXIT[os.uname().machine]))
    child = _start(program)
    try:
        name = _mark_of(child)
        deadline = time.monotonic() + 60
        while processes._fields(child.pid)[0] != "Z":
            assert time.monotonic() < deadline
            time.sleep(0.01)

        assert not processes.has_ended(name)
    finally:
        child.kill()
        child.communicate()


def test_another_process_with_the_same_number_is_not_taken_for_it():
    place, pid, started = processes.mark().split(".")

    assert processes.has_ended(f"{place}.{pid}.{int(started) - 1}")


@pytest.mark.parametrize("name", ["", "improve 1a2b3c4d (process 1 on a host)", "0123456789ab.999999999.1"])
def test_of_a_process_of_another_place_or_without_a_mark_nothing_is_known(name):
    assert not processes.has_ended(name)


def test_a_process_that_proc_hides_lives_while_the_system_knows_it(child, monkeypatch):
    name = _mark_of(child)
    monkeypatch.setattr(processes, "_fields", lambda pid: [])
    hidden = processes.has_ended(name)

    child.kill()
    child.communicate()

    assert not hidden
    assert processes.has_ended(name)


def test_without_proc_nothing_is_known(monkeypatch, tmp_path):
    name = processes.mark()
    monkeypatch.setattr(processes, "_PROC", tmp_path)
    processes._place.cache_clear()
    try:
        assert processes.mark() == ""
        assert not processes.has_ended(name)
    finally:
        monkeypatch.undo()
        processes._place.cache_clear()
