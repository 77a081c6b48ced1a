"""Fits the detector's weights and says how well it does on what it was not fitted to.

`python -m benchmarks.grounding.calibrate [--folder DIR] [--sample N] [--write]`; DIR defaults to QAGEN_REAL_DATA. A logistic
model whose weights keep the sign that each feature must have, and a cosine from which a conclusion in words of its own
counts as supported; an answer is worth its weakest sentence; every set weighs the same and so do right and wrong answers.
What is reported of a set is from weights, threshold and cosine that were chosen without it, and, more strictly, without its
whole family. `--write` fits to all sets and writes `calibration.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.grounding import corruption, sets
from benchmarks.grounding.sets import Item
from benchmarks.grounding.table import NOT_ASKED, Floats, Table, sample, tabulate
from qagen_dagster.grounding.features import SIGNS
from qagen_dagster.grounding.keyword import grade as keyword_grade
from qagen_dagster.grounding.source import Source
from qagen_dagster.models.minilm import encode

TARGET = Path(__file__).parents[2] / "qagen_dagster" / "grounding" / "calibration.json"
PENALTY = 0.01
ROUNDS = 5  # of finding each answer's weakest sentence and fitting to it
STEPS = 600
CAPPED = -0.04  # log odds just under the threshold, as the product caps a contradicted claim
COPIED = 9.0  # log odds of a sentence that stands in the document
COSINES = (0.4, 0.45, 0.5, 0.55, 0.6, 1.0)  # tried; 1: no conclusion is accepted
ABOUT = 0.005  # of balanced accuracy: noise of these sets
MOST = 400  # right answers of a set, and wrong ones
DERIVED = ("tatqa", "xquad", "pubmedqa")


@dataclass(frozen=True)
class Fitted:
    weights: Floats
    bias: float
    cosine: float = 1.0

    def answers(self, table: Table) -> Floats:
        """Log odds of each answer: of its weakest sentence."""
        odds = table.rows @ self.weights + self.bias
        asked = (table.cosines > NOT_ASKED) & (odds < 0)
        odds = np.where(asked, np.maximum(odds, table.cosines - self.cosine), odds)
        odds = np.where(table.overruled, np.minimum(odds, CAPPED), odds)
        result = np.full(len(table.items), np.inf)
        np.minimum.at(result, table.answer, np.where(table.copied, COPIED, odds))
        return result


def fit(table: Table, chosen: NDArray[np.bool_]) -> Fitted:
    """Weights from the chosen answers."""
    signs = np.array([*SIGNS.values()], dtype=float)
    scale = table.rows[chosen[table.answer]].std(axis=0) + 1e-3
    importance = _importance(table, chosen)
    weights, bias = signs.copy(), 0.0
    for _ in range(ROUNDS):
        odds = (table.rows / scale) @ weights + bias
        order = np.lexsort((odds, table.answer))
        weakest = order[np.r_[True, np.diff(table.answer[order]) > 0]]
        weakest = weakest[chosen[table.answer[weakest]]]
        weights, bias = _descend(
            table.rows[weakest] / scale,
            np.where(table.right[table.answer[weakest]], 1.0, -1.0),
            importance[table.answer[weakest]],
            (signs, weights, bias),
        )
    return _with_cosine(Fitted(weights / scale, bias), table, chosen)


def _with_cosine(fitted: Fitted, table: Table, chosen: NDArray[np.bool_]) -> Fitted:
    """With the smallest cosine that is about as good as the best one: by balanced accuracy, the chosen sets' average."""
    tried = [replace(fitted, cosine=cosine) for cosine in COSINES]
    figures = [_mean_balanced(one.answers(table), table, chosen) for one in tried]
    return next(one for one, figure in zip(tried, figures, strict=True) if figure >= max(figures) - ABOUT)


def _mean_balanced(odds: Floats, table: Table, chosen: NDArray[np.bool_]) -> float:
    groups = [chosen & (table.names == name) for name in np.unique(table.names[chosen])]
    return float(np.mean([balanced(odds[group] > 0, table.right[group]) for group in groups]))


def _importance(table: Table, chosen: NDArray[np.bool_]) -> Floats:
    result = np.zeros(len(table.items))
    for name in np.unique(table.names[chosen]):
        for right in (True, False):
            group = chosen & (table.names == name) & (table.right == right)
            result[group] = 1.0 / max(group.sum(), 1)
    return result / result.sum()


def _descend(
    rows: Floats, sides: Floats, importance: Floats, start: tuple[Floats, Floats, float]
) -> tuple[Floats, float]:
    """Accelerated projected gradient; a weight of the wrong sign becomes 0."""
    signs, weights, bias = start
    rate = 4.0 / (float((importance[:, None] * rows**2).sum()) + 1.0 + 8 * PENALTY)
    ahead, ahead_bias = weights, bias
    for step in range(1, STEPS + 1):
        pull = importance * sides / (1 + np.exp(np.clip(sides * (rows @ ahead + ahead_bias), -50, 50)))
        moved = ahead + rate * (rows.T @ pull - 2 * PENALTY * ahead)
        moved = np.where(moved * signs > 0, moved, 0.0)
        moved_bias = ahead_bias + rate * float(pull.sum())
        momentum = (step - 1) / (step + 2)
        ahead, ahead_bias = moved + momentum * (moved - weights), moved_bias + momentum * (moved_bias - bias)
        weights, bias = moved, moved_bias
    return weights, bias


