"""How many questions of each kind a document should give: generators are told what is left, and code counts and refuses."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from pydantic import Field

from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus_config import ScenarioConfig, mix_kinds
from qagen_dagster.records.document import Visual
from qagen_dagster.records.ids import Mode, digest
from qagen_dagster.records.questions.results import Candidate, Evidence

OTHER = "other kinds"  # in a count: those that the mix does not name
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
        counts: for each of MIX_GROUPS the numbers of all questions. Kinds that the mix does not name count as OTHER.
        visuals: the types of the document's visuals, by label.
    """

    counts: tuple[dict[str, int], ...]
    visuals: dict[str, str] = Field(default_factory=dict)

    @classmethod
    def of(
        cls, scenario: ScenarioConfig, mode: Mode, total: int, document_id: str, visuals: Iterable[Visual]
    ) -> "Mix | None":
        """The numbers for a document that should give `total` questions with an answer; None if the scenario names no kinds of these."""
        found = [apportioned(shares, total, total, document_id) for shares in scenario.mix_groups(mode)]
        counts = tuple({**named, OTHER: total - sum(named.values())} for named in found)
        types = {one.label: one.type.value for one in visuals}
        return cls(counts=counts, visuals=types) if any(found) else None

    @property
    def named(self) -> dict[str, int]:
        """The numbers of all kinds that the mix names."""
        return {kind: count for counts in self.counts for kind, count in counts.items() if kind != OTHER}

    def kinds(self, one: Candidate) -> tuple[str, ...]:
        """The kind of a question in each group."""
        visuals = [self.visuals.get(label, "") for label in one.visuals]
        names = mix_kinds(one.question_type, hops(one.evidence), visuals)
        return tuple(next((name for name in names if name in counts), OTHER) for counts in self.counts)

    def without(self, questions: Iterable[Candidate]) -> "Mix":
        """The mix that is left after these questions, taken in order. Those that are not wanted do not count."""
        left = [dict(counts) for counts in self.counts]
        for one in questions:
            places = list(zip(left, self.kinds(one), strict=True))
            for counts, kind in places if all(counts.get(kind) for counts, kind in places) else ():
                counts[kind] -= 1
        return self.model_copy(update={"counts": tuple(left)})

    def refusal(self, one: Candidate) -> str:
        """Why a question is not wanted any more, and what is; empty if it is wanted."""
        for counts, kind in zip(self.counts, self.kinds(one), strict=True):
            if not counts.get(kind):
                wanted = "; and of these ".join(self.told())
                return f"no more questions of the kind {label(kind, counts)!r} are wanted, but {wanted or 'none'}"
        return ""

    def told(self, first: int = 0) -> list[str]:
        """What is wanted, a line for each group from the one with the number `first`."""
        named = [counts for counts in self.counts[first:] if counts.keys() != {OTHER}]
        return [
            ", ".join(f"{count} {label(kind, counts)}" for kind, count in counts.items() if count)
            for counts in named
        ]


def label(kind: str, counts: Mapping[str, int]) -> str:
    """What models and people are told of a kind of a group."""
    return kind if kind != OTHER else f"not {', '.join(one for one in counts if one != OTHER)}"


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
