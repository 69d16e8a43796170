"""A question → evidence → context → answer."""

from . import asking, question

__all__ = ["asking", "question"]
