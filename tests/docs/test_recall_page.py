"""The page on recall shows what the code does."""

import re

import pytest

from overstory import SearchType
from overstory.recalling import RecallOptions
from retrieval.question import INDEX_OPTIONS
from tests.docs import recall_prompts

PAGE = recall_prompts.PAGE.read_text(encoding="utf-8")


async def test_the_prompts_are_those_that_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LLM_MODEL", "LLM_ENDPOINT", "LLM_API_KEY"):
        monkeypatch.setenv(name, "")

    assert recall_prompts.written(PAGE) == await recall_prompts.generate(), "python -m tests.docs.recall_prompts"


def test_every_type_has_a_row_and_a_prompt() -> None:
    assert set(re.findall(r"^\| `([A-Z_]+)` \|", PAGE, re.MULTILINE)) == set(SearchType)
    assert set(recall_prompts.QUESTIONS) == set(SearchType)


def test_every_option_is_documented() -> None:
    missing = [name for name in (*RecallOptions.__annotations__, *INDEX_OPTIONS) if f"`{name}`" not in PAGE]

    assert missing == []
