"""How often the verdicts of code are right: `python -m benchmarks.grounding.measure [--folder DIR] [--sample N] [--described N] [--write]`.

DIR defaults to QAGEN_REAL_DATA. Every set gives up to N right and N wrong answers. No figure of a set uses a choice that was made
with its family: which rules count (those that are right in at least .90 of the cases on the other families). `--described` compares with the rule of a cosine of .5 on a smaller sample.
`--write` stores the figures that users see (`qagen_dagster/grounding/error_rates.json`).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter

from benchmarks.grounding import corruption, sets
from benchmarks.grounding.described import THRESHOLD
from benchmarks.grounding.figures import auroc, auroc_interval
from benchmarks.grounding.outcomes import Outcome, described, outcomes
from qagen_dagster.grounding import grade
from qagen_dagster.grounding.claim_rules import Rule
from qagen_dagster.loop.statistics import wilson
from qagen_dagster.records.grading import ErrorRate

MOST, DESCRIBED = 400, 50
TARGET = Path(grade.__file__).with_name(grade.ERROR_RATES_FILE)
DERIVED = ("tatqa", "xquad", "pubmedqa")
GOOD, FEW = 0.9, 10  # precision of a rule that counts; a rule with fewer cases counts, too
VERDICTS = ((True, "supported"), (False, "unsupported"))
HEADS = ("answers", "AUROC", "word overlap", "supported: share", "right", "unsupported: share", "right")


def left_out(found: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes with the rules that are good enough on the other families."""
    families = sorted({one.item.family for one in found})
    bad = {family: bad_rules([one for one in found if one.item.family != family]) for family in families}
    for family, rules in bad.items():
        print(f"without {family}: {'not ' + ', '.join(sorted(rules)) if rules else 'every rule'}")
    return [one.without(bad[one.item.family]) for one in found]


def bad_rules(found: Sequence[Outcome]) -> frozenset[Rule]:
    """The rules that are too often wrong."""
    return frozenset(rule for rule in Rule if _precision(rule, found) < GOOD)


def _precision(rule: Rule, found: Sequence[Outcome]) -> float:
    mine = [one.right for one in found if rule in one.rules()]
    return _share(mine) if len(mine) >= FEW else 1.0


