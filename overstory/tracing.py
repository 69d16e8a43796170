"""Operations as OpenTelemetry spans, given to whatever tracer the process has set up."""

from functools import cache
from typing import TYPE_CHECKING, Any

from overstory.errors import MissingPackageError
from overstory.telemetry import End, Kind, Operation, Value, observe

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

_NAMES = {
    "model": "gen_ai.request.model",
    "operation": "gen_ai.operation.name",
    "prompt_tokens": "gen_ai.usage.input_tokens",
    "completion_tokens": "gen_ai.usage.output_tokens",
    "method": "http.request.method",
    "route": "http.route",
    "status": "http.response.status_code",
    "store": "db.system.name",
    "call": "db.operation.name",
    "rows_of": "db.collection.name",
}
"""Where the semantic conventions have a name, it is used; all others begin with `overstory.`."""
_CLIENT, _SERVER = {Kind.MODEL, Kind.EMBEDDING, Kind.STORE}, {Kind.REQUEST}


def start() -> None:
    """Make spans of operations from now on.

    Raises:
        MissingPackageError: OpenTelemetry's API is not installed.
    """
    try:
        observe(_spans())
    except ModuleNotFoundError as error:
        raise MissingPackageError("opentelemetry-api", "otel", "OVERSTORY_TRACES") from error


@cache
def _spans() -> "Spans":
    from importlib import metadata

    from opentelemetry import trace

    return Spans(trace.get_tracer("overstory", metadata.version("overstory")))


class Spans:
    """An `Observer`. Errors are told by their names only: their messages may hold what a document says."""

    def __init__(self, tracer: "Tracer") -> None:
        self._tracer = tracer

    def begin(self, operation: Operation) -> End:
        from opentelemetry import context, propagate, trace

        above = propagate.extract(operation.caller) if operation.kind in _SERVER else None
        span = self._tracer.start_span(_title(operation), context=above, kind=_kind(operation.kind))
        token = context.attach(trace.set_span_in_context(span)) if operation.surrounds else None

        def end(error: BaseException | None) -> None:
            if token is not None:
                context.detach(token)
            span.update_name(_title(operation))
            span.set_attributes({_name(name): _plain(value) for name, value in operation.attributes.items()})
            if isinstance(error, Exception):  # who gives up, or is stopped, has not failed
                span.set_attribute("error.type", type(error).__name__)
                span.set_status(trace.StatusCode.ERROR)
            span.end()

        return end


def _title(operation: Operation) -> str:
    about = operation.attributes
    more = about.get("model") or about.get("route") or about.get("rows_of")
    if operation.kind in _SERVER | _CLIENT:
        return f"{operation.name} {more}" if more else operation.name
    return f"overstory {operation.name}"


def _plain(value: Value) -> Value:
    """A member of an enumeration is no string to OpenTelemetry."""
    return str(value) if isinstance(value, str) else value


def _name(name: str) -> str:
    return _NAMES.get(name, f"overstory.{name}")


def _kind(kind: Kind) -> Any:
    from opentelemetry.trace import SpanKind

    if kind in _SERVER:
        return SpanKind.SERVER
    return SpanKind.CLIENT if kind in _CLIENT else SpanKind.INTERNAL
