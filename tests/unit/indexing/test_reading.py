"""What `remember` is given becomes documents: each source ends as one or is skipped with a reason."""

import os
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import fsspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory.errors import InvalidOptionError
from overstory.indexing import reading
from overstory.indexing.cleaning import clean, is_blank
from overstory.indexing.locations import source_key
from overstory.indexing.sources import ReadOutcome, SkippedSource, SourceDocument, SourceInput, iso_date

TEXT = "The lighthouse at Kap Serin was built in 1874."


async def read(data: SourceInput, **options: object) -> list[ReadOutcome]:
    return [outcome async for outcome in reading.read(data, **options)]  # type: ignore[arg-type]


async def only(data: SourceInput) -> ReadOutcome:
    [outcome] = await read(data)
    return outcome


async def document(data: SourceInput) -> SourceDocument:
    outcome = await only(data)
    assert isinstance(outcome, SourceDocument), outcome
    return outcome


async def reason(data: SourceInput) -> str:
    outcome = await only(data)
    assert isinstance(outcome, SkippedSource), outcome
    return outcome.reason


# --- a document that the caller made ---------------------------------------------------------------


def test_the_same_text_without_a_source_is_the_same_document() -> None:
    first, second, other = SourceDocument("a\r\nb"), SourceDocument("a\nb"), SourceDocument("a b")

    assert first == second
    assert first.source == second.source != other.source


@pytest.mark.parametrize(
    ("given_date", "stored"),
    [
        ("", ""),
        ("2025-01-07", "2025-01-07"),
        (date(2025, 1, 7), "2025-01-07"),
        ("2025-01-07T09:30:00+01:00", "2025-01-07T09:30:00+01:00"),
        ("2025-01-07T09:30:00Z", "2025-01-07T09:30:00+00:00"),
        ("2025-01-07 09:30Z", "2025-01-07T09:30:00+00:00"),
        (datetime(2025, 1, 7, 9, 30, tzinfo=timezone(timedelta(hours=-5))), "2025-01-07T09:30:00-05:00"),
    ],
)
def test_dates_are_kept_as_iso_text(given_date: str | date, stored: str) -> None:
    assert SourceDocument("a", occurred_at=given_date).occurred_at == stored


@pytest.mark.parametrize(
    "given_date", ["yesterday", "2025-02-30", "07.01.2025", "2025-01-07T09:30", datetime(2025, 1, 7)]
)
def test_dates_that_leave_something_open_are_refused(given_date: str | datetime) -> None:
    with pytest.raises(InvalidOptionError, match="occurred_at"):
        SourceDocument("a", occurred_at=given_date)


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_stored_date_is_read_back_as_it_is(moment: datetime) -> None:
    assert iso_date(iso_date(moment)) == iso_date(moment)


@pytest.mark.parametrize("weight", [-0.1, 1.1, float("nan")])
def test_weights_outside_zero_to_one_are_refused(weight: float) -> None:
    with pytest.raises(InvalidOptionError, match="importance_weight"):
        SourceDocument("a", importance_weight=weight)


def test_tags_are_kept_once_each() -> None:
    assert SourceDocument("a", node_set="ops").node_set == ("ops",)
    assert SourceDocument("a", node_set=["ops", " ", "sea", "ops"]).node_set == ("ops", "sea")


@pytest.mark.parametrize(
    "name", ['a"b', "a'b", "a`b", "a\\b", "a\nb", "a\tb", "---", "## Facts", "🌊", "x" * 300, " a "]
)
def test_a_source_of_the_callers_own_is_kept_to_the_letter(name: str) -> None:
    assert SourceDocument("a", source=name).source == name


def test_half_a_character_in_a_source_is_shown_as_one_that_is_lost() -> None:
    assert SourceDocument("a", source="s\ud800.md").source == "s\ufffd.md"


