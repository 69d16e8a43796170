"""Each kind of file becomes text that reads on its own; what can't be read says why."""

import contextlib
import io
import struct
import zipfile
from typing import Any

import docx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfWriter

from overstory.errors import UnreadableSourceError
from overstory.indexing.converters import convert
from overstory.indexing.converters.dates import day_in, written_date
from overstory.indexing.decoding import decode

TEXT = "The lighthouse at Kap Serin was built in 1874."


def text_of(content: bytes | str, name: str) -> str:
    return convert(content.encode() if isinstance(content, str) else content, name).text


def zipped(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


# --- encodings -------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_unicode_is_recognised_in_every_form(encoding: str) -> None:
    assert decode(f"{TEXT} Zoë".encode(encoding), "a.txt") == f"{TEXT} Zoë"


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1251", "Мост через реку закрыт на ремонт до пятнадцатого марта. Вход бесплатный."),
        ("shift_jis", "この駅は一九二六年に開業しました。終電は午後十一時四十分です。"),
        ("gb18030", "图书馆每天早上九点开门，晚上八点关门。星期一不开放。"),
        ("cp1253", "Το μουσείο είναι ανοιχτό κάθε μέρα από τις εννέα. Η είσοδος είναι δωρεάν."),
    ],
)
def test_a_code_page_is_taken_where_its_reading_stands_out(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding), "a.txt") == text


def test_a_code_page_that_could_be_another_is_refused_rather_than_guessed() -> None:
    with pytest.raises(UnreadableSourceError, match=r"^a\.txt: .* save it as UTF-8 .*iconv -f CP1252 -t UTF-8"):
        decode("Båten går från ön klockan åtta.".encode("cp1252"), "a.txt")


def test_a_last_letter_is_left_out_where_it_is_cut_off_and_not_where_it_may_be_of_a_code_page() -> None:
    for text in ("Zoë and the café", "Prices in €"):
        assert decode(text.encode()[:-1], "a.txt") == text[:-1]

    with pytest.raises(UnreadableSourceError, match="save it as UTF-8"):
        decode("The word is café".encode("latin-1"), "a.txt")


def test_the_encoding_that_a_page_declares_is_believed() -> None:
    page = '<html><head><meta charset="iso-8859-1"></head><p>Båten går från ön.</p></html>'

    assert text_of(page.encode("latin-1"), "a.html") == "Båten går från ön."


@given(st.binary(min_size=64))
def test_any_bytes_become_text_or_a_refusal(content: bytes) -> None:
    with contextlib.suppress(UnreadableSourceError):
        assert isinstance(decode(content, "a.txt"), str)


@pytest.mark.parametrize(
    "content",
    [
        b"\x89PNG\r\n\x1a\n" + bytes(90),
        b"GIF89a" + bytes(60),
        b"\xd0\xcf\x11\xe0" + bytes(60),
        b"{\\rtf1 text}",
        b"\x1f\x8b\x08" + bytes(40),
        bytes(range(256)) * 8,
    ],
)
def test_what_is_no_text_is_refused_whatever_its_name_says(content: bytes) -> None:
    with pytest.raises(UnreadableSourceError):
        convert(content, "notes.txt")


# --- text and markup -------------------------------------------------------------------------------


def test_front_matter_gives_title_and_date_and_stays_in_the_text() -> None:
    found = convert(b"---\ntitle: 'The move'\ndate: 2025-01-07\ntags: [a]\n---\n# Other\n\nText.\n", "a.md")

    assert (found.title, found.occurred_at) == ("The move", "2025-01-07")
    assert "tags: [a]" in found.text


def test_line_ends_of_windows_hide_no_front_matter() -> None:
    found = convert(b"---\r\ntitle: Move\r\ndate: 2025-01-07\r\n---\r\nText.\r\n", "a.md")

    assert (found.title, found.occurred_at) == ("Move", "2025-01-07")


@pytest.mark.parametrize(
    ("text", "name", "title"),
    [
        ("Intro.\n\n## The *move* ##\n", "a.md", "The *move*"),
        ("```\n# no heading\n```\n# Heading {#id}\n", "a.md", "Heading"),
        ("Guide\n=====\n\nText.", "a.rst", "Guide"),
        ("# a comment\nvalue = 1\n", "a.py", ""),
        ("<html><title>Site</title><h1>Page</h1></html>", "a.html", "Page"),
        ("<html><title>Site</title><p>Text</html>", "a.html", "Site"),
    ],
)
def test_the_title_is_the_first_heading(text: str, name: str, title: str) -> None:
    assert convert(text.encode(), name).title == title


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("2025-01-07", "2025-01-07"),
        ("2025-01-07T09:30:00+01:00", "2025-01-07T09:30:00+01:00"),
        ("2025-01-07 09:30", "2025-01-07"),
        ("2025-02-30", ""),
        ("soon", ""),
        ("", ""),
    ],
)
def test_of_a_written_date_what_is_sure_is_kept(written: str, kept: str) -> None:
    assert written_date(written) == kept


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("2025-01-07.md", "2025-01-07"),
        ("IMG_20250107_1.txt", "2025-01-07"),
        ("2025_01_07 a", "2025-01-07"),
        ("20259999.md", ""),
        ("120250107.md", ""),
        ("a.md", ""),
    ],
)
def test_a_day_in_a_file_name_is_found(name: str, day: str) -> None:
    assert day_in(name) == day


