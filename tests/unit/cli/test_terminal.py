import io
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory.cli.terminal import degrade, one_line, plain


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;cm0gLXJm\x07clip", "clip"),
        ("\x1b[2J\x1b[Hgone", "gone"),
        ("\x9b31mred", "31mred"),
        ("bell\x07 null\x00 back\x08space", "bell null backspace"),
        ("line\r\nover\rwritten", "line\nover\nwritten"),
        ("abc\u202ecba\u202c", "abccba"),
        ("[bold]markup[/bold]", "[bold]markup[/bold]"),
    ],
)
def test_what_could_steer_a_terminal_is_left_out(hostile: str, shown: str) -> None:
    text = plain(hostile)

    assert text == shown


@given(st.text())
def test_no_control_character_but_tab_and_newline_is_left(text: str) -> None:
    shown = plain(text)

    assert all(
        character in "\t\n" or not (ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0) for character in shown
    )


@given(st.text())
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1


@given(st.text(), st.sampled_from(["ascii", "cp1252", "latin-1", "utf-8"]))
def test_any_text_can_be_written_in_any_encoding(text: str, encoding: str) -> None:
    import codecs

    codecs.register_error("test.degrade", degrade)

    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="test.degrade", newline="")
    stream.write(text)
    stream.flush()

    shown = stream.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]  # of the bytes it was made with
    kept = [character for character in text if character.encode(encoding, "ignore")]
    assert len(shown) >= len(text)
    assert not Counter(kept) - Counter(shown)


def test_typographic_characters_become_their_ascii_kin() -> None:
    import codecs

    codecs.register_error("test.degrade", degrade)

    encoded = "“a” — b … 3 € 한 🚀".encode("ascii", "test.degrade")

    assert encoded == b'"a" - b ... 3 EUR ? ?'
