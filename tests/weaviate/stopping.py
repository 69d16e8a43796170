"""Removals of datasets that stop between two writes to the server."""

from typing import Any
from uuid import UUID

import pytest

from overstory.errors import StoreUnavailableError
from overstory.models import KINDS
from overstory.stores.weaviate import WeaviateStore
from overstory.stores.weaviate.connecting import Link

DROP_WRITES = 3 + len(KINDS)


async def stopped_drop(store: WeaviateStore, dataset_id: UUID, writes: int) -> bool:
    """A drop that gets so many of its writes through; whether it was stopped."""
    whole, left = Link.write, writes

    async def cut(self: Link, call: Any) -> Any:
        nonlocal left
        if left == 0:
            raise StoreUnavailableError("cut")
        left -= 1
        return await whole(self, call)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Link, "write", cut)
        try:
            await store.drop_dataset(dataset_id)
        except StoreUnavailableError:
            return True
    return False
