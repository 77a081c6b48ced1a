"""The requirements of a scenario: the number of questions of each kind that a document should give, and their wording.

Prompts state these requirements and the questions that the mix still lacks. Code counts the questions, and refuses those that do not fit.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import floor
from typing import TypeVar

from pydantic import Field

from qagen_dagster.english.wording import Wording, style_of, without_names, wording
from qagen_dagster.english.words import tokens
from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus_options import Audience, ScenarioConfig, Style, mix_kinds
from qagen_dagster.records.document import Visual
from qagen_dagster.records.ids import Mode, digest
from qagen_dagster.records.questions.results import Candidate, Evidence

OTHER = "other kinds"  # in a count: the kinds that the mix does not name
_ROUNDING = 1e-9  # so that shares such as 0.1 of 10 are whole numbers
_Kind = TypeVar("_Kind")
STYLES: Mapping[Style, str] = {
    Style.QUESTION: "a whole question",
    Style.KEYWORD: "three to eight key words, as in the box of a search engine: no question word, no question mark",
    Style.INSTRUCTION: "an instruction, such as 'Explain ...', 'List ...' or 'Give ...', and no question",
    Style.CONVERSATIONAL: "the first message of a chat: one or two sentences in the first person, with what they need it for",
}
_AUDIENCES: Mapping[Audience, str] = {
    Audience.READER: "like questions of somebody who has just read the text: short, and in words of their own",
    Audience.SEARCHER: "like questions of somebody who has never seen the text: the need in their own words, without its phrases",
}
_NO_LIMIT = 1_000  # content words
# Nine of ten questions that people wrote keep these limits. The limits of READER are from XQuAD, whose writers saw the text, and the
# limits of SEARCHER are from Cranfield.
_LIMITS: Mapping[Audience, Wording] = {
    Audience.READER: Wording(shared=1.0, copied=0.4, words=8),
    Audience.SEARCHER: Wording(shared=0.67, copied=0.1, words=14),
}


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


def description(scenario: ScenarioConfig, *, writes: bool = False) -> str:
    """The description of a scenario with its styles, including the audience and the personas for an agent that `writes` questions."""
    return "\n".join((scenario.description, *_asked(scenario, writes=writes)))


def _asked(scenario: ScenarioConfig, *, writes: bool) -> Iterator[str]:
    if scenario.style is not None:
        shares = "; ".join(f"{share:.0%} {STYLES[style]}" for style, share in scenario.style.items())
        yield f"In these rules, a question is whatever asks for an answer. How it is worded: {shares}."
    if writes and scenario.audience is not None:
        yield f"Questions are worded {_AUDIENCES[scenario.audience]}."
    most = limits_of(scenario) if writes else None
    if most is not None:
        yield f"Code measures that: {'; '.join(_limits(most))}. Names stay as the document writes them."
    if writes and scenario.personas:
        yield f"Those who ask, in turn: {'; '.join(scenario.personas)}. Ask what each of them would want to know, without saying who asks."


def _limits(most: Wording) -> Iterator[str]:
    if most.words < _NO_LIMIT:
        yield f"a question has at most {most.words:g} different words, names too, but not words such as what, is or of"
    if most.shared < 1:
        yield f"at most {most.shared:.0%} of these, names left out, stand in the passages that answer it"
    if most.copied < 1:
        yield f"at most {most.copied:.0%} of its runs of three words are copied from them, runs with names left out"


def next_style(scenario: ScenarioConfig, accepted: Iterable[str]) -> str:
    """The wording that the next question needs to keep the shares of the styles; empty if there is only one style."""
    shares = scenario.style or {}
    if len(shares) < 2:
        return ""
    have = Counter(map(style_of, accepted))
    count = sum(have.values()) + 1
    return STYLES[max(shares, key=lambda style: shares[style] * count - have[style])]


def limits_of(scenario: ScenarioConfig) -> Wording | None:
    """The limits on the wording of a question; None if there are none."""
    most = None if scenario.audience is None else _LIMITS[scenario.audience]
    if scenario.max_overlap is None:
        return most
    return (most or Wording(1.0, 1.0, _NO_LIMIT))._replace(shared=scenario.max_overlap)


def fault_of(scenario: ScenarioConfig, question: str, evidence: str) -> str:
    """The fault in the wording of a question, compared with its evidence; empty if the scenario allows the wording."""
    style = style_of(question)
    if scenario.style is not None and style not in (None, *scenario.style):
        wanted = ", or ".join(STYLES[one] for one in scenario.style)
        return f"it must be worded as {wanted}"
    most = limits_of(scenario)
    if most is None:
        return ""
    plain = without_names(question)
    found = wording(plain, evidence)._replace(words=wording(question, "").words)
    if _is_over(found.shared, most.shared, wording(plain, "").words):
        return f"of the question's content words that are no names, {found.shared:.0%} stand in the quotes, at most {most.shared:.0%} may: use other words"
    if _is_over(found.copied, most.copied, len(tokens(plain)) - 2):
        return f"of the question's runs of three words without names, {found.copied:.0%} are copied from the quotes, at most {most.copied:.0%} may be: use other words"
    longer = found.words > most.words
    return (
        f"the question has {found.words} content words, at most {most.words} may be: shorten it"
        if longer
        else ""
    )


def _is_over(share: float, most: float, count: float) -> bool:
    """Whether `share` of `count` words or runs is more than allowed: the share `most` of them, rounded, and always at least one."""
    return round(share * count) > max(1, floor(most * count + 0.5))
