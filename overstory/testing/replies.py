"""What the scripted model answers by itself: extracts of what it was given, the same every time."""

import json
import re
from collections import Counter
from itertools import pairwise
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from overstory.tokens import estimate_tokens

_INPUTS = re.compile(r"<inputs>\n(.*)\n</inputs>", re.DOTALL)
_SOURCE = re.compile(r"<source>\n(.*)\n</source>", re.DOTALL)
_INPUT = re.compile(r"^\[(\d+)\] (?:\(([^)]*)\) )?(.*)$", re.MULTILINE)
_LENGTH = re.compile(r"about (\d+) tokens")
_NAMES = re.compile(r"^Names that occur often: (.+)$", re.MULTILINE)
_SENTENCE = re.compile(r"[^\s].*?(?:(?<!\s\d)(?<!\s\d\d)[.!?](?=\s|$)|[。！？]|$)", re.DOTALL | re.MULTILINE)
_NAME = re.compile(
    r"(?<!\w)(?!(?:The|An?|On|In|It|He|She|This|We|They|At|For|And|But|When|After|Before|If|As)\b)[^\W\d_a-zß-öø-ÿ][\w&'-]+(?: [^\W\d_a-zß-öø-ÿ][\w&'-]+)*"
)
_CLAUSE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]{2,6}")
_WORD = re.compile(r"\w+")
_SHARE = 0.7
_TOPICS = 6
_PLACES = 3
_SENTENCE_CHARACTERS = 240


class Asked(NamedTuple):
    """What a prompt of ours holds."""

    source: str
    inputs: tuple[tuple[int, str], ...]
    tokens: int
    names: tuple[str, ...]


def read_prompt(prompt: str) -> Asked:
    inputs = _INPUTS.search(prompt)
    source = _SOURCE.search(prompt)
    numbered = tuple((int(n), text) for n, _, text in _INPUT.findall(inputs.group(1))) if inputs else ()
    tokens = _LENGTH.search(prompt)
    names = _NAMES.search(prompt)
    listed = tuple(name.strip() for name in names.group(1).split(",")) if names and names.group(1) != "unknown" else ()
    return Asked(source.group(1) if source else "", numbered, int(tokens.group(1)) if tokens else 300, listed)


def answer(prompt: str, schema: dict[str, Any] | None) -> str:
    """A plausible answer to a prompt: of its schema where it has one."""
    asked = read_prompt(prompt)
    if asked.inputs:
        return json.dumps(area(asked), ensure_ascii=False)
    if asked.source:
        return json.dumps(chunk(asked.source, schema), ensure_ascii=False)
    text = closest_sentence(prompt)
    return json.dumps(instance(schema, schema, text), ensure_ascii=False) if schema else text


def area(asked: Asked) -> dict[str, Any]:
    facts = [{"text": first_sentence(text), "inputs": [number], "superseded": False} for number, text in asked.inputs]
    topics = list(dict.fromkeys(asked.names or [name for _, text in asked.inputs for name in names_in(text)]))[:_TOPICS]
    return {"categories": [{"name": "Names", "topics": topics or ["various"]}], "facts": _fitting(facts, asked.tokens)}


def _fitting(facts: list[dict[str, Any]], tokens: int) -> list[dict[str, Any]]:
    """So many facts, evenly spread, as the length allows."""
    distinct = list({fact["text"]: fact for fact in facts}.values())
    cost = sum(estimate_tokens(fact["text"]) + 1 for fact in distinct)
    keep = max(1, min(len(distinct), int(len(distinct) * tokens * _SHARE / max(1, cost))))
    return [distinct[index * len(distinct) // keep] for index in range(keep)]


def chunk(text: str, schema: dict[str, Any] | None) -> dict[str, Any]:
    made = {"entities": _entities(text), "relations": _relations(text), "summary": _summary(text)}
    wanted = set((schema or {}).get("properties", made))
    return {name: value for name, value in made.items() if name in wanted}


def _entities(text: str) -> list[dict[str, str]]:
    return [{"name": name, "type": "concept", "description": ""} for name in names_in(text)[:12]]


def _relations(text: str) -> list[dict[str, str]]:
    found = []
    for sentence in sentences(text):
        names = names_in(sentence)
        found += [{"source": a, "name": "related_to", "target": b, "text": sentence} for a, b in pairwise(names)]
    return found[:12]


def _summary(text: str) -> str:
    return " ".join(sentences(text)[:2])[: 2 * _SENTENCE_CHARACTERS] or text[:_SENTENCE_CHARACTERS]


def sentences(text: str) -> list[str]:
    return [" ".join(match.split()) for match in _SENTENCE.findall(text) if match.strip()]


def first_sentence(text: str) -> str:
    return next((sentence for sentence in sentences(text) if len(sentence) >= 12), text)[:_SENTENCE_CHARACTERS]


def names_in(text: str) -> list[str]:
    """Capitalised spans, or clauses where a script has no capitals."""
    return list(dict.fromkeys(_NAME.findall(text) or _CLAUSE.findall(text)))


def closest_sentence(prompt: str) -> str:
    """The sentence of a prompt that shares most words with its question."""
    found = sentences(prompt)
    questions = [sentence for sentence in found if sentence.endswith("?")] or found[:1]
    words = Counter(_WORD.findall(" ".join(questions).casefold()))
    others = [sentence for sentence in found if sentence not in questions]
    return max(
        others, key=lambda sentence: len(words.keys() & _WORD.findall(sentence.casefold())), default="I do not know."
    )


def instance(schema: dict[str, Any] | None, root: dict[str, Any] | None, text: str) -> Any:
    """Some object of a JSON schema, with a text wherever it wants one."""
    if not schema or not root:
        return None
    if "$ref" in schema:
        return instance(root["$defs"][schema["$ref"].rpartition("/")[2]], root, text)
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return instance(schema["anyOf"][0], root, text)
    if schema.get("type") == "object":
        return {name: instance(part, root, text) for name, part in schema.get("properties", {}).items()}
    if schema.get("type") == "array":
        return [instance(schema.get("items"), root, text)]
    return {"string": text, "integer": 1, "number": 1.0, "boolean": True}.get(schema.get("type", ""))


def embedding(text: str, dimensions: int) -> list[float]:
    """A vector in which texts of the same words are near each other."""
    vector = np.zeros(dimensions, dtype=np.float32)
    for word in _WORD.findall(text.casefold()):
        for place in range(_PLACES):
            code = crc32(f"{place}{word}".encode())
            vector[code % dimensions] += 1.0 if code & 0x10000 else -1.0
    vector[0] += 0.01
    values: list[float] = (vector / np.linalg.norm(vector)).round(6).tolist()
    return values
