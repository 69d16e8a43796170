"""A question → evidence → context → answer."""

from . import asking, context, hiding, hybrid, question, scene, sources, temporal, waves

__all__ = ["asking", "context", "hiding", "hybrid", "question", "scene", "sources", "temporal", "waves"]
