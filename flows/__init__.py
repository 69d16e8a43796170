"""What users do, as compositions of steps: one file a verb."""

from . import batches, forget, improve, index, remember

__all__ = ["batches", "forget", "improve", "index", "remember"]
