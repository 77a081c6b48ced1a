"""Planted faults refused and good twins kept, by product: `python -m benchmarks.values FOLDER [--half HALF] [--show]
[--answers FILE]`.

FOLDER has files of JSON lines. Each line is one submission of a model, with `product`, `name` and `kind` (fault or good). Half of the
cases, chosen by a hash of the name, are set aside: `--show` prints only the others.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.values.submitted import honest_fault, refusals, repeats
from qagen_dagster.loop.statistics import wilson


@dataclass(frozen=True)
class _Judged:
    name: str
    product: str
    good: bool
    aside: bool
    code: tuple[str, ...]  # why code refuses it
    solver: str  # what a solver and a second reader that are always right say against it

    @property
    def kept(self) -> bool:
        return not (self.code or self.solver)


def main() -> None:
    """Judge every case and print the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", choices=("tuned", "aside", "both"), default="both")
    parser.add_argument("--show", action="store_true")
    parser.add_argument(
        "--answers", type=Path, help="a JSON file with more fields of cases by name, such as `solver`"
    )
    options = parser.parse_args()
    more: dict[str, dict[str, Any]] = (
        json.loads(options.answers.read_text(encoding="utf-8")) if options.answers else {}
    )
    rows = [
        row | more.get(row["name"], {})
        for path in sorted(options.folder.glob("*.jsonl"))
        for row in _rows(path)
    ]
    again = repeats(rows)
    found = [_judged(row, again.get(row["name"], "")) for row in rows]
    if options.show:
        for one in found:
            if not one.aside:
                print(f"{'good' if one.good else 'FAULT'} {one.product} {one.name}: {one.code} {one.solver}")
    for half, aside in {"tuned": False, "aside": True}.items():
        if options.half in (half, "both"):
            _report(half, [one for one in found if one.aside is aside])


def is_aside(name: str) -> bool:
    """Whether the case is not to be looked at while the checks are written."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2 == 1


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def _judged(row: dict[str, Any], repeated: str) -> _Judged:
    return _Judged(
        row["name"],
        row["product"],
        row["kind"] == "good",
        is_aside(row["name"]),
        (*refusals(row), *filter(None, [repeated])),
        honest_fault(row),
    )


def _report(half: str, found: Sequence[_Judged]) -> None:
    print(
        f"\n{half}\n| product | faults refused by code | with an honest solver | good ones kept |\n|---|---|---|---|"
    )
    for product in (*sorted({one.product for one in found}), "all"):
        mine = [one for one in found if product in (one.product, "all")]
        faults, good = [one for one in mine if not one.good], [one for one in mine if one.good]
        cells = (
            _share(sum(bool(one.code) for one in faults), len(faults)),
            _share(sum(not one.kept for one in faults), len(faults)),
            _share(sum(one.kept for one in good), len(good)),
        )
        print(f"| {product} | {' | '.join(cells)} |")


def _share(part: int, whole: int) -> str:
    """A count with its 95 % Wilson interval."""
    if not whole:
        return "-"
    low, high = wilson(part, whole)
    return f"{part} of {whole} ({low:.0%} to {high:.0%})"


if __name__ == "__main__":
    main()
