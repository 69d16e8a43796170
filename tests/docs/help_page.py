"""The help of every command, as `docs/help.md` shows it.

python -m tests.docs.help_page      writes the page
"""

from collections.abc import Iterator
from typing import Any

import typer

from overstory.cli.app import app
from tests.docs.blocks import ROOT

PAGE = ROOT / "docs" / "help.md"
WIDTH = 100
HEAD = """# Help of every command

What `overstory COMMAND --help` prints; written by `python -m tests.docs.help_page`. [Command line](command-line.md) tells more of each.
"""


def generate() -> str:
    parts = [f"## {name}\n\n```text\n{text}\n```\n" for name, text in helps(typer.main.get_command(app), "overstory")]
    return "\n".join([HEAD, *parts])


def helps(command: Any, name: str) -> Iterator[tuple[str, str]]:
    """The help of a command, then that of the commands below it."""
    with command.make_context(
        name, [], resilient_parsing=True, max_content_width=WIDTH, terminal_width=WIDTH
    ) as context:
        yield name, "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    for below in getattr(command, "commands", {}).values():
        yield from helps(below, f"{name} {below.name}")


if __name__ == "__main__":
    PAGE.write_text(generate(), encoding="utf-8")
