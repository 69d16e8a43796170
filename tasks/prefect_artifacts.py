"""Tables and pages of a flow run. Imported only inside one."""

from collections.abc import Sequence
from typing import Any

from prefect.artifacts import acreate_markdown_artifact, acreate_table_artifact

from overstory.models import Dataset

from .prefect_progress import artifact_key


async def show_table(dataset: Dataset, what: str, rows: Sequence[dict[str, Any]], description: str) -> None:
    if rows:
        await acreate_table_artifact(
            table=list(rows), key=artifact_key(dataset.name, dataset.id, what), description=description
        )


async def show_page(dataset: Dataset, what: str, markdown: str, description: str) -> None:
    await acreate_markdown_artifact(
        markdown=markdown, key=artifact_key(dataset.name, dataset.id, what), description=description
    )
