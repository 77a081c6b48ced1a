"""What is measured of every answer of the sets, once: the features of its sentences, copies, cosines of conclusions.

What belongs here: the table and its cache, a file in the folder for temporary files that is named after what it was made
from. What does not: weights and figures (`calibrate.py`).
"""

from __future__ import annotations

import hashlib
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.grounding.sets import Item
from qagen_dagster.grounding import features, source
from qagen_dagster.grounding.copies import covering
from qagen_dagster.grounding.features import measure
from qagen_dagster.grounding.generic import claim_of
from qagen_dagster.grounding.methods.semantic import claims_nothing
from qagen_dagster.grounding.source import Source
from qagen_dagster.index.sentences import claims
from qagen_dagster.models.vectors.minilm import encode

Floats = NDArray[np.float64]
NOT_ASKED = -2.0  # instead of the cosine of a claim that cannot be a conclusion
_COLUMNS = ("rows", "answer", "waived", "overruled", "little", "cosines")


@dataclass(frozen=True)
class Table:
    """Features by sentence, and which answer a sentence is of."""

    items: list[Item]
    rows: Floats
    answer: NDArray[np.int64]
    waived: NDArray[np.bool_]  # by sentence: it stands in the document, or claims nothing
    overruled: NDArray[np.bool_]  # by sentence: `Measured.overruled`
    little: NDArray[np.bool_]  # by sentence: `Measured.little`
    cosines: Floats  # by sentence: to the nearest sentence it may be a conclusion from

    @cached_property
    def right(self) -> NDArray[np.bool_]:
        return np.array([item.supported for item in self.items])

    @cached_property
    def names(self) -> NDArray[np.str_]:
        return np.array([item.name for item in self.items])

    @cached_property
    def families(self) -> NDArray[np.str_]:
        return np.array([item.family for item in self.items])


def sample(items: Sequence[Item], most: int) -> list[Item]:
    """Up to `most` right and as many wrong answers of every set, drawn with one seed, by set and document."""
    groups: dict[tuple[str, bool], list[Item]] = {}
    for item in items:
        groups.setdefault((item.name, item.supported), []).append(item)
    chosen = [
        item
        for (name, _), group in groups.items()
        for item in (random.Random(name).sample(group, most) if len(group) > most else group)
    ]
    return sorted(chosen, key=lambda item: (item.name, item.document))


def tabulate(items: Sequence[Item], cache: Path | None = None) -> Table:
    """What is measured of all answers, in their order; from the file in `cache` if the same was measured before."""
    file = (cache or Path(tempfile.gettempdir())) / f"qagen-grounding-{_made_from(items)}.npz"
    if not file.exists():
        np.savez_compressed(file, **_measured(items))
    with np.load(file) as stored:
        columns: dict[str, Any] = {name: stored[name] for name in _COLUMNS}
    kept, columns["answer"] = np.unique(columns["answer"], return_inverse=True)
    return Table([items[place] for place in kept.tolist()], **columns)


def _made_from(items: Sequence[Item]) -> str:
    digest = hashlib.sha256(repr(items).encode())
    for folder in {Path(module.__file__ or "").parent for module in (features, source)}:
        for file in sorted(folder.glob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _measured(items: Sequence[Item]) -> dict[str, Any]:
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    last: tuple[str, Source] | None = None
    for place, item in enumerate(items):
        if last is None or last[0] != item.document:
            last = (item.document, Source(item.document, encode))
        copies = last[1].copies.find(item.answer)
        found = list(claims(item.answer))
        several = len(found) > 1
        said = [(one.text, covering(copies, one) is not None) for one in found] or [(item.answer, False)]
        for text, copied in said:
            waived = copied or claims_nothing(text, several=several)
            row = _row(claim_of(text) or text, last[1], item, several=several, waived=waived)
            for name, value in (row | {"answer": place} if row else {}).items():
                columns[name].append(value)
    return {name: np.array(values) for name, values in columns.items()}


def _row(text: str, source: Source, item: Item, *, several: bool, waived: bool) -> dict[str, Any]:
    """What is measured of one sentence; nothing if the document has no windows for it."""
    measured = measure(text, source, item.question, several=several)
    if measured is None:
        return {}
    near = () if waived or measured.overruled else measured.near
    return {
        "rows": measured.values,
        "waived": waived,
        "overruled": measured.overruled,
        "little": measured.little,
        "cosines": source.nearest(text, near)[1] if near else NOT_ASKED,
    }
