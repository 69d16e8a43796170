"""A prompt in the parts that it was put together from. Headings tell the parts."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias
from uuid import UUID

from overstory.layout import retrieval
from overstory.results import AreaEvidence, RecallResult, SearchType
from overstory.serve.views import PromptPart
from overstory.tokens import estimate_tokens

PartKind: TypeAlias = Literal["frame", "root", "area", "node", "connection", "passage", "text"]
_NODE = re.compile(r"^Node: (.*)\n__node_content_start__\n(?s:.*?)\n__node_content_end__\n?", re.MULTILINE)
_CONNECTION = re.compile(r"(.*?) --\[.*\]--> (.*)")
_WORLD_SUMMARY, _AREAS = retrieval.context.WORLD_SUMMARY, retrieval.context.RELEVANT_AREAS
_NODES, _CONNECTIONS = retrieval.context.NODES, retrieval.context.CONNECTIONS
_PASSAGES, _IN_ORDER = retrieval.hybrid.PASSAGES, retrieval.temporal.IN_ORDER
_LANES = (retrieval.hybrid.GLOBAL_CONTEXT, _PASSAGES, retrieval.hybrid.ENTITIES, retrieval.hybrid.FACTS)
_OWN_HEADINGS: Mapping[SearchType, tuple[str, ...]] = {
    SearchType.HYBRID_COMPLETION: (_WORLD_SUMMARY, _AREAS, *_LANES),
    SearchType.TEMPORAL: (_IN_ORDER,),
}
_HEADINGS = (_WORLD_SUMMARY, _AREAS, _NODES, _CONNECTIONS)
"""Of all other types. A document can't forge a heading of the type that shows it; one of another type is text."""


def parts_of(result: RecallResult) -> list[PromptPart]:
    """The prompt of a result of `only_context`, in parts that laid end to end are it."""
    text, found = result.text, list(_headings_of(result.query_type).finditer(result.text))
    if not found:
        return [_part("text", text)]
    parts = [_part("frame", text[: found[0].start()])]
    for heading, following in zip(found, [*found[1:], None], strict=True):
        end = following.start() if following else len(text)
        parts += _section(heading.group(), text[heading.start() : end], result)
    return [part for part in parts if part.text]


def _headings_of(query_type: SearchType) -> re.Pattern[str]:
    headings = map(re.escape, _OWN_HEADINGS.get(query_type, _HEADINGS))
    return re.compile(rf"^(?:{'|'.join(headings)})$", re.MULTILINE)


def _section(heading: str, text: str, result: RecallResult) -> Iterator[PromptPart]:
    first_line = len(heading) + 1
    body = text[first_line:]
    yield _part("frame", text[:first_line])
    if heading == _WORLD_SUMMARY:
        yield _part("root", body, [result.evidence.root.id] if result.evidence.root else [])
    elif heading == _AREAS:
        yield from _areas(body, result.evidence.areas)
    elif heading == _NODES:
        yield from _nodes(body, result)
    elif heading == _CONNECTIONS:
        yield from _connections(body, result)
    elif heading in (_PASSAGES, _IN_ORDER):
        yield from _passages(body, result)
    else:
        yield _part("text", body)


def _areas(body: str, areas: Sequence[AreaEvidence]) -> Iterator[PromptPart]:
    place = 0
    for area in areas:
        start = body.find(area.text, place)
        if start < 0:
            continue
        yield _part("frame", body[place:start])
        place = start + len(area.text)
        yield _part("area", body[start:place], [area.id])
    yield _part("frame", body[place:])


def _nodes(body: str, result: RecallResult) -> Iterator[PromptPart]:
    named = _ids_by_title(result)
    place = 0
    for found in _NODE.finditer(body):
        yield _part("frame", body[place : found.start()])
        by_text = [passage.id for passage in result.evidence.passages if passage.text.strip() in found.group()]
        yield _part("node", found.group(), named[found.group(1)] or by_text)
        place = found.end()
    yield _part("frame", body[place:])


def _connections(body: str, result: RecallResult) -> Iterator[PromptPart]:
    named = _ids_by_title(result)
    for line in body.splitlines(keepends=True):
        ends = _CONNECTION.match(line)
        ids = [i for title in (ends.groups() if ends else ()) for i in named[title]]
        yield _part("connection" if ends else "frame", line, ids)


def _passages(body: str, result: RecallResult) -> Iterator[PromptPart]:
    place = 0
    clean = retrieval.context.clean_markdown
    spelt = [(text, p.id) for p in result.evidence.passages for text in {p.text.strip(), clean(p.text).strip()} if text]
    starts = sorted((body.find(text), text, key) for text, key in spelt)
    for start, text, key in starts:
        if start < place:
            continue
        yield _part("frame", body[place:start])
        place = start + len(text)
        yield _part("passage", body[start:place], [key])
    yield _part("text", body[place:])


def _ids_by_title(result: RecallResult) -> defaultdict[str, list[UUID]]:
    found: defaultdict[str, list[UUID]] = defaultdict(list)
    for one in result.evidence.triplets:
        for title, key in ((one.source, one.source_id), (one.target, one.target_id)):
            if key not in found[title]:
                found[title].append(key)
    return found


def _part(kind: PartKind, text: str, nodes: Sequence[UUID] = ()) -> PromptPart:
    return PromptPart(kind=kind, text=text, tokens=estimate_tokens(text), nodes=list(nodes))
