"""`overstory config`."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from overstory.cli import jsonforms
from overstory.cli.options import Json
from overstory.cli.performing import fail
from overstory.cli.terminal import one_line, output
from overstory.errors import ConfigurationError
from overstory.indexing.remote import without_credentials

if TYPE_CHECKING:
    from overstory.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    variable: str
    value: str | int | float | bool | None
    origin: str
    """`environment` or `default`."""
    description: str
    secret: bool = False
    """The value says only whether it is set."""


def config(json: Json = False) -> None:
    """Show the settings and where each comes from.

    Keys and passwords are never shown.
    """
    from overstory.settings import Settings

    try:
        settings = list(list_settings(Settings.from_environment(), os.environ))
    except ConfigurationError as error:
        fail("config", error, json=json)
    if json:
        jsonforms.write("config", {"settings": settings})
    else:
        _show(settings)


def list_settings(settings: "Settings", environment: Mapping[str, str]) -> Iterator[Setting]:
    """Every setting, part by part, as `docs/settings.md` lists them."""
    from overstory.settings import variables

    for part in (getattr(settings, name) for name in type(settings).model_fields):
        for variable, (name, description) in variables(type(part)).items():
            secret = not type(part).model_fields[name].repr
            yield Setting(
                variable=variable,
                value=_shown(getattr(part, name), secret=secret),
                origin="environment" if environment.get(variable) else "default",
                description=description,
                secret=secret,
            )


def _shown(value: Any, *, secret: bool) -> str | int | float | bool | None:
    if secret:
        return "set" if value else "not set"
    if value is None or isinstance(value, bool | int | float):
        return value
    return without_credentials(str(value), "***@")


def _show(settings: list[Setting]) -> None:
    from rich.table import Table

    from overstory.cli.rendering import lay

    table = Table(box=None, pad_edge=False)
    for heading in ("Variable", "Value", "From"):
        table.add_column(heading, overflow="fold")
    for setting in settings:
        value = "" if setting.value is None else one_line(str(setting.value))
        table.add_row(setting.variable, value, setting.origin, style="" if setting.origin == "environment" else "dim")
    console = output()
    lay(console, table)
    console.print("\nWhat each one means: docs/settings.md", style="dim")
