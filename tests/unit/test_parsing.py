"""What a model wrote becomes the object that was asked for, or a short reason."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from overstory.errors import ModelOutputError
from overstory.parsing import ThoughtFilter, parse_answer, strict_schema
from overstory.schemas import ANSWERS, AreaAnswer, ChunkAnswer

GOOD = {
    "categories": [{"name": "People", "topics": ["Anna, Hofer", "a } in {a} name"]}],
    "facts": [{"text": 'She said "yes", twice.', "inputs": [1], "superseded": False}],
}
TEXT = json.dumps(GOOD)


class Word(BaseModel):
    word: str


def reason(text):
    with pytest.raises(ModelOutputError) as caught:
        parse_answer("m", text, AreaAnswer)
    return caught.value.reason


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"```json\n{TEXT}\n```",
        f"```\n{TEXT}\n```",
        f"Here is {{the}} answer:\n{TEXT}\nI hope this helps! {{}}",
        f'<think>a {{"plan": 1}} first</think>\n{TEXT}',
        f"a plan whose opening tag is lost</think>{TEXT}",
        TEXT.replace("}]", "},]").removesuffix("}") + ", }",
        json.dumps({"AreaAnswer": GOOD}),
        json.dumps({"GlobalContextSummaryContent": GOOD}),
        json.dumps({"properties": GOOD, "type": "object"}),
        json.dumps(GOOD, indent=2),
        "\ufeff" + TEXT,
    ],
)
def test_dressed_answers_are_read(text):
    read = parse_answer("m", text, AreaAnswer)

    assert read.model_dump() == GOOD


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, "empty"),
        ("", "empty"),
        (" \n ", "empty"),
        ("<think>only thoughts</think>", "empty"),
        ("<think>no end " + TEXT, "the reasoning never ends"),
        ("The launch was moved.", "no JSON object in it"),
        (TEXT[: len(TEXT) // 2], "the JSON is cut off"),
        (TEXT[:-1], "the JSON is cut off"),
        (f"```json\n{TEXT[:60]}\n```", "the JSON is cut off"),
        ('{"facts": nothing}', "the JSON is not valid"),
        (json.dumps(strict_schema(AreaAnswer)), "it repeats the schema instead of an object"),
        (json.dumps(AreaAnswer.model_json_schema()), "it repeats the schema instead of an object"),
    ],
)
def test_unusable_answers_have_a_short_reason(text, expected):
    assert reason(text) == expected


def test_a_wrong_shape_is_told_by_its_place():
    told = reason('{"categories": [], "facts": [{"inputs": [1]}]}')

    assert told == "facts.0.text: Field required"


def test_numbers_and_lists_are_read_as_models_write_them():
    read = parse_answer(
        "m",
        '{"categories": [{"name": "A", "topics": "x, y"}], "facts": [{"text": "t", "inputs": "[1], [3]", "superseded": null}]}',
        AreaAnswer,
    )

    assert read.facts[0].inputs == [1, 3]
    assert read.categories[0].topics == ["x", "y"]


def test_a_missing_summary_is_not_made_up():
    with pytest.raises(ModelOutputError):
        parse_answer("m", '{"entities": [], "relations": [], "summary": ""}', ChunkAnswer)


@given(st.text(max_size=60), st.text(max_size=200), st.sampled_from(["", "```json\n", "Sure: "]))
def test_any_text_inside_a_string_comes_out_again(word, noise, before):
    text = before + json.dumps({"word": word}) + "\n" + noise.replace("<", "")

    assert parse_answer("m", text, Word).word == word


@given(st.text(alphabet='{}[]",:a1 \\<think>/', max_size=80))
def test_no_text_breaks_the_parser(text):
    with contextlib.suppress(ModelOutputError):
        assert parse_answer("m", text, Word).word is not None


@pytest.mark.parametrize("answer", ANSWERS)
def test_sent_schemas_require_everything_and_allow_nothing_else(answer):
    schema = strict_schema(answer)

    objects = [schema, *schema.get("$defs", {}).values()]
    assert all(o["additionalProperties"] is False and o["required"] == list(o["properties"]) for o in objects)
    assert '"default"' not in json.dumps(schema)


def test_a_property_named_default_survives():
    class Odd(BaseModel):
        default: str
        properties: int = 3

    assert strict_schema(Odd)["required"] == ["default", "properties"]


@given(
    st.lists(st.integers(1, 9), max_size=12),
    st.sampled_from(["<think>plan</think>\n", "", "<thinking>a < b</thinking>"]),
)
def test_a_streamed_answer_is_shown_without_its_thoughts(cuts, thought):
    text = thought + "The answer < 5 is here."
    pieces, start = [], 0
    for cut in cuts:
        pieces.append(text[start : start + cut])
        start += cut
    sieve = ThoughtFilter()

    shown = "".join(map(sieve.feed, [*pieces, text[start:]])) + sieve.finish()

    assert shown == "The answer < 5 is here."


def test_a_streamed_thought_without_end_shows_nothing():
    sieve = ThoughtFilter()

    assert sieve.feed("<think>secret") + sieve.feed(" plan") + sieve.finish() == ""
