"""The default store: files below OVERSTORY_HOME, one per dataset, and a registry beside them."""

from overstory.stores.embedded.store import EmbeddedStore

__all__ = ["EmbeddedStore"]
