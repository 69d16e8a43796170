"""Take the picture of docs/serve.md anew: the demo's tree in a real browser.

    python -m docs.explorer_picture

Needs the extras `serve` and `local`, chromium and chromedriver.
"""

import asyncio
import os
import tempfile
from pathlib import Path

from overstory import improve, remember
from overstory.demo import read_notes
from tests.serve.conftest import Process, chromium
from tests.serve.webdriver import browsing

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
DATASET = "ferry"


async def build() -> None:
    await remember(read_notes(), DATASET)
    await improve(DATASET, build_global_context_index=True)


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(OVERSTORY_HOME=folder, EMBEDDING_MODEL="minilm")
        asyncio.run(build())
        server = Process(Path(folder))
        try:
            with browsing(*chromium()) as browser:
                browser.size(1280, 800)
                browser.open(server.url)
                browser.click_text(".cards a", DATASET)
                browser.find(".facts li")
                browser.wait("return document.querySelectorAll('.picture .cell.summary').length")
                browser.screenshot(IMAGES / "explorer.png")
        finally:
            server.kill()


if __name__ == "__main__":
    main()
