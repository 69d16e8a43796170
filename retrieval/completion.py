"""From a context to an answer."""

from collections.abc import AsyncIterator

from overstory.models import Usage
from overstory.writer import Writer

from .question import Question

USER_PROMPT = "The question is: {question}\n\nAnswer it from this context:\n\n{context}"
"""The one form of a user prompt; `only_context` returns it as it would have been sent."""


def user_prompt(question: str, context: str) -> str:
    return USER_PROMPT.format(question=question, context=context)


def stream_answer(question: Question, context: str, writer: Writer, usage: Usage) -> AsyncIterator[str]:
    """A model's answer, piece by piece; what it takes is added to `usage`."""
    prompt = user_prompt(question.query_text, context)
    return writer.answer(prompt, system_prompt=question.system_prompt, usage=usage)


async def answer(question: Question, context: str, writer: Writer, usage: Usage) -> str:
    return "".join([piece async for piece in stream_answer(question, context, writer, usage)]).strip()