@pytest.mark.parametrize("option", ["text", "source", "title", "occurred_at", "node_set", "importance_weight"])
@pytest.mark.parametrize("value", [object(), [7], None])
def test_what_is_of_another_type_is_refused_by_its_name(option: str, value: object) -> None:
    with pytest.raises(InvalidOptionError, match=f"{option}="):
        SourceDocument(**{"text": "a", option: value})  # type: ignore[arg-type]


def test_a_source_longer_than_any_path_is_refused() -> None:
    with pytest.raises(InvalidOptionError, match="source"):
        SourceDocument("a", source="x" * 5_000)


# --- text as it is kept ----------------------------------------------------------------------------


def test_what_nobody_sees_is_dropped_from_texts() -> None:
    text = "\ufeffKap\u00ad Se\u200brin\x00 \x1b[31mred\x1b[0m\U000e0041\x07 Zoe\u0308 \ud800\u2028end"

    assert clean(text) == "Kap Serin red Zoë \ufffd\nend"


@given(st.text())
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_cleaned_text_can_always_be_stored(text: str) -> None:
    cleaned = clean(text)

    assert cleaned.encode().decode() == cleaned
    assert "\x00" not in cleaned
    assert is_blank(cleaned) or not is_blank(text)


# --- strings: text or place ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [TEXT, "lighthouse", "see https://example.org/a for more", "first/second line\n", "灯塔建于1874年，票价5欧元/人。"],
)
async def test_words_are_text(text: str) -> None:
    assert (await document(text)).text == text


@pytest.mark.parametrize("place", ["notes/missing.md", "missing.txt", "./missing", "C:\\missing.docx"])
async def test_what_looks_like_a_path_but_is_not_there_is_not_taken_for_text(place: str) -> None:
    assert await reason(place) == "no such file or folder"


async def test_a_file_whose_name_has_blanks_is_found_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "my notes.txt").write_text(TEXT)

    found = await document(f"{tmp_path}/my notes.txt")

    assert (found.text, found.title) == (TEXT, "my notes")


@pytest.mark.parametrize("data", [b"bytes", 7, None, [TEXT, None], {"text": TEXT}])
async def test_data_of_another_kind_is_refused_before_anything_is_read(data: object) -> None:
    with pytest.raises(InvalidOptionError, match="data="):
        await read(data)  # type: ignore[arg-type]


async def test_a_batch_with_blanks_reports_them_and_reads_the_rest(tmp_path: Path) -> None:
    (tmp_path / "zero.txt").touch()
    (tmp_path / "mark.txt").write_bytes(b"\xef\xbb\xbf")

    (tmp_path / "page.html").write_text("<html><head><title>T</title></head><body> <p>&nbsp;</p></body></html>")
    files = [tmp_path / name for name in ("zero.txt", "mark.txt", "page.html")]
    own = [SourceDocument(text, f"{n}.md") for n, text in enumerate(["", " \n", "\ufeff", "\u200b\u2060"])]

    outcomes = await read([TEXT, " \u3000\n", *files, *own, SourceDocument("b")])

    skipped = [outcome.reason for outcome in outcomes if isinstance(outcome, SkippedSource)]
    assert skipped == ["nothing in it to read", "an empty file", *["nothing in it to read"] * 6]
    assert [outcome.text for outcome in outcomes if isinstance(outcome, SourceDocument)] == [TEXT, "b"]


async def test_tags_of_the_call_join_those_of_the_document() -> None:
    outcomes = await read([SourceDocument("a", node_set="own"), "b"], node_set=["own", "call"])

    assert [outcome.node_set for outcome in outcomes if isinstance(outcome, SourceDocument)] == [
        ("own", "call"),
        ("own", "call"),
    ]


# --- files and folders -----------------------------------------------------------------------------


def folder_of_notes(root: Path) -> Path:
    for name in ["b.md", "a/2.txt", "a/1.txt", ".git/config", "a/.hidden.txt"]:
        path = root / "notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"About {name}.")
    return root / "notes"


async def test_a_folder_is_read_with_its_folders_in_order_without_hidden_files(tmp_path: Path) -> None:
    folder = folder_of_notes(tmp_path)

    outcomes = await read(folder)

    assert [outcome.source for outcome in outcomes] == [f"{folder}/{name}" for name in ("a/1.txt", "a/2.txt", "b.md")]


