"""The site is whole, and complete without a network."""

import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from tests.docs.blocks import ROOT

LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc\s*=\s*["']?(?:https?:)?//"""
    r"""|<link\b[^>]*\bhref\s*=\s*["']?(?:https?:)?//|url\(\s*["']?(?:https?:)?//|@import\s+["'](?:https?:)?//"""
)
"""What a browser would fetch from elsewhere; a link that a reader may follow is none."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as `make docs` builds it: a broken link, or a page that nothing leads to, is an error."""
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    ran = subprocess.run(
        [*command, "-d", str(place / "doctrees"), str(ROOT / "docs"), str(place / "html")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return place / "html"


def test_every_page_is_built(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}

    assert {page for page in pages if not (site / page).is_file()} == set()


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    files = [path for path in site.rglob("*") if path.suffix in {".html", ".css", ".svg"}]

    assert len(files) > 20
    assert [path.name for path in files if LOADED.search(path.read_text(encoding="utf-8"))] == []


def test_make_builds_it_the_same_way() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert "-m sphinx -W --keep-going -q -b html docs build/docs" in makefile


def drawings() -> ModuleType:
    spec = spec_from_file_location("drawings", ROOT / "docs" / "drawings.py")
    assert spec and spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_drawings_are_what_their_script_draws() -> None:
    for name, make in drawings().DRAWINGS.items():
        kept = (ROOT / "docs" / "images" / name).read_text(encoding="utf-8")
        assert kept == str(make()), "python docs/drawings.py"
