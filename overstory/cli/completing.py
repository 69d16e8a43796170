"""What a shell offers while a command is typed: names of datasets, sources of documents.

Anything that goes wrong offers nothing: a shell that completes is no place for a message.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from overstory.stores.contract import Store

_SECONDS = 2.0
"""How long a server is waited for; files answer at once."""
_OFFERED = 100
_NEEDS_NO_QUOTES = re.compile(r"[\w./@%+,-]+")


def dataset_names(incomplete: str) -> list[str]:
    """Names that begin so and can be typed as they are."""

    async def names(store: "Store") -> list[str]:
        from overstory.access import user_id

        return [dataset.name for dataset in await store.list_datasets(user_id(None))]

    return _offer(names, incomplete)


def document_sources(context: typer.Context, incomplete: str) -> list[str]:
    """Sources of the dataset that the command names."""

    async def sources(store: "Store") -> list[str]:
        from overstory.access import user_id
        from overstory.models import Document

        known = await store.list_datasets(user_id(None))
        dataset = next(one for one in known if one.name == context.params.get("dataset"))
        batches = (await store.tenant(dataset)).batches(Document, ["source"])
        return [source async for batch in batches for source in batch.column("source").to_pylist()]

    return _offer(sources, incomplete)


def _offer(words: "Callable[[Store], Awaitable[list[str]]]", incomplete: str) -> list[str]:
    try:
        found = asyncio.run(_of_store(words))
    except Exception:  # noqa: BLE001 - see above
        return []
    fitting = sorted(word for word in found if word.startswith(incomplete) and _NEEDS_NO_QUOTES.fullmatch(word))
    return fitting[:_OFFERED]


async def _of_store(words: "Callable[[Store], Awaitable[list[str]]]") -> list[str]:
    """Opens the store alone, which is quick; a home that is not there is not made."""
    from overstory.settings import Settings
    from overstory.stores.opening import open_store

    settings = Settings.from_environment().store
    if not settings.url and not settings.home.expanduser().is_dir():
        return []
    store = open_store(settings)
    try:
        return await asyncio.wait_for(words(store), _SECONDS if settings.url else None)
    finally:
        await store.close()
