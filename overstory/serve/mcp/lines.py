"""Standard input line by line, in a way that a signal can end: a read that waits in a pool of threads could not."""

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncIterator

_BYTES = 1 << 16


class StandardInput:
    """Lines as they come. While this reads, the process's own standard input is empty for everybody else."""

    def __init__(self) -> None:
        self._place = os.dup(0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        threading.Thread(target=self._read, name="standard input", daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[str]:
        while (line := await self._lines.get()) is not None:
            yield line

    def _read(self) -> None:
        begun: list[bytes] = []
        while some := os.read(self._place, _BYTES):
            head, *rest = some.split(b"\n")
            begun.append(head)
            for part in rest:
                self._give(b"".join(begun).decode("utf-8", "replace"))
                begun = [part]
        if last := b"".join(begun).strip():
            self._give(last.decode("utf-8", "replace"))
        self._give(None)

    def _give(self, line: str | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody listens any more
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
