"""A question → evidence → context → answer."""

from . import asking, hiding, question, scene, waves

__all__ = ["asking", "hiding", "question", "scene", "waves"]
