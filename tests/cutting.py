"""A store whose line is cut: what a kill of the writer looks like from the store's side, at whatever write one likes.

    with line_cut_after(7, WeaviateStore, WeaviateTenant) as line:
        await improve(...)
    line.cut  # whether it got so far

The seventh write is done, the eighth and everything after it, reads too, fail as if nobody were there. Writes are
counted over every object of these classes, each call of the contract as one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from overstory.errors import StoreUnavailableError
from overstory.stores import contract

WRITES = {
    contract.Store: (
        "create_dataset",
        "drop_dataset",
        "grant",
        "write_manifest",
        "acquire_lease",
        "release_lease",
        "erase_turns",
    ),
    contract.Tenant: ("put", "patch", "delete", "sweep", "erase_traces"),
}
READS = {
    contract.Store: ("get_dataset", "list_datasets", "read_manifest", "read_lease", "renew_lease"),
    contract.Tenant: ("get", "vectors", "count", "find", "tally", "edges_between", "areas"),
}


@dataclass(slots=True)
class Line:
    """How a line stands."""

    left: int
    """Writes that still get through."""
    cut: bool = False

    def take(self, writes: bool) -> None:
        if writes and not self.cut:
            self.cut = self.left == 0
            self.left -= 1
        if self.cut:
            raise StoreUnavailableError("the line is cut")


@contextmanager
def line_cut_after(writes: int, store: type, tenant: type) -> Iterator[Line]:
    """Let so many more writes through."""
    line = Line(writes)
    with pytest.MonkeyPatch.context() as patch:
        for owner, promised in ((store, contract.Store), (tenant, contract.Tenant)):
            for name in WRITES[promised]:
                patch.setattr(owner, name, _guarded(getattr(owner, name), line, writes=True))
            for name in READS[promised]:
                patch.setattr(owner, name, _guarded(getattr(owner, name), line, writes=False))
        yield line


def _guarded(whole: Any, line: Line, *, writes: bool) -> Any:
    async def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        line.take(writes)
        return await whole(self, *args, **kwargs)

    return guarded