async def test_a_file_has_one_key_however_it_is_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_of_notes(tmp_path)
    monkeypatch.chdir(folder)

    keys = {(await read(given))[0].source for given in (folder, folder / "a", "a/1.txt", f"file://{folder}/a/1.txt")}

    assert keys == {source_key("a/1.txt")} == {f"{folder}/a/1.txt"}


@pytest.mark.parametrize("name", ["100%25 sure.txt", "a%20b.txt", "50%.txt", "plain.txt", "Zoë #1?.txt"])
async def test_the_url_of_a_file_is_decoded_once(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(TEXT, encoding="utf-8")

    [document] = await read(path.as_uri())

    assert (document.source, document.text) == (path.as_posix(), TEXT)


async def test_files_of_one_name_in_two_folders_have_keys_of_their_own(tmp_path: Path) -> None:
    first, second = folder_of_notes(tmp_path / "x"), folder_of_notes(tmp_path / "y")

    outcomes = await read([first, second])

    assert len({outcome.source for outcome in outcomes}) == 6


async def test_a_folder_without_files_says_so(tmp_path: Path) -> None:
    assert await reason(tmp_path) == "no files in this folder, hidden ones aside"


async def test_links_are_followed_only_within_the_folder(tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("secret")
    folder = folder_of_notes(tmp_path)
    (folder / "in.txt").symlink_to(folder / "b.md")
    (folder / "loop").symlink_to(folder)
    (folder / "out.txt").symlink_to(tmp_path / "outside.txt")

    outcomes = {Path(outcome.source).name: outcome for outcome in await read(folder)}

    assert isinstance(outcomes["in.txt"], SourceDocument)
    assert outcomes["loop"] == SkippedSource(f"{folder}/loop", "a link to a folder: give that folder itself")
    assert isinstance(outcomes["out.txt"], SkippedSource)


async def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")

    assert await reason(tmp_path / "pipe.txt") == "not a regular file"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_what_may_not_be_read_is_skipped_with_the_reason(tmp_path: Path) -> None:
    folder = folder_of_notes(tmp_path)
    (folder / "b.md").chmod(0)
    (folder / "a").chmod(0)

    reasons = [outcome.reason for outcome in await read(folder) if isinstance(outcome, SkippedSource)]
    (folder / "a").chmod(0o700)

    assert reasons == ["permission denied", "permission denied"]


async def test_a_file_that_is_too_large_is_skipped(tmp_path: Path) -> None:
    with (tmp_path / "large.txt").open("wb") as file:
        file.truncate(reading.MAX_FILE_BYTES + 1)

    assert await reason(tmp_path / "large.txt") == "larger than 50 MB: split it"


async def test_a_folder_is_read_as_it_is_asked_for(tmp_path: Path) -> None:
    folder = folder_of_notes(tmp_path)
    outcomes = reading.read(folder)

    first = await anext(outcomes)
    (folder / "a/2.txt").write_text("Changed after the first was read.")
    second = await anext(outcomes)

    assert isinstance(first, SourceDocument)
    assert isinstance(second, SourceDocument)
    assert second.text == "Changed after the first was read."


def test_names_and_texts_are_the_same_under_any_locale(tmp_path: Path) -> None:
    (tmp_path / "Zoë — 한 🚀.txt").write_text("Zoë — 한 🚀", "utf-8")
    program = (
        "import asyncio, sys; from pathlib import Path; from overstory.indexing.reading import read\n"
        "async def main(): return [o async for o in read(Path(sys.argv[1]))]\n"
        "[o] = asyncio.run(main()); print(ascii([o.source.rpartition('/')[2], o.text]))"
    )
    environment = {**os.environ, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}

    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], env=environment, capture_output=True, text=True, check=True
    )

    assert run.stdout.strip() == ascii(["Zoë — 한 🚀.txt", "Zoë — 한 🚀"])


# --- URLs ------------------------------------------------------------------------------------------


