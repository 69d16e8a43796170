"""The page in a real browser: clicked through, with hostile documents, by keyboard, in the dark, on a phone."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from overstory.serve.single import page, write_tree
from overstory.testing import ScriptedModelServer, slow
from tests.data_folder import DATA, REASON
from tests.serve.conftest import Process, chromium, texts
from tests.serve.webdriver import Browser, browsing

pytestmark = pytest.mark.browser
INJECTIONS = DATA / "odd/injection"

SCRIPT = "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>"
TURNED = "\u202eReversed Name\u202c"
HOSTILE = {
    "source": f"{SCRIPT}{'x' * 1_500}.md",
    "title": f"</script>{SCRIPT}",
    "text": f"Ada Brook wrote {SCRIPT} to Luis Ortega. {TURNED} met Ada Brook in Porto. {{{{7*7}}}} ${{7*7}}.",
    "occurred_at": "2026-03-07",
}

LATE = {
    "source": "notes/late.md",
    "occurred_at": "2026-05-01",
    "text": "Ada Brook moved the launch of Northstar again, to 20 July.",
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing(*chromium()) as found:
        yield found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[str]:
    """A server whose dataset `notes` has two generations and a hostile document."""
    chromium()
    started = Process(home)
    with httpx.Client(base_url=started.url, timeout=60) as http:
        for notes in (texts([HOSTILE]), [LATE]):
            assert http.post("/v1/remember", json={"dataset": "notes", "texts": notes}).is_success
            assert http.post("/v1/improve", json={"dataset": "notes"}).is_success
    yield started.url
    started.kill()


@pytest.fixture
def opened(browser: Browser, server: str) -> Browser:
    browser.open("about:blank")
    browser.size(1300, 900)
    browser.open(server)
    browser.click_text(".cards a", "notes")
    browser.find(".facts li")
    browser.complaints()
    return browser


def test_one_gets_from_the_root_to_the_sentence_in_its_document(opened: Browser) -> None:
    assert "This dataset is about" in opened.text("article")

    opened.click(".picture .under .cell.area button")
    opened.wait("return document.querySelector('.crumbs')")
    opened.click(".children a")
    opened.wait("return document.querySelectorAll('.crumbs a').length === 2")
    opened.click("article a.source")
    opened.find(".doc mark")

    assert opened.text(".doc mark") in opened.text(".doc")
    assert opened.complaints() == []


def test_the_history_shows_two_generations_beside_each_other(opened: Browser) -> None:
    opened.click("details.history summary")

    opened.find(".diff .new")

    assert "20 July" in opened.text(".diff")
    assert len(opened.script("return document.querySelectorAll('.diff > ul')")) == 2


def test_a_question_is_answered_without_and_with_the_map(opened: Browser) -> None:
    opened.click_text("#tabs a", "Ask")
    opened.type("textarea", "When is the launch of Northstar?")

    opened.click("form .primary")
    opened.wait("return document.querySelectorAll('.two .prompt').length === 2")

    plain, mapped = (opened.text(f".two > section:nth-child({n})") for n in (1, 2))
    assert "World summary:" in mapped and "world summary:" in mapped
    assert "World summary:" not in plain and "Nodes:" in plain
    assert opened.find(".prompt .k-root") and opened.find(".prompt .from a")


def test_the_tree_is_walked_by_keyboard(opened: Browser) -> None:
    opened.script("document.querySelector('[role=treeitem]').focus()")

    opened.press("Down", "Enter")
    opened.wait("return document.querySelector('.crumbs')")

    assert (
        opened.script("return document.querySelector('[aria-selected=true]').getAttribute('aria-expanded')") == "true"
    )


def test_searching_leads_to_a_node(opened: Browser) -> None:
    opened.press("/")
    opened.type("input[type=search]", "larch hull")

    opened.press("Enter")
    opened.click_text(".hits a", "Marta Silva")

    assert opened.wait("return document.querySelector('article').innerText.includes('notes/boat.md')")


def test_hostile_documents_are_text(opened: Browser) -> None:
    opened.type("input[type=search]", "Luis Ortega wrote Reversed")
    opened.press("Enter")
    opened.click_text(".hits a", "Ada Brook wrote")
    opened.click("article a.source")
    opened.find(".doc")

    assert opened.script("return window.pwned ?? null") is None
    assert "onerror" in opened.text("article")
    assert "⟨U+202E⟩" in opened.text(".doc") or "Reversed Name" in opened.text(".doc")
    assert opened.script("return document.querySelectorAll('main img, main script').length") == 0
    assert opened.script("return document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.mark.skipif(not INJECTIONS.is_dir(), reason=f"{REASON} odd/injection")
def test_every_odd_document_is_text(browser: Browser, server: str) -> None:
    paths = sorted(path for path in INJECTIONS.iterdir() if path.is_file())
    with httpx.Client(base_url=server, timeout=120) as http:
        read = http.post("/v1/remember/files?dataset=odd", files=[("files", (p.name, p.read_bytes())) for p in paths])
        improved = http.post("/v1/improve", json={"dataset": "odd"})
        documents = [one["document_id"] for one in read.json()["documents"] if one["document_id"]]
    browser.open(f"{server}/#/odd/tree")
    browser.find(".facts li")
    browser.complaints()

    for document in documents:
        browser.open(f"{server}/#/odd/document/{document}")
        browser.wait(f"return location.hash.includes({document!r}) && document.querySelector('.doc .chunk')")

    assert improved.is_success and documents
    assert browser.complaints() == []
    assert browser.script("return document.querySelectorAll('main img, main script, main iframe, main a[href^=\"http\"]').length") == 0  # fmt: skip


def test_inline_script_is_refused_by_the_browser(opened: Browser) -> None:
    refused = opened.script("try { document.body.innerHTML = '<b>x</b>'; return false } catch { return true }")

    assert refused


def test_it_fits_a_phone_and_the_dark(opened: Browser) -> None:
    opened.size(390, 844)
    opened.dark()

    assert opened.script("return document.documentElement.scrollWidth - innerWidth") <= 0
    assert opened.script("return getComputedStyle(document.documentElement).backgroundColor") == "rgb(20, 24, 26)"


def test_a_build_is_seen_as_it_goes(browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedModelServer() as model, slow_to_build(model, tmp_path, monkeypatch) as url:
        browser.open(f"{url}/#/notes/builds")
        browser.click_text("button", "Build")

        meter = browser.wait("return document.querySelector('[role=progressbar]')?.ariaLabel")

        seen = browser.text("#view")
        assert "Running: improve" in seen
        assert re.search(rf"{re.escape(meter)}\s+\d+ of [1-9]", seen)


@contextmanager
def slow_to_build(model: ScriptedModelServer, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server whose notes are read, and whose model takes longer for each text of the tree than a test lasts."""
    for name, value in (("MODEL", "openai/scripted"), ("ENDPOINT", model.url), ("API_KEY", "test")):
        monkeypatch.setenv(f"LLM_{name}", value)
    started = Process(home)
    try:
        form = {"dataset": "notes", "texts": texts()}
        assert httpx.post(f"{started.url}/v1/remember", json=form, timeout=120).is_success
        model.when(slow(600))
        yield started.url
    finally:
        started.kill()


def test_a_build_that_has_ended_is_listed(opened: Browser) -> None:
    opened.click_text("#tabs a", "Builds")

    opened.click_text("button", "Build")

    assert opened.wait("return document.querySelector('#view').innerText.includes('improve: unchanged')")


def test_the_page_that_is_one_file_needs_no_server(
    browser: Browser, server: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OVERSTORY_HOME", str(home))
    asyncio.run(write_tree("notes", tmp_path / "tree.html"))

    browser.open((tmp_path / "tree.html").as_uri())
    browser.find(".facts li")
    browser.click(".picture .under .cell.area button")
    browser.wait("return document.querySelector('.crumbs')")

    assert browser.complaints() == []
    assert browser.script("return window.pwned ?? null") is None


def test_data_can_not_end_the_block_that_it_stands_in() -> None:
    text = page({"dataset": "</title></script>", "nodes": {}, "root": None, "text": "</script><script>"})

    assert text.count("</script>") == 2
    assert "</title></script>" not in text
