"""Take documents out of a dataset."""

from collections.abc import Sequence
from uuid import UUID

from overstory.indexing import forgetting
from overstory.indexing.forgetting import Forgotten
from overstory.models import Lease
from overstory.runtime import open_dataset

from .policies import task


@task(lambda call: f"forget {len(call['document_ids'])} documents")
async def forget_documents(dataset_id: UUID, document_ids: Sequence[UUID], lease: Lease) -> Forgotten:
    """Remove documents with all that only they support, and cut what the served index says from them."""
    opened = await open_dataset(dataset_id)
    return await forgetting.forget(opened, lease, document_ids)


@task(lambda call: "drop the dataset")
async def drop_dataset(dataset_id: UUID) -> None:
    """Remove a dataset with everything it holds."""
    opened = await open_dataset(dataset_id, any_embedder=True)
    await opened.runtime.store.drop_dataset(dataset_id)
