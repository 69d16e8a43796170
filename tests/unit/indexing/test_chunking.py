"""Chunks: end to end they are the text, they keep the bound, and an edit moves only what it touches."""

import random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory import ids
from overstory.errors import InvalidOptionError
from overstory.indexing.chunking import chunk_ids, split
from overstory.tokens import TokenRuler, estimate_tokens

DOCUMENT = UUID(int=7)
PIECES = [
    "# Head\n",
    "\n\n",
    "\n",
    " ",
    ". ",
    "Kap Serin ",
    "灯塔。",
    "é",
    "👩‍👩‍👧‍👦",
    "\u0301",
    "x" * 70,
    "- item\n",
    "\r\n",
    "\ud800",
]
TEXTS = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=30)), max_size=80).map("".join)
BOUNDS = st.integers(8, 300)


def prose(seed: int, words: int) -> str:
    """Sentences and paragraphs of made-up words."""
    chance = random.Random(seed)
    text = []
    for _ in range(words):
        text.append("".join(chance.choices("abcdefghijklmnoprstuvw", k=chance.randint(2, 9))))
        text.append(chance.choices([" ", ". ", ".\n\n"], weights=[12, 2, 1])[0])
    return "".join(text)


@given(TEXTS, BOUNDS)
def test_chunks_end_to_end_are_the_text_and_none_is_longer_than_asked(text: str, bound: int) -> None:
    chunks = split(text, bound)

    assert "".join(chunks) == text
    assert all(0 < estimate_tokens(chunk) <= bound for chunk in chunks)


@given(TEXTS, BOUNDS)
def test_a_text_that_fits_is_one_chunk(text: str, bound: int) -> None:
    chunks = split(text, max(8, estimate_tokens(text)))

    assert chunks == ([text] if text else [])


@given(
    st.integers(0, 10_000),
    st.floats(0, 1),
    st.sampled_from(["", "Kap Serin ", "A new sentence. ", "\n\n# New\n\n"]),
    st.integers(0, 40),
)
def test_an_edit_in_the_middle_changes_few_chunks(seed: int, place: float, added: str, removed: int) -> None:
    text = prose(seed, 2_000)
    at = int(place * len(text))
    edited = text[:at] + added + text[at + removed :]

    new = set(split(edited, 100)) - set(split(text, 100))

    assert len(new) <= 10


def test_an_edit_changes_about_one_chunk_on_average() -> None:
    text, chance = prose(1, 6_000), random.Random(2)
    before = set(split(text, 250))
    places = [chance.randrange(len(text)) for _ in range(50)]

    changed = [len(set(split(text[:at] + "Ruta Almeida " + text[at:], 250)) - before) for at in places]

    assert sum(changed) / len(changed) < 2
    assert max(changed) <= 5


def test_what_is_added_at_the_start_leaves_the_rest_as_it_was() -> None:
    text = prose(3, 6_000)
    before = split(text, 250)

    after = split("A preface of one sentence. " + text, 250)

    assert after[3:][-len(before) + 4 :] == before[4:]


@pytest.mark.parametrize("bound", [40, 250])
def test_no_chunk_of_a_long_text_is_a_crumb(bound: int) -> None:
    chunks = split(prose(4, 6_000), bound)

    sizes = [estimate_tokens(chunk) for chunk in chunks]

    assert min(sizes) >= bound // 4
    assert sum(sizes) / len(sizes) > bound * 0.55


def test_chunks_begin_at_headings_where_they_can() -> None:
    section = prose(5, 90).replace("\n\n", " ")
    text = "".join(f"# Part {number}\n\n{section}\n\n" for number in range(20))

    chunks = split(text, 250)

    assert all(chunk.startswith("# Part") for chunk in chunks)


def test_a_heading_stays_with_what_it_heads() -> None:
    text = "".join(f"{prose(number, 45)}\n\n## Part {number}\n\n" for number in range(40)) + "End."

    chunks = split(text, 60)

    assert not any(chunk.rstrip().rpartition("\n")[2].startswith("#") for chunk in chunks)


def test_sentences_of_chinese_are_not_cut() -> None:
    text = "".join(f"第{number}座灯塔建于一八七四年，每晚仍然亮着。" for number in range(200))

    chunks = split(text, 100)

    assert all(chunk.endswith("。") for chunk in chunks)


def test_sentences_end_neither_after_an_initial_nor_after_an_ordinal() -> None:
    text = "Am 3. Mai kam Dr. Almeida zu J. Brandt und sah den Turm. " * 40

    chunks = split(text, 60)

    assert all(chunk.endswith("Turm. ") for chunk in chunks)


def test_letters_keep_their_accents_where_a_long_word_is_cut() -> None:
    chunks = split("e\u0301" * 4_000, 50)

    assert len(chunks) > 40
    assert not any(chunk.startswith("\u0301") for chunk in chunks)


@pytest.mark.parametrize(
    "text", ["x" * 120_000, "\n" * 60_000, "# a\n" * 30_000, "." * 60_000, "漢" * 60_000, " \n" * 40_000]
)
def test_monotonous_texts_are_cut_within_the_bound(text: str) -> None:
    chunks = split(text, 250)

    assert "".join(chunks) == text
    assert max(map(estimate_tokens, chunks)) <= 250


def test_a_bound_too_small_to_cut_by_is_refused() -> None:
    with pytest.raises(InvalidOptionError, match="max_tokens=3"):
        split("text", 3)


def test_equal_chunks_of_a_document_have_ids_of_their_own() -> None:
    found = chunk_ids(DOCUMENT, ["a", "b", "a"])

    assert found == [
        (ids.chunk_id(DOCUMENT, "a", 0), "a"),
        (ids.chunk_id(DOCUMENT, "b", 0), "b"),
        (ids.chunk_id(DOCUMENT, "a", 1), "a"),
    ]


def test_chunks_without_anything_to_see_are_left_out() -> None:
    found = chunk_ids(DOCUMENT, [" \n\u200b", "seen"])

    assert [text for _, text in found] == ["seen"]


@given(TEXTS, st.integers(0, 50))
def test_the_ruler_measures_as_the_estimate_does(text: str, tokens: int) -> None:
    end = TokenRuler(text).reach(tokens)

    assert estimate_tokens(text[:end]) <= tokens
    assert end == len(text) or estimate_tokens(text[: end + 1]) > tokens
