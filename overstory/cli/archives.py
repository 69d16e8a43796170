"""`overstory export` and `import`."""

from pathlib import Path
from typing import Annotated

import typer

import overstory
from overstory.cli import jsonforms
from overstory.cli.options import DEFAULT_DATASET, Dataset, Json, WaitSeconds
from overstory.cli.performing import perform
from overstory.cli.terminal import one_line, output


def export(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder.")],
    dataset: Dataset = DEFAULT_DATASET,
    wait_seconds: WaitSeconds = 0,
    json: Json = False,
) -> None:
    """Write a dataset into a folder of Parquet files."""
    manifest = perform(
        "export", lambda: overstory.datasets.export(dataset, folder, wait_seconds=wait_seconds), json=json
    )
    rows = {kind: file.rows for kind, file in manifest.files.items()}
    if json:
        jsonforms.write("export", {"dataset": dataset, "folder": folder, "rows": rows})
    else:
        from overstory.cli.rendering import count, say

        say(output(), f"{one_line(dataset)}: {count(sum(rows.values()), 'row')} written to {one_line(str(folder))}.")


def import_(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="What `overstory export` wrote.")],
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Another name than it had.")] = None,
    json: Json = False,
) -> None:
    """Bring an exported dataset in, with the same ids and tree."""
    dataset = perform("import", lambda: overstory.datasets.import_archive(folder, name), json=json)
    if json:
        jsonforms.write("import", {"dataset": dataset.name, "dataset_id": dataset.id})
    else:
        from overstory.cli.rendering import quoted, say, suggest

        say(output(), f"Imported: the dataset {one_line(dataset.name)}.")
        suggest(output(), f"overstory status --dataset {quoted(dataset.name)}")
