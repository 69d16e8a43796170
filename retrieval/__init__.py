"""A question → evidence → context → answer."""

from overstory import waves

from . import asking, context, hybrid, question, scene, sources, temporal

__all__ = ["asking", "context", "hybrid", "question", "scene", "sources", "temporal", "waves"]
