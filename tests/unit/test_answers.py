"""How the benchmark of answers judges a context."""

import pytest

from benchmarks.answer_contexts import Context, Coverage, Gold, Held, coverage, facts_of
from benchmarks.answer_rankings import current_first, recall_at, reciprocal_rank
from benchmarks.question_sets import Question, QuestionSet

TEXTS = {
    "old": "The ferry to Porto is planned for 3 June 2025.",
    "new": "It rained on the pier for all of the week. The ferry to Porto was moved to 15 September 2025.",
    "other": "Anna Hofer takes the tomatoes to the market.",
}


def question(number=0, gold=("new",), stale=("old",), answers=("15 September 2025",), facts=()):
    return Question(
        str(number), "When does it sail?", answers, frozenset(gold), frozenset(stale), "current", "ferry", facts
    )


def context(text, *sources):
    return Context(text, 10, frozenset(sources))


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("…", Held(0, 0, 0, 0)),
        (TEXTS["old"], Held(0, 0, 0, 1)),
        ("- it rained on the  pier for all of the week.", Held(1, 1, 0, 0)),
        (f"{TEXTS['old']}\n{TEXTS['new']}", Held(1, 1, 1, 0)),
    ],
)
def test_a_context_is_judged_by_the_sentences_of_the_gold_passages(text, held):
    assert Gold(question(), TEXTS).judge(context(text)) == held


def test_what_a_question_cannot_tell_is_not_judged():
    held = Gold(question(gold=("new", "other"), stale=(), answers=()), TEXTS).judge(context(TEXTS["other"]))

    assert held == Held(0.5, 0, None, None)


def test_a_planted_fact_is_covered_by_neighbouring_sentences():
    asked = question(facts=("Anna Hofer sells tomatoes", "the ferry sinks near Lisbon in winter"))

    found = coverage(facts_of(asked), context("Anna Hofer was there. She sold tomatoes.", "other"), 4)

    assert (found.facts, found.documents, found.tokens) == (0.5, 0.25, 10)
    assert 0 < found.words < 1


def test_nothing_is_said_of_facts_where_none_are_named():
    assert coverage(facts_of(question(answers=())), context("Anna."), 4) == Coverage(None, None, 0, 10)


def test_halves_have_every_question_once():
    questions = tuple(question(n, gold=("new",) if n % 3 else ()) for n in range(9))
    whole = QuestionSet("ferry", {}, questions)

    halves = [whole.half(which).questions for which in ("odd", "even")]

    assert sorted(q.id for half in halves for q in half) == [q.id for q in questions]
    assert whole.half("all") is whole


PASSAGES = [{"id": name, "text": text} for name, text in TEXTS.items()] + [{"id": "long", "text": "x" * 1_000}]


def test_a_cut_takes_the_smallest_datasets():
    one = QuestionSet("ferry", {"large": [PASSAGES[-1]], "ferry": PASSAGES}, (question(),))

    assert set(one.cut(1_100).passages) == {"large"}


@pytest.mark.parametrize(("characters", "asked"), [(1_183, ["0", "1"]), (190, ["0"]), (150, [])])
def test_a_cut_keeps_what_its_first_questions_need_and_no_question_without_it(characters, asked):
    whole = QuestionSet("ferry", {"ferry": PASSAGES}, (question(), question(1, gold=("long",), stale=())))

    cut = whole.cut(characters)

    kept = {p["id"] for p in cut.passages["ferry"]}
    assert [q.id for q in cut.questions] == asked
    assert all(q.needed <= kept for q in cut.questions)
    assert 0 < sum(len(p["text"]) for p in cut.passages["ferry"]) <= characters


def test_rankings_are_judged_by_gold_passages():
    gold = frozenset({"new", "other"})

    assert recall_at(["old", "new"], gold) == reciprocal_rank(["old", "new"], gold) == 0.5
    assert [current_first(order, question()) for order in (["old", "new"], ["new", "old"], ["new"], [])] == [0, 1, 1, 0]