async def test_files_behind_a_url_are_read_like_those_of_a_folder() -> None:
    files = fsspec.filesystem("memory")
    files.pipe({"/reading/b.md": b"# Second", "/reading/a/1.txt": b"first", "/reading/.hidden": b"no"})

    outcomes = await read("memory://reading")

    assert [outcome.source for outcome in outcomes] == ["memory://reading/a/1.txt", "memory://reading/b.md"]
    assert (await document("memory://reading/b.md")).title == "Second"


async def test_a_url_to_nothing_is_skipped() -> None:
    assert await reason("memory://reading/missing.txt") == "no such file or folder"


async def test_a_url_of_an_unknown_kind_is_skipped() -> None:
    assert "Protocol not known: nowhere" in await reason("nowhere://bucket/a.txt")


async def test_a_url_that_needs_a_package_names_it() -> None:
    pytest.importorskip("fsspec")
    missing = [
        (scheme, package)
        for scheme, package in (("gs", "gcsfs"), ("abfs", "adlfs"), ("s3", "s3fs"))
        if not _installed(package)
    ]
    if not missing:
        pytest.skip("all of fsspec's packages are installed")
    scheme, package = missing[0]

    assert package in await reason(f"{scheme}://bucket/a.txt")


def _installed(package: str) -> bool:
    from importlib.util import find_spec

    return find_spec(package) is not None


async def test_a_password_in_a_url_is_not_kept() -> None:
    outcome = await only("nowhere://user:secret@host/a.txt")

    assert "secret" not in str(outcome)
    assert source_key("ftp://user:secret@host/a.txt") == "ftp://host/a.txt"


async def test_a_link_to_itself_stops_no_folder(tmp_path: Path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("Anna Hofer leads Northstar.")
    (folder / "loop").symlink_to(folder / "loop")

    outcomes = await read(folder)

    assert [type(outcome).__name__ for outcome in outcomes] == ["SourceDocument", "SkippedSource"]
    assert outcomes[1].reason


# --- a glance ahead --------------------------------------------------------------------------------


async def test_a_glance_ends_at_the_first_that_can_be_read_which_is_not_read_again(tmp_path: Path) -> None:
    for name, text in (("a.bin", "\x00\x01"), ("b.md", TEXT), ("c.md", "The second one.")):
        (tmp_path / name).write_text(text)

    seen = await reading.glance(tmp_path)

    sources = [source_key(str(tmp_path / name)) for name in ("a.bin", "b.md", "c.md")]
    assert seen.readable and [one.source for one in seen.skipped] == sources[:1]
    assert list(seen.fetched) == sources[:2]
    (tmp_path / "a.bin").unlink()
    (tmp_path / "b.md").write_text("Changed since.")
    told = await read(tmp_path, fetched=seen.fetched)
    assert [one.text for one in told if isinstance(one, SourceDocument)] == [TEXT, "The second one."]


async def test_a_document_of_the_caller_never_stands_for_a_file_of_that_name(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text(TEXT)
    given: list[SourceInput] = [SourceDocument("Mine.", source=source_key(str(file))), file]

    told = await read(given, fetched=(await reading.glance(given)).fetched)

    assert [one.text for one in told if isinstance(one, SourceDocument)] == ["Mine.", TEXT]


async def test_nothing_that_can_be_read_is_seen_as_such() -> None:
    unread = SkippedSource("photo.png", "no text in it")

    seen = await reading.glance([unread, "  "])

    assert not seen.readable
    assert seen.skipped[0] == unread and len(seen.skipped) == 2
    assert not seen.fetched


async def test_a_kind_of_url_whose_package_is_missing_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(url: str) -> None:
        raise ImportError('HTTPFileSystem requires "requests" and "aiohttp" to be installed')

    monkeypatch.setattr("fsspec.url_to_fs", missing)

    [skipped] = await read("https://example.org/notes.md")

    assert isinstance(skipped, SkippedSource)
    assert skipped.reason.endswith("to be installed: pip install requests aiohttp")
