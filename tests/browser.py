"""A headless Chromium for tests, driven over the DevTools protocol: what a page says, asks for, and looks like.

    with browser() as chromium:
        page = chromium.open(path.as_uri(), width=360, dark=True)
        assert page.problems == [] and page.requests == [path.as_uri()]

Ask `why_no_browser()` first: it names the reason to skip where there is none.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--remote-debugging-port=0",
)
_PATIENCE_SECONDS = 60.0
_SETTLED = "new Promise(done => requestAnimationFrame(() => setTimeout(done, 150)))"


def chromium_path() -> str | None:
    """The browser's path: RESCUE_TEST_CHROMIUM, else the first that is installed."""
    return os.environ.get("RESCUE_TEST_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)


def why_no_browser() -> str | None:
    """A reason to skip, or None."""
    return None if chromium_path() else f"no Chromium is installed (looked for {', '.join(_NAMES)})"


class Page:
    """One open page. problems: console errors and warnings, exceptions; requests: every address it asked for."""

    def __init__(self, connection: _Connection, session: str) -> None:
        self._connection, self._session = connection, session
        self.console: list[str] = []
        self.problems: list[str] = []
        self.requests: list[str] = []
        self._loaded = False

    def goto(self, url: str) -> Page:
        self._loaded = False
        failed = self._call("Page.navigate", url=url).get("errorText")
        if failed:
            raise RuntimeError(f"{url}: {failed}")
        self._connection.wait(lambda: self._loaded)
        self.settle()
        return self

    def settle(self) -> None:
        """Give late requests and messages the time to show up."""
        self.evaluate(_SETTLED)

    def evaluate(self, script: str) -> Any:
        """The JSON value of a JavaScript expression; a promise is awaited."""
        answer = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", "script failed"))
        return answer["result"].get("value")

    def set_viewport(self, width: int, height: int) -> None:
        self._call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )

    def set_media(self, *, dark: bool = False, printed: bool = False) -> None:
        """What the page learns of its medium: the reader's preferred colour scheme, and whether it is printed."""
        preference = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", media="print" if printed else "", features=[preference])

    def press(self, key: str) -> None:
        """One key by its DOM name, such as Tab or Enter."""
        code = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowRight": 39}.get(key, 0)
        text = {"Enter": "\r"}.get(key, "")
        for kind in ("keyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, text=text)

    def screenshot(self, path: Path, *, whole: bool = False) -> Path:
        """A PNG of the viewport, or of the whole page."""
        answer = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **self._clip(whole))
        path.write_bytes(base64.b64decode(answer["data"]))
        return path

    def pdf(self, path: Path) -> Path:
        """The page as it is printed."""
        answer = self._call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)
        path.write_bytes(base64.b64decode(answer["data"]))
        return path

    def _clip(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        size = self._call("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._connection.call(method, parameters, self._session)

    def heard(self, method: str, event: dict[str, Any]) -> None:
        """Take note of what the browser reports about this page."""
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Network.requestWillBeSent":
            self.requests.append(event["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.problems.append(event["exceptionDetails"].get("text", "exception"))
        elif method == "Log.entryAdded":
            self._said(event["entry"]["level"], event["entry"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self._said(event["type"], " ".join(str(part.get("value", part["type"])) for part in event["args"]))

    def _said(self, level: str, text: str) -> None:
        self.console.append(f"{level}: {text}")
        if level in ("error", "warning", "assert"):
            self.problems.append(f"{level}: {text}")


class _Connection:
    """The browser's one socket, read while we wait for an answer: no thread, no task in the background."""

    def __init__(self, address: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._numbers = itertools.count(1)
        self.pages: dict[str, Page] = {}
        self._socket = self._loop.run_until_complete(self._connect(address))

    async def _connect(self, address: str) -> aiohttp.ClientWebSocketResponse:
        self._client = aiohttp.ClientSession()
        return await self._client.ws_connect(address, max_msg_size=0)

    def call(self, method: str, parameters: dict[str, Any], session: str | None = None) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        self._loop.run_until_complete(self._socket.send_json(message))
        answers: list[dict[str, Any]] = []
        self.wait(lambda: bool(answers), lambda found: answers.append(found) if found.get("id") == number else None)
        if "error" in answers[0]:
            raise RuntimeError(f"{method}: {answers[0]['error']['message']}")
        result: dict[str, Any] = answers[0]["result"]
        return result

    def wait(self, done: Any, look: Any = lambda message: None) -> None:
        """Read messages until `done()`; events go to their pages, every message to `look`."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while not done():
            left = end - time.monotonic()
            message = self._loop.run_until_complete(self._socket.receive_json(timeout=max(left, 0.01)))
            look(message)
            page = self.pages.get(message.get("sessionId", ""))
            if page is not None and "method" in message:
                page.heard(message["method"], message["params"])

    def close(self) -> None:
        self._loop.run_until_complete(self._socket.close())
        self._loop.run_until_complete(self._client.close())
        self._loop.close()


class Browser:
    """A running browser; every page it opens has an empty profile."""

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection

    def open(self, url: str, *, width: int = 1280, height: int = 800, dark: bool = False) -> Page:
        """Open an address and wait until it has loaded."""
        target = self._connection.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = self._connection.call("Target.attachToTarget", {"targetId": target, "flatten": True})
        session = attached["sessionId"]
        page = self._connection.pages[session] = Page(self._connection, session)
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._connection.call(f"{domain}.enable", {}, session)
        page.set_viewport(width, height)
        page.set_media(dark=dark)
        return page.goto(url)


@contextmanager
def browser() -> Iterator[Browser]:
    """A headless Chromium with a profile of its own, ended and removed afterwards."""
    executable = chromium_path()
    if executable is None:
        raise RuntimeError(why_no_browser())
    with tempfile.TemporaryDirectory(prefix="rescue-browser-", ignore_cleanup_errors=True) as profile:
        flags = [*_FLAGS, f"--user-data-dir={profile}", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        process = subprocess.Popen(
            [executable, *flags, "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            connection = _Connection(_address(Path(profile), process))
            try:
                yield Browser(connection)
            finally:
                connection.close()
        finally:
            process.terminate()
            process.wait(timeout=20)


def _address(profile: Path, process: subprocess.Popen[bytes]) -> str:
    """The socket's address, once the browser has written it into its profile."""
    announced, end = profile / "DevToolsActivePort", time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < end and process.poll() is None:
        lines = announced.read_text().splitlines() if announced.exists() else []
        if len(lines) == 2:
            return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
        time.sleep(0.05)
    raise RuntimeError("Chromium did not start")
