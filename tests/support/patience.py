"""A script for the wire server that answers so many requests and then keeps its callers waiting, for runs that are killed."""

from __future__ import annotations

import threading

from tests.support.wire_reader import Asked, read
from tests.support.wire_server import Hang, Seen, Step


class Patience:
    """Counts what it receives; after `answers` answers it says nothing, until told otherwise. `play` answers."""

    def __init__(self) -> None:
        self.answers: int | None = None
        self.silent = threading.Event()
        self.received: list[Asked] = []

    def allow(self, answers: int | None) -> None:
        self.answers = answers
        self.silent.clear()

    def __call__(self, seen: Seen, number: int) -> Step:
        del number
        asked = read(seen)
        self.received.append(asked)
        if self.answers == 0:
            self.silent.set()
            return Hang(120)
        if self.answers is not None:
            self.answers -= 1
        return self.play(asked)

    def play(self, asked: Asked) -> Step:
        raise NotImplementedError
