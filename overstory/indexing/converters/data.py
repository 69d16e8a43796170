"""Tables and JSON as lines that can be read on their own: each value with its name."""

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from overstory.indexing.cleaning import clean
from overstory.indexing.converters.converted import Converted
from overstory.indexing.converters.markup import first_heading, from_plain

Json: TypeAlias = Any
_DELIMITERS = ",;\t|"
_SNIFFED_CHARACTERS = 16_384
_NUMBER = re.compile(r"[-+]?[\d.,\s]*\d[\d.,\s]*%?")
_EMPTY_LINES = re.compile(r"\n{3,}")
_LINE_END = re.compile(r"\r\n?|\n")
_BORDER = object()


class _Pairs(list[tuple[str, Json]]):
    """A JSON object that keeps a name given twice."""


def from_csv(text: str) -> Converted:
    """A row a paragraph, each cell after its column's name when the table has names."""
    rows = _rows(text)
    if rows is None:
        return Converted(text=text)
    names = rows[0] if rows and _is_header(rows[0]) else []
    lines = (_line(row, names) for row in rows[1 if names else 0 :])
    return Converted(text="\n\n".join(line for line in lines if line) or ", ".join(names))


def from_json(text: str) -> Converted:
    """A value a line, after the path of names that leads to it; a notebook as its cells."""
    try:
        value = _parse(text)
    except (ValueError, RecursionError):
        return Converted(text=text)
    cells = _cells(value)
    if cells is not None:
        return Converted(text=cells, title=first_heading(cells))
    return (
        from_plain(value)
        if isinstance(value, str)
        else Converted(text=_EMPTY_LINES.sub("\n\n", "\n".join(_flat(value))))
    )


def from_json_lines(text: str) -> Converted:
    """A record a paragraph; a line that is no JSON stays as it is.

    Args:
        text: not cleaned, since that makes line ends of what is none here (U+2028 within a string).
    """
    lines = map(clean, _LINE_END.split(text))
    return Converted(text="\n\n".join(from_json(line).text for line in lines if line.strip()))


def _rows(text: str) -> list[list[str]] | None:
    """The rows of a table; None when it is none."""
    try:
        delimiter = csv.Sniffer().sniff(text[:_SNIFFED_CHARACTERS], _DELIMITERS).delimiter
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    return [[" ".join(cell.split()) for cell in row] for row in rows]


def _is_header(row: list[str]) -> bool:
    names = [name for name in row if name]
    return len(names) == len(row) == len(set(names)) and not any(_NUMBER.fullmatch(name) for name in names)


def _line(row: list[str], names: list[str]) -> str:
    named = [f"{name}: {cell}" for name, cell in zip(names, row, strict=False) if cell]
    return "; ".join([*named, *(cell for cell in row[len(names) :] if cell)])


def _parse(text: str) -> Json:
    """With line ends within strings, which cleaning makes of U+2028 and its like."""
    return json.loads(text, object_pairs_hook=_Pairs, strict=False)


def _flat(value: Json) -> Iterator[str]:
    """Lines `path: value`, an empty one after each object or list within a list; depth costs no stack."""
    waiting: list[tuple[str, Json]] = [("", value)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, _Pairs):
            waiting.extend((f"{path}.{name}" if path else name, inner) for name, inner in reversed(value))
        elif isinstance(value, list):
            for inner in reversed(value):
                waiting.extend([(path, _BORDER)] if isinstance(inner, list) else [])
                waiting.append((path, inner))
        elif value is _BORDER:
            yield ""
        elif value is not None:
            yield f"{path}: {_scalar(value)}" if path else _scalar(value)


def _scalar(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _cells(value: Json) -> str | None:
    """The text of a Jupyter notebook, with what its code printed; None when it is no notebook."""
    notebook = dict(value) if isinstance(value, _Pairs) else {}
    if "nbformat" not in notebook or not isinstance(notebook.get("cells"), list):
        return None
    return "\n\n".join(
        text for cell in notebook["cells"] if isinstance(cell, _Pairs) for text in _cell(dict(cell)) if text.strip()
    )


def _cell(cell: dict[str, Json]) -> Iterator[str]:
    yield _joined(cell.get("source"))
    for output in cell.get("outputs") or ():
        shown = dict(output) if isinstance(output, _Pairs) else {}
        yield _joined(shown.get("text"))
        data = shown.get("data")
        yield _joined(dict(data).get("text/plain")) if isinstance(data, _Pairs) else ""


def _joined(lines: Json) -> str:
    return "".join(map(str, lines)) if isinstance(lines, list) else str(lines or "")
