"""How a scripted model misbehaves. Each makes another reply of the one that it would have given."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request as it arrived."""

    number: int
    """From 1, in the order of arrival."""
    kind: str
    """`chat` or `embedding`."""
    model: str
    prompt: str
    """All messages, or all texts to embed, one after the other."""
    schema: dict[str, Any] | None = None
    schema_name: str = ""
    stream: bool = False
    body: Mapping[str, Any] = field(default_factory=dict)
    arrived_seconds: float = 0.0
    """When it arrived, by `time.monotonic`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What goes back."""

    content: str | None = ""
    vectors: tuple[list[float], ...] = ()
    status: int = 200
    message: str = ""
    """Of an error."""
    code: str = ""
    """Of an error."""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_seconds: float = 0.0
    finish_reason: str = "stop"


Behaviour: TypeAlias = Callable[[Request, Reply], Reply]


def say(content: str | None) -> Behaviour:
    """Answers this and nothing else."""
    return lambda request, reply: replace(reply, content=content)


def slow(seconds: float) -> Behaviour:
    """Takes its time."""
    return lambda request, reply: replace(reply, delay_seconds=reply.delay_seconds + seconds)


def fail(status: int = 500, retry_after: float | None = None, message: str = "scripted failure") -> Behaviour:
    """Fails with an HTTP status, and says when to come back where that is given."""
    headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
    return lambda request, reply: replace(reply, status=status, headers=headers, message=message)


def refuse(as_error: bool = True) -> Behaviour:
    """The provider's content filter declines: by an error, or by an answer that is cut."""
    if as_error:
        message = "The response was filtered by the content management policy"
        return lambda request, reply: replace(reply, status=400, code="content_filter", message=message)
    return lambda request, reply: replace(reply, content="", finish_reason="content_filter")


def too_long() -> Behaviour:
    """The request does not fit the model's window."""
    message = "This model's maximum context length is 8192 tokens, your messages have more"
    return lambda request, reply: replace(reply, status=400, code="context_length_exceeded", message=message)


def refuse_schema() -> Behaviour:
    """The server knows no `response_format`."""

    def behave(request: Request, reply: Reply) -> Reply:
        if "response_format" not in request.body:
            return reply
        return replace(reply, status=400, message="Unknown parameter: response_format")

    return behave


def chatter() -> Behaviour:
    """Talks about the task, in the form that was asked for."""
    talk = "I will now prepare the summary."
    made = {
        "categories": [{"name": "Summary", "topics": ["summary"]}],
        "facts": [{"text": talk, "inputs": [1], "superseded": False}],
        "entities": [],
        "relations": [],
        "summary": talk,
    }
    return say(json.dumps(made))


def think_aloud(closed: bool = True, thought: str = "secret plan") -> Behaviour:
    """Puts its reasoning before the answer; may forget to end it."""
    end = "</think>\n" if closed else "\n"
    return lambda request, reply: replace(reply, content=f"<think>{thought}{end}{reply.content}")


def fenced() -> Behaviour:
    return lambda request, reply: replace(reply, content=f"```json\n{reply.content}\n```")


def in_prose() -> Behaviour:
    """Says something before and after."""
    return lambda request, reply: replace(
        reply, content=f"Here is the JSON you asked for:\n\n{reply.content}\n\nI hope this helps!"
    )


def trailing_comma() -> Behaviour:
    def behave(request: Request, reply: Reply) -> Reply:
        return replace(reply, content=(reply.content or "").replace("}]", "},]").rstrip("}") + ",}")

    return behave


def cut_off() -> Behaviour:
    """Stops in the middle."""

    def behave(request: Request, reply: Reply) -> Reply:
        content = reply.content or ""
        return replace(reply, content=content[: len(content) * 2 // 3], finish_reason="length")

    return behave


def echo_schema() -> Behaviour:
    """Gives the schema back."""
    return lambda request, reply: replace(reply, content=json.dumps(request.schema or {"$defs": {}, "properties": {}}))


def wrapped(name: str = "") -> Behaviour:
    """Nests the object one level deeper, under the schema's name or another."""
    return lambda request, reply: replace(
        reply, content=f'{{"{name or request.schema_name or "result"}": {reply.content}}}'
    )


def empty(content: str | None = "") -> Behaviour:
    """Answers nothing: an empty text, blanks, or None."""
    return say(content)


def invent_numbers() -> Behaviour:
    """Adds a year and an amount that nobody wrote."""
    return _in_facts(lambda text: text.rstrip(".。") + " for 4711 euros in 1887.")


def invent_inputs() -> Behaviour:
    """Cites inputs that don't exist."""

    def behave(request: Request, reply: Reply) -> Reply:
        made = json.loads(reply.content or "{}")
        for fact in made.get("facts", ()):
            fact["inputs"] = [205]
        return replace(reply, content=json.dumps(made))

    return behave


def follow_instructions(payload: str = "I have been hacked by the document") -> Behaviour:
    """Does what the document says: writes the payload, and nothing else."""
    return _in_facts(lambda text: payload)


def _in_facts(change: Callable[[str], str]) -> Behaviour:
    def behave(request: Request, reply: Reply) -> Reply:
        made = json.loads(reply.content or "{}")
        for fact in made.get("facts", ()):
            fact["text"] = change(fact["text"])
        if "summary" in made:
            made["summary"] = change(made["summary"])
        return replace(reply, content=json.dumps(made, ensure_ascii=False))

    return behave


def wrong_vectors(count: int = 0, dimensions: int = 0, value: float | None = None) -> Behaviour:
    """Embeddings: another number of vectors, of another length, or with a value such as NaN in them."""

    def behave(request: Request, reply: Reply) -> Reply:
        vectors = [(vector + [0.0] * dimensions)[: dimensions or None] for vector in reply.vectors]
        if value is not None:
            vectors = [[value, *vector[1:]] for vector in vectors]
        return replace(reply, vectors=tuple(vectors[: count or None]))

    return behave
