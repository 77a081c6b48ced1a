"""A publisher, an open archive and their neighbours on loopback: each path gives what a test says, some never end.

with PaperServer({"/a.pdf": Served(body=pdf("..."), media_type="application/pdf")}) as server:
    ... server.url("/a.pdf") ...
    server.asked      # the paths, in order
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

import pymupdf

from tests.support.loopback import LoopbackServer


@dataclass(frozen=True)
class Served:
    """An answer. `claims` is a Content-Length other than the body's."""

    body: bytes | str = b""
    media_type: str = "text/html"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])
    claims: int | None = None


@dataclass(frozen=True)
class Drip:
    """One byte now and then for ever; `head`: not even the head ends."""

    head: bool = False


@dataclass(frozen=True)
class Flood:
    """Bytes as fast as they are taken, without a length, for ever."""


Answer = Served | Drip | Flood | Callable[[], "Served"]


def moved(where: str, status: int = 302) -> Served:
    return Served(status=status, headers={"Location": where})


def as_json(value: Any) -> Served:
    return Served(json.dumps(value), "application/json")


def page(head: str = "", body: str = "") -> Served:
    return Served(f"<!doctype html><html><head>{head}</head><body>{body}</body></html>")


def paper(*paragraphs: str) -> bytes:
    """A PDF with one page per paragraph."""
    file: Any = pymupdf.open()
    for paragraph in paragraphs:
        sheet = file.new_page(width=420, height=595)
        sheet.insert_textbox(pymupdf.Rect(40, 40, 380, 550), paragraph, fontsize=11)
    data: bytes = file.tobytes()
    return data


class PaperServer:
    """Serves in threads until it is left."""

    def __init__(self, answers: Mapping[str, Answer] | None = None) -> None:
        self.answers: dict[str, Answer] = dict(answers or {})
        self.asked: list[str] = []
        self.hosts: list[str] = []
        self.stopped = threading.Event()
        handler = type("Handler", (_Handler,), {"owner": self})
        self._http = LoopbackServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> PaperServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._http.server_address[1]}"

    def url(self, path: str = "") -> str:
        return f"http://{self.host}{path}"


class _Handler(BaseHTTPRequestHandler):
    owner: PaperServer

    def do_GET(self) -> None:
        self.owner.asked.append(self.path)
        self.owner.hosts.append(self.headers.get("Host", ""))
        answer = self.owner.answers.get(self.path) or self.owner.answers.get(self.path.partition("?")[0])
        with contextlib.suppress(OSError):
            if isinstance(answer, Drip):
                self._drip(answer)
            elif isinstance(answer, Flood):
                self._flood()
            else:
                self._serve(answer() if callable(answer) else answer or Served("nothing here", status=404))

    def _serve(self, answer: Served) -> None:
        body = answer.body.encode() if isinstance(answer.body, str) else answer.body
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", answer.media_type)
        self.send_header("Content-Length", str(len(body) if answer.claims is None else answer.claims))
        self.end_headers()
        self.wfile.write(body)

    def _drip(self, answer: Drip) -> None:
        begin = b"HTTP/1.1 200 OK\r\nX-Slow: " if answer.head else b"HTTP/1.1 200 OK\r\n\r\n%PDF-1.7\n"
        self.wfile.write(begin)
        while not self.owner.stopped.wait(0.02):
            self.wfile.write(b"a")

    def _flood(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n\r\n%PDF-1.7\n")
        while not self.owner.stopped.is_set():
            self.wfile.write(b"a" * 65_536)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""
