"""Who is told of operations, and what it costs that nobody is."""

import subprocess
import sys
from collections.abc import Iterator

import pyarrow as pa
import pytest

from overstory import telemetry
from overstory.columns import schema_of
from overstory.errors import MissingPackageError, NoDataError
from overstory.models import PendingChange
from overstory.runtime import current_runtime
from overstory.stores.memory import MemoryStore
from overstory.stores.watched import watched
from overstory.telemetry import End, Kind, Operation, operation, step
from tests.contract.samples import dataset, row


class Listener:
    def __init__(self) -> None:
        self.heard: list[tuple[str, dict[str, object], str]] = []

    def begin(self, operation: Operation) -> End:
        def end(error: BaseException | None) -> None:
            self.heard.append((operation.name, dict(operation.attributes), type(error).__name__))

        return end


@pytest.fixture
def listener() -> Iterator[Listener]:
    one = Listener()
    telemetry.observe(one)
    yield one
    telemetry.leave(one)


@step(Kind.RECALL, "double")
async def double(number: int) -> int:
    """Twice as much."""
    return 2 * number


async def test_nobody_is_told_unless_there_is_somebody() -> None:
    with operation(Kind.STORE, "get", rows=3) as told:
        told.note(rows=4)

    assert not telemetry.observed()
    assert told is operation(Kind.MODEL, "chat")
    assert await double(2) == 4


async def test_an_operation_is_told_with_what_was_noted_and_how_it_ended(listener: Listener) -> None:
    async def fail() -> None:
        with operation(Kind.STORE, "get", rows=3) as told:
            told.note(rows=4, cost_usd=None)
            raise NoDataError("notes")

    with pytest.raises(NoDataError):
        await fail()
    doubled = await double(2)

    assert doubled == 4 and double.__doc__ == "Twice as much."
    assert listener.heard == [("get", {"rows": 4}, "NoDataError"), ("double", {}, "NoneType")]


async def test_an_observer_is_told_once_and_no_more_when_it_has_left(listener: Listener) -> None:
    telemetry.observe(listener)
    await double(1)
    telemetry.leave(listener)
    await double(1)

    assert len(listener.heard) == 1


async def test_a_call_of_a_store_tells_how_many_rows_it_is_given(listener: Listener) -> None:
    store = watched(MemoryStore(), "memory")
    tenant = await store.tenant(await store.create_dataset(dataset()))
    rows = [row(PendingChange, tenant.dataset_id) for _ in range(2)]
    ids = [one.key.bytes for one in rows]
    table = pa.table({"summary_id": ids, "dataset_id": [tenant.dataset_id.bytes] * 2}, schema_of(PendingChange, 8))

    await tenant.put(rows)
    await tenant.put_table(PendingChange, table)

    told = {name: about for name, about, _ in listener.heard}
    assert [told[name]["rows"] for name in ("put", "put_table")] == [2, 2]


def test_without_traces_nothing_of_them_is_imported() -> None:
    program = """
import asyncio, sys
from overstory import improve, recall, remember
async def main():
    await remember(["Ada Brook tests Northstar in Porto.", "Luis Ortega paints the boat."])
    await improve(build_global_context_index=True)
    await recall("Who tests Northstar?")
asyncio.run(main())
print([m for m in sys.modules if m.split('.')[0] in ('opentelemetry', 'prometheus_client', 'mcp', 'fastapi')])
"""

    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    assert loaded.strip() == "[]"


async def test_traces_without_the_package_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from overstory import tracing

    tracing._spans.cache_clear()
    monkeypatch.setenv("OVERSTORY_TRACES", "true")
    monkeypatch.setitem(sys.modules, "opentelemetry", None)

    with pytest.raises(MissingPackageError, match=r"OVERSTORY_TRACES.*overstory\[otel\]"):
        await current_runtime()
