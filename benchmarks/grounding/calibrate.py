"""Fits the detector's weights and says how well it does on what it was not fitted to.

`python -m benchmarks.grounding.calibrate [--folder DIR] [--sample N] [--write]`; DIR defaults to QAGEN_REAL_DATA. How it is
fitted: `fitting.py`. An answer is worth its weakest sentence. What is reported of a set is from weights, threshold and
cosine that were chosen without it, and, more strictly, without its whole family. `--write` fits to all sets and writes `calibration.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.grounding import corruption, sets
from benchmarks.grounding.fitting import Fitted, auroc, balanced, fit, held_out, kinds_alike
from benchmarks.grounding.sets import Item
from benchmarks.grounding.table import Floats, Table, sample, tabulate
from qagen_dagster.grounding.features import SIGNS
from qagen_dagster.grounding.methods.keyword import grade as keyword_grade
from qagen_dagster.grounding.source import Source
from qagen_dagster.models.vectors.minilm import encode

TARGET = Path(__file__).parents[2] / "qagen_dagster" / "grounding" / "calibration.json"
MOST = 400  # right answers of a set, and wrong ones
DERIVED = ("tatqa", "xquad", "pubmedqa")


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
    """Share of right answers accepted and of spoilt ones refused, by kind of corruption, and both as one figure."""
    print(
        "| set | bal. acc., kinds alike | right answers accepted | "
        + " | ".join(f"{kind}: refused" for kind in corruption.KINDS)
        + " |"
    )
    print("|---|---|---|" + "---|" * len(corruption.KINDS))
    for name in DERIVED:
        here = table.names == name
        kinds = np.array([item.kind for item in table.items])
        if here.any():
            alike = kinds_alike(odds[here] > 0, table.right[here], kinds[here])
            cells = [f"{alike:.3f}", f"{(odds[here & table.right] > 0).mean():.3f}"]
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
        "bias": round(float(fitted.bias), 4),
        "threshold": 0.5,
        "cosine": fitted.cosine,
        "closeness": fitted.closeness,
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
    print(f"{'closeness':18s} {fitted.closeness:8.3f}")
    if chosen.write:
        write(fitted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
