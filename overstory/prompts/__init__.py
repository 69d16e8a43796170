"""What models are told: one text a file, and a version that changes when any of them does."""

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from string import Template

from overstory import ids

_FENCES = re.compile(r"<(?=\s*/?\s*(?:source|inputs)\b)", re.IGNORECASE)


@cache
def text(name: str) -> str:
    """The prompt of this name."""
    return files(__package__).joinpath(f"{name}.txt").read_text("utf-8").strip()


def fill(name: str, **values: str) -> str:
    """The prompt of this name with its `$values` put in; what is put in is not read for further ones."""
    return Template(text(name)).substitute(values)


def version(names: Sequence[str], *parts: str) -> str:
    """Changes with the text of any of these prompts, or with `parts` that shape answers as well."""
    return ids.text_hash("\x1f".join([*map(text, names), *parts]))[:12]


def unfenced(source: str) -> str:
    """Text of a source that can't close the fence it is put in."""
    return _FENCES.sub("‹", source) if "<" in source else source


def one_line(source: str) -> str:
    """Text of a source on one line, so that it can't forge the next one."""
    return " ".join(unfenced(source).split())
