"""Which store the settings name."""

from urllib.parse import urlsplit

from overstory.settings import StoreSettings, store_scheme
from overstory.stores.contract import Store

_memories: dict[tuple[str, bool], Store] = {}


def open_store(settings: StoreSettings) -> Store:
    """The store that the settings name. `memory://NAME` is one store per name in this process.

    Raises:
        ConfigurationError: the URL names no kind of store that there is.
        MissingPackageError: the store's package is not installed.
        StoreVersionError: a newer Overstory wrote what is there.
        StoreError: it can't be opened.
    """
    scheme = store_scheme(settings)
    if scheme == "embedded":
        from overstory.stores.embedded import EmbeddedStore

        return EmbeddedStore(
            settings.home, access_control=settings.access_control, open_datasets=settings.open_datasets
        )
    if scheme == "memory":
        return _memory(settings)
    from overstory.stores.weaviate import WeaviateStore

    return WeaviateStore(settings)


def _memory(settings: StoreSettings) -> Store:
    from overstory.stores.memory import MemoryStore

    name = urlsplit(settings.url).netloc, settings.access_control
    if name not in _memories:
        _memories[name] = MemoryStore(access_control=settings.access_control)
    return _memories[name]
