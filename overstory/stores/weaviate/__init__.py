"""Datasets on a Weaviate server: a tenant for each in one collection per kind, and a small registry beside them.

What a server without transactions and compare-and-set can and can't promise stands in `registry`.
"""

from importlib.util import find_spec

from overstory.errors import MissingPackageError

if find_spec("weaviate") is None:
    raise MissingPackageError("weaviate-client", "weaviate", "OVERSTORY_STORE_URL=weaviate://…")

from overstory.stores.weaviate.store import WeaviateStore

__all__ = ["WeaviateStore"]
