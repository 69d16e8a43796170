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
    ("question", "first", "last"),
    [
        ("between 1 March and 15 March 2025", "2025-03-01", "2025-03-15"),
        ("between March 1 and March 15, 2025", "2025-03-01", "2025-03-15"),
        ("between March 1 and 15, 2025", "2025-03-01", "2025-03-15"),
        ("from 1 to 15 March 2025", "2025-03-01", "2025-03-15"),
        ("from the 1st to the 15th of March 2025", "2025-03-01", "2025-03-15"),
        ("from 1 March 2025 to 15 March", "2025-03-01", "2025-03-15"),
        ("between March and May 2025", "2025-03-01", "2025-05-31"),
        ("from 15 December to 3 January 2025", "2024-12-15", "2025-01-03"),
        ("from 15 December 2024 to 3 January", "2024-12-15", "2025-01-03"),
        ("from November to February 2025", "2024-11-01", "2025-02-31"),
        ("between 2023 and 2024", "2023-01-01", "2024-12-31"),
        ("in Q1 2025", "2025-01-01", "2025-03-31"),
        ("in the second quarter of 2025", "2025-04-01", "2025-06-31"),
        ("since Q2 2025", "2025-04-01", "9999-99-99"),
        ("before Q2 2025", "0000-00-00", "2025-03-31"),
        ("after the fourth quarter of 2024", "2024-13-01", "9999-99-99"),
    ],
)
def test_a_span_takes_from_its_other_end_what_one_leaves_out(question: str, first: str, last: str) -> None:
    time = asked_time(f"What happened {question}?")

    assert time is not None
    assert (time.start, time.end) == (first, last)


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("in spring 2025", "2025-03-01", "2025-05-31"),
        ("in the summer of 2025", "2025-06-01", "2025-08-31"),
        ("In Autumn, 2025", "2025-09-01", "2025-11-31"),
        ("in the fall of 2025", "2025-09-01", "2025-11-31"),
        ("in the first half of 2025", "2025-01-01", "2025-06-31"),
        ("in H2 2025", "2025-07-01", "2025-12-31"),
        ("in early 2026", "2026-01-01", "2026-04-31"),
        ("in mid-2025", "2025-05-01", "2025-08-31"),
        ("in late 2025", "2025-09-01", "2025-12-31"),
        ("at the end of 2025", "2025-09-01", "2025-12-31"),
        ("in early March 2025", "2025-03-01", "2025-03-10"),
        ("in mid-March 2025", "2025-03-11", "2025-03-20"),
        ("at the end of March 2025", "2025-03-21", "2025-03-31"),
        ("in the second half of March, 2025", "2025-03-16", "2025-03-31"),
        ("by the end of March 2025", "0000-00-00", "2025-03-31"),
        ("before the end of March 2025", "0000-00-00", "2025-03-31"),
        ("before late March 2025", "0000-00-00", "2025-03-20"),
        ("before summer 2025", "0000-00-00", "2025-05-31"),
        ("after the summer of 2025", "2025-09-01", "9999-99-99"),
        ("since the beginning of 2025", "2025-01-01", "9999-99-99"),
        ("after the start of 2025", "2025-01-01", "9999-99-99"),
        ("from the beginning of 2025 to the end of March 2025", "2025-01-01", "2025-03-31"),
    ],
)
def test_a_part_of_a_year_or_month_is_from_its_first_to_its_last_day(question: str, first: str, last: str) -> None:
    time = asked_time(f"What happened {question}?")

    assert time is not None
    assert (time.start, time.end) == (first, last)


@pytest.mark.parametrize(
    "question",
    ["in winter 2025", "in spring", "in spring March 2025", "between spring 2025 and autumn 2025", "to end it in 2025"],
)
def test_what_is_no_one_part_of_a_year_is_none(question: str) -> None:
    time = asked_time(f"What happened {question}?")

    assert time is None or not time.is_span


@pytest.mark.parametrize(
    ("question", "text", "named"),
    [
        ("in spring 2025", "The launch is planned for spring 2025.", True),
        ("in spring 2025", "It was decided on 3 April 2025.", True),
        ("in spring 2025", "The launch is planned for autumn 2025.", False),
        ("in 2025", "The budget of Q2 2025 was approved.", True),
        ("in 2024", "The budget of Q2 2025 was approved.", False),
        ("on 3 April 2025", "The budget of Q2 2025 was approved.", False),
        ("after 2024", "It was announced in early 2025.", True),
        ("before 2025", "It was announced in early 2025.", False),
    ],
)
def test_a_text_may_name_a_part_of_a_year(question: str, text: str, named: bool) -> None:
    time = asked_time(f"What was decided {question}?")

    assert time is not None
    assert names_date(text, time) is named


def test_numbers_that_are_no_days_make_no_span() -> None:
    time = asked_time("Who moved from 3 to 5 people in March 2025?")

    assert time is not None
    assert not time.is_span


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
