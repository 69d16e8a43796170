import re
from pathlib import Path

from overstory.serve.app import make_app
from overstory.serve.options import ServeOptions
from tests.docs.blocks import ROOT

PAGE = (ROOT / "docs" / "serve.md").read_text(encoding="utf-8")
ROWS = "\n".join(line for line in PAGE.splitlines() if line.startswith("| `"))


def test_the_page_lists_every_request(tmp_path: Path) -> None:
    paths = make_app(ServeOptions(home=tmp_path)).openapi()["paths"]

    words = {word for path in paths for word in re.findall(r"[a-z]+|{[a-z]+}", path.removeprefix("/v1"))}

    assert {word for word in words if word not in ROWS} == set()
