"""`make attack`: attacks from outside, with fixed seeds; the exit code is 1 if one of them had an unexpected result."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.attack.addresses import addresses
from benchmarks.attack.cases import cases
from benchmarks.attack.disks import disks
from benchmarks.attack.documents import documents
from benchmarks.attack.faults import faults
from benchmarks.attack.kills import kills
from benchmarks.attack.table import Group, printed

GROUPS: dict[str, Group] = {
    "kills": kills,
    "faults": faults,
    "disks": disks,
    "documents": documents,
    "addresses": addresses,
    "cases": cases,
}


def attack(names: list[str], *, short: bool = False) -> int:
    """Run the named groups, each in a folder of its own, and print a table; returns the number of surprises."""
    begun, held, surprises = time.monotonic(), 0, 0
    for name in names:
        sys.stdout.write(f"{name}\n")
        with tempfile.TemporaryDirectory(prefix="qagen-attack-") as folder:
            for row in printed(GROUPS[name](Path(folder), short), sys.stdout.write):
                held, surprises = held + row.held, surprises + (not row.held)
                sys.stdout.flush()
    sys.stdout.write(f"{held} attacks held, {surprises} surprises, {time.monotonic() - begun:.0f} s\n")
    return surprises


def main() -> int:
    parser = argparse.ArgumentParser(prog="make attack", description=__doc__)
    parser.add_argument("--only", action="append", choices=tuple(GROUPS), help="a group; repeatable")
    parser.add_argument(
        "--short", action="store_true", help="a few attacks of each group, as `make test` runs"
    )
    given = parser.parse_args()
    return 1 if attack(given.only or list(GROUPS), short=given.short) else 0


if __name__ == "__main__":
    sys.exit(main())
