"""What `--json` prints: one object on standard output, described in `docs/json.md`."""

import dataclasses
import json
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import typer

from overstory.cli.terminal import speaks_unicode
from overstory.errors import OverstoryError, TransientError

if TYPE_CHECKING:
    from overstory.results import RecallResult


def write(command: str, form: Mapping[str, object]) -> None:
    """Print one object: the command's name, then its form."""
    typer.echo(json.dumps({"command": command, **form}, default=_plain, ensure_ascii=not speaks_unicode(sys.stdout)))


def fields(result: Any, *, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """The fields of a result by name."""
    return {
        field.name: getattr(result, field.name) for field in dataclasses.fields(result) if field.name not in without
    }


def recalled(result: "RecallResult") -> dict[str, Any]:
    """A result of recall, its generation first."""
    return {"generation": result.generation, **fields(result, without=("value",))}


def failure(error: Exception) -> dict[str, Any]:
    """An error: its kind, what it says, and whether the same call may succeed later."""
    data = {name: value for name, value in vars(error).items() if _is_simple(value)}
    message = str(error) if isinstance(error, OverstoryError) else f"{type(error).__name__}: {error}"
    return {
        "error": {
            "kind": type(error).__name__,
            "message": message,
            "transient": isinstance(error, TransientError),
            "data": data,
        }
    }


def _is_simple(value: object) -> bool:
    return value is None or isinstance(value, str | int | float | UUID | datetime | tuple)


def _plain(value: object) -> object:
    if isinstance(value, UUID | Path):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if dataclasses.is_dataclass(value):
        return fields(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
