"""Fits the detector's weights and says how well it does on what it was not fitted to.

`python -m benchmarks.grounding.calibrate [--folder DIR] [--write]`; DIR defaults to QAGEN_REAL_DATA. A logistic model whose
weights keep the sign that each feature must have; an answer counts as supported as its weakest sentence is; every set
weighs the same and so do right and wrong answers. What is reported of a set is from weights and threshold that were fitted
without it, and, more strictly, without its whole family. `--write` fits to all sets and writes `calibration.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.grounding import corruption, sets
from benchmarks.grounding.sets import Item
from qagen_dagster.grounding.features import SAME, SIGNS, measure
from qagen_dagster.grounding.keyword import grade as keyword_grade
from qagen_dagster.grounding.source import Source
from qagen_dagster.index.sentences import claims

TARGET = Path(__file__).parents[2] / "qagen_dagster" / "grounding" / "calibration.json"
PENALTY = 0.01
ROUNDS = 5  # of finding each answer's weakest sentence and fitting to it
STEPS = 600
CAPPED = -0.04  # log odds just under the threshold, as the product caps a contradicted claim
DERIVED_WEIGHT = 1.0

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Table:
    """Features by sentence, and which answer a sentence is of."""

    items: list[Item]
    rows: Floats
    answer: NDArray[np.int64]
    right: NDArray[np.bool_]
    names: NDArray[np.str_]
    families: NDArray[np.str_]


@dataclass(frozen=True)
class Fitted:
    weights: Floats
    bias: float

    def answers(self, table: Table) -> Floats:
        """Log odds of each answer: of its weakest sentence."""
        result = np.full(len(table.items), np.inf)
        odds = table.rows @ self.weights + self.bias
        np.minimum.at(result, table.answer, np.where(overruled(table.rows), np.minimum(odds, CAPPED), odds))
        return result


def overruled(rows: Floats) -> NDArray[np.bool_]:
    """`Measured.overruled` of many rows."""
    value = {name: rows[:, place] for place, name in enumerate(SIGNS)}
    changed = (value["amount_conflict"] > 0) | (value["changed_denial"] > 0)
    return changed & (value["coverage"] >= SAME)


def tabulate(items: Sequence[Item]) -> Table:
    """Features of all answers; documents are read once."""
    kept: list[Item] = []
    rows: list[tuple[float, ...]] = []
    answer: list[int] = []
    last: tuple[str, Source] | None = None
    for item in items:
        if last is None or last[0] != item.document:
            last = (item.document, Source(item.document, no_vectors))
        texts = [claim.text for claim in claims(item.answer)] or [item.answer]
        measured = [one.values for text in texts if (one := measure(text, last[1], item.question))]
        if measured:
            rows.extend(measured)
            answer.extend([len(kept)] * len(measured))
            kept.append(item)
    return Table(
        kept,
        np.array(rows),
        np.array(answer),
        np.array([item.supported for item in kept]),
        np.array([item.name for item in kept]),
        np.array([item.family for item in kept]),
    )


def no_vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    raise AssertionError(f"features need no vectors, asked for {len(texts)}")


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
    return Fitted(weights / scale, bias)


def _importance(table: Table, chosen: NDArray[np.bool_]) -> Floats:
    result = np.zeros(len(table.items))
    for name in np.unique(table.names[chosen]):
        for right in (True, False):
            group = chosen & (table.names == name) & (table.right == right)
            derived = table.families[group][:1].tolist() in (["tatqa"], ["xquad"], ["pubmedqa"])
            result[group] = (DERIVED_WEIGHT if derived else 1.0) / max(group.sum(), 1)
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


def print_table(table: Table) -> None:
    by_set, by_family = held_out(table, table.names), held_out(table, table.families)
    words = np.array([_keyword(item) for item in table.items])
    print(
        "| set | answers | keyword, as described: bal. acc. | ours: AUROC | ours: bal. acc. | family left out: AUROC | bal. acc. |"
    )
    print("|---|---|---|---|---|---|---|")
    for title, names in _groups(table):
        figures = [_figures(table, name, by_set, by_family, words) for name in names]
        if len(names) == 1:
            _row(names[0], str(int((table.names == names[0]).sum())), figures[0])
        else:
            _row(f"**{title}**", "", np.mean(figures, axis=0))


def _groups(table: Table) -> list[tuple[str, list[str]]]:
    names = list(dict.fromkeys(table.names.tolist()))
    derived = [name for name in names if name in ("tatqa", "xquad", "pubmedqa")]
    public = [name for name in names if name not in derived]
    groups = [(name, [name]) for name in public] + [("macro, public", public)]
    return groups + [(name, [name]) for name in derived] + ([("macro, derived", derived)] if derived else [])


def _figures(table: Table, name: str, by_set: Floats, by_family: Floats, words: NDArray[np.bool_]) -> Floats:
    here = table.names == name
    right = table.right[here]
    figures = [balanced(words[here], right)]
    for odds in (by_set[here], by_family[here]):
        figures += [auroc(odds, right), balanced(odds > 0, right)]
    return np.array(figures)


def _row(name: str, count: str, figures: Floats) -> None:
    print(f"| {name} | {count} | " + " | ".join(f"{figure:.3f}" for figure in figures) + " |")


def _keyword(item: Item) -> bool:
    return keyword_grade(item.answer, Source(item.document, no_vectors)).is_grounded is True


def print_kinds(table: Table, odds: Floats) -> None:
    """Share of right answers accepted and of spoilt ones refused, by kind of corruption."""
    print(
        "| set | right answers accepted | "
        + " | ".join(f"{kind}: refused" for kind in corruption.KINDS)
        + " |"
    )
    print("|---|---|" + "---|" * len(corruption.KINDS))
    for name in ("tatqa", "xquad", "pubmedqa"):
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
    }
    target.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=os.environ.get("QAGEN_REAL_DATA"))
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
    table = tabulate(sorted(items, key=lambda item: (item.name, item.document)))
    print_table(table)
    print()
    print_kinds(table, held_out(table, table.names))
    fitted = fit(table, np.ones(len(table.items), dtype=bool))
    print()
    for name, weight in zip(SIGNS, fitted.weights, strict=True):
        print(f"{name:18s} {weight:8.3f}")
    print(f"{'bias':18s} {fitted.bias:8.3f}")
    if chosen.write:
        write(fitted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
