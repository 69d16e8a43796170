"""What to type next: commands as the shell of whoever reads them takes them."""

import re
import shlex
from contextvars import ContextVar
from typing import TYPE_CHECKING

from overstory.cli.terminal import one_line

if TYPE_CHECKING:
    from rich.console import Console

_home: ContextVar[str] = ContextVar("home", default="")
_WORD = re.compile(r"""(?:'[^']*'|"[^"]*"|[^\s'"])+""")
"""Of a command, as POSIX shells split it."""
_COMMAND = re.compile(r"`(overstory [^`]+)`")
_PLACEHOLDER = "…"
"""For the reader to fill in; it may degrade."""


def stay_at(home: str) -> None:
    """Commands name this home from now on: it was given as an option, so the next one needs it too. None for ""."""
    _home.set(home)


def quoted(name: str) -> str:
    """A name as a shell takes it."""
    return shlex.quote(one_line(name))


def typed(command: str, encoding: str) -> str:
    """A command of ours as it is to be typed, in characters that the encoding has."""
    if home := _home.get():
        command = command.replace("overstory", f"overstory --home {quoted(home)}", 1)
    return _WORD.sub(lambda word: _spelled(word[0], encoding), command)


def typed_in(sentence: str, encoding: str) -> str:
    """A sentence whose commands, between backticks, are as they are to be typed."""
    return _COMMAND.sub(lambda found: f"`{typed(found[1], encoding)}`", sentence)


def suggest(console: "Console", *commands: str) -> None:
    """What to type next."""
    from rich.text import Text

    console.print()
    for number, command in enumerate(commands):
        head = ("Next: " if number == 0 else "      ", "dim")
        console.print(Text.assemble(head, (typed(command, console.encoding), "cyan")), soft_wrap=True)


def suggest_documents(console: "Console", dataset: str) -> None:
    """What to type next where a dataset holds nothing that could be summarised."""
    suggest(console, f"overstory remember path/to/your/files --dataset {quoted(dataset)}")


def _spelled(word: str, encoding: str) -> str:
    """The word, or its UTF-8 bytes in octal (dollar-single-quotes, POSIX.1-2024) where the encoding lacks a character."""
    try:
        word.replace(_PLACEHOLDER, "").encode(encoding)
    except UnicodeEncodeError:
        given = "".join(shlex.split(word)).encode("utf-8", "surrogateescape")  # bytes that the locale could not read
        return "$'" + "".join(chr(b) if chr(b).isalnum() and b < 0x80 else f"\\{b:03o}" for b in given) + "'"
    return word
