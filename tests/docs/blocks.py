"""The code blocks of the documentation."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
_BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    """The code of each block of a language on a page."""
    return [
        block["code"] for block in _BLOCK.finditer(page.read_text(encoding="utf-8")) if block["language"] == language
    ]
