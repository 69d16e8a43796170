"""Telling for certain that a process of this host has ended: for what it held and never gave back.

A process is known by its number and the tick at which it started, so that a number that is used again is not taken for
it. Both mean something only within one boot of one machine and one namespace of processes, which is written beside
them: of a process anywhere else nothing is known. Linux only; elsewhere nothing is known of any process.
"""

import hashlib
import os
import re
import socket
from functools import cache
from pathlib import Path

_PROC = Path("/proc")
_MARK = re.compile(r"\b([0-9a-f]{12})\.(\d+)\.(\d+)\b")
_STATE, _THREADS, _STARTED = 0, 17, 19
"""Places among the fields of /proc/PID/stat that follow the name, see proc(5)."""


def mark() -> str:
    """What tells this process from all others; empty where that can't be said."""
    place, fields = _place(os.getpid()), _fields(os.getpid())
    return f"{place}.{os.getpid()}.{fields[_STARTED]}" if place and fields else ""


def has_ended(text: str) -> bool:
    """Whether the process whose `mark` stands in a text is certainly dead; False when nobody can know."""
    found = _MARK.search(text)
    if found is None or found[1] != _place(os.getpid()):
        return False
    return _is_gone(int(found[2]), started=found[3])


def _is_gone(pid: int, started: str) -> bool:
    fields = _fields(pid)
    if not fields:
        return not _exists(pid)  # /proc may hide the processes of others
    if fields[_STARTED] != started:
        return True
    return fields[_STATE] in "XxZ" and int(fields[_THREADS]) <= 1


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _fields(pid: int) -> list[str]:
    """Of /proc/PID/stat, those after the name, which may hold anything; none when it can't be read."""
    try:
        return (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


@cache
def _place(own_pid: int) -> str:
    """The host, its boot and the namespaces in which this process counts processes and ticks; empty if unknown."""
    try:
        if os.readlink(_PROC / "self") != str(own_pid):
            return ""  # /proc is that of another namespace
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        spaces = [os.readlink(_PROC / "self/ns" / name) for name in ("pid", "time")]
    except OSError:
        return ""
    return hashlib.sha256("\x1f".join([socket.gethostname(), boot, *spaces]).encode()).hexdigest()[:12]
