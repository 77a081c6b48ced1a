"""Formats that crash, hang or eat memory, for the parser pool's tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import (
    Format,
    PageImage,
    ParsedText,
    ParseOptions,
    RenderOptions,
    RowFailure,
    Source,
)
from qagen_dagster.records.document import Visual, VisualType


class Misbehaving:
    """Does what the file's first word says."""

    name = "misbehaving"
    version = "1"
    suffixes: tuple[str, ...] = (".bad",)

    def sniff(self, head: bytes) -> bool:
        return True

    def parse(self, source: Source, options: ParseOptions) -> list[ParsedText | RowFailure]:
        return [ParsedText(text=_act(source.data.decode()))]

    def visuals(self, source: Source, row: str | None, options: ParseOptions) -> tuple[Visual, ...]:
        return (Visual(label=_act(source.data.decode()), type=VisualType.PAGE, page=1),)

    def render(
        self, source: Source, page: int, options: ParseOptions, how: RenderOptions
    ) -> PageImage | None:
        return PageImage("image/png", _act(source.data.decode()).encode(), page, page)


def formats() -> Sequence[Format]:
    return (Misbehaving(),)


def broken_factory() -> Sequence[Format]:
    raise ImportError("no such library")


def broken_later() -> Iterator[Format]:
    """The libraries of the second format are missing."""
    yield Misbehaving()
    raise ImportError("no such library")


def _act(order: str) -> str:
    word, _, rest = order.partition(" ")
    act = _ACTS.get(word)
    return order if act is None else act(rest)


def _spin(_: str) -> str:
    while True:
        pass


def _slow(_: str) -> str:
    """Work that gets a processor only now and then."""
    end = time.process_time() + 0.3
    while time.process_time() < end:
        time.sleep(0.2)
        pause = time.process_time() + 0.03
        while time.process_time() < pause:
            pass
    return "0.3 seconds of work"


def _child(note: str) -> str:
    """Start a program that would outlive a kill of its parent alone."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(note).write_text(str(child.pid))
    time.sleep(600)
    return ""


def _busy(_: str) -> str:
    """Wait for a program that works."""
    return str(subprocess.run([sys.executable, "-c", "while True: pass"], check=False).returncode)


def _count(note: str) -> str:
    """Note the call and hang."""
    with Path(note).open("a") as file:
        file.write("called ")
    time.sleep(600)
    return ""


def _grow(_: str) -> str:
    pile: list[bytes] = []
    while True:
        pile.append(bytes(1_000_000))


def _refuse(_: str) -> str:
    raise DocumentError("encrypted", "it wants a password")


def _chatter(_: str) -> str:
    os.write(1, b"noise on stdout\n")
    os.write(2, b"noise on stderr\n")
    return "said"


_ACTS: dict[str, Callable[[str], str]] = {
    "abort": lambda _: str(os.abort()),
    "exit": lambda _: str(os._exit(3)),
    "segfault": lambda _: str(os.kill(os.getpid(), signal.SIGSEGV)),
    "count": _count,
    "hang": lambda _: str(time.sleep(600)),
    "slow": _slow,
    "spin": _spin,
    "child": _child,
    "busy": _busy,
    "eat": lambda size: str(len(bytearray(int(size)))),
    "grow": _grow,
    "raise": lambda _: str(1 // 0),
    "refuse": _refuse,
    "pid": lambda _: str(os.getpid()),
    "chatter": _chatter,
}
