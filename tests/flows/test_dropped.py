"""A dataset that is dropped while a question over several is being answered."""

from typing import Any

import pytest

from overstory import forget, recall, recall_stream, remember
from overstory.errors import DatasetNotFoundError, NoDataError
from overstory.layout import retrieval
from overstory.results import RecallResult, SearchType

QUESTION = "Who moved it in 2025?"


@pytest.fixture(autouse=True)
async def gone(store_kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dataset that goes as soon as it is searched."""
    await remember("Anna Hofer moved Bluebird to 3 May 2025. Mira Sand leads it.", "gone")
    whole = retrieval.asking.search

    async def search(question: Any, **where: Any) -> Any:
        if where["dataset"].name == "gone":
            await forget("gone")
        return await whole(question, **where)

    monkeypatch.setattr(retrieval.asking, "search", search)


@pytest.mark.parametrize("query_type", SearchType)
async def test_of_all_datasets_one_that_is_gone_is_left_out(query_type: SearchType) -> None:
    await remember("Anna Hofer moved Northstar to 9 June 2025. Luis Ortega leads it.", "kept")

    found = await recall(QUESTION, query_type)

    assert [one.dataset for one in found] == ["kept"]


async def test_an_answer_as_it_is_written_leaves_it_out_too() -> None:
    await remember("Anna Hofer moved Northstar to 9 June 2025. Luis Ortega leads it.", "kept")

    pieces = [piece async for piece in recall_stream(QUESTION)]

    assert [piece.dataset for piece in pieces if isinstance(piece, RecallResult)] == ["kept"]


async def test_one_that_was_named_is_an_error_that_names_it() -> None:
    await remember("Anna Hofer moved Northstar to 9 June 2025. Luis Ortega leads it.", "kept")

    with pytest.raises(DatasetNotFoundError, match="'gone'"):
        await recall(QUESTION, datasets=["kept", "gone"])


async def test_where_it_was_the_only_one_there_is_no_data() -> None:
    with pytest.raises(NoDataError):
        await recall(QUESTION)
