"""Arguments of the public calls that are of another type than they name."""

import inspect
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

import overstory
from overstory import datasets
from overstory.arguments import checked, several
from overstory.errors import InvalidOptionError, UsageError
from overstory.judging import Feedback
from overstory.results import Evidence, Freshness, RecallResult, SearchType

RESULT = RecallResult(
    text="",
    dataset="north",
    dataset_id=uuid4(),
    query="",
    query_type=SearchType.CHUNKS,
    evidence=Evidence(),
    freshness=Freshness(),
)
SAMPLES = {
    **dict.fromkeys(("data", "dataset", "dataset_id", "to_user", "query_text", "session_id", "run_id"), "north"),
    **dict.fromkeys(("folder", "path", "beginning"), "a"),
    **dict.fromkeys(("keys", "facts", "words", "permissions"), ()),
    **{"generation": 1, "score": 1, "result": RESULT},
    "given": Feedback(dataset_id=uuid4(), score=1, text="", moved={}),
}
"""What is given for each parameter that has no default."""
PUBLIC = [getattr(module, name) for module in (overstory, datasets) for name in module.__all__]
CALLS = [
    (call, name) for call in PUBLIC if inspect.iscoroutinefunction(call) for name in inspect.signature(call).parameters
]


@pytest.mark.parametrize(("call", "name"), CALLS, ids=lambda one: getattr(one, "__name__", one))
async def test_no_public_call_fails_inside_for_the_type_of_an_argument(call: Callable[..., Any], name: str) -> None:
    await overstory.remember("Anna Hofer leads Northstar.", "north")
    needed = {p.name for p in inspect.signature(call).parameters.values() if p.default is p.empty}
    given = {sample: SAMPLES[sample] for sample in needed & SAMPLES.keys()}

    with pytest.raises(UsageError, match=rf"{name}|datasets=|search type"):
        await call(**{**given, name: object()})


@checked("free")
async def example(
    number: float = 0, count: int | None = None, flag: bool = False, texts: list[str] | str = "", free: int = 0
) -> str:
    return f"{number} {count} {flag} {texts} {free}"


async def test_what_is_of_its_type_is_given_on_as_it_is() -> None:
    assert await example(3, 4, True, texts=["a"]) == "3 4 True ['a'] 0"
    assert await example(1.5, None, free="x") == "1.5 None False  x"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [{"number": "3"}, {"number": True}, {"count": 1.5}, {"count": False}, {"flag": "no"}, {"texts": ["a", 1]}],
    ids=str,
)
async def test_a_number_as_text_a_flag_as_number_and_the_like_are_refused(given: dict[str, Any]) -> None:
    [name] = given

    with pytest.raises(InvalidOptionError, match=rf"{name}=.* is not allowed: it takes "):
        await example(**given)


def test_one_or_several_are_a_list_whatever_holds_them() -> None:
    refusal = UsageError("no text")

    assert several("ab", str, refusal) == ["ab"]
    assert several((one for one in ("a", "b")), str, refusal) == ["a", "b"]
    for wrong in (5, [5], ["a", None]):
        with pytest.raises(UsageError, match="no text"):
            several(wrong, str, refusal)
