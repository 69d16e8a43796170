"""Inputs are made to fit a budget, and no child is lost."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from overstory.indexing.condensing import LEAST_CHILD_TOKENS, condense, cost_tokens
from overstory.writer import AreaInput

WORDS = st.text(alphabet="ab cdé. 团队。!", min_size=1, max_size=400).filter(str.strip)
GIVEN = st.lists(st.tuples(st.integers(0, 6), WORDS, st.booleans()), min_size=1, max_size=25)


def made(given):
    return tuple(
        AreaInput(number=n, key=str(n), text=text, child_id=UUID(int=child), summary_ids=(), superseded=superseded)
        for n, (child, text, superseded) in enumerate(given, 1)
    )


def children(inputs):
    return {given.child_id for given in inputs}


@given(GIVEN, st.integers(0, 3_000))
def test_every_child_keeps_a_part_and_the_budget_is_kept(given, more):
    inputs = made(given)
    budget = LEAST_CHILD_TOKENS * len(children(inputs)) + more

    kept = condense(inputs, budget)

    assert sum(map(cost_tokens, kept)) <= budget
    assert children(kept) == children(inputs)


@given(GIVEN, st.integers(-5, 3_000))
def test_what_stays_is_a_beginning_of_what_was_in_the_same_order(given, budget):
    inputs = made(given)
    by_number = {one.number: one for one in inputs}

    kept = condense(inputs, budget)

    numbers = [one.number for one in kept]
    assert numbers == sorted(set(numbers))
    assert all(one.text and by_number[one.number].text.startswith(one.text) for one in kept)
    assert children(kept) == children(inputs)


@given(GIVEN)
def test_what_fits_is_left_alone(given):
    inputs = made(given)

    assert condense(inputs, sum(map(cost_tokens, inputs))) == inputs


def test_twenty_long_children_share_a_small_window():
    inputs = made([(n, f"Child {n} reports this. " * 400, False) for n in range(20)])

    kept = condense(inputs, 4_800)

    assert len(kept) == 20
    assert all(one.text.endswith("this.") for one in kept)
    assert min(map(cost_tokens, kept)) > 200


def test_what_holds_stays_before_what_is_superseded_and_new_before_old():
    inputs = made([(0, "old " * 30, False), (0, "history " * 15, True), (0, "new " * 30, False), (1, "other", False)])
    budget = cost_tokens(inputs[2]) + cost_tokens(inputs[3]) + 5

    kept = condense(inputs, budget)

    assert [one.number for one in kept] == [3, 4]


def test_a_child_that_needs_little_leaves_its_share_to_the_others():
    inputs = made([(0, "short", False), (1, "long sentence here. " * 40, False)])

    kept = condense(inputs, 200)

    assert kept[0].text == "short"
    assert cost_tokens(kept[1]) > 150


def test_nothing_is_condensed_to_nothing():
    assert condense((), 0) == ()
