"""What all loaders share. They run in the environments of the programs, so they import nothing of the project."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(sys.argv[1])


def folders(name: str) -> Iterator[tuple[str, Path]]:
    """Each combination with its folder of a format."""
    for folder in sorted(ROOT.glob(f"*/*/*/{name}")):
        yield folder.parent.relative_to(ROOT).as_posix(), folder


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]


def tell(sets: dict[str, list[list[str]]], version: str, said: str) -> None:
    print(json.dumps({"version": version, "sets": sets, "said": said}))


def report(name: str, package: str, load: Callable[[Path], list[list[str]]], said: str = "equal") -> None:
    """Load every combination, and print what was found."""
    tell({key: load(folder) for key, folder in folders(name)}, version(package), said)
