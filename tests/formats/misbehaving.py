"""Formats that crash, hang or eat memory, for the parser pool's tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
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


def _act(order: str) -> str:
    word, _, rest = order.partition(" ")
    match word:
        case "abort":
            os.abort()
        case "exit":
            os._exit(3)
        case "segfault":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "hang":
            time.sleep(600)
        case "spin":
            while True:
                pass
        case "child":  # starts a program that outlives a kill of its parent alone
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            Path(rest).write_text(str(child.pid))
            time.sleep(600)
        case "eat":
            held = bytearray(int(rest))
            return str(len(held))
        case "grow":
            pile: list[bytes] = []
            while True:
                pile.append(bytes(1_000_000))
        case "raise":
            raise ZeroDivisionError("division by zero")
        case "refuse":
            raise DocumentError("encrypted", "it wants a password")
        case "sleep":
            time.sleep(float(rest))
            return "slept"
        case "pid":
            return str(os.getpid())
        case "chatter":
            os.write(1, b"noise on stdout\n")
            os.write(2, b"noise on stderr\n")
            return "said"
        case _:
            return order
    return order
