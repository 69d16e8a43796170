"""A question → evidence → context → answer."""

from . import asking, question, scene, waves

__all__ = ["asking", "question", "scene", "waves"]
