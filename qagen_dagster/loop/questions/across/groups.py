"""Groups of documents that share names or numbers. A group belongs to the document with the smallest id, so that each is asked about once."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from qagen_dagster.loop.questions.no_answer.corpus_passages import CorpusPassages

PAIRS, TRIPLES = 3, 1  # groups of a document: the cost of a document is bounded by them
MOST_NAMES = 40  # names and numbers of a document that are looked up
WIDEST = 4  # a name in more documents than this says little about two of them
# "Ida Holm", "TG-40", "14.5 kg", "3 May 1947": names of several words, codes, quantities with a unit, dates.
_SHARED = re.compile(
    r"\b[^\W\d_a-z][\w'-]+(?: (?:of |the )?[^\W\d_a-z][\w'-]+){1,3}|\b[A-Z]{2,}-?\d+\w*|\b\d[\d.,]* [a-z\u00b0%][\w/\u00b0%]*"
)


@dataclass(frozen=True)
class Group:
    """Ids of documents, the own first, and what they have in common."""

    documents: tuple[str, ...]
    shared: tuple[str, ...]


def groups_of(corpus: CorpusPassages, own: str) -> list[Group]:
    """The groups that belong to a document, the closest first. Raises ModelError."""
    holders: defaultdict[str, set[str]] = defaultdict(set)
    for name in _names(corpus.lines(own)):
        for other in corpus.holding(name, WIDEST + 1):
            holders[name].add(other)
    rare = {name: found - {own} for name, found in holders.items() if 1 < len(found | {own}) <= WIDEST}
    common: defaultdict[str, list[str]] = defaultdict(list)
    for name, found in rare.items():
        for other in found:
            common[other].append(name)
    weight = {other: sum(1 / len(rare[name]) for name in names) for other, names in common.items()}
    later = sorted((one for one in common if one > own), key=lambda one: (-weight[one], one))
    pairs = [Group((own, one), tuple(common[one])) for one in later[:PAIRS]]
    threes = [
        Group((own, *two), shared)
        for two in combinations(later[: PAIRS + 1], 2)
        if (shared := tuple(name for name in common[two[0]] if name in common[two[1]]))
    ]
    return [*pairs, *sorted(threes, key=lambda one: -len(one.shared))[:TRIPLES]]


def _names(lines: Sequence[str]) -> list[str]:
    found = dict.fromkeys(" ".join(name.split()) for line in lines for name in _SHARED.findall(line))
    return list(found)[:MOST_NAMES]
