"""A real Prefect server for tests, with a worker: started on a free loopback port, its data in a temporary folder.

Runs are started and looked at by the API, as the UI does it.
"""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parents[1]
FINAL = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}
_READY_SECONDS = 120
_STORED_SECONDS = 180
"""How long the server may take to store what it was told in the background; a busy machine takes its time."""
_BIN = Path(sys.executable).parent


class PrefectServer:
    """A server and, when asked for, one worker of type process with everything in prefect.yaml deployed.

    Args:
        folder: where the server's database, and the data of the runs (`home`) go.
        environment: of the worker, besides what it needs.
        port: None for a free one.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None, port: int | None = None) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.port = port or _free_port()
        self.url = f"http://127.0.0.1:{self.port}/api"
        self.environment = {
            "PATH": f"{_BIN}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "DO_NOT_TRACK": "1",
            "PREFECT_HOME": str(folder / "prefect"),
            "PREFECT_API_URL": self.url,
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "PREFECT_SERVER_UI_API_URL": self.url,
            "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
            "PREFECT_WORKER_QUERY_SECONDS": "1",
            "PYTHONPATH": str(ROOT),
            "OVERSTORY_CODE": str(ROOT),
            "OVERSTORY_HOME": str(self.home),
            "EMBEDDING_MODEL": "hashing",
            **(environment or {}),
        }
        self.worker: subprocess.Popen[bytes] | None = None
        self._server: subprocess.Popen[bytes] | None = None
        self._http = httpx.Client(base_url=f"{self.url}/", timeout=30, trust_env=False)

    # --- life ---

    def start(self) -> None:
        """Start the server, for the first time or again, and wait until it answers."""
        command = ["prefect", "server", "start", "--host", "127.0.0.1", "--port", str(self.port)]
        self._server = self._launch(command, "server.log")
        wait_for(self._answers, seconds=_READY_SECONDS, what="the Prefect server")

    def deploy(self, *, heartbeat_seconds: int = 30) -> None:
        """Create work pool and automation, and bring prefect.yaml to the server."""
        setup = [sys.executable, "deployments/setup_server.py", "--heartbeat-seconds", str(heartbeat_seconds)]
        for command in (setup, ["prefect", "--no-prompt", "deploy", "--all"]):
            subprocess.run(
                command, cwd=ROOT, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, check=True
            )

    def start_worker(self) -> None:
        command = ["prefect", "worker", "start", "--pool", "overstory", "--type", "process"]
        self.worker = self._launch(command, "worker.log")

    def stop(self) -> None:
        """End worker and server, and whatever runs they have."""
        self.kill_worker()
        self.stop_server()
        self._http.close()

    def kill_worker(self) -> None:
        """End the worker and its flow runs as a power cut would."""
        flows = descendants(self.worker.pid) if self.worker else []
        _kill_group(self.worker)
        self._kill(flows)
        self.worker = None

    def kill_flows(self) -> None:
        """End the processes of all flow runs, and leave the worker alone."""
        assert self.worker is not None
        self._kill(descendants(self.worker.pid))

    def _kill(self, processes: list[int]) -> None:
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def stop_server(self) -> None:
        if self._server is not None:
            self._server.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self._server.wait(timeout=20)
            _kill_group(self._server)
            self._server = None

    def _launch(self, command: list[str], log: str) -> "subprocess.Popen[bytes]":
        with (self.folder / log).open("ab") as file:
            return subprocess.Popen(
                command, cwd=self.folder, env=self.environment, stdout=file, stderr=file, start_new_session=True
            )

    def _answers(self) -> bool:
        try:
            return self._http.get("health").status_code == 200
        except httpx.HTTPError:
            return False

    # --- what the UI asks ---

    def deployment_id(self, flow: str) -> str:
        return str(self._get(f"deployments/name/{flow}/{flow.replace('_', '-')}")["id"])

    def run(self, flow: str, **parameters: Any) -> str:
        """Start the deployment of a flow; the id of its run."""
        made = self._post(f"deployments/{self.deployment_id(flow)}/create_flow_run", {"parameters": parameters})
        return str(made["id"])

    def refusal(self, flow: str, **parameters: Any) -> str:
        """What the server says to parameters that it does not take; empty when it takes them."""
        path = f"deployments/{self.deployment_id(flow)}/create_flow_run"
        answer = self._http.post(path, json={"parameters": parameters})
        return "" if answer.status_code < 400 else answer.text

    def ended(self, run_id: str, seconds: float = 300) -> dict[str, Any]:
        """The run, when it has ended."""
        return wait_for(lambda: self._if_final(run_id), seconds=seconds, what=f"the end of run {run_id}")

    def flow_run(self, run_id: str) -> dict[str, Any]:
        return dict(self._get(f"flow_runs/{run_id}"))

    def runs_of(self, flow: str) -> list[dict[str, Any]]:
        """The runs of a flow, newest first."""
        return list(
            self._post("flow_runs/filter", {"flows": {"name": {"any_": [flow]}}, "sort": "EXPECTED_START_TIME_DESC"})
        )

    def children_of(self, run_id: str) -> list[dict[str, Any]]:
        return list(self._post("flow_runs/filter", {"flow_runs": {"parent_flow_run_id": {"any_": [run_id]}}}))

    def task_runs(self, run_id: str) -> list[dict[str, Any]]:
        """At least one: the server stores what it is told of task runs some time after it was told."""
        asked = {"flow_runs": {"id": {"any_": [run_id]}}, "limit": 200}
        return wait_for(
            lambda: list(self._post("task_runs/filter", asked)), seconds=_STORED_SECONDS, what=f"tasks of run {run_id}"
        )

    def graph(self, run_id: str) -> dict[str, set[str]]:
        """Name of a task run → names of those before it. Waits until the server has stored what it was told."""
        return wait_for(lambda: self._graph(run_id), seconds=_STORED_SECONDS, what=f"the graph of run {run_id}")

    def artifacts(self, run_id: str) -> dict[str, dict[str, Any]]:
        """By the last word of their keys."""
        found = self._post("artifacts/filter", {"flow_runs": {"id": {"any_": [run_id]}}})
        return {artifact["key"].rpartition("-")[2]: artifact for artifact in found}

    def logged(self, run_id: str, *words: str) -> str:
        """The first line of a run's log with all these words. Lines reach the server some time after the run's end."""
        return wait_for(
            lambda: self._logged(run_id, words), seconds=_STORED_SECONDS, what=f"a line with {words} in run {run_id}"
        )

    def cancel(self, run_id: str) -> None:
        self._post(f"flow_runs/{run_id}/set_state", {"state": {"type": "CANCELLING", "name": "Cancelling"}})

    def knows(self, run_id: str) -> bool:
        return self._http.get(f"flow_runs/{run_id}").status_code == httpx.codes.OK

    def untag(self, run_id: str) -> None:
        """Make a run one of somebody else."""
        self._http.patch(f"flow_runs/{run_id}", json={"tags": []}).raise_for_status()

    def age(self, run_id: str) -> None:
        """Let a run have ended years ago; only the server's own database takes that."""
        with closing(sqlite3.connect(self.folder / "prefect" / "prefect.db", timeout=30)) as database, database:
            end = "UPDATE flow_run SET end_time = '2020-01-01 00:00:00.000000' WHERE id = ?"
            assert database.execute(end, (run_id,)).rowcount == 1

    def _logged(self, run_id: str, words: tuple[str, ...]) -> str | None:
        lines = self._post("logs/filter", {"logs": {"flow_run_id": {"any_": [run_id]}}, "limit": 200})
        return next((line["message"] for line in lines if all(word in line["message"] for word in words)), None)

    def _graph(self, run_id: str) -> dict[str, set[str]] | None:
        nodes = dict(self._get(f"flow_runs/{run_id}/graph-v2")["nodes"])
        if not nodes or any(node["state_type"] not in FINAL for node in nodes.values()):
            return None
        return {n["label"]: {nodes[p["id"]]["label"] for p in n["parents"]} for n in nodes.values()}

    def _if_final(self, run_id: str) -> dict[str, Any] | None:
        try:
            run = self.flow_run(run_id)
        except httpx.HTTPError:
            return None
        return run if run["state"]["type"] in FINAL else None

    def _get(self, path: str) -> Any:
        return self._http.get(path).raise_for_status().json()

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        """As the UI and Prefect's own client do, try again while the database is locked (503)."""
        for _ in range(10):
            answer = self._http.post(path, json=body)
            if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                break
            time.sleep(1)
        return answer.raise_for_status().json()


def wait_for(get: Callable[[], Any], *, seconds: float, what: str) -> Any:
    """The first answer that is true."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if answer := get():
            return answer
        time.sleep(0.25)
    raise TimeoutError(f"waited {seconds:g} s for {what}")


def descendants(process: int) -> list[int]:
    """Ids of all processes below one. A worker's flow runs are groups of their own."""
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    found = [process]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def _kill_group(process: "subprocess.Popen[bytes] | None") -> None:
    if process is None:
        return
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
