"""What models are asked to answer: the schemas of every structured call, lenient where models differ."""

import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field


def _as_numbers(value: Any) -> Any:
    """Numbers out of what models write for a list of them: 3, "3", "[1, 2]"."""
    if isinstance(value, list):
        return [number for item in value for number in _as_numbers(item)]
    if isinstance(value, str):
        return [int(digits) for digits in re.findall(r"\d{1,9}", value)]
    return [value]


def _as_list(value: Any) -> Any:
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


def _as_text(value: Any) -> Any:
    return "" if value is None else value


def _as_flag(value: Any) -> Any:
    return False if value is None else value


Flag = Annotated[bool, BeforeValidator(_as_flag)]
Text = Annotated[str, BeforeValidator(_as_text)]
Numbers = Annotated[list[int], BeforeValidator(_as_numbers)]
Texts = Annotated[list[str], BeforeValidator(_as_list)]


class EntityAnswer(BaseModel):
    name: str
    type: Text = ""
    description: Text = ""


class RelationAnswer(BaseModel):
    source: str
    name: str
    target: str
    text: Text = ""


class GraphAnswer(BaseModel):
    entities: list[EntityAnswer]
    relations: list[RelationAnswer] = Field(default_factory=list)


class SummaryAnswer(BaseModel):
    summary: str = Field(min_length=1)


class ChunkAnswer(BaseModel):
    """A chunk's graph and summary from one call."""

    entities: list[EntityAnswer]
    relations: list[RelationAnswer] = Field(default_factory=list)
    summary: str = Field(min_length=1)


class CategoryAnswer(BaseModel):
    name: str
    topics: Texts


class FactAnswer(BaseModel):
    text: str
    inputs: Numbers
    superseded: Flag = False


class AreaAnswer(BaseModel):
    """The draft of a bucket's or the root's content."""

    categories: list[CategoryAnswer]
    facts: list[FactAnswer]


ANSWERS: tuple[type[BaseModel], ...] = (ChunkAnswer, GraphAnswer, SummaryAnswer, AreaAnswer)
