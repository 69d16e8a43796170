"""A browser for tests: the few words of WebDriver (W3C) that they need, spoken to chromedriver."""

import base64
import contextlib
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
_ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
)
KEYS = {"Enter": "\ue007", "Down": "\ue015", "Right": "\ue014", "Up": "\ue013", "Left": "\ue012"}


class StaleError(Exception):
    """The page has replaced the element."""


class Browser:
    def __init__(self, client: httpx.Client, session: str) -> None:
        self._client, self._session = client, f"/session/{session}"

    def open(self, url: str) -> None:
        self._ask("url", {"url": url})

    def script(self, body: str, *arguments: object) -> Any:
        return self._ask("execute/sync", {"script": body, "args": list(arguments)})

    def find(self, css: str, seconds: float = 15) -> str:
        """The first element of a selector, once it is there."""
        return self.wait(f"return document.querySelector({css!r})", seconds, css)[_ELEMENT]

    def wait(self, body: str, seconds: float = 15, what: str = "") -> Any:
        """What a script returns, once that is something."""
        deadline = time.monotonic() + seconds
        while not (found := self.script(body)):
            assert time.monotonic() < deadline, f"not there after {seconds} s: {what or body}\n{self.text('body')}"
            time.sleep(0.05)
        return found

    def click(self, css: str) -> None:
        self._click(f"return document.querySelector({css!r})")

    def click_text(self, css: str, text: str) -> None:
        self._click(f"return [...document.querySelectorAll({css!r})].find((one) => one.textContent.includes({text!r}))")

    def _click(self, body: str) -> None:
        """Click what a script finds; once more where the page was drawn anew in between."""
        try:
            self._ask(f"element/{self.wait(body)[_ELEMENT]}/click", {})
        except StaleError:
            self._ask(f"element/{self.wait(body)[_ELEMENT]}/click", {})

    def type(self, css: str, text: str) -> None:
        self._ask(f"element/{self.find(css)}/value", {"text": text})

    def press(self, *keys: str) -> None:
        """Keys for whatever has the focus."""
        steps = [{"type": kind, "value": KEYS.get(key, key)} for key in keys for kind in ("keyDown", "keyUp")]
        self._ask("actions", {"actions": [{"type": "key", "id": "keys", "actions": steps}]})

    def text(self, css: str) -> str:
        return str(self.script(f"return document.querySelector({css!r})?.innerText ?? ''"))

    def size(self, width: int, height: int) -> None:
        self._ask("goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}})  # fmt: skip

    def dark(self) -> None:
        features = [{"name": "prefers-color-scheme", "value": "dark"}]
        self._ask("goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {"features": features}})

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self._client.get(f"{self._session}/screenshot").json()["value"]))

    def complaints(self) -> list[str]:
        """What the console said that is no mere notice: errors, and what the security policy refused."""
        return [one["message"] for one in self._ask("se/log", {"type": "browser"}) if one["level"] == "SEVERE"]

    def _ask(self, word: str, form: dict[str, Any]) -> Any:
        answer = self._client.post(f"{self._session}/{word}", json=form)
        if "stale element reference" in answer.text:
            raise StaleError
        assert answer.is_success, answer.text[:2000]
        return answer.json()["value"]


@contextlib.contextmanager
def browsing(chromium: str, driver: str) -> Iterator[Browser]:
    """A fresh browser that ends with the block."""
    process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        line = next(one for one in process.stdout if "started successfully on port" in one)
        port = int(line.split("port ")[1].split(".")[0])
        with (
            tempfile.TemporaryDirectory() as profile,
            httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as http,
        ):
            options = {"binary": chromium, "args": [*_ARGUMENTS, f"--user-data-dir={profile}"]}
            wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
            begun = http.post("/session", json={"capabilities": {"alwaysMatch": wanted}})
            assert begun.is_success, begun.text[:2000]
            session = begun.json()["value"]["sessionId"]
            try:
                yield Browser(http, session)
            finally:
                http.delete(f"/session/{session}")
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()
