"""A budget between local texts and facts of the index: what is worth more is given."""

from functools import partial
from uuid import UUID

import pytest

from overstory.models import AreaContent, Category, Fact, GlobalContextSummary
from overstory.tokens import estimate_tokens
from retrieval.adaptive import Known, Local, divide, find_facts, fit_adaptive, least_beside, render_areas
from retrieval.prelude import Area, Prelude, fit_beside

BUDGET = 200
TEXT = "The harbour council met on the pier and spoke at length about the weather, the tide and the gulls, as ever."
SHOWN = 6
"""Texts that the budget has room for."""


def key(number):
    return UUID(int=number)


def summary(number):
    return UUID(int=1_000 + number)


def local_evidence(count=SHOWN):
    def fit(budget):
        kept = [key(n) for n in range(count)]
        while kept and budget is not None and estimate_tokens(TEXT * len(kept)) > budget:
            kept.pop()
        return kept, TEXT * len(kept)

    return Local(fit=fit, fit_texts=fit, shown=lambda kept: kept)


def area_of(facts, **marks):
    content = AreaContent(categories=(Category(name="Names", topics=("Northstar", "budget")),), facts=tuple(facts))
    return GlobalContextSummary(
        id=key(500),
        dataset_id=key(501),
        level=0,
        child_ids=(),
        content=content,
        text="",
        valid_from=1,
        fingerprint="",
        model="offline",
        **marks,
    )


def fact_of(number, text):
    return Fact(text=text, inputs=(), summary_ids=(summary(number),))


def known(worths, texts=2):
    """Texts of some worth, then facts of other chunks that are worth so much."""
    local = {key(n): 0.8 if n < texts else 0.1 for n in range(SHOWN)}
    facts = {100 + n: fact_of(100 + n, f"Boat {n} left for Porto with {n} crates.") for n in range(len(worths))}
    worth = local | {summary(number): value for number, value in zip(facts, worths, strict=True)}
    return Known(candidates=find_facts("Which boats left?", [area_of(facts.values())], worth, {}), worth=worth)


def test_no_text_gives_way_for_facts_that_are_worth_less():
    (kept, _), prelude = divide(Prelude(), local_evidence(), known([0.01] * 4), BUDGET)

    assert len(kept) == SHOWN
    assert estimate_tokens(prelude.text) <= BUDGET - estimate_tokens(TEXT * SHOWN)


def test_texts_that_are_worth_little_give_way_to_good_facts_and_three_quarters_never_do():
    (kept, text), prelude = divide(Prelude(), local_evidence(), known([0.9] * 20), BUDGET)

    assert 0 < len(kept) < SHOWN
    assert estimate_tokens(TEXT * (len(kept) + 1)) > 0.75 * BUDGET
    assert "Boat 0 left" in prelude.text
    assert estimate_tokens(f"{prelude.text}\n\n{text}") <= BUDGET


def test_room_that_texts_leave_is_used():
    (kept, _), prelude = divide(Prelude(), local_evidence(2), known([0.3] * 2), BUDGET)

    assert len(kept) == 2
    assert prelude.text.count("- Boat") == 2


@pytest.mark.parametrize("budget", [1, 10, 30])
def test_a_budget_that_is_too_small_has_no_prelude(budget):
    (_, text), prelude = divide(Prelude(), local_evidence(), known([0.9] * 4), budget)

    assert prelude.text == ""
    assert estimate_tokens(text) <= budget


@pytest.mark.parametrize("form", ["plain", "adaptive"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_budget_that_is_named_has_room_for_local_evidence_whatever_the_prelude_takes(form, count):
    def fit_local(budget):
        has_room = budget is None or estimate_tokens(TEXT * count) <= budget
        return ([key(0)], TEXT * count) if has_room else ([], "")

    root = Prelude(root=Area(area_of([]), 0.0, "Boats left."))
    local = Local(fit=fit_local, fit_texts=fit_local, shown=lambda kept: kept)
    adaptive = partial(fit_adaptive, root, local, known([0.9] * 20))
    fit = adaptive if form == "adaptive" else partial(fit_beside, root, fit_local)

    least = least_beside(fit, fit_local, Prelude())

    assert max(budget for budget in range(1, 4 * least) if not fit(budget)[0][1]) == least - 1


def test_every_chunk_gives_a_fact_before_any_gives_a_second():
    facts = [fact_of(1, "The boats left."), fact_of(1, "The boats left early."), fact_of(2, "A crate was lost.")]

    found = find_facts("Which boats left?", [area_of(facts)], {summary(1): 1.0, summary(2): 0.5}, {})

    assert [one.fact.text for one in found] == ["The boats left.", "A crate was lost.", "The boats left early."]


def test_what_has_nothing_to_do_with_the_question_is_no_candidate():
    facts = [fact_of(1, "The boats left."), fact_of(2, "A crate was lost.")]

    found = find_facts("Which boats left?", [area_of(facts)], {summary(1): 0.1, summary(2): 0.2}, {})

    assert [one.fact.text for one in found] == ["The boats left."]


@pytest.mark.parametrize(
    ("topics", "marks", "heading"),
    [
        (0, {}, "- The boats left."),
        (0, {"stale": True}, "This area of the dataset (stale):"),
        (0, {"degraded": "x"}, "This area of the dataset (written by rules):"),
        (2, {}, "This area of the dataset is about: Northstar, budget"),
        (1, {"stale": True, "degraded": "x"}, "This area of the dataset is about (stale, written by rules): Northstar"),
    ],
)
def test_an_area_is_named_where_there_is_room_and_marked_in_any_case(topics, marks, heading):
    area = area_of([fact_of(1, "The boats left.")], **marks)
    [candidate] = find_facts("Which boats left?", [area], {summary(1): 1.0}, {})

    [given] = render_areas([candidate], topics)

    assert given.text.splitlines()[0] == heading
    assert given.text.splitlines()[-1] == "- The boats left."
