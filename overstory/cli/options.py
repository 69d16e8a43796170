"""Options that several commands share."""

from typing import Annotated, TypeAlias

import typer

from overstory.cli import completing

Dataset: TypeAlias = Annotated[
    str,
    typer.Option("--dataset", "-d", metavar="NAME", help="The dataset.", autocompletion=completing.dataset_names),
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
