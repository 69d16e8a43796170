"""What may reach a terminal: text without control codes, in the characters that its encoding has."""

import codecs
import re
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

_SEQUENCES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_].*?(?:\x1b\\|\x07|\Z)|[ -/]*[0-~])", re.DOTALL)
"""ECMA-48: control sequences, strings (titles, links, clipboard), and the short ones."""
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""C0 but tab and newline, C1, and what turns the direction of writing."""
_STAND_INS = str.maketrans(
    {
        "—": "-",
        "–": "-",
        "‑": "-",
        "−": "-",
        "‘": "'",
        "’": "'",
        "‚": ",",
        "“": '"',
        "”": '"',
        "„": '"',
        "…": "...",
        "·": "-",
    }
    | {
        "•": "*",
        "→": "->",
        "←": "<-",
        "×": "x",
        "≤": "<=",
        "≥": ">=",
        "✓": "+",
        "\u00a0": " ",
        "\u202f": " ",
        "€": "EUR",
    }
)
_DEGRADE = "overstory.degrade"


def plain(text: str) -> str:
    """The text without anything that could steer a terminal; tabs and newlines stay."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROLS.sub("", _SEQUENCES.sub("", text))


def one_line(text: str) -> str:
    """The text on one line, without anything that could steer a terminal."""
    return " ".join(plain(text).split())


def prepare_streams() -> None:
    """Let output degrade, character by character, where the terminal's encoding lacks one."""
    codecs.register_error(_DEGRADE, degrade)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=_DEGRADE)


def degrade(error: UnicodeError) -> tuple[str, int]:
    """A codec error handler: the nearest ASCII for what can't be encoded, `?` where there is none."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return missing.translate(_STAND_INS).encode("ascii", "replace").decode("ascii"), error.end


def speaks_unicode(stream: TextIO) -> bool:
    return (getattr(stream, "encoding", "") or "").lower().replace("-", "").startswith("utf")


def output() -> "Console":
    """Results go here: standard output."""
    return _console(stderr=False)


def messages() -> "Console":
    """Progress, hints and errors go here: standard error."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> "Console":
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)
