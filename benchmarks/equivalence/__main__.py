"""`python -m benchmarks.equivalence record|compare|killed|trace`."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.equivalence.compare import compare
from benchmarks.equivalence.killed import killed
from benchmarks.equivalence.record import record
from benchmarks.equivalence.trace import trace


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    recorder = commands.add_parser("record", help="keep what a checkout makes of the samples")
    recorder.add_argument("folder", type=Path)
    recorder.add_argument("--checkout", type=Path, required=True)
    comparer = commands.add_parser("compare", help="print in what two recordings differ; exit 1 if they do")
    comparer.add_argument("first", type=Path)
    comparer.add_argument("second", type=Path)
    comparer.add_argument("--allow", nargs="*", default=[], metavar="FIELD", help="fields that may differ")
    killer = commands.add_parser(
        "killed", help="finish stores that another checkout began; exit 1 if a request is repeated"
    )
    killer.add_argument("--old", type=Path, required=True)
    killer.add_argument("--new", type=Path, required=True)
    tracer = commands.add_parser("trace", help="print how much of the package one question takes")
    tracer.add_argument("--checkout", type=Path, required=True)
    given = parser.parse_args()
    if given.command == "record":
        record(given.folder, given.checkout)
    elif given.command == "killed":
        raise SystemExit(killed(given.old.resolve(), given.new.resolve()) > 0)
    elif given.command == "trace":
        trace(given.checkout.resolve())
    else:
        raise SystemExit(compare(given.first, given.second, given.allow) > 0)


if __name__ == "__main__":
    main()
