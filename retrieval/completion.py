"""From a context to an answer: what a model is asked, a reply as an object, and quotations where there is no model."""

import json
from typing import Any

from overstory import prompts
from overstory.errors import ModelOutputError
from overstory.models import Usage
from overstory.offline.answers import Quotation, Text, asks_for_overview, blocks_of, quote_map, quote_texts
from overstory.parsing import parse_answer, strict_schema
from overstory.writer import Writer

from .context import clean_text
from .question import Question
from .scene import Findings

USER_PROMPT = "The question is: {question}\n\nAnswer it from this context:\n\n{context}"
"""The one form of a user prompt; `only_context` returns it as it would have been sent."""
HISTORY = "The conversation so far:\n{turns}\n\n"
FORM = "{prompt}\n\nReply with one JSON object of this schema and nothing else:\n{schema}"
PROBLEM = "{prompt}\n\nYour last reply could not be used: {problem}"
MAX_ATTEMPTS = 3
"""Replies that are asked for before a response model counts as not met."""


def user_prompt(question: Question, context: str) -> str:
    prompt = USER_PROMPT.format(question=question.query_text, context=context)
    return f"{_history(question)}{prompt}"


def _history(question: Question) -> str:
    if not question.history:
        return ""
    turns = "\n".join(f"Asked: {_line(t.question)}\nAnswered: {_line(t.answer)}" for t in question.history)
    return HISTORY.format(turns=turns)


def _line(text: str) -> str:
    return " ".join(clean_text(text).split())


def quote_findings(question: Question, findings: Findings) -> Quotation:
    """The answer without a model: sentences of what was found, and of the map where the question is about the whole."""
    given = findings.given_map()
    if given.facts and asks_for_overview(question.search_text):
        return quote_map(given)
    local = findings.context.replace(given.text, "", 1)
    texts = [
        *(Text(fact.text, fact.occurred_at, fact.is_history, fact.sources) for fact in given.facts),
        *(
            Text(passage.text, passage.occurred_at, sources=(passage.source,))
            for passage in (*findings.evidence.passages, *findings.evidence.descriptions)
        ),
        *map(Text, blocks_of(local)),
    ]
    own = "" if asks_for_overview(question.query_text) else question.query_text
    return quote_texts(question.search_text, texts, own)


async def answer_as_object(question: Question, context: str, writer: Writer, usage: Usage) -> tuple[str, Any]:
    """The answer as an object of the question's response model, with its JSON text.

    Raises:
        ModelOutputError: no reply was one, in `MAX_ATTEMPTS`.
    """
    assert question.response_model is not None
    schema = json.dumps(strict_schema(question.response_model), ensure_ascii=False)
    asked = prompt = FORM.format(prompt=user_prompt(question, context), schema=schema)
    for attempt in range(1, MAX_ATTEMPTS + 1):
        pieces = writer.answer(asked, system_prompt=question.system_prompt, usage=usage)
        reply = "".join([piece async for piece in pieces])
        try:
            value = parse_answer(writer.model, reply, question.response_model)
        except ModelOutputError as error:
            if attempt == MAX_ATTEMPTS:
                raise
            asked = PROBLEM.format(prompt=prompt, problem=prompts.one_line(error.reason))
        else:
            return value.model_dump_json(), value
    raise AssertionError