def auroc(scores: Floats, right: NDArray[np.bool_]) -> float:
    """The chance that a right answer scores above a wrong one, ties half."""
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    good, bad = int(right.sum()), int((~right).sum())
    return float((ranks[right].sum() - good * (good + 1) / 2) / (good * bad))


def balanced(accepted: NDArray[np.bool_], right: NDArray[np.bool_]) -> float:
    return float((accepted[right].mean() + (~accepted[~right]).mean()) / 2)


def held_out(table: Table, groups: NDArray[np.str_]) -> Floats:
    """Log odds of every answer from weights fitted without its group."""
    result = np.zeros(len(table.items))
    for group in np.unique(groups):
        result[groups == group] = fit(table, groups != group).answers(table)[groups == group]
    return result


def print_table(table: Table, by_set: Floats, by_family: Floats) -> None:
    words = np.array([_keyword(item) for item in table.items])
    print(
        "| set | answers | keyword, as described: bal. acc. | ours: AUROC | bal. acc. | right accepted "
        "| family left out: AUROC | bal. acc. |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for title, names in _groups(table):
        figures = [_figures(table, name, by_set, by_family, words) for name in names]
        if len(names) == 1:
            _row(title, str(int(_of(table, names[0]).sum())), figures[0])
        else:
            _row(f"**{title}**", "", np.mean(figures, axis=0))


def _of(table: Table, name: str) -> NDArray[np.bool_]:
    """The answers of a set, or of a family."""
    return (table.names == name) | (table.families == name)


def _groups(table: Table) -> list[tuple[str, list[str]]]:
    names = list(dict.fromkeys(table.names.tolist()))
    derived = [name for name in names if name in DERIVED]
    public = [name for name in names if name not in derived]
    pooled = ["begin", *(name for name in public if not name.startswith("begin"))]
    groups = [(name, [name]) for name in public]
    groups += [("macro, public", public), ("macro, BEGIN as one set", pooled)]
    return groups + [(name, [name]) for name in derived] + ([("macro, derived", derived)] if derived else [])


def _figures(table: Table, name: str, by_set: Floats, by_family: Floats, words: NDArray[np.bool_]) -> Floats:
    here = _of(table, name)
    right = table.right[here]
    ours, strict = by_set[here], by_family[here]
    figures = [balanced(words[here], right), auroc(ours, right), balanced(ours > 0, right)]
    figures += [float((ours > 0)[right].mean()), auroc(strict, right), balanced(strict > 0, right)]
    return np.array(figures)


def _row(name: str, count: str, figures: Floats) -> None:
    print(f"| {name} | {count} | " + " | ".join(f"{figure:.3f}" for figure in figures) + " |")


def _keyword(item: Item) -> bool:
    return keyword_grade(item.answer, Source(item.document, encode)).is_grounded is True


def print_kinds(table: Table, odds: Floats) -> None:
    """Share of right answers accepted and of spoilt ones refused, by kind of corruption."""
    print(
        "| set | right answers accepted | "
        + " | ".join(f"{kind}: refused" for kind in corruption.KINDS)
        + " |"
    )
    print("|---|---|" + "---|" * len(corruption.KINDS))
    for name in DERIVED:
        here = table.names == name
        kinds = np.array([item.kind for item in table.items])
        if here.any():
            cells = [f"{(odds[here & table.right] > 0).mean():.3f}"]
            for kind in corruption.KINDS:
                group = here & (kinds == kind)
                cells.append(f"{(odds[group] <= 0).mean():.3f} ({int(group.sum())})" if group.any() else "-")
            print(f"| {name} | " + " | ".join(cells) + " |")


def write(fitted: Fitted, target: Path = TARGET) -> None:
    """The file that the product reads."""
    data: dict[str, Any] = {
        "weights": {
            name: round(float(weight), 4) for name, weight in zip(SIGNS, fitted.weights, strict=True)
        },
        "bias": round(fitted.bias, 4),
        "threshold": 0.5,
        "cosine": fitted.cosine,
    }
    target.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=os.environ.get("QAGEN_REAL_DATA"))
    parser.add_argument("--sample", type=int, default=MOST, help="most right and most wrong answers of a set")
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args(arguments)
    items = (
        []
        if chosen.folder is None
        else [*sets.load(Path(chosen.folder)), *corruption.load(Path(chosen.folder))]
    )
    if not items:
        print(
            "name a folder with the public sets: --folder DIR, or QAGEN_REAL_DATA in the environment",
            file=sys.stderr,
        )
        return 2
    table = tabulate(sample(items, chosen.sample))
    by_set = held_out(table, table.names)
    print_table(table, by_set, held_out(table, table.families))
    print()
    print_kinds(table, by_set)
    fitted = fit(table, np.ones(len(table.items), dtype=bool))
    print()
    for name, weight in zip(SIGNS, fitted.weights, strict=True):
        print(f"{name:18s} {weight:8.3f}")
    print(f"{'bias':18s} {fitted.bias:8.3f}\n{'cosine':18s} {fitted.cosine:8.3f}")
    if chosen.write:
        write(fitted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
