"""A headless Chromium that tests drive over its debugging protocol. Tests that need it are skipped where there is none."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import ClientConnection, connect

CHROMIUM = shutil.which("chromium")
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no Chromium: `make browser` installs it"
)
SECONDS = 30.0
_CODES = {"Escape": 27, "Enter": 13}


class Tab:
    """One page of the browser."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection, self._number = connection, 0

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        self._connection.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._connection.recv(timeout=SECONDS))
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        found = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def open(self, address: str) -> None:
        self.send("Page.navigate", url=address)
        self.wait("document.body?.classList.contains('ready')")

    def wait(self, condition: str, pause: float = 0.05) -> None:
        """Wait until an expression in the page is true. It is computed again after `pause` seconds."""
        until = time.monotonic() + SECONDS
        while not self.run(f"Boolean({condition})"):
            assert time.monotonic() < until, f"not true after {SECONDS} s: {condition}"
            time.sleep(pause)

    def press(self, key: str, *, ctrl: bool = False) -> None:
        text = {} if ctrl or len(key) > 1 else {"text": key}
        code = {"windowsVirtualKeyCode": _CODES[key]} if key in _CODES else {}
        for kind in ("keyDown", "keyUp"):
            extra = {**code, **(text if kind == "keyDown" else {})}
            self.send("Input.dispatchKeyEvent", type=kind, key=key, modifiers=2 if ctrl else 0, **extra)

    def type(self, text: str) -> None:
        self.send("Input.insertText", text=text)

    def picture(self, width: int, height: int, *, dark: bool = False) -> bytes:
        """A PNG of the page in a window of this size."""
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.send("Emulation.setEmulatedMedia", features=scheme)
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        return base64.b64decode(self.send("Page.captureScreenshot")["data"])


@contextmanager
def chromium(folder: Path) -> Generator[Tab]:
    """A browser whose profile is in `folder`."""
    command = [str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    command += ["--disable-background-networking", "--remote-debugging-port=0", f"--user-data-dir={folder}"]
    with subprocess.Popen([*command, "about:blank"], stderr=subprocess.DEVNULL) as process:
        try:
            port = _port(folder / "DevToolsActivePort")
            (page,) = (
                one for one in httpx.get(f"http://127.0.0.1:{port}/json").json() if one["type"] == "page"
            )
            with connect(page["webSocketDebuggerUrl"], max_size=None) as connection:
                yield Tab(connection)
        finally:
            process.terminate()


def _port(file: Path) -> int:
    until = time.monotonic() + SECONDS
    while not (file.is_file() and "\n" in file.read_text()):
        assert time.monotonic() < until, "the browser did not start"
        time.sleep(0.05)
    return int(file.read_text().splitlines()[0])
