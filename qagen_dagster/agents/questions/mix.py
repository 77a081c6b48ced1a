"""The mix of a scenario: the number of questions of each kind that a document should give. Prompts state the questions
that the mix still lacks. Code counts the questions, and refuses those that do not fit."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from pydantic import Field

from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus_options import ScenarioConfig, mix_kinds
from qagen_dagster.records.document import Visual
from qagen_dagster.records.ids import Mode, digest
from qagen_dagster.records.questions.results import Candidate, Evidence

OTHER = "other kinds"  # in a count: the kinds that the mix does not name
_ROUNDING = 1e-9  # so that shares such as 0.1 of 10 are whole numbers
_Kind = TypeVar("_Kind")


def apportioned(shares: Mapping[_Kind, float], total: int, most: int, document_id: str) -> dict[_Kind, int]:
    """The shares of `total` as whole numbers whose sum is at most `most`. The document's id decides where rounding begins, so that the
    numbers of many documents add up to the shares."""
    at, found = int(digest(document_id)[:8], 16) / 16**8, dict[_Kind, int]()
    for kind, share in shares.items():
        after = at + share * total
        found[kind] = min(most, int(after + _ROUNDING) - int(at + _ROUNDING))
        most, at = most - found[kind], after
    return found


class Mix(Record):
    """The numbers of wanted questions of a document, by kind.

    Attributes:
        counts: for each of MIX_GROUPS, the numbers of questions by kind. Kinds that the mix does not name count as OTHER.
        visuals: the types of the document's visuals, by label.
    """

    counts: tuple[dict[str, int], ...]
    visuals: dict[str, str] = Field(default_factory=dict)

    @classmethod
    def of(
        cls, scenario: ScenarioConfig, mode: Mode, total: int, document_id: str, visuals: Iterable[Visual]
    ) -> "Mix | None":
        """The numbers for a document that should give `total` questions with an answer; None if the scenario names no kinds."""
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
        """The mix that is left after these questions, taken in order. A question that is not wanted changes nothing."""
        left = [dict(counts) for counts in self.counts]
        for one in questions:
            groups = list(zip(left, self.kinds(one), strict=True))
            for counts, kind in groups if all(counts.get(kind) for counts, kind in groups) else ():
                counts[kind] -= 1
        return self.model_copy(update={"counts": tuple(left)})

    def refusal(self, one: Candidate) -> str:
        """The reason why a question is no longer wanted, with the kinds that are still wanted; empty if the question is wanted."""
        for counts, kind in zip(self.counts, self.kinds(one), strict=True):
            if not counts.get(kind):
                wanted = "; and of these ".join(self.told())
                return f"no more questions of the kind {label(kind, counts)!r} are wanted, but {wanted or 'none'}"
        return ""

    def told(self, first: int = 0) -> list[str]:
        """The wanted questions, one line for each group, from the group with the number `first` on."""
        named = [counts for counts in self.counts[first:] if counts.keys() != {OTHER}]
        return [
            ", ".join(f"{count} {label(kind, counts)}" for kind, count in counts.items() if count)
            for counts in named
        ]


def label(kind: str, counts: Mapping[str, int]) -> str:
    """The name of a kind of question, as models and people see it."""
    return kind if kind != OTHER else f"not {', '.join(one for one in counts if one != OTHER)}"


def hops(evidence: Iterable[Evidence]) -> int:
    """The number of separate passages. Lines that overlap or touch are one passage, and each visual is a passage. Quotes whose first lines
    have the same number of cell borders (`|`), at least two, count as rows of one table and so as one passage."""
    counts = {one: one.quote.partition("\n")[0].count("|") for one in evidence}
    tables = {count for count in counts.values() if count > 1}
    evidence = [one for one, count in counts.items() if count not in tables]
    visuals = {(one.visual, one.page) for one in evidence if one.start_line is None}
    passages, end, previous = 0, -1, ""
    for document, start, last in sorted(
        (one.document_id or "", one.start_line, one.end_line or 0)
        for one in evidence
        if one.start_line is not None
    ):
        if start > end + 1 or document != previous:
            passages += 1
        end = max(end, last) if document == previous else last
        previous = document
    return passages + len(visuals) + len(tables)
