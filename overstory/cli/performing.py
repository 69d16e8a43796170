"""Run a call of the public door for a person: progress, errors in one line, exit codes."""

import asyncio
import logging
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum
from typing import Any, NoReturn, TypeVar

import typer

from overstory.cli import jsonforms
from overstory.cli.hints import typed_in
from overstory.cli.terminal import messages, one_line
from overstory.cli.watching import shown_progress
from overstory.errors import ConfigurationError, OverstoryError, UsageError

T = TypeVar("T")
_debug: ContextVar[bool] = ContextVar("debug", default=False)
_progress: ContextVar[bool] = ContextVar("progress", default=True)


class ExitCode(IntEnum):
    DONE = 0
    FAILED = 1
    WRONG_USE = 2
    """The call or a setting must change; the same again will fail again."""
    DONE_IN_PART = 3
    """Done, with skipped documents or degraded texts."""


def show_tracebacks(debug: bool) -> None:
    """With `debug`, log what happens and let errors show where they come from."""
    _debug.set(debug)
    logging.basicConfig(level=logging.DEBUG if debug else logging.ERROR, format="%(levelname)s %(name)s: %(message)s")


def show_progress(shown: bool) -> None:
    _progress.set(shown)


def perform(command: str, call: Callable[[], Coroutine[Any, Any, T]], *, json: bool, keep_bars: bool = False) -> T:
    """What the call returns; an error ends the process with a line that says who must do what."""
    try:
        with shown_progress(_progress.get(), keep=keep_bars, lines=not json), _ended_like_interrupted():
            return asyncio.run(call())
    except OverstoryError as error:
        fail(command, error, json=json)
    except KeyboardInterrupt:
        messages().print("Stopped. What is finished is kept; the same command goes on from there.")
        raise typer.Exit(130) from None
    except Exception as error:  # noqa: BLE001 - a fault of ours: reported in one line, whole with --debug
        fail(command, error, json=json)


@contextmanager
def _ended_like_interrupted() -> Iterator[None]:
    """A termination signal ends the call as Ctrl-C does: what is finished is kept, the lease given back."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def remark(message: str) -> None:
    """Something to know beside the result."""
    messages().print(one_line(message), style="yellow", soft_wrap=True)


def fail(command: str, error: Exception, *, json: bool) -> NoReturn:
    """Say in one line what went wrong and end the process."""
    if _debug.get():
        raise error
    if json:
        jsonforms.write(command, jsonforms.failure(error))
    if isinstance(error, OverstoryError):
        complain(str(error))
    else:
        complain(f"{type(error).__name__}: {error} (not foreseen: `overstory --debug {command} …` shows where)")
    raise typer.Exit(exit_code(error))


def complain(message: str) -> None:
    console = messages()
    console.print(f"overstory: {typed_in(one_line(message), console.encoding)}", style="red", soft_wrap=True)


def exit_code(error: Exception) -> ExitCode:
    return ExitCode.WRONG_USE if isinstance(error, UsageError | ConfigurationError) else ExitCode.FAILED


def finish(*, in_part: bool) -> NoReturn:
    raise typer.Exit(ExitCode.DONE_IN_PART if in_part else ExitCode.DONE)
