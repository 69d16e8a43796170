"""How chunks are ranked: every signal moves an order by what it says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory import ids
from overstory.models import DocumentChunk
from retrieval.ranking import (
    Candidates,
    Weights,
    best,
    best_sentences,
    best_starts,
    bridges,
    entities_named,
    is_transcript,
    page_rank,
    sharing,
)
from retrieval.states import with_current_first

HOME, DOCUMENT = ids.make_id("home"), ids.make_id("document")
WORDS_ALONE = Weights(meaning=0.0, graph=0.0, sentence=0.0, bridge=0.0, shared=0.0, neighbour=0.0)


def chunk(text, position=0):
    return DocumentChunk(
        id=ids.chunk_id(DOCUMENT, text), dataset_id=HOME, document_id=DOCUMENT, text=text, position=position
    )


def candidates(texts, *, words=None, distances=None, entities=None, named=()):
    names = entities or [()] * len(texts)
    return Candidates(
        chunks=[chunk(text, place) for place, text in enumerate(texts)],
        words=np.array(words or [0.0] * len(texts)),
        distances=np.array(distances or [1.0] * len(texts)),
        entities=[frozenset(ids.entity_id(HOME, name).int for name in several) for several in names],
        named=frozenset(ids.entity_id(HOME, name).int for name in named),
    )


def order(given, question, weights):
    texts = {one.id: one.text for one in given.chunks}
    return [texts[hit.key] for hit in best(given, question, weights, 9)]


def test_words_and_meaning_add_up_by_their_scores():
    given = candidates(["both", "words", "meaning"], words=[8.0, 9.0, 0.0], distances=[0.3, 0.9, 0.2])

    assert order(given, "x", WORDS_ALONE)[0] == "words"
    assert (
        order(given, "x", Weights(meaning=1.0, graph=0.0, sentence=0.0, bridge=0.0, shared=0.0, neighbour=0.0))[0]
        == "both"
    )


def test_a_text_counts_by_its_best_sentence():
    scores = best_sentences(["Anna moved. The launch is late.", "Anna moved the launch."], "Did Anna move the launch?")

    assert scores[1] > scores[0]


def test_what_shares_an_entity_with_the_named_one_is_reached():
    given = candidates(
        ["the film", "its director", "another"],
        words=[5.0, 1.0, 1.0],
        entities=[["Gladiators Seven", "Pedro Lazaga"], ["Pedro Lazaga"], ["Rome"]],
        named=["Gladiators Seven"],
    )

    ranks = page_rank(given, given.words)

    assert ranks[1] > ranks[2]


def test_what_is_about_a_thing_that_the_best_chunk_names_is_lifted():
    given = candidates(
        ["The film by Pedro Lazaga.", "Pedro Lazaga was born in Rome.", "Rome had Pedro Lazaga as a guest."],
        words=[5.0, 0.0, 0.0],
        entities=[["film", "Pedro Lazaga"], ["Pedro Lazaga", "Rome"], ["Rome", "Pedro Lazaga"]],
        named=["film"],
    )

    assert bridges(given, best_starts(given, given.words)).tolist() == [0.0, 1.0, 0.0]


def test_what_shares_a_rare_thing_with_the_best_chunks_is_lifted():
    given = candidates(
        ["the film", "its director", "a guest", "a town", "its mayor"],
        words=[5.0, 0.0, 0.0, 4.0, 0.0],
        entities=[["film", "Lazaga", "Rome"], ["Lazaga"], ["Rome", "film"], ["Rome", "mayor"], ["mayor"]],
        named=["film"],
    )

    starts = best_starts(given, given.words)

    assert [start.place for start in starts] == [0, 3, 1]
    assert sharing(starts[:2], 5) == pytest.approx([0, 1 / 2, 1 / 3, 0, 0.8 / 1.15 / 2])


def test_a_start_is_worth_less_by_its_rank_and_never_less_than_nothing():
    given = candidates(["one", "two", "three"], words=[4.0, 4.0, -1.0])

    assert [start.worth for start in best_starts(given, given.words)] == pytest.approx([1, 1 / 1.15, 0])


def test_names_of_a_question_are_found_without_its_punctuation():
    named = entities_named(HOME, "Is Anna Hofer's plan, Northstar, late?")

    assert {ids.entity_id(HOME, "Anna Hofer").int, ids.entity_id(HOME, "Northstar").int} <= named


def test_neighbours_lift_each_other_in_transcripts_alone():
    talk = [f"Ann: so\nBob: yes\nAnn: {word}" for word in ("one", "two", "three", "four")]
    spoken = candidates(talk, words=[5.0, 0.0, 0.0, 0.0])
    written = candidates(["one", "two", "three", "four"], words=[5.0, 0.0, 0.0, 0.0])
    weights = Weights(meaning=0.0, graph=0.0, sentence=0.0, bridge=0.0, shared=0.0, neighbour=0.5)

    assert is_transcript(talk[0]) and not is_transcript("Note: one line")
    assert [hit.score for hit in best(spoken, "x", weights, 4)] == pytest.approx([1.0, 0.25, 0.0, 0.0])
    assert [hit.score for hit in best(written, "x", weights, 4)] == [1.0, 0.0, 0.0, 0.0]


@given(st.lists(st.tuples(st.floats(0, 50), st.floats(0, 2), st.sets(st.sampled_from("abc"))), min_size=1, max_size=8))
def test_every_candidate_has_a_finite_score_and_the_order_is_complete(rows):
    given_ = candidates(
        [f"Text {n}." for n in range(len(rows))],
        words=[row[0] for row in rows],
        distances=[row[1] for row in rows],
        entities=[sorted(row[2]) for row in rows],
        named=["a"],
    )

    hits = best(given_, "Text 1", Weights(meaning=1.0), 99)

    assert {hit.key for hit in hits} == {one.id for one in given_.chunks}
    assert all(np.isfinite(hit.score) for hit in hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def dated(text, date):
    return DocumentChunk(
        id=ids.chunk_id(DOCUMENT, text),
        dataset_id=HOME,
        document_id=ids.make_id(date),
        text=text,
        position=0,
        occurred_at=date,
    )


def told(question):
    chunks = [
        dated("The board set the launch of Tideline for 3 June 2025.", "2025-01-07"),
        dated("The launch of Tideline moves from 3 June to 1 July 2025.", "2025-03-04"),
        dated("Somebody heard that the launch of Tideline might move to May.", "2025-04-01"),
    ]
    order = with_current_first([0, 2, 1], chunks, [chunk.text for chunk in chunks], question)
    return [chunks[place].occurred_at for place in order]


def test_the_value_that_holds_comes_before_the_one_it_replaced():
    assert told("When is the launch of Tideline?") == ["2025-03-04", "2025-01-07", "2025-04-01"]


def test_the_value_that_holds_is_the_later_instant_whatever_its_offset():
    tokyo, new_york = "2025-05-04T01:00:00+09:00", "2025-05-03T20:00:00-04:00"
    first = dated("Anna Hofer moved the Northstar launch to 9 June.", tokyo)
    second = dated("The board moved the Northstar launch to 16 June.", new_york)

    order = with_current_first([0, 1], [first, second], [first.text, second.text], "When is the Northstar launch?")

    assert order == [1, 0]


def test_what_was_said_after_the_date_asked_for_replaces_nothing():
    assert told("On 2025-02-01, when was the launch of Tideline?")[0] == "2025-01-07"
