"""A real Weaviate server for tests: the one that OVERSTORY_TEST_WEAVIATE_URL names, or `weaviate` from the PATH.

The binary is only started, on free loopback ports and with its data in a temporary folder.
"""

import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest

BINARY = shutil.which("weaviate")
GIVEN_URL = os.environ.get("OVERSTORY_TEST_WEAVIATE_URL", "")
REASON = "no Weaviate server: put `weaviate` on the PATH or set OVERSTORY_TEST_WEAVIATE_URL"
_READY_SECONDS = 90


class WeaviateServer:
    """A server of our own, with data that outlives a kill."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self._ports = _free_ports()
        self._environment = {**_settings(folder, self._ports), **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"weaviate://127.0.0.1:{self._ports['http']}?grpc_port={self._ports['grpc']}"

    @property
    def log(self) -> str:
        return (self.folder / "server.log").read_text(errors="replace")

    @property
    def memory_megabytes(self) -> float:
        assert self._process is not None
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024

    def start(self) -> None:
        """Start it, the first time or after a kill, and wait until it answers."""
        assert BINARY is not None
        command = [BINARY, "--host", "127.0.0.1", "--port", str(self._ports["http"]), "--scheme", "http"]
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--read-timeout=600s", "--write-timeout=600s"], env=self._environment, stdout=log, stderr=log
            )
        self._await_ready()

    def kill(self) -> None:
        """End it as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _await_ready(self) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        address = f"http://127.0.0.1:{self._ports['http']}/v1/.well-known/ready"
        while time.monotonic() < deadline:
            assert self._process is not None
            if self._process.poll() is not None:
                raise RuntimeError(f"weaviate ended with {self._process.returncode}:\n{self.log[-2000:]}")
            try:
                with urllib.request.urlopen(address, timeout=2) as answer:
                    if answer.status == 200:
                        return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        raise RuntimeError(f"weaviate was not ready within {_READY_SECONDS} s:\n{self.log[-2000:]}")


def _free_ports() -> dict[str, int]:
    """Ports that nobody uses; gossip and RAFT each need the port after theirs too."""
    with ExitStack() as held:

        def free(neighbours: int = 1) -> int:
            while True:
                first = held.enter_context(socket.socket())
                first.bind(("127.0.0.1", 0))
                port: int = first.getsockname()[1]
                try:
                    for offset in range(1, neighbours):
                        held.enter_context(socket.socket()).bind(("127.0.0.1", port + offset))
                except OSError:
                    continue
                return port

        return {"http": free(), "grpc": free(), "gossip": free(2), "raft": free(2)}


def _settings(folder: Path, ports: Mapping[str, int]) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PERSISTENCE_DATA_PATH": str(folder / "data"),
        "CLUSTER_HOSTNAME": "node1",
        "CLUSTER_IN_LOCALHOST": "true",
        "CLUSTER_ADVERTISE_ADDR": "127.0.0.1",
        "CLUSTER_GOSSIP_BIND_PORT": str(ports["gossip"]),
        "CLUSTER_DATA_BIND_PORT": str(ports["gossip"] + 1),
        "RAFT_JOIN": f"node1:{ports['raft']}",
        "RAFT_BOOTSTRAP_EXPECT": "1",
        "RAFT_PORT": str(ports["raft"]),
        "RAFT_INTERNAL_RPC_PORT": str(ports["raft"] + 1),
        "GRPC_PORT": str(ports["grpc"]),
        "GO_PROFILING_DISABLE": "true",
        "DISABLE_TELEMETRY": "true",
        "LOG_LEVEL": "warning",
        "AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED": "true",
        "AUTOSCHEMA_ENABLED": "false",
        "DEFAULT_VECTORIZER_MODULE": "none",
        "ENABLE_MODULES": "",
        "QUERY_DEFAULTS_LIMIT": "10",
        "QUERY_MAXIMUM_RESULTS": "10000",
        "DISK_USE_WARNING_PERCENTAGE": "98",
        "DISK_USE_READONLY_PERCENTAGE": "99",
    }


def started(environment: Mapping[str, str] | None = None) -> Iterator[WeaviateServer]:
    """A server of our own until the block ends; skips where there is no binary."""
    if BINARY is None:
        pytest.skip(REASON)
    with tempfile.TemporaryDirectory(prefix="overstory-weaviate-", ignore_cleanup_errors=True) as folder:
        server = WeaviateServer(Path(folder), environment)
        try:
            server.start()
            yield server
        finally:
            server.kill()


@pytest.fixture(scope="session")
def weaviate_url() -> Iterator[str]:
    """The server that the whole run shares, and a prefix of its own for the run's collections."""
    options = f"prefix=Test{uuid4().hex[:8]}"
    if GIVEN_URL:
        yield f"{GIVEN_URL}{'&' if '?' in GIVEN_URL else '?'}{options}"
    else:
        for server in started():
            yield f"{server.url}&{options}"
