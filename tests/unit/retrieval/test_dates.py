"""The time that a question names."""

import pytest

from retrieval.dates import asked_time, names_date

DAYS = ["2023-12-31", "2024-01-01", "2024-04-30", "2024-05-01", "2024-05-31", "2024-06-01", "2024-12-31", "2025-01-01"]


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("What was decided before 2024?", "2023-12-31", "2023-12-31"),
        ("What was decided until 2024?", "2023-12-31", "2024-12-31"),
        ("What was decided by the 31st of May 2024?", "2023-12-31", "2024-05-31"),
        ("What was decided before May 2024?", "2023-12-31", "2024-04-30"),
        ("What was decided before January 2024?", "2023-12-31", "2023-12-31"),
        ("What was decided before 1 May 2024?", "2023-12-31", "2024-04-30"),
        ("What was decided Before 2024-05-31?", "2023-12-31", "2024-05-01"),
        ("What was decided after 2023?", "2024-01-01", "2025-01-01"),
        ("What was decided after 2024?", "2025-01-01", "2025-01-01"),
        ("What was decided since 2024?", "2024-01-01", "2025-01-01"),
        ("What was decided after May 2024?", "2024-06-01", "2025-01-01"),
        ("What was decided after December 2024?", "2025-01-01", "2025-01-01"),
        ("What was decided after 31 May 2024?", "2024-06-01", "2025-01-01"),
        ("What was decided after the 1st of May 2024?", "2024-05-31", "2025-01-01"),
        ("What was decided from 1 May 2024?", "2024-05-01", "2025-01-01"),
        ("What was decided between May 2024 and 1 June 2024?", "2024-05-01", "2024-06-01"),
        ("What was decided in May 2024?", "2024-05-01", "2024-05-31"),
        ("What was decided in 2024?", "2024-01-01", "2024-12-31"),
    ],
)
def test_before_and_after_leave_the_date_out_and_the_others_take_it_in(question: str, first: str, last: str) -> None:
    time = asked_time(question)

    assert time is not None
    assert [day for day in DAYS if time.covers(day)] == DAYS[DAYS.index(first) : DAYS.index(last) + 1]


@pytest.mark.parametrize(
    ("question", "text", "named"),
    [
        ("before 2024", "It was decided in 2024.", False),
        ("before 2024", "It was decided in December 2023.", True),
        ("before 1 January 2024", "It was decided in 2024.", False),
        ("before 1 May 2024", "It was decided in May 2024.", False),
        ("before 2 May 2024", "It was decided in May 2024.", True),
        ("until 2024", "It was decided in 2024.", True),
        ("after 2024", "It was decided in 2024.", False),
        ("after 2024", "It was decided on 1 January 2025.", True),
        ("after 31 December 2024", "It was decided in 2024.", False),
        ("after 3 May 2024", "It was decided on 3 May 2024.", False),
        ("since 3 May 2024", "It was decided on 3 May 2024.", True),
    ],
)
def test_a_text_names_the_time_where_its_date_lies_in_it(question: str, text: str, named: bool) -> None:
    time = asked_time(f"What was decided {question}?")

    assert time is not None
    assert names_date(text, time) is named


@pytest.mark.parametrize(
    ("question", "last"),
    [
        ("Who leads it since 2024?", "9999-99-99"),
        ("Who led it before 2024?", "2023-12-31"),
        ("Who led it in 2024?", "2024-12-31"),
        ("Who led it on 3 May?", "9999-99-99"),
    ],
)
def test_the_last_day_that_is_asked_for(question: str, last: str) -> None:
    time = asked_time(question)

    assert time is not None
    assert time.last == last


def test_a_question_without_a_date_names_none() -> None:
    assert asked_time("Who leads Northstar before the launch?") is None
