"""The reference's semantic rule beside ours: `python -m benchmarks.grounding.described [--folder DIR] [--sample 25]`.

Of every set, up to `--sample` right and as many wrong answers, drawn with one seed: encoding every window of every document
is what takes the time. Described: grounded if each sentence has a cosine of 0.5 or more to a window of 1 to 3 sentences.
The score for the AUROC is the smallest cosine of its sentences. Ours, on the same answers, comes from weights that were
fitted without the set.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.grounding import corruption, sets
from benchmarks.grounding.calibrate import MOST
from benchmarks.grounding.fitting import auroc, balanced, held_out, kinds_alike
from benchmarks.grounding.sets import Item
from benchmarks.grounding.table import Floats, sample, tabulate
from qagen_dagster.grounding.methods.semantic import grade_as_described
from qagen_dagster.grounding.source import Source
from qagen_dagster.models.vectors.minilm import shared


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=os.environ.get("QAGEN_REAL_DATA"))
    parser.add_argument("--sample", type=int, default=25)
    parser.add_argument("--only", nargs="*", default=[], help="names of sets, such as pubmedqa")
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
    table = tabulate(sample(items, MOST))  # as `calibrate` does, so that its measurements are used
    odds = held_out(table, table.names)
    print(
        "| set | answers | described: AUROC | bal. acc. | kinds alike | right accepted "
        "| ours: AUROC | bal. acc. | kinds alike | right accepted |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name in chosen.only or dict.fromkeys(table.names.tolist()):
        _compare(name, table.items, odds, chosen.sample)
    return 0


def _compare(name: str, items: Sequence[Item], odds: np.ndarray, most: int) -> None:
    places: list[int] = []
    for supported in (True, False):
        group = [
            place for place, item in enumerate(items) if item.name == name and item.supported == supported
        ]
        places += random.Random(name).sample(group, min(most, len(group)))
    places.sort()
    right = np.array([items[place].supported for place in places])
    cosines = _cosines([items[place] for place in places])
    ours = odds[places]
    kinds = np.array([items[place].kind for place in places])
    cells = [*_figures(cosines, cosines >= 0.5, right, kinds), *_figures(ours, ours > 0, right, kinds)]
    print(f"| {name} | {len(places)} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |", flush=True)


def _figures(
    scores: Floats, accepted: NDArray[np.bool_], right: NDArray[np.bool_], kinds: NDArray[np.str_]
) -> list[float]:
    alike = kinds_alike(accepted, right, kinds)
    return [auroc(scores, right), balanced(accepted, right), alike, float(accepted[right].mean())]


def _cosines(items: Sequence[Item]) -> np.ndarray:
    """The smallest cosine of each answer's sentences; 0 for an answer without any."""
    found: list[float] = []
    last: tuple[str, Source] | None = None
    for item in items:
        if last is None or last[0] != item.document:
            last = (item.document, Source(item.document, shared().encode))
        graded = grade_as_described(item.answer, last[1])
        found.append(min((one.score or 0.0 for one in graded.sentences), default=0.0))
    return np.array(found)


if __name__ == "__main__":
    sys.exit(main())
