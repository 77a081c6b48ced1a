"""Refusals of faulty candidates and good twins kept, by kind: `python -m benchmarks.planted [--folder DIR] [--show KIND] [--half HALF]`.

DIR defaults to QAGEN_REAL_DATA. `--show` prints the candidates of a kind that came out wrong, only of documents that are not set aside.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.planted import proofs
from benchmarks.planted.documents import load
from benchmarks.planted.judge import Outcome, outcome
from benchmarks.planted.kinds import EVIDENCE, KINDS, WRONG, planted
from qagen_dagster.loop.statistics import wilson

STAGES = ("code", "blind", "comparison")
ARTICLES = 48
HEADS = ("kind", "faulty", "code", "+ blind answer", "+ comparison", "good twins kept", "reasons")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path(os.environ.get("QAGEN_REAL_DATA", "")))
    parser.add_argument("--show", metavar="KIND")
    parser.add_argument("--half", choices=("tuned", "aside", "both"), default="both")
    options = parser.parse_args()
    if not (options.folder / "qa").is_dir():
        sys.exit("set QAGEN_REAL_DATA to a folder with the public sets")
    candidates = planted(load(options.folder))
    halves = {"tuned": False, "aside": True}
    if options.show:
        chosen = [one for one in candidates if one.kind == options.show and not one.fact.page.aside]
        _show([one for one in map(outcome, chosen) if one.kept is not one.planted.good])
        return
    for half, aside in halves.items():
        if options.half in (half, "both"):
            chosen = [one for one in candidates if one.fact.page.aside is aside]
            _report(half, [outcome(one) for one in chosen])
    for validator in proofs.VALIDATORS:
        found = proofs.outcomes(options.folder / "qa" / "xquad.en.json", ARTICLES, validator)
        for half, aside in halves.items():
            if options.half in (half, "both"):
                _proofs(
                    f"{validator} validator, {half}",
                    [one for one in found if proofs.is_aside(one.draft) is aside],
                )


def _proofs(name: str, found: Sequence[proofs.Outcome]) -> None:
    heads = ("kind", "faulty", "code", "+ validator", "good twins kept", "reasons")
    print(f"\nwithout an answer, and across documents: {name}\n")
    print(f"| {' | '.join(heads)} |\n| {' | '.join(['---'] * len(heads))} |")
    kinds = dict.fromkeys(one.draft.kind for one in found)
    for title, chosen in (*((kind, (kind,)) for kind in kinds), ("**all**", tuple(kinds))):
        mine = [one for one in found if one.draft.kind in chosen]
        faulty = [one for one in mine if not one.draft.good]
        twins = [one for one in mine if one.draft.good]
        code = _share(sum(one.by == "code" for one in faulty), len(faulty))
        both = _share(sum(bool(one.by) for one in faulty), len(faulty))
        kept = _share(sum(not one.by for one in twins), len(twins))
        lost = Counter(one.reason for one in twins if one.by).most_common(3)
        reasons = Counter(one.reason for one in faulty if one.by).most_common(3)
        told = f"{', '.join(f'{reason} {count}' for reason, count in reasons)}; good: {dict(lost)}"
        print(f"| {title} | {len(faulty)} | {code} | {both} | {kept} | {told} |")


def _show(found: Sequence[Outcome]) -> None:
    for one in found:
        mine = one.planted
        print(f"{'good' if mine.good else 'FAULTY'} {one.stage or 'kept'} {one.reason}: {one.detail[:200]}")
        print(f"   Q {mine.question}\n   A {mine.answer} [{mine.question_type}] {mine.computation or ''}")
        print("".join(f"   E {' '.join(quote.split())[:300]}\n" for quote in mine.quotes))


def _report(half: str, found: Sequence[Outcome]) -> None:
    pages = {one.planted.fact.page.name for one in found}
    faulty = sum(not one.planted.good for one in found)
    print(
        f"\n{half}: {faulty} faulty candidates and {len(found) - faulty} good twins from {len(pages)} documents\n"
    )
    print(f"| {' | '.join(HEADS)} |\n| {' | '.join(['---'] * len(HEADS))} |")
    groups = {kind: (kind,) for kind in KINDS} | {
        "**wrong answers**": WRONG, "**evidence**": EVIDENCE, "**all**": tuple(KINDS),
    }  # fmt: skip
    for name, kinds in groups.items():
        _line(name, [one for one in found if one.planted.kind in kinds])


def _line(name: str, found: Sequence[Outcome]) -> None:
    faulty = [one for one in found if not one.planted.good]
    refused = [
        _share(sum(one.stage in STAGES[: number + 1] for one in faulty), len(faulty))
        for number in range(len(STAGES))
    ]
    twins = {(one.planted.fact, one.planted.question, one.planted.quotes, one.planted.question_type, one.planted.computation is None): one.kept for one in found if one.planted.good}  # fmt: skip
    reasons = Counter(one.reason for one in faulty if not one.kept).most_common(4)
    shown = ", ".join(f"{reason} {count}" for reason, count in reasons)
    cells = (name, str(len(faulty)), *refused, _share(sum(twins.values()), len(twins)), shown)
    print(f"| {' | '.join(cells)} |")


def _share(part: int, whole: int) -> str:
    if not whole:
        return "-"
    low, high = wilson(part, whole)
    return f"{part}/{whole} {part / whole:.2f} [{low:.2f}, {high:.2f}]"


if __name__ == "__main__":
    main()
