import re
from pathlib import Path

import pytest
import typer

from overstory.cli.app import app
from overstory.cli.questions import SEARCH_TYPES
from overstory.results import SearchType

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]  # a group has them
OPTION_ROW = re.compile(r"^\| (`-.+?) \|", re.MULTILINE)


def section(name: str) -> str:
    return PAGE.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def options_in(text: str) -> set[str]:
    return {option for row in OPTION_ROW.findall(text) for option in re.findall(r"`(--?[a-z-]+)`", row)}


def options_of(command: typer.core.TyperCommand) -> set[str]:
    return {
        name
        for parameter in command.params
        if parameter.param_type_name == "option"
        for name in (*parameter.opts, *parameter.secondary_opts)
    } - {"-h", "--help"}


def test_the_page_has_the_commands_in_their_order() -> None:
    assert re.findall(r"^## (\w+)$", PAGE, re.MULTILINE) == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_page_lists_the_options_of_a_command(name: str) -> None:
    assert options_in(section(name)) == options_of(COMMANDS[name])


def test_the_page_lists_the_options_before_the_command() -> None:
    before = PAGE.partition("\n## ")[0]

    assert options_in(before) == options_of(typer.main.get_command(app))  # type: ignore[arg-type]  # a group has parameters too


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_and_its_options_have_help(name: str) -> None:
    command = COMMANDS[name]

    assert command.help
    assert not command.get_short_help_str(limit=68).endswith("..."), "its first line is cut in `overstory --help`"
    assert all(parameter.help for parameter in command.params if parameter.name != "help")


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "mcp"])  # whose output is a protocol
def test_every_command_speaks_json(name: str) -> None:
    assert "--json" in options_of(COMMANDS[name])


def test_the_search_types_of_the_command_are_those_of_the_library() -> None:
    assert set(SEARCH_TYPES) == set(SearchType)