def _share(values: Iterable[bool]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else float("nan")


def print_rules(found: Sequence[Outcome]) -> None:
    """How often each rule decides, and how often it is right, by family."""
    families = list(dict.fromkeys(one.item.family for one in found))
    _line(["rule", *families])
    _line(["---"] * (len(families) + 1))
    for rule in Rule:
        mine = [one for one in found if rule in one.rules()]
        cells = [[one.right for one in mine if one.item.family == family] for family in families]
        _line([rule.value, *(f"{sum(cell)} of {len(cell)}" if cell else "" for cell in cells)])


def print_sets(found: Sequence[Outcome], title: str) -> None:
    """A row for each set, and the mean over sets with short and with long documents."""
    print(f"\n{title}\n")
    _line(["set", *HEADS])
    _line(["---"] * (len(HEADS) + 1))
    names = list(dict.fromkeys(one.item.name for one in found))
    rows: dict[str, list[float]] = {}
    for name in names:
        rows[name] = _row(name, [one for one in found if one.item.name == name])
    for label, chosen in _groups(found, names):
        means = np.nanmean([rows[name] for name in chosen], axis=0)
        _line([f"**{label}**", "", *(f"{value:.3f}" for value in means)])


def _groups(found: Sequence[Outcome], names: Sequence[str]) -> list[tuple[str, list[str]]]:
    public = [name for name in names if name not in DERIVED]
    short = [name for name in public if _share(one.short for one in found if one.item.name == name) > 0.5]
    groups = {
        "mean, short documents": short,
        "mean, long documents": [name for name in public if name not in short],
        "mean, public sets": public,
        "mean, derived sets": [name for name in names if name in DERIVED],
    }
    return [(label, chosen) for label, chosen in groups.items() if chosen]


def _row(name: str, mine: Sequence[Outcome]) -> list[float]:
    right = [one.item.supported for one in mine]
    figures = [len(mine) * 1.0]
    cells = [str(len(mine))]
    for scores in ([one.score for one in mine], [one.overlap for one in mine]):
        low, high = auroc_interval(scores, right, [one.item.document for one in mine])
        figures.append(auroc(scores, right))
        cells.append(f"{figures[-1]:.3f} [{low:.2f}, {high:.2f}]")
    for verdict, _ in VERDICTS:
        cases = [one.right for one in mine if one.verdict is verdict]
        figures += [len(cases) / len(mine), _share(cases)]
        cells += [_of(len(cases), len(mine)), _of(sum(cases), len(cases))]
    _line([name, *cells])
    return figures[1:]


def _of(part: int, whole: int) -> str:
    """A share with its interval."""
    low, high = wilson(part, whole)
    return f"{part / whole:.3f} [{low:.2f}, {high:.2f}]" if whole else "-"


def print_kinds(found: Sequence[Outcome]) -> None:
    """What becomes of spoilt answers, by kind of corruption."""
    print("\nWrong answers of the derived sets: supported / undecided / unsupported\n")
    _line(["set", *corruption.KINDS])
    _line(["---"] * (len(corruption.KINDS) + 1))
    for name in DERIVED:
        cells = [
            [one.verdict for one in found if (one.item.name, one.item.kind) == (name, kind)]
            for kind in corruption.KINDS
        ]
        _line([name, *(f"{cell.count(True)} / {cell.count(None)} / {cell.count(False)}" for cell in cells)])


def print_described(found: Sequence[Outcome], most: int) -> None:
    """The described rule, word overlap and the detector on the same smaller sample."""
    chosen = {id(one) for one in sets.sample([one.item for one in found], most)}
    mine = [one for one in found if id(one.item) in chosen]
    cosines = dict(zip(map(id, mine), described([one.item for one in mine]), strict=True))
    print(f"\nThe described rule on up to {most} right and {most} wrong answers of each set\n")
    heads = (
        "answers",
        "AUROC: ours",
        "word overlap",
        "described",
        "right when ours supports",
        "when described accepts",
    )
    _line(["set", *heads])
    _line(["---"] * (len(heads) + 1))
    for name in dict.fromkeys(one.item.name for one in mine):
        here = [one for one in mine if one.item.name == name]
        right = [one.item.supported for one in here]
        near = [cosines[id(one)] for one in here]
        scores = ([one.score for one in here], [one.overlap for one in here], near)
        ours = [one.right for one in here if one.verdict]
        accepted = [truth for truth, value in zip(right, near, strict=True) if value >= THRESHOLD]
        cells = [_of(sum(ours), len(ours)), _of(sum(accepted), len(accepted))]
        _line([name, str(len(here)), *(f"{auroc(values, right):.3f}" for values in scores), *cells])


def rates(found: Sequence[Outcome]) -> tuple[ErrorRate, ...]:
    """The figures that users see: public sets, rules left out by family, short and long documents apart."""
    public = [one for one in found if one.item.name not in DERIVED]
    made: list[ErrorRate] = []
    for label, short in (("short", True), ("long", False)):
        mine = [one for one in public if one.short is short]
        for verdict, name in VERDICTS:
            cases = [one.right for one in mine if one.verdict is verdict]
            low, high = wilson(sum(cases), len(cases))
            made.append(
                ErrorRate(
                    documents=label,
                    verdict=name,
                    answers=len(mine),
                    decided=len(cases),
                    right=sum(cases),
                    low=round(low, 3),
                    high=round(high, 3),
                )
            )
    return tuple(made)


def _line(cells: Iterable[str]) -> None:
    print("| " + " | ".join(cells) + " |")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=os.environ.get("QAGEN_REAL_DATA"))
    parser.add_argument("--sample", type=int, default=MOST, help="most right and most wrong answers of a set")
    parser.add_argument("--described", type=int, default=DESCRIBED, help="the same for the described rule")
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args(arguments)
    folder = None if chosen.folder is None else Path(chosen.folder)
    items = [] if folder is None else [*sets.load(folder), *corruption.load(folder)]
    if not items:
        print("name a folder with the public sets: --folder DIR, or QAGEN_REAL_DATA", file=sys.stderr)
        return 2
    every = list(outcomes(sets.sample(items, chosen.sample)))
    print_rules(every)
    print()
    found = left_out(every)
    print_sets(found, "All answers")
    print_sets([one for one in found if not one.item.aside], "Documents that were looked at")
    print_sets([one for one in found if one.item.aside], "Documents that were set aside")
    print_kinds(found)
    if chosen.described:
        print_described(found, chosen.described)
    if chosen.write:
        TARGET.write_bytes(TypeAdapter(tuple[ErrorRate, ...]).dump_json(rates(found), indent=1) + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
