"""How many questions of each kind a document should give: generators are told what is left, and code counts and refuses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from pydantic import Field

from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus_config import MIX_GROUPS, Complexity, MixKind, mix_kinds
from qagen_dagster.records.ids import digest
from qagen_dagster.records.questions.results import Candidate, Evidence, QAPair

OTHER = "other"  # in a count: the kinds that the mix does not name
_ROUNDING = 1e-9  # so that shares such as 0.1 of 10 are whole numbers
_Kind = TypeVar("_Kind")


def apportioned(shares: Mapping[_Kind, float], total: int, most: int, document_id: str) -> dict[_Kind, int]:
    """The shares of `total` as whole numbers, which are at most `most` in all.

    They are rounded so that the numbers of many documents add up to the shares; the id of a document decides where its rounding begins.
    """
    at, found = int(digest(document_id)[:8], 16) / 16**8, dict[_Kind, int]()
    for kind, share in shares.items():
        after = at + share * total
        found[kind] = min(most, int(after + _ROUNDING) - int(at + _ROUNDING))
        most, at = most - found[kind], after
    return found


class Mix(Record):
    """The numbers of wanted questions of a document, by kind.

    Attributes:
        counts: one or more tables that have each question once. Those of kinds that a table does not name count as OTHER.
        visuals: the types of the document's visuals, by label.
    """

    counts: tuple[dict[str, int], ...]
    visuals: dict[str, str] = Field(default_factory=dict)

    @classmethod
    def of(
        cls,
        groups: Iterable[Mapping[MixKind, float]],
        total: int,
        document_id: str,
        visuals: Mapping[str, str],
    ) -> Mix:
        """The numbers for a document that should give `total` questions with an answer."""
        tables: list[dict[str, int]] = []
        for shares in groups:
            counts = apportioned(shares, total, total, document_id)
            tables.append(
                {kind.value: count for kind, count in counts.items()} | {OTHER: total - sum(counts.values())}
            )
        return cls(counts=tuple(tables), visuals=dict(visuals))

    @property
    def counts_of_types(self) -> dict[str, int]:
        """The table of question types and presets; empty if there is none."""
        names = {kind.value for group in MIX_GROUPS[0] for kind in group}
        return next((counts for counts in self.counts if names & counts.keys()), dict[str, int]())

    @property
    def counts_beside_types(self) -> tuple[dict[str, int], ...]:
        """The other tables."""
        return tuple(counts for counts in self.counts if counts is not self.counts_of_types)

    @property
    def named_counts(self) -> dict[str, int]:
        """The numbers of all tables, without OTHER."""
        return {kind: count for counts in self.counts for kind, count in counts.items() if kind != OTHER}

    def kinds(self, one: Candidate | QAPair) -> tuple[str, ...]:
        """The kind of a question in each table."""
        labels = one.visuals if isinstance(one, Candidate) else one.content_refs
        names = mix_kinds(
            one.question_type, hops(one.evidence), [self.visuals.get(label, "") for label in labels]
        )
        return tuple(next((name for name in names if name in counts), OTHER) for counts in self.counts)

    def fitting(self, questions: Sequence[Candidate]) -> list[bool]:
        """Which of the questions are wanted, if they are taken in order. A journal may have others, if the mix was another one."""
        left, found = [Counter(counts) for counts in self.counts], list[bool]()
        for one in questions:
            kinds = self.kinds(one)
            found.append(all(counts[kind] > 0 for counts, kind in zip(left, kinds, strict=True)))
            for counts, kind in zip(left, kinds, strict=True) if found[-1] else ():
                counts[kind] -= 1
        return found

    def without(self, questions: Sequence[Candidate | QAPair]) -> Mix:
        """The mix that is left after these questions."""
        have = [Counter(column) for column in zip(*map(self.kinds, questions), strict=True)] or [
            Counter[str]()
        ] * len(self.counts)
        left = (
            {kind: max(0, count - given[kind]) for kind, count in counts.items()}
            for counts, given in zip(self.counts, have, strict=True)
        )
        return self.model_copy(update={"counts": tuple(left)})

    def refusal(self, one: Candidate) -> str:
        """Why a question is not wanted any more, and what is; empty if it is wanted."""
        full = [
            kind for counts, kind in zip(self.counts, self.kinds(one), strict=True) if not counts.get(kind)
        ]
        wanted = "; and of these ".join(self.told())
        return f"no more questions of the kind {full[0]} are wanted, but {wanted}" if full else ""

    def told(self) -> list[str]:
        """What is wanted, a line for each table."""
        return [
            ", ".join(f"{count} {named(kind, counts)}" for kind, count in counts.items() if count)
            or "no others"
            for counts in self.counts
        ]


def named(kind: str, counts: Mapping[str, int]) -> str:
    """A kind as generators are told it: a preset with its types, and OTHER by what it is not."""
    if kind == OTHER:
        return f"not {', '.join(one for one in counts if one != OTHER)}"
    level = next((one for one in Complexity if one == kind), None)
    return (
        kind
        if level is None
        else f"{kind} ({', '.join(one for one in level.question_types if Complexity.of(one) is level)})"
    )


def hops(evidence: Iterable[Evidence]) -> int:
    """The number of passages that stand apart. Lines that overlap or touch are one passage, and each visual is one.

    Quotes with the same number of table cells, more than one, count as rows of one table, which is one passage.
    """
    cells = {one: one.quote.partition("\n")[0].count("|") for one in evidence}
    tables = {count for count in cells.values() if count > 1}
    evidence = [one for one, count in cells.items() if count not in tables]
    visuals = {(one.visual, one.page) for one in evidence if one.start_line is None}
    passages, end, of = 0, -1, ""
    for document, start, last in sorted(
        (one.document_id or "", one.start_line, one.end_line or 0)
        for one in evidence
        if one.start_line is not None
    ):
        if start > end + 1 or document != of:
            passages += 1
        end = max(end, last) if document == of else last
        of = document
    return passages + len(visuals) + len(tables)
