"""Numbers and dates are compared by what they mean, and invented ones are found."""

import calendar
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory.grounding import ungrounded

MONTHS = list(calendar.month_name)[1:]


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("It cost 1,200 euros.", "Es kostete 1.200 Euro."),
        ("It cost 1200 euros.", "It cost 1 200 euros."),
        ("Il a coûté 1 200,50 euros.", "It cost 1 200,50 euros"),
        ("A share of 12.5 percent.", "A share of 12,5 %"),
        ("A share of 12.50 percent.", "A share of 12.5 %"),
        ("It sold 1.2 million units.", "It sold 1,200,000 units."),
        ("It sold 1,200,000 units.", "It sold 1.2 million units."),
        ("On 3 May it moved.", "On May 3 it moved."),
        ("On 3 May it moved.", "Moved (2025-05-03)"),
        ("On May 3rd, 2025 it moved.", "Moved (2025-05-03)"),
        ("On 2025-05-03 it moved.", "It moved on the 3rd of May 2025."),
        ("Am 3. Mai 2025 verschoben.", "verschoben am 03.05.2025"),
        ("Le 3 mai 2025.", "moved on 5/3/2025"),
        ("El 3 de mayo de 2025.", "moved on 3 May 2025"),
        ("3.5.2025 verschoben.", "2025-05-03"),
        ("Am 9.6. ist der Start.", "The launch is on 9 June."),
        ("From 3 to 5 May.", "3–5 May"),
        ("On 4 May.", "3, 4 and 5 May"),
        ("于2025年5月3日推迟。", "推迟 2025-05-03"),
        ("The talk is at 15:30.", "The talk is at 3:30 pm."),
        ("The talk is at 3 pm.", "The talk is at 15:00."),
        ("Three of 12 teams.", "Three of twelve teams."),
        ("Sie hat 3 Kinder.", "Sie hat drei Kinder."),
        ("٣ فرق", "3 teams"),
        ("GPT-4 in Q3 on B2B.", "Q3: B2B with GPT-4"),
        ("Version 1.2.3 at 192.168.0.1.", "192.168.0.1 runs version 1.2.3"),
        ("It may 3 times fail.", "It may fail 3 times"),
        ("No figures here.", "nor here"),
    ],
)
def test_what_the_source_writes_another_way_is_grounded(text, source):
    assert ungrounded(text, [source]) == []


@pytest.mark.parametrize(
    ("text", "source", "found"),
    [
        ("In 2025 it moved.", "It moved.", ["2025"]),
        ("On 3 May 2025 it moved.", "On 3 May it moved.", ["2025"]),
        ("It cost 1,300 euros.", "It cost 1,200 euros.", ["1,300"]),
        ("A share of 3.5 percent.", "On 3 May, 5 came.", ["3.5"]),
        ("On 3 June it moved.", "On 3 May it moved to 9 June.", ["3 June"]),
        ("On 3 May 2024.", "Moved on 2025-05-03; planned in 2024.", ["3 May"]),
        ("两百人中有205人。", "两百人", ["205"]),
        ("Input 205 says so.", "On 20 May", ["205"]),
    ],
)
def test_what_nobody_wrote_is_found(text, source, found):
    assert ungrounded(text, [source]) == found


def test_a_number_may_be_in_any_of_the_sources():
    assert ungrounded("3 of 4", ["there are 3", "there are 4"]) == []


@given(st.dates(date(1000, 1, 1), date(9999, 12, 31)))
def test_every_spelling_of_a_day_is_the_same_day(day):
    month = MONTHS[day.month - 1]
    spellings = [
        day.isoformat(),
        f"{day.day} {month} {day.year}",
        f"{month} {day.day}, {day.year}",
        f"{day.day:02}.{day.month:02}.{day.year}",
        f"{day.year}年{day.month}月{day.day}日",
    ]

    assert all(ungrounded(f"It was {a}.", [f"Since {b} it is"]) == [] for a in spellings for b in spellings)


@given(st.dates(date(1000, 1, 1)), st.dates(date(1000, 1, 1)))
def test_another_day_is_never_the_same(one, other):
    told = f"{one.day} {MONTHS[one.month - 1]} {one.year}"

    assert (ungrounded(told, [other.isoformat()]) == []) == (one == other)


@given(st.integers(0, 10**12))
def test_every_grouping_of_a_number_is_the_same_number(number):
    spellings = [str(number), *(f"{number:,}".replace(",", mark) for mark in (",", ".", "'", "\u202f"))]

    assert all(ungrounded(f"about {a} euros", [f"some {b} euros"]) == [] for a in spellings for b in spellings)


@given(st.text(max_size=80), st.text(max_size=80))
def test_no_text_breaks_it_and_a_text_grounds_itself(text, other):
    ungrounded(text, [other])

    assert ungrounded(text, [text]) == []


@pytest.mark.parametrize(
    "form", ["{}", "{} million", "1.{}", "{}.5", "1.{} million", "3:{}", "1,234,{}", "00{}", "{}²"]
)
def test_digits_that_a_model_repeats_without_end_are_a_number(form):
    number = form.format("9" * 5_000)

    assert ungrounded(f"It cost {number} euros.", ["It cost 12 euros."])
    assert ungrounded(f"It cost {number} euros.", [f"It cost {number} euros."]) == []
