"""`overstory export` and `import`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

import overstory
from overstory.cli import jsonforms
from overstory.cli.options import DEFAULT_DATASET, Dataset, Json, WaitSeconds, as_text
from overstory.cli.performing import perform
from overstory.cli.terminal import one_line, output


def export(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A new folder; a new file for --format.")],
    dataset: Dataset = DEFAULT_DATASET,
    form: Annotated[
        Literal["parquet", "graphml", "jsonl"],
        typer.Option("--format", help="parquet for `overstory import`, the others for graph tools."),
    ] = "parquet",
    wait_seconds: WaitSeconds = 0,
    json: Json = False,
) -> None:
    """Write a dataset into files.

    As a folder of Parquet files it can be brought in again; as one file of GraphML or JSON Lines its graph and tree
    can be read by other tools.
    """
    if form != "parquet":
        _export_graph(dataset, path, form, wait_seconds, json=json)
        return
    manifest = perform("export", lambda: overstory.datasets.export(dataset, path, wait_seconds=wait_seconds), json=json)
    rows = {kind: file.rows for kind, file in manifest.files.items()}
    if json:
        jsonforms.write("export", {"dataset": dataset, "folder": path, "rows": rows})
    else:
        from overstory.cli.rendering import count, say

        say(output(), f"{one_line(dataset)}: {count(sum(rows.values()), 'row')} written to {one_line(str(path))}.")


def _export_graph(dataset: str, file: Path, form: str, wait_seconds: float, *, json: bool) -> None:
    nodes, edges = perform(
        "export",
        lambda: overstory.datasets.export_graph(dataset, file, format=form, wait_seconds=wait_seconds),
        json=json,
    )
    if json:
        jsonforms.write("export", {"dataset": dataset, "file": file, "nodes": nodes, "edges": edges})
    else:
        from overstory.cli.rendering import count, say

        written = f"{count(nodes, 'node')} and {count(edges, 'edge')}"
        say(output(), f"{one_line(dataset)}: {written} written to {one_line(str(file))}.")


def import_(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="What `overstory export` wrote.")],
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Another name than it had.", parser=as_text)
    ] = None,
    json: Json = False,
) -> None:
    """Bring an exported dataset in, with the same ids and tree."""
    dataset = perform("import", lambda: overstory.datasets.import_archive(folder, name), json=json)
    if json:
        jsonforms.write("import", {"dataset": dataset.name, "dataset_id": dataset.id})
    else:
        from overstory.cli.hints import quoted, suggest
        from overstory.cli.rendering import say

        say(output(), f"Imported: the dataset {one_line(dataset.name)}.")
        suggest(output(), f"overstory status --dataset {quoted(dataset.name)}")
