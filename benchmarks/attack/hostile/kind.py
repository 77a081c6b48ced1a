"""One hostile document: what it does, its file, how it is made, and the outcomes that it may have."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Trap:
    """Where a document tries to lead: a file outside the corpora, and a server that counts its requests."""

    file: Path
    url: str


Content = bytes | str | Callable[[Trap], bytes | str]


@dataclass(frozen=True)
class Kind:
    """`make` writes the file at a path. `outcomes` are those that an entry of the file may have."""

    attack: str
    file: str
    make: Callable[[Path, Trap], object]
    outcomes: tuple[str, ...]


def document(attack: str, file: str, content: Content, *outcomes: str) -> Kind:
    """A document with the given content; text is stored as UTF-8."""

    def make(path: Path, trap: Trap) -> None:
        found = content(trap) if callable(content) else content
        path.write_bytes(found.encode("utf-8", "surrogatepass") if isinstance(found, str) else found)

    return Kind(attack, file, make, outcomes)


def noise(count: int, seed: int = 15) -> bytes:
    """Random bytes that are the same in every run."""
    return random.Random(seed).randbytes(count)
