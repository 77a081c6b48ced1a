"""Fits and measures the choice of short answers.

    python -m benchmarks.short.calibrate [--write]

Reads the public sets of QAGEN_REAL_DATA. Every figure is of weights that saw no question of the article: XQuAD's articles
fall into five folds, HaluEval and TAT-QA are fitted on. `--write` makes the file that ships, from everything.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

from benchmarks.short.fit import Fitting, Item, answer, fit_odds, folds, item
from benchmarks.short.sets import XQUAD, Example, elsewhere, others, xquad
from benchmarks.short.unanswerable import set_aside, unanswerable
from qagen_dagster.models.embedded.answering import choose as shipped
from qagen_dagster.models.embedded.answering.choose import FILE, Weights
from qagen_dagster.models.embedded.answering.reader import UNLIKELY

WRONG = 0.1  # weight of a wrong answer to an answerable question
RIGHT = 0.5  # F1 from which an answer counts as right
TARGET = Path(shipped.__file__).with_name(FILE)


@dataclass(frozen=True)
class Answered:
    """The answer to a question of one fold; `kind` of an unanswerable one, else empty."""

    fold: int
    aside: bool
    kind: str
    f1: float
    signs: tuple[float, ...]

    @property
    def weight(self) -> float:
        """Wrong answers to answerable questions cost no F1 when they are declined, so they hardly count."""
        return WRONG if not self.kind and self.f1 < RIGHT else 1.0


class Crossed:
    """Weights of each fold, fitted without it, with odds from the other folds' answers."""

    def __init__(self, folder: Path, known: Sequence[Example]) -> None:
        self.examples = list(known)
        self.fitting = Fitting([item(one) for one in (*known, *others(folder))])
        strange = [
            (_of_text(one, two), "another article")
            for one, two in elsewhere(self.examples)
            if one.group != two.group
        ]
        strange += [(item(one.example), one.kind) for one in unanswerable(self.examples)]
        self.asked: list[Answered] = []
        plain: dict[int, Weights] = {}
        for fold, fit, held in folds(self.fitting):
            plain[fold] = self.fitting.weights(fit)
            own = [(self.fitting.items[at], "") for at in held]
            for one, kind in (*own, *((two, kind) for two, kind in strange if two.example.fold == fold)):
                f1, signs = answer(plain[fold], one)
                self.asked.append(Answered(fold, set_aside(one.example.text), kind, f1, signs))
        self.f1 = [one.f1 for one in self.asked if not one.kind]
        self.weights = {fold: self._with_odds(plain[fold], fold) for fold in plain}

    def _with_odds(self, plain: Weights, without: int | None) -> Weights:
        """Nothing is fitted on paragraphs that are set aside."""
        known = [one for one in self.asked if one.fold != without and not one.aside]
        right = [not one.kind and one.f1 >= RIGHT for one in known]
        odds, bias = fit_odds([one.signs for one in known], right, [one.weight for one in known])
        return plain.model_copy(update={"odds": odds, "bias": bias})

    def of(self, one: Example) -> Weights:
        """The weights that have not seen the question's article."""
        return self.weights[one.fold or 0]

    def chances(self) -> list[tuple[bool, bool, float]]:
        """Of each held-out answer: asked of its own text, right, and the chance it is given."""
        return [(not one.kind, not one.kind and one.f1 >= RIGHT, self.chance(one)) for one in self.asked]

    def chance(self, one: Answered) -> float:
        return self.weights[one.fold].chance(one.signs)

    def final(self) -> Weights:
        """From everything, with odds from held-out answers."""
        return self._with_odds(self.fitting.weights(range(len(self.fitting.items))), None)

    def transfer(self) -> float:
        """F1 on XQuAD of weights that saw none of it."""
        of = [one.example.fold for one in self.fitting.items]
        plain = self.fitting.weights([at for at, fold in enumerate(of) if fold is None])
        return fmean(answer(plain, one)[0] for one in self.fitting.items if one.example.fold is not None)


def _of_text(one: Example, two: Example) -> Item:
    """The question of one example asked of another's text."""
    return item(Example(one.group, two.document, two.text, one.question, "", -1))


def told(chances: Sequence[tuple[bool, bool, float]]) -> str:
    """What thresholds do: own questions answered, answers right among them, strange questions answered."""
    lines = ["threshold  own answered  of them right  strangers answered"]
    own = [(right, chance) for mine, right, chance in chances if mine]
    strange = [chance for mine, _, chance in chances if not mine]
    for threshold in (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6):
        said = [right for right, chance in own if chance >= threshold]
        wrong = sum(chance >= threshold for chance in strange) / len(strange)
        lines.append(
            f"{threshold:9.2f} {len(said) / len(own):13.3f} {fmean(said or [False]):14.3f} {wrong:19.3f}"
        )
    return "\n".join(lines)


def declined(crossed: Crossed, *, aside: bool) -> str:
    """What declining costs and what it declines, with 95 % intervals, on the tuned paragraphs or on those set aside."""
    here = [one for one in crossed.asked if one.aside is aside]
    own = [one for one in here if not one.kind]
    kept = [one.f1 * (crossed.chance(one) >= UNLIKELY) for one in own]
    lost = [one.f1 - value for one, value in zip(own, kept, strict=True)]
    lines = [
        f"{'set aside' if aside else 'tuned'}: {len(own)} answerable, F1 {mean(one.f1 for one in own)}, kept {mean(kept)}, lost {mean(lost)}"
    ]
    for kind in sorted({one.kind for one in here if one.kind}):
        some = [crossed.chance(one) < UNLIKELY for one in here if one.kind == kind]
        lines.append(f"  {kind:16} {len(some):5} declined {mean(some)}")
    every = [crossed.chance(one) < UNLIKELY for one in here if one.kind and one.kind != "another article"]
    return "\n".join([*lines, f"  {'all but articles':16} {len(every):5} declined {mean(every)}"])


def mean(values: Iterable[float]) -> str:
    """A mean with its 95 % interval."""
    known = list(values)
    half = 1.96 * stdev(known) / len(known) ** 0.5 if len(known) > 1 else 1.0
    return f"{fmean(known):.3f} ± {half:.3f}"


def calibrated(chances: Sequence[tuple[bool, bool, float]]) -> str:
    """Chance given and share right, own questions and strange ones together."""
    lines = ["chance given   answers  share right"]
    for low in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        here = [right for _, right, chance in chances if low <= chance < low + 0.1]
        lines.append(f"{low:.1f} to {low + 0.1:.1f} {len(here):11} {fmean(here or [False]):12.2f}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.short.calibrate")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    folder = os.environ.get("QAGEN_REAL_DATA")
    if not folder or not (Path(folder) / XQUAD).is_file():
        print("set QAGEN_REAL_DATA to a folder with the public sets", file=sys.stderr)
        return 2
    crossed = Crossed(Path(folder), list(xquad(Path(folder) / XQUAD)))
    print(f"token F1, articles held out: {fmean(crossed.f1):.3f} of {len(crossed.f1)} questions")
    print(f"token F1, fitted without XQuAD at all: {crossed.transfer():.3f}")
    print(told(crossed.chances()))
    print(calibrated(crossed.chances()))
    print(declined(crossed, aside=False), declined(crossed, aside=True), sep="\n")
    if asked.write:
        final = crossed.final().model_dump(mode="json")
        final["categories"] = dict(sorted(final["categories"].items()))
        lines = ",\n".join(
            f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in final.items()
        )
        TARGET.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
        print(f"wrote {TARGET.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
