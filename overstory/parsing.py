"""From what a model wrote to the object that was asked for, tolerant of how models dress it.

Accepted as it is: JSON in a code fence, after or before prose, after a closed reasoning block, with trailing
commas, or wrapped one level deeper. Refused with a short reason: nothing, plain prose, reasoning without an
end, JSON that was cut off, the schema itself.
"""

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from overstory.errors import ModelOutputError

AnswerT = TypeVar("AnswerT", bound=BaseModel)

_TAG = r"(?:think|thinking|thought|reasoning|reflection)"
_THOUGHT = re.compile(rf"<{_TAG}>.*?</{_TAG}>", re.IGNORECASE | re.DOTALL)
_OPENING = re.compile(rf"<{_TAG}>", re.IGNORECASE)
_CLOSING = re.compile(rf"</{_TAG}>", re.IGNORECASE)
_OBJECT_START = re.compile(r"\{\s*[\"}]")
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)

EMPTY = "empty"
UNFINISHED_THOUGHT = "the reasoning never ends"
NOT_JSON = "no JSON object in it"
CUT_OFF = "the JSON is cut off"
BAD_JSON = "the JSON is not valid"
SCHEMA_ECHO = "it repeats the schema instead of an object"
FORM_REASONS = frozenset({NOT_JSON, BAD_JSON, SCHEMA_ECHO})
"""Reasons that speak for a service that does not pass the schema on to its model."""


def parse_answer(model: str, text: str | None, schema: type[AnswerT]) -> AnswerT:
    """The object that the answer holds.

    Raises:
        ModelOutputError: it holds none; `reason` is short and fit to be told to the model.
    """
    try:
        return _validated(_first_object(_visible(text)), schema)
    except _UnusableError as error:
        raise ModelOutputError(model, error.reason, text or "") from error


def _visible(text: str | None) -> str:
    """The answer without its reasoning blocks."""
    if not text or not text.strip():
        raise _UnusableError(EMPTY)
    if text.lstrip().startswith("{"):
        return text
    shown = _THOUGHT.sub("", text)
    if closing := list(_CLOSING.finditer(shown)):
        shown = shown[closing[-1].end() :]
    if _OPENING.search(shown):
        raise _UnusableError(UNFINISHED_THOUGHT)
    if not shown.strip():
        raise _UnusableError(EMPTY)
    return shown


class _UnusableError(Exception):
    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def _first_object(text: str) -> dict[str, Any]:
    if isinstance(found := _valid_object(text), dict):
        return found
    reason = NOT_JSON
    for candidate in _objects(text):
        if candidate is None:
            raise _UnusableError(CUT_OFF)
        found = _loads(candidate)
        if isinstance(found, dict):
            return found
        reason = BAD_JSON
    raise _UnusableError(reason)


_DECODER = json.JSONDecoder(strict=False)


def _valid_object(text: str) -> Any:
    """The first piece that looks like JSON, where it is: nearly every answer of a good model."""
    start = _OBJECT_START.search(text)
    try:
        return _DECODER.raw_decode(text, start.start())[0] if start else None
    except (ValueError, RecursionError):
        return None


def _objects(text: str) -> Iterator[str | None]:
    """The balanced `{…}` pieces that look like JSON; None for one that never closes."""
    position = 0
    while start := _OBJECT_START.search(text, position):
        end = _closing_brace(text, start.start())
        if end is None:
            yield None
            return
        yield text[start.start() : end]
        position = end


_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*"|[{}"]', re.DOTALL)


def _closing_brace(text: str, start: int) -> int | None:
    depth = 0
    for match in _STRUCTURE.finditer(text, start):
        mark = match.group()
        if mark == '"':
            return None
        depth += (mark == "{") - (mark == "}")
        if depth == 0 and mark == "}":
            return match.end()
    return None


def _loads(text: str) -> Any:
    for mend in (False, True):
        try:
            return _DECODER.decode(_TRAILING_COMMA.sub(r"\1", text) if mend else text)
        except (ValueError, RecursionError):
            continue
    return None


def _validated(found: dict[str, Any], schema: type[AnswerT]) -> AnswerT:
    problem: ValidationError | None = None
    for candidate in _unwrapped(found, schema.__name__):
        try:
            return schema.model_validate(candidate)
        except ValidationError as error:
            problem = problem or error
    if "$defs" in found or isinstance(found.get("properties"), dict):
        raise _UnusableError(SCHEMA_ECHO)
    raise _UnusableError(_reasons(problem)) from problem


def _unwrapped(found: dict[str, Any], name: str) -> Iterator[Any]:
    yield found
    inner = [found[key] for key in (name, "properties") if key in found]
    yield from inner or (list(found.values()) if len(found) == 1 else [])


def _reasons(problem: ValidationError | None) -> str:
    errors = problem.errors(include_url=False, include_input=False, include_context=False) if problem else []
    told = [f"{'.'.join(map(str, error['loc'])) or 'the object'}: {error['msg']}" for error in errors[:3]]
    return "; ".join(told) or NOT_JSON


# --- the schema that is sent -----------------------------------------------------------------------


@cache
def strict_schema(schema: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema in the form that strict structured output asks for: every property required, no other."""
    made = deepcopy(schema.model_json_schema())
    _make_strict(made)
    return made


def _make_strict(node: Any) -> None:
    if isinstance(node, list):
        for item in node:
            _make_strict(item)
    if not isinstance(node, dict):
        return
    properties = node.get("properties")
    if isinstance(properties, dict):
        node["required"] = list(properties)
        node["additionalProperties"] = False
    node.pop("default", None)
    for key, part in node.items():
        _make_strict(list(part.values()) if key in {"properties", "$defs"} else part)


# --- answers that arrive in pieces -----------------------------------------------------------------


class ThoughtFilter:
    """Lets a streamed answer through without its leading reasoning block."""

    def __init__(self) -> None:
        self._held = ""
        self._open = True

    def feed(self, piece: str) -> str:
        """What of the answer so far may be shown now."""
        if not self._open:
            return piece
        self._held += piece
        return self._decide()

    def finish(self) -> str:
        """What was still held back when the answer ended; nothing of a thought that never ended."""
        held, self._held = self._held, ""
        return "" if _OPENING.match(held.lstrip()) else held.lstrip()

    def _decide(self) -> str:
        start = self._held.lstrip()
        if _OPENING.match(start):
            return self._after_thought(start)
        if start and not _may_open(start):
            self._open, self._held = False, ""
            return start
        return ""

    def _after_thought(self, start: str) -> str:
        if closing := _CLOSING.search(start):
            self._held = ""
            return self.feed(start[closing.end() :].lstrip())
        return ""


def _may_open(start: str) -> bool:
    """The text may still turn out to begin with a reasoning tag."""
    return len(start) < 13 and start.startswith("<") and ">" not in start
