import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory.offline.sentences import sentences_of, shorten, split_sentences, with_short_addresses


@pytest.mark.parametrize(
    ("line", "sentences"),
    [
        ("Mr. Fox met Dr. J. R. Hale. They left.", ["Mr. Fox met Dr. J. R. Hale.", "They left."]),
        ("It rose to 3.5 percent. Why? Nobody knows!", ["It rose to 3.5 percent.", "Why?", "Nobody knows!"]),
        ("Tools, e.g. hammers, are in the U.S. office.", ["Tools, e.g. hammers, are in the U.S. office."]),
        (
            "Am 3. Mai beginnt die Messe. Sie endet am 5. Juni.",
            ["Am 3. Mai beginnt die Messe.", "Sie endet am 5. Juni."],
        ),
        ("图书馆九点开门。星期一不开放。", ["图书馆九点开门。", "星期一不开放。"]),
        ("المتحف مفتوح. الدخول مجاني؟ نعم.", ["المتحف مفتوح.", "الدخول مجاني؟", "نعم."]),
        ("पुस्तकालय बंद है। शुल्क दो रुपये है।", ["पुस्तकालय बंद है।", "शुल्क दो रुपये है।"]),
        ("'Stop!' he cried. He ran.", ["'Stop!' he cried.", "He ran."]),
    ],
)
def test_running_text_is_split_at_the_ends_of_its_sentences(line: str, sentences: list[str]) -> None:
    assert split_sentences(line) == sentences


def test_marks_of_a_document_are_no_part_of_its_sentences() -> None:
    text = "# Log\n\n- **Anna** wrote to [Delta](https://delta.example).\n- [x] done &amp; dusted\n\n> quoted line\n\n<p>last</p>"

    found = sentences_of(text)

    assert [s.text for s in found] == ["Log", "Anna wrote to Delta.", "done & dusted", "quoted line", "last"]
    assert [s.kind for s in found] == ["heading", "item", "item", "prose", "prose"]


LONG = "the harbour company spent less in spring than in the year before, says the board."


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"Anna Hofer\nAnna Hofer thinks that {LONG}", ["Anna Hofer", f"Anna Hofer thinks that {LONG}"]),
        (f"Report\nIn 2025 {LONG}", [f"Report: In 2025 {LONG}"]),
        (f"Report\nMarch 2025\nSo {LONG}", [f"Report: March 2025: So {LONG}"]),
        (f"Here wrote Anna\nHofer of the board that {LONG}", [f"Here wrote Anna: Hofer of the board that {LONG}"]),
        (
            "The board met in the harbour office and heard Miss Anna\nHofer, who leads all of the work since Monday, and two more.",
            ["The board met in the harbour office and heard Miss Anna Hofer, who leads all of the work since Monday, and two more."],
        ),
        (f"The board met.\nAnna Hofer says that {LONG}", ["The board met.", f"Anna Hofer says that {LONG}"]),
        (f"Anna Hofer,\nKira Weller and others say that {LONG}", [f"Anna Hofer, Kira Weller and others say that {LONG}"]),
    ],
)  # fmt: skip
def test_a_line_that_had_room_for_the_next_word_is_a_title(text: str, found: list[str]) -> None:
    assert [sentence.text for sentence in sentences_of(text)] == found


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Torghatten Nord\n===============\n\nIt sails.", ["heading", "prose"]),
        ("Torghatten Nord\n\\===============\nIt sails.", ["heading", "prose"]),
        ("Torghatten Nord\n---\nIt sails.", ["heading", "prose"]),
        ("Torghatten Nord\n\\-----\nIt sails.", ["heading", "prose"]),
        ("=====\nWho sails?\n=====\nIt sails.", ["heading", "prose"]),
        ("It sails.\n---\nIt lands.", ["prose", "prose"]),
        ("It sails to the north\nand to the south\n---\nIt lands.", ["prose", "prose"]),
        ("- It sails\nto the north\n---\nIt lands.", ["item", "prose"]),
        ("Anna: It sails\n---\nBen: It lands\n---", ["prose", "prose"]),
        ("It sails\n\n---\n\nIt lands", ["prose", "prose"]),
    ],
)
def test_an_underlined_line_is_a_title_and_a_rule_makes_none(text: str, kinds: list[str]) -> None:
    assert [sentence.kind for sentence in sentences_of(text)] == kinds


def test_broken_lines_of_a_paragraph_are_one_text_and_turns_of_a_talk_are_not() -> None:
    paragraph = sentences_of("The launch was moved\nto the first of July, since the ter-\nminals arrive late.")
    talk = sentences_of("Anna: Shall we start?\nBen: Yes, let us start.")

    assert [s.text for s in paragraph] == [
        "The launch was moved to the first of July, since the terminals arrive late."
    ]
    assert [s.text for s in talk] == ["Anna: Shall we start?", "Ben: Yes, let us start."]


def test_code_and_logs_are_told_from_language() -> None:
    text = "```py\nx = 1\n```\n\nThe job failed.\n\n2025-03-01T00:00:00Z ERROR worker[0] job=7 took=0ms"

    assert [(s.kind, s.text) for s in sentences_of(text) if s.kind != "code"] == [("prose", "The job failed.")]


def test_a_table_row_is_one_line() -> None:
    assert [(s.kind, s.text) for s in sentences_of("| Gate | Reader |\n|---|---|\n| North | new |")] == [
        ("row", "Gate, Reader"),
        ("row", "North, new"),
    ]


def test_invisible_characters_are_dropped() -> None:
    assert [s.text for s in sentences_of("The\u200b li\u00adght\U000e0041 burns.")] == ["The light burns."]


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("See https://www.example.org/a/b?x=1.", "See example.org/a/b."),
        ("No address.", "No address."),
        ("See https://example.org/" + "long/" * 30, "See example.org"),
    ],
)
def test_an_address_in_a_sentence_is_kept_short(text: str, short: str) -> None:
    assert with_short_addresses(text) == short


@given(st.text(max_size=400), st.integers(min_value=20, max_value=100))
def test_a_shortened_text_fits_and_shows_the_cut(text: str, limit: int) -> None:
    short = shorten(text, limit)

    assert len(short) <= limit
    assert short == text or short.endswith("…")


@given(st.text(max_size=400))
def test_any_text_is_read_and_sentences_are_single_lines(text: str) -> None:
    assert all(s.text == s.text.strip() and "\n" not in s.text for s in sentences_of(text))