def test_of_a_page_only_what_a_reader_sees_is_kept() -> None:
    page = (
        "<!doctype html><script>var a = 'no'</script><style>p{}</style><!-- no --><p hidden>no</p>"
        "<p style='DISPLAY: none'>no</p><p style='font-size:0px'>no</p><p style='opacity:0.9'>Seen.</p><noscript>no</noscript>"
    )

    assert text_of(page, "a.html") == "Seen."


def test_a_page_keeps_headings_lists_tables_and_code() -> None:
    page = (
        "<html><h2>Hours\n &amp; fees</h2><ul><li>one</li><li>two</li></ul>"
        "<table><tr><th>Place</th><th>Year</th></tr><tr><td>Kap Serin</td><td>1874</td></tr></table><pre>a\n  b</pre>"
    )

    assert text_of(page, "a.txt") == "## Hours & fees\n\n- one\n- two\n\nPlace | Year\nKap Serin | 1874\n\na\n  b"


def test_deep_and_unclosed_pages_are_read() -> None:
    assert text_of("<html>" + "<div>" * 5_000 + TEXT, "a.html") == TEXT
    assert text_of("<html>" + "<p>x" * 5_000 + TEXT, "a.html").endswith(TEXT)


# --- data ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_row_of_a_table_reads_on_its_own(delimiter: str) -> None:
    rows = [["name", "year", "note"], ["Kap Serin", "1874", ""], ["Brook", "1901", "new"]]
    table = "\n".join(delimiter.join(row) for row in rows)

    assert text_of(table, "a.csv") == "name: Kap Serin; year: 1874\n\nname: Brook; year: 1901; note: new"


def test_a_table_without_names_and_one_that_is_none_keep_their_values() -> None:
    assert text_of("1,2,3\n4,5,6\n7,8,9\n", "a.csv") == "1; 2; 3\n\n4; 5; 6\n\n7; 8; 9"
    assert text_of('a,b\n"never closed', "a.csv") == 'a,b\n"never closed'


def test_values_of_json_are_told_with_their_paths() -> None:
    text = (
        '{"place": {"name": "Kap Serin", "open": true, "gone": null}, "keepers": [{"name": "Ruta"}, {"name": "Sam"}]}'
    )

    assert (
        text_of(text, "a.json").strip()
        == "place.name: Kap Serin\nplace.open: true\nkeepers.name: Ruta\n\nkeepers.name: Sam"
    )


def test_json_that_is_none_or_too_deep_stays_as_it_is() -> None:
    assert text_of('{"a": 1,,}', "a.json") == '{"a": 1,,}'
    assert text_of("[" * 100_000 + "]" * 100_000, "a.json").startswith("[[[")


def test_a_bad_line_of_json_lines_is_kept_among_the_good() -> None:
    assert text_of('{"a": 1}\n{"a": \n{"a": 3}\n', "a.jsonl") == 'a: 1\n\n{"a": \n\na: 3'


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"])
def test_separators_of_lines_within_json_strings_end_no_record(separator: str) -> None:
    record = f'{{"said": "One.{separator}Two.", "by": "Ruta"}}'

    assert text_of(record, "a.json").splitlines() == ["said: One.", "Two.", "by: Ruta"]
    assert text_of(f"{record}\r\n{record}\n", "a.jsonl") == "\n\n".join(["said: One.\nTwo.\nby: Ruta"] * 2)


def test_a_notebook_is_its_cells_with_what_they_printed() -> None:
    notebook = (
        '{"nbformat": 4, "cells": [{"cell_type": "markdown", "source": ["# Notes\\n", "Text."]}, '
        '{"cell_type": "code", "source": "1 + 1", "outputs": [{"data": {"image/png": "iVBO", "text/plain": ["2"]}}]}]}'
    )

    assert text_of(notebook, "a.ipynb") == "# Notes\nText.\n\n1 + 1\n\n2"


# --- mail ------------------------------------------------------------------------------------------

MAIL = b"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\nFrom: Ada <ada@example.org>\nDate: %b\n\nThe delivery is on 14 March.\n"


def test_a_mail_gives_subject_date_and_text() -> None:
    found = convert(MAIL % b"Mon, 3 Mar 2025 09:00:00 +0100", "a.eml")

    assert (found.title, found.occurred_at) == ("Grüße", "2025-03-03T09:00:00+01:00")
    assert found.text.startswith("Subject: Grüße\nFrom: Ada <ada@example.org>\n")
    assert "14 March" in found.text


