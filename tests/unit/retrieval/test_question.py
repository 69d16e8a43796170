"""A question that makes no sense is refused before anything is read."""

import pytest

from overstory.errors import InvalidQueryError
from overstory.results import SearchType
from retrieval.question import DEFAULT_SYSTEM_PROMPT, MAX_QUESTION_CHARACTERS, make_question


def test_defaults_are_those_of_the_documentation():
    question = make_question("Who?")

    assert question.query_type is SearchType.HYBRID_COMPLETION
    assert (question.top_k, question.wide_search_top_k, question.index_top_k) == (15, 100, 3)
    assert not question.include_index
    assert not question.only_context
    assert question.system_prompt == DEFAULT_SYSTEM_PROMPT


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\u200b\u200b", None, 7, b"Who?"])
def test_a_question_without_visible_text_is_refused(text):
    with pytest.raises(InvalidQueryError):
        make_question(text)


def test_a_question_longer_than_the_limit_is_refused_with_both_lengths():
    with pytest.raises(InvalidQueryError, match="100,000 characters, at most 32,000"):
        make_question("x" * 100_000)

    assert make_question("x" * MAX_QUESTION_CHARACTERS)


def test_a_lone_surrogate_in_a_question_is_replaced():
    assert make_question("Who is \ud800?").query_text == "Who is ??"


@pytest.mark.parametrize("name", ["top_k", "wide_search_top_k", "context_token_budget", "neighborhood_depth"])
@pytest.mark.parametrize("value", [0, -3, True, 2.0, "5"])
def test_a_number_that_is_no_positive_whole_number_is_refused_by_name(name, value):
    with pytest.raises(InvalidQueryError, match=name):
        make_question("Who?", **{name: value})


@pytest.mark.parametrize("name", ["wide_search_top_k", "context_token_budget", "neighborhood_depth", "node_name"])
def test_none_means_no_limit(name):
    assert make_question("Who?", **{name: None})


def test_an_unknown_search_type_lists_those_that_exist():
    with pytest.raises(InvalidQueryError, match=r"'GUESS'.*GRAPH_COMPLETION, .*SUMMARIES"):
        make_question("Who?", "GUESS")


@pytest.mark.parametrize("given", ["chunks", "CHUNKS", SearchType.CHUNKS])
def test_a_search_type_may_be_given_by_name(given):
    assert make_question("Who?", given).query_type is SearchType.CHUNKS


def test_an_unknown_retriever_option_lists_those_that_exist():
    with pytest.raises(InvalidQueryError, match=r"'include_index'.*include_global_context_index, global_context"):
        make_question("Who?", retriever_specific_config={"include_index": True})


@pytest.mark.parametrize(
    "config",
    [
        {"include_global_context_index": "yes"},
        {"include_global_context_index": 1},
        {"global_context_index_top_k": True},
        {"global_context_index_top_k": "3"},
        ["include_global_context_index"],
    ],
)
def test_a_retriever_option_of_the_wrong_type_is_refused(config):
    with pytest.raises(InvalidQueryError):
        make_question("Who?", retriever_specific_config=config)


def test_an_index_top_k_below_one_asks_for_no_area():
    config = {"include_global_context_index": True, "global_context_index_top_k": -1}

    assert make_question("Who?", retriever_specific_config=config).index_top_k == -1


@pytest.mark.parametrize("names", [[], "", [" "], [3], 3])
def test_a_node_name_that_names_nothing_is_refused(names):
    with pytest.raises(InvalidQueryError, match="node_name"):
        make_question("Who?", node_name=names)


def test_one_node_name_is_a_list_of_one():
    assert make_question("Who?", node_name="a").node_names == ("a",)
    assert make_question("Who?", node_name=["a", "b", "a"]).node_names == ("a", "b")


def test_a_node_name_filter_is_or_or_and():
    assert make_question("Who?", node_name="a", node_name_filter="AND").every_node_name

    with pytest.raises(InvalidQueryError, match="'OR' or 'AND'"):
        make_question("Who?", node_name="a", node_name_filter="XOR")


def test_a_node_set_and_a_neighborhood_exclude_each_other():
    with pytest.raises(InvalidQueryError, match="one of the two"):
        make_question("Who?", node_name="a", neighborhood_depth=1)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan"), True, "half"])
def test_a_feedback_influence_outside_zero_to_one_is_refused(share):
    with pytest.raises(InvalidQueryError, match="feedback_influence"):
        make_question("Who?", feedback_influence=share)


@pytest.mark.parametrize(
    ("named", "budget", "mode"),
    [
        (None, None, "plain"),
        (None, 500, "adaptive"),
        ("plain", 500, "plain"),
        ("adaptive", None, "adaptive"),
    ],
)
def test_the_form_of_the_prelude_goes_by_the_budget_unless_it_is_named(named, budget, mode):
    config = {"include_global_context_index": True, **({"global_context_index_mode": named} if named else {})}

    question = make_question("Why?", context_token_budget=budget, retriever_specific_config=config)

    assert question.index_mode == mode
