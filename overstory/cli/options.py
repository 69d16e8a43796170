"""Options that several commands share."""

import os
import re
from typing import Annotated, TypeAlias

import typer

from overstory.cli import completing

_UNREAD = re.compile("[\udc80-\udcff]")


def as_text(argument: str) -> str:
    """An argument as it was typed, in UTF-8, also where the locale could not read all of it (PEP 383).

    For names and questions. A path stays as the system gave it, since so the system takes it back.
    """
    return os.fsencode(argument).decode("utf-8", "replace") if _UNREAD.search(argument) else argument


Dataset: TypeAlias = Annotated[
    str,
    typer.Option(
        "--dataset",
        "-d",
        metavar="NAME",
        help="The dataset.",
        autocompletion=completing.dataset_names,
        parser=as_text,
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object (docs/json.md).")]
WaitSeconds: TypeAlias = Annotated[
    float, typer.Option("--wait", metavar="SECONDS", min=0, help="How long to wait for another writer of the dataset.")
]
MaxCalls: TypeAlias = Annotated[
    int | None, typer.Option("--max-calls", metavar="N", min=0, help="Stop after so many model calls.")
]
MaxCostUsd: TypeAlias = Annotated[
    float | None, typer.Option("--max-cost-usd", metavar="USD", min=0, help="Stop before it costs more.")
]
DEFAULT_DATASET = "main_dataset"
