"""False merges, paraphrases found and models asked, over `pairs.tsv`; beside it the rule "cosine of 0.85 or more".

`python -m benchmarks.dedupe [--questions FILE ...]`. The files are question sets in the format of SQuAD or TAT-QA: the
questions of one document ask for different facts, but for a few, so every merge in them is shown.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.dedupe.pairs import Pair, pairs, questions_of
from qagen_dagster.agents.questions.deduplicator import Compared
from qagen_dagster.loop.questions.duplicates import similarity
from qagen_dagster.models import embedders as embedding
from qagen_dagster.models.base import Model
from qagen_dagster.models.ledger import LocalModel
from qagen_dagster.models.providers import build_provider
from qagen_dagster.models.spec import ModelSpec

DESCRIBED = 0.85
SPLITS = ("tuning", "held_out")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=Path, nargs="*", default=[])
    files: list[Path] = parser.parse_args().questions
    known, encode = pairs(), embedding.shared(2).encode
    cosines = _cosines(known, encode)
    model = LocalModel(build_provider(ModelSpec(provider="embedded", model="matcher"), lambda _: None))
    ends = [_end(pair, encode, model) for pair in known]
    for split in SPLITS:
        chosen = [n for n, pair in enumerate(known) if pair.split == split]
        _report(split, [known[n] for n in chosen], [ends[n] for n in chosen], cosines[chosen])
    _kinds(known, ends)
    for file in files:
        _real(file, encode)


def _cosines(known: Sequence[Pair], encode: similarity.Encode) -> similarity.Vectors:
    ours = encode([pair.one.question for pair in known])
    return (ours * encode([pair.other.question for pair in known])).sum(axis=1)


def _end(pair: Pair, encode: similarity.Encode, model: Model) -> str:
    """What became of a pair: unique, merged, or left to the model, and what the embedded one says then."""
    found = similarity.links(pair.one, [pair.other], encode)
    if not found:
        return "unique"
    said: Compared = similarity.decide(
        model, pair.one, [pair.other], found, document_id="benchmark", attempt=1
    )
    if said.step == "model":
        return "grey, merged" if said.duplicate_of is not None else "grey, kept"
    return "merged"


def _report(split: str, known: Sequence[Pair], ends: Sequence[str], cosines: similarity.Vectors) -> None:
    same = np.array([pair.same for pair in known])
    ended = np.array(ends)
    grey = np.char.startswith(ended, "grey")
    print(f"\n{split}: {same.sum()} paraphrases, {(~same).sum()} different pairs")
    for name, chosen in (
        ("different pairs merged without a model", (ended == "merged")[~same]),
        ("different pairs left to a model", grey[~same]),
        ("different pairs merged by the embedded model", (ended == "grey, merged")[~same]),
        ("paraphrases merged without a model", (ended == "merged")[same]),
        ("paraphrases left to a model", grey[same]),
        ("paraphrases merged by the embedded model", (ended == "grey, merged")[same]),
        ("paraphrases merged or left to a model", (ended != "unique")[same]),
        (f"cosine >= {DESCRIBED}: different pairs merged", (cosines >= DESCRIBED)[~same]),
        (f"cosine >= {DESCRIBED}: paraphrases merged", (cosines >= DESCRIBED)[same]),
    ):
        print(f"  {name:<46} {chosen.mean():6.1%}  ({chosen.sum()})")


def _kinds(known: Sequence[Pair], ends: Sequence[str]) -> None:
    counts = Counter((pair.same, pair.kind, end) for pair, end in zip(known, ends, strict=True))
    print(f"\n{'':<12}{'kind':<16}" + "".join(f"{end:>14}" for end in _ENDS))
    for same, kind in sorted({(pair.same, pair.kind) for pair in known}):
        row = "".join(f"{counts[same, kind, end]:>14}" for end in _ENDS)
        print(f"{'paraphrase' if same else 'different':<12}{kind:<16}{row}")


_ENDS = ("unique", "merged", "grey, merged", "grey, kept")


def _real(file: Path, encode: similarity.Encode) -> None:
    """Questions of one document: how many a model is asked about, and what is merged."""
    counts, begun = Counter[str](), time.perf_counter()
    merges: list[str] = []
    for asked in questions_of(file):
        vectors = encode([one.question for one in asked])
        counts["described"] += int((np.triu(vectors @ vectors.T, 1) >= DESCRIBED).sum())
        counts["questions"] += len(asked)
        counts["pairs"] += len(asked) * (len(asked) - 1) // 2
        for new, found in zip(asked, similarity.links_among(asked, encode), strict=True):
            counts["grey pairs"] += sum(not link.merged for link in found)
            counts["calls"] += bool(found and not found[0].merged)
            merges += [f"{new} / {asked[link.index]}: {link.merged}" for link in found if link.merged]
    print(f"\n{file.name}: {dict(counts)}, {len(merges)} merged, {time.perf_counter() - begun:.0f} s")
    for merge in merges:
        print(f"  {merge}")


if __name__ == "__main__":
    main()
