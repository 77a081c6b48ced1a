"""Makes the list of opposites of the embedded reader from the database files of WordNet 3.0.

`python -m benchmarks.short.opposites FOLDER` (the folder with `data.noun` and the others). Kept: single words that
WordNet calls antonyms of each other, in whatever sense; what a prefix or an ending makes opposite is found by rule.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from qagen_dagster.english.polarity import OPPOSITES_FILE, by_form
from qagen_dagster.english.words import stem

TARGET = Path(__file__).parents[2] / "qagen_dagster" / "models" / "embedded" / "text" / OPPOSITES_FILE
_PARTS = ("noun", "verb", "adj", "adv")


def pairs(folder: Path) -> Iterator[tuple[str, str]]:
    """Every two words that are antonyms, each pair once, in the order of the alphabet."""
    words: dict[str, list[str]] = {}
    pointers: list[tuple[str, int, str, int]] = []
    for part in _PARTS:
        for line in (folder / f"data.{part}").read_text(encoding="latin-1").splitlines():
            if not line.startswith("  "):
                _read(part, line.split("|")[0].split(), words, pointers)
    found = {
        (words[source][at - 1], words[target][to - 1]) for source, at, target, to in pointers if at and to
    }
    yield from sorted({(min(pair), max(pair)) for pair in found if all(map(_plain, pair)) and _tells(*pair)})


def _read(
    part: str, fields: list[str], words: dict[str, list[str]], pointers: list[tuple[str, int, str, int]]
) -> None:
    """One line: offset, file, kind, number of words, words and their numbers, number of pointers, pointers."""
    count = int(fields[3], 16)
    key = part + fields[0]
    words[key] = [word.split("(")[0].lower() for word in fields[4 : 4 + 2 * count : 2]]
    rest = fields[5 + 2 * count :]
    names = {"n": "noun", "v": "verb", "a": "adj", "s": "adj", "r": "adv"}
    for symbol, offset, kind, places in zip(rest[::4], rest[1::4], rest[2::4], rest[3::4], strict=False):
        if symbol == "!":
            pointers.append((key, int(places[:2], 16), names[kind] + offset, int(places[2:], 16)))


def _plain(word: str) -> bool:
    return word.isascii() and word.isalpha() and len(word) > 1


def _tells(left: str, right: str) -> bool:
    return stem(left) != stem(right) and stem(right) not in by_form(stem(left))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    chosen = parser.parse_args(arguments)
    head = [
        line for line in TARGET.read_text(encoding="utf-8").splitlines() if line.startswith("#")
    ]  # the licence stays
    lines = [f"{left} {right}" for left, right in pairs(chosen.folder)]
    TARGET.write_text("\n".join([*head, *lines]) + "\n", encoding="utf-8")
    print(f"{len(lines):,} pairs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
