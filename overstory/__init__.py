"""Overstory: a global context index for datasets.

    from overstory import remember, improve, recall, forget

Everything a user may name stands in `__all__`; it is loaded when it is first used, so that importing costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from overstory import datasets
    from overstory.api import forget, global_context_index_pipeline, improve, rebuild, remember
    from overstory.errors import OverstoryError
    from overstory.indexing.sources import SourceDocument
    from overstory.judging import Feedback, feedback, undo_feedback
    from overstory.recalling import forget_session, recall, recall_stream
    from overstory.results import SearchType

_HOMES = {
    "Feedback": "overstory.judging",
    "OverstoryError": "overstory.errors",
    "SearchType": "overstory.results",
    "SourceDocument": "overstory.indexing.sources",
    "feedback": "overstory.judging",
    "forget": "overstory.api",
    "global_context_index_pipeline": "overstory.api",
    "forget_session": "overstory.recalling",
    "improve": "overstory.api",
    "rebuild": "overstory.api",
    "recall": "overstory.recalling",
    "recall_stream": "overstory.recalling",
    "remember": "overstory.api",
    "undo_feedback": "overstory.judging",
}

__all__ = [
    "Feedback",
    "OverstoryError",
    "SearchType",
    "SourceDocument",
    "datasets",
    "feedback",
    "forget",
    "forget_session",
    "global_context_index_pipeline",
    "improve",
    "rebuild",
    "recall",
    "recall_stream",
    "remember",
    "undo_feedback",
]


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return import_module("overstory.datasets")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