@pytest.mark.parametrize(
    ("written", "kept"), [(b"nonsense", ""), (b"Mon, 3 Mar 2025 09:00:00 -0000", "2025-03-03T09:00:00+00:00")]
)
def test_of_a_mails_date_what_is_sure_is_kept(written: bytes, kept: str) -> None:
    assert convert(MAIL % written, "a.eml").occurred_at == kept


def test_a_mailbox_is_all_its_mails_dated_by_the_latest() -> None:
    first, second = MAIL % b"Mon, 3 Mar 2025 09:00:00 +0000", MAIL % b"Tue, 4 Mar 2025 09:00:00 +0000"

    found = convert(b"From a@b Mon\n" + first + b"\n>From here on.\n\nFrom a@b Tue\n" + second, "a.mbox")

    assert found.occurred_at == "2025-03-04T09:00:00+00:00"
    assert found.text.count("14 March") == 2
    assert "\nFrom here on." in found.text


def test_a_mail_in_several_forms_is_read_once_and_attachments_are_named() -> None:
    mail = (
        b"Subject: x\nContent-Type: multipart/mixed; boundary=M\n\n--M\nContent-Type: multipart/alternative; boundary=A\n\n"
        b"--A\nContent-Type: text/plain\n\nplain text\n--A\nContent-Type: text/html\n\n<p>html text</p>\n--A--\n"
        b"--M\nContent-Type: application/pdf; name=plan.pdf\nContent-Disposition: attachment; filename=plan.pdf\n\nxx\n--M--\n"
    )

    text = text_of(mail, "a.eml")

    assert "plain text" in text
    assert "html text" not in text
    assert "Attachment: plan.pdf" in text


# --- office files ----------------------------------------------------------------------------------


def word(document: Any) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def test_a_word_file_keeps_headings_and_rows_in_their_order() -> None:
    document = docx.Document()
    document.add_heading("Report", 1)
    document.add_paragraph(TEXT)
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Kap Serin", "1874"
    document.add_paragraph("End.")

    found = convert(word(document), "a.docx")

    assert found.text == f"# Report\n\n{TEXT}\n\nKap Serin | 1874\n\nEnd."
    assert found.title == "Report"


def test_a_word_file_is_recognised_whatever_its_name_says() -> None:
    document = docx.Document()
    document.add_paragraph(TEXT)

    assert text_of(word(document), "a.txt") == TEXT


def test_slides_are_read_with_their_notes_in_order() -> None:
    drawing = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    slides = {
        f"ppt/slides/slide{n}.xml": f"<s {drawing}><a:p><a:r><a:t>Slide {n}</a:t></a:r></a:p></s>" for n in (10, 2)
    }
    relation = '<R><r Type="http://x/notesSlide" Target="../notesSlides/notesSlide7.xml"/></R>'
    notes = {
        "ppt/slides/_rels/slide2.xml.rels": relation,
        "ppt/notesSlides/notesSlide7.xml": f"<s {drawing}><a:p><a:r><a:t>Said</a:t></a:r></a:p></s>",
    }

    text = text_of(zipped({"ppt/presentation.xml": "<p/>", **slides, **notes}), "a.pptx")

    assert text == "Slide 2\n\nSaid\n\nSlide 10"


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"../escape.txt": "x"}, "unpack it first"),
        ({"xl/workbook.xml": "<w/>"}, "spreadsheet"),
        ({"content.xml": "<c/>"}, "OpenDocument"),
    ],
)
def test_other_archives_are_refused_by_kind(files: dict[str, str], reason: str) -> None:
    with pytest.raises(UnreadableSourceError, match=reason):
        convert(zipped(files), "a.docx")


def test_an_archive_that_would_unpack_to_too_much_is_refused_unread() -> None:
    bomb = bytearray(zipped({"word/document.xml": "<w/>"}))
    struct.pack_into("<I", bomb, bomb.index(b"PK\x01\x02") + 24, 3_000_000_000)

    with pytest.raises(UnreadableSourceError, match="unpacks to more than"):
        convert(bytes(bomb), "a.docx")


def pdf(password: str = "") -> bytes:
    writer, buffer = PdfWriter(), io.BytesIO()
    writer.add_blank_page(200, 200)
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    writer.write(buffer)
    return buffer.getvalue()


def test_a_pdf_without_text_says_so() -> None:
    with pytest.raises(UnreadableSourceError, match="scan without a text layer"):
        convert(pdf(), "a.pdf")


def test_a_pdf_with_a_password_says_so() -> None:
    with pytest.raises(UnreadableSourceError, match="needs a password"):
        convert(pdf("open"), "a.pdf")


def test_a_damaged_pdf_says_so() -> None:
    with pytest.raises(UnreadableSourceError, match="damaged"):
        convert(pdf()[:200], "a.pdf")
