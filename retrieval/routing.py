"""Which search type a question gets that names none."""

import re
from typing import NamedTuple

from overstory.results import SearchType

from .dates import asked_time

_QUOTED = re.compile(r"\"[^\"\n]*\w[^\"\n]*\"|“[^”\n]*\w[^”\n]*”|«[^»\n]*\w[^»\n]*»|„[^“”\n]*\w[^“”\n]*[“”]")


class Route(NamedTuple):
    query_type: SearchType
    reason: str


def choose(query_text: str, auto_route: bool, has_model: bool, include_index: bool) -> Route:
    """The search type for a question, and why.

    Args:
        query_text: the question.
        auto_route: False for graph completion, whatever the question.
        has_model: a language model is configured.
        include_index: the index was asked for, which only two types read.
    """
    if not auto_route:
        return Route(SearchType.GRAPH_COMPLETION, "automatic choice is switched off")
    if include_index:
        return Route(SearchType.HYBRID_COMPLETION, "the index was asked for")
    if _QUOTED.search(query_text):
        return Route(SearchType.CHUNKS_LEXICAL, "the question quotes a phrase")
    if not has_model:
        return Route(SearchType.CHUNKS, "no language model is configured")
    if asked_time(query_text):
        return Route(SearchType.TEMPORAL, "the question names a date")
    return Route(SearchType.HYBRID_COMPLETION, "nothing in the question asks for another type")
