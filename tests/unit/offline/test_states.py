import json

import pytest

from overstory.offline.states import Statement, find_superseded
from tests.data_folder import DATA, REASON

SUPERSEDE = DATA / "qa/supersede"


def history_of(*texts: str) -> set[str]:
    statements = [Statement(text, f"2025-01-{day:02}", str(day)) for day, text in enumerate(texts, 1)]
    return {texts[place] for place in find_superseded(statements)}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("The launch of Tideline is on 3 June 2025.", "The launch of Tideline moves to 1 July 2025."),
        ("The launch is on 3 June.", "Because parts are late, the launch moves from 3 June to 1 July."),
        ("The review with Anna is on Monday.", "The review with Anna was moved from Monday to Friday."),
        ("The budget review with Anna Hofer is booked for 12 May.", "The budget review with Anna Hofer is cancelled."),
        ("The approved budget is 1.20 million euros.", "The approved budget was raised to 1.35 million euros."),
        ("Bookings are stored in MariaDB.", "Bookings are stored in PostgreSQL instead of MariaDB."),
        (
            "Marit Sowande heads the operations team.",
            "Marit Sowande left; Jules Abernathy now heads the operations team.",
        ),
        (
            "Tickets are refunded up to 24 hours before departure.",
            "Refunds end 6 hours before departure, no longer 24.",
        ),
        ("The safety training with Luis is planned for 25 March.", "The safety training with Luis took place."),
    ],
)
def test_a_later_statement_of_another_value_makes_the_earlier_one_history(before: str, after: str) -> None:
    assert history_of(before, after) == {before}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "The approved budget is 1.20 million euros.",
            "The vendor proposed a budget of 1.60 million euros; it was rejected.",
        ),
        ("The launch is on 3 June.", "Ines heard that the launch might be moved to next year."),
        ("The review with Anna is on Monday.", "The review with Ben was moved from Tuesday to Friday."),
        ("A single crossing costs 4.80 euros.", "On the southern route a crossing costs 6.10 euros."),
        ("Revenue of Azure increased 16 percent.", "Revenue of Gaming increased 18 percent, due to services."),
        ("Anna Hofer visited Vienna on 3 May.", "Anna Hofer visited Graz on 5 May."),
        ("The map will be redrawn.", "The map will be redrawn."),
    ],
)
def test_what_does_not_contradict_stays(before: str, after: str) -> None:
    assert history_of(before, after) == set()


def test_of_a_chain_only_the_last_value_stays() -> None:
    chain = (
        "The launch of Tideline is set for 3 June 2025.",
        "The launch of Tideline moves from 3 June to 1 July 2025.",
        "The steering group decided to launch Tideline on 15 September 2025; the July date is dropped.",
    )

    assert history_of(*chain) == set(chain[:2])


def test_undated_statements_of_different_sources_have_no_order() -> None:
    statements = [
        Statement("The approved budget is 1.20 million euros.", source="a"),
        Statement("The approved budget was raised to 1.35 million euros.", source="b"),
    ]

    assert find_superseded(statements) == {}


@pytest.mark.parametrize(
    ("before", "after", "is_ordered"),
    [
        ("2025-01-01", "2025-01-02", True),
        ("2025-01-01T23:00:00+00:00", "2025-01-01T20:00:00-05:00", True),
        ("2025-01-01T20:00:00-05:00", "2025-01-01T23:00:00+00:00", False),
        ("2025-01-01", "2025-01-01T20:00:00+00:00", False),
        ("2025-01-01", "2025-01-01", False),
        ("", "2025-01-01", False),
    ],
)
def test_statements_of_different_sources_have_the_order_of_their_times(
    before: str, after: str, is_ordered: bool
) -> None:
    statements = [
        Statement("The budget review with Anna Hofer is booked for 12 May.", before, "a"),
        Statement("The budget review with Anna Hofer is cancelled.", after, "b"),
    ]

    assert find_superseded(statements) == ({0: 1} if is_ordered else {})


@pytest.mark.skipif(not SUPERSEDE.exists(), reason=f"{REASON} qa/supersede")
def test_in_the_project_log_nothing_current_is_called_history() -> None:
    passages = [json.loads(line) for line in (SUPERSEDE / "passages.jsonl").read_text(encoding="utf-8").splitlines()]
    questions = [json.loads(line) for line in (SUPERSEDE / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    passages.sort(key=lambda p: (p["date"], p["order"]))
    asked = [question for question in questions if question["type"] == "current"]
    stale = {key for question in asked for key in question["stale_ids"]}

    history = find_superseded([Statement(p["text"], p["date"], p["doc_id"]) for p in passages])
    marked = {passages[place]["id"] for place in history}

    assert marked <= stale
    assert len(marked) >= 0.75 * len(stale)
