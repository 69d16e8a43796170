import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory.words import query_words, searchable, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The Northstar launch, 9 June!", ["the", "northstar", "launch", "9", "june"]),
        ("snake_case and kebab-case", ["snake", "case", "and", "kebab", "case"]),
        ("Größe STRASSE Straße", ["grosse", "strasse", "strasse"]),
        ("Café", ["cafe"]),
        ("東京都", ["東京", "京都"]),
        ("木", ["木"]),
        ("「東京」、大阪。", ["東京", "大阪"]),
        ("がか", ["がか"]),
        ("ラーメン・カレー", ["ラー", "ーメ", "メン", "カレ", "レー"]),
        ("서울시 강남", ["서울", "울시", "강남"]),
        ("GPT4で要約", ["gpt4", "で要", "要約"]),
        ("ＡＢＣ１２", ["abc12"]),
        ("", []),
        ("  ?!_ ", []),
    ],
)
def test_words_of_texts(text, words):
    assert words_of(text) == words


def test_a_query_has_each_word_once_and_no_stop_words():
    assert query_words("Where is the launch of the Launch?") == ["launch"]


def test_a_plain_text_is_searchable_as_it_is():
    assert searchable("Plain Text_1") == "Plain Text_1"


@given(st.text())
def test_words_are_found_in_what_is_searchable(text):
    assert words_of(searchable(text)) == words_of(text)


@given(st.text())
def test_words_hold_letters_and_digits_only(text):
    assert all(word and not set(word) & set(" \t\n_\"'*()") for word in words_of(text))
