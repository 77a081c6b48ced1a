"""Whether a made set ranks retrieval systems as people's questions do.

    python -m benchmarks.ranking HUMAN [--set questions.jsonl] [--count 12] [--passages 2000] [--save FILE]

HUMAN is a SQuAD-like file, a BEIR folder or a folder with Cranfield. Without `--set` a set is made of its passages by `qagen run`
with `--profile`. `--set` is a published `questions.jsonl` of the same passages; `--save` keeps the questions of a set that was made.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from benchmarks.ranking import sets, systems
from benchmarks.ranking.agreement import Asked, Figure, agreement, ceiling, contrasts

PAIRS = (
    ("bm25 title", "bm25"), ("dense title", "dense"), ("hybrid 0.75", "bm25"), ("hybrid 0.5", "bm25"), ("rank fusion", "bm25"),
    ("dense", "bm25"), ("hybrid 0.5", "dense"), ("dense best sentence", "dense"), ("bm25 words", "bm25"), ("bm25 content", "bm25"),
    ("bm25 b=0", "bm25"), ("dirichlet 1000", "bm25"), ("tf-idf log", "tf-idf"),
)  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("human", type=Path)
    parser.add_argument("--set", type=Path, dest="published")
    parser.add_argument("--count", type=int, default=12, help="questions for each document")
    parser.add_argument("--passages", type=int, default=2000, help="at most so many, of whole documents")
    parser.add_argument("--profile", default="embedded")
    parser.add_argument("--save", type=Path)
    given = parser.parse_args()
    began = time.perf_counter()
    human = sets.sampled(sets.read_human(given.human), given.passages)
    if given.published:
        made = sets.read_set(given.published, human.passages)
    else:
        made = sets.make_set(human.passages, given.count, given.profile)
    if given.save:
        given.save.write_text(
            "".join(json.dumps({"question": one.text, "relevant": one.relevant}) + "\n" for one in made),
            "utf-8",
        )
    print(f"{len(human.passages)} passages; questions: {len(human.questions)} of people, {len(made)} made")
    report(human, made)
    print(f"\n{time.perf_counter() - began:.0f} s")


def report(human: sets.Human, made: list[sets.Asked]) -> None:
    """Print the scores of the systems, the agreement with its ceiling, and the contrasts."""
    both = [*human.questions, *made]
    names, values = systems.reciprocal_ranks(human.passages, both)
    documents = np.array([human.passages[one.relevant[0]].document for one in both], dtype=np.int64)
    _, numbers = np.unique(
        np.concatenate([documents, [one.document for one in human.passages]]), return_inverse=True
    )
    count, cut = int(numbers.max()) + 1, len(human.questions)
    all_values = values.astype(np.float64)
    people = Asked(all_values[:cut], numbers[:cut])
    ours = Asked(all_values[cut:], numbers[cut : len(both)])
    print(f"\n{'system':24} {'people':>7} {'made':>7}   MRR@{systems.CUT}")
    for place in np.argsort(-people.means):
        print(f"{names[place]:24} {people.means[place]:7.3f} {ours.means[place]:7.3f}")
    best = ceiling(people, len(made))
    print(f"\n{'agreement':34} {'made':24} ceiling: as many of people")
    for name, found in agreement(people, ours, count).items():
        print(f"{name:34} {found!s:24} {best.get(name, Figure(1, 1, 1))}")
    print(f"\n{'contrast':36} {'people':24} made")
    for one in contrasts(people, ours, count, names, PAIRS):
        print(f"{one.first + ' - ' + one.second:36} {one.human!s:24} {one.made!s:24} {one.verdict}")


if __name__ == "__main__":
    main()
