"""A question → evidence → context → answer."""

from . import asking, context, hybrid, question, scene, sources, temporal

__all__ = ["asking", "context", "hybrid", "question", "scene", "sources", "temporal"]
