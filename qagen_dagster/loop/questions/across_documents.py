"""Works on a document by the strategy across: proposes questions about its groups, and proves that a question needs all its documents.

Documents that share names or numbers are a group. A group belongs to the document with the smallest id, so that each group is used once.
The validator must find the answer with all documents of the evidence, and must not find it if any one of them is hidden.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TypeVar

from qagen_dagster.agents.answering import Excerpt, answer_from_excerpts
from qagen_dagster.agents.questions import across, validator
from qagen_dagster.agents.questions.mix import Mix
from qagen_dagster.errors import BudgetExhaustedError
from qagen_dagster.loop.questions import model_checks
from qagen_dagster.loop.questions.no_answer import stage
from qagen_dagster.loop.questions.no_answer.prove import CorpusPassages
from qagen_dagster.loop.questions.result import result_of
from qagen_dagster.loop.questions.state import Accepted, Done, Judged, QAState, Rejected, Validate
from qagen_dagster.records.corpus_options import Span
from qagen_dagster.records.document import merged_lines
from qagen_dagster.records.questions.results import DocumentEnd, GenerationResult, VerdictRecord
from qagen_dagster.records.run import CallSummary

OneT = TypeVar("OneT", Accepted, Rejected)
EACH = 2  # questions in one request
_PAIRS, _TRIPLES = 3, 1  # maximum groups of two and of three documents for one document
_MOST_NAMES = 40  # names and numbers of a document that are searched for
_WIDEST = 4  # a name in more documents does not link two of them
# "Ida Holm", "TG-40", "14.5 kg", "3 May 1947": names of several words, codes, quantities with a unit, dates.
_SHARED = re.compile(
    r"\b[^\W\d_a-z][\w'-]+(?: (?:of |the )?[^\W\d_a-z][\w'-]+){1,3}|\b[A-Z]{2,}-?\d+\w*|\b\d[\d.,]* [a-z\u00b0%][\w/\u00b0%]*"
)


@dataclass(frozen=True)
class Group:
    """The ids of the documents, the owner of the group first, and the names and numbers that the documents share."""

    documents: tuple[str, ...]
    shared: tuple[str, ...]


class AcrossStage(stage.JournaledStage):
    """The work on one document."""

    def run(self) -> GenerationResult:
        """Ask about each group until the target is reached. Raises ModelError."""
        target = self.work.limits.target_count
        ended, why = self._ask_all(target)
        end = Done(end=DocumentEnd.TARGET_REACHED)
        if ended:
            end = Done(end=DocumentEnd.BUDGET_EXHAUSTED, detail=ended)
        elif len(self.own) < target:
            end = Done(end=DocumentEnd.EXHAUSTED_REPORTED, detail=why)
        calls = tuple(call for event in self.journal.events for call in event.calls)
        return result_of(self.work, self.models, self.state, end, calls)

    def add(self, result: GenerationResult, target: int) -> GenerationResult:
        """The result with at most `target` more questions. Raises ModelError."""
        self.start(result)
        ended, why = self._ask_all(target)
        kind, accepted = Span.ACROSS.value, self.own[:target]
        whole = self.added(result, accepted, ended)
        whole = whole.model_copy(update={"planned": {**result.planned, kind: target}})
        of_kind = QAState(
            accepted=tuple(_of_kind(one, kind) for one in accepted),
            rejected=tuple(_of_kind(one, kind) for one in self.state.rejected),
        )
        return self.with_share(whole, of_kind, Mix(counts=({kind: target},)), ended or why)

    def _ask_all(self, target: int) -> tuple[str, str]:
        """Ask about each group. Returns how the budget was exhausted (empty if it was not), and the number of groups in words."""
        try:
            groups = groups_of(self.corpus, self.work.context.view.document.id)
            for number, group in enumerate(groups):
                if len(self.own) < target:
                    self._ask(group, number, target)
        except BudgetExhaustedError as error:
            return str(error), ""
        return "", f"{len(groups)} groups of documents share something"

    def _ask(self, group: Group, number: int, target: int) -> None:
        members = [self._member(name, group) for name in group.documents]

        def propose() -> stage.Drafted:
            known = [one.candidate.question for one in self.state.accepted]
            lost = [(one.candidate.question, one.detail) for one in self.state.rejected]
            context, model = self.work.context, self.models.generator
            found = across.propose(context, model, members, group.shared, known, lost, EACH, number + 1)
            return stage.Drafted(candidates=found.candidates, failure=found.failure, calls=found.calls)

        decide = partial(self.decide, judge=partial(self.proved, members=members))
        for candidate in self.drafted(number, propose).candidates:
            if len(self.own) < target:
                self.decided(candidate, decide)

    def _member(self, name: str, group: Group) -> across.Member:
        found = self.corpus.about(name, " ".join(group.shared[:8]))
        spans = tuple((one.start_line, one.end_line) for one in found.spans)
        return across.Member(self.corpus.document(name), found.lines, spans)

    def proved(self, step: Validate, members: list[across.Member]) -> Judged:
        """The verdict on the answers from all documents and from all but one. If one is not needed, `failure` names it."""
        own = self.work.context.view.document.id
        needed = list(dict.fromkeys(one.document_id or own for one in step.candidate.evidence))
        taken = [one for one in members if one.document.id in needed]
        with_all, same, calls = self._answer(step, taken)
        verdict = VerdictRecord(
            attempt=step.attempt,
            question=step.candidate.question,
            proposed_answer=step.candidate.answer,
            blind_answer=with_all,
            answerable=bool(with_all),
            matches=same if with_all else None,
            unambiguous=True,
            relevant=None,
            explanation=f"answered from passages of {len(taken)} documents, and from them without each one",
        )
        judged = Judged(verdict=verdict, calls=calls)
        if validator.rejection(verdict) is not None:
            return judged
        for hidden in taken:
            others = [one for one in taken if one is not hidden]
            found, again, more = self._answer(step, others)
            judged = judged.model_copy(update={"calls": (*judged.calls, *more)})
            if again:
                why = f"without {hidden.document.id} the validator answered {found[:300]!r}"
                return judged.model_copy(update={"failure": why})
        return model_checks.without_document(step, self.work, self.models, judged)

    def _answer(
        self, step: Validate, members: list[across.Member]
    ) -> tuple[str, bool, tuple[CallSummary, ...]]:
        """The validator's answer from passages of documents, empty if there is none, and whether it equals the proposed answer."""
        shown: list[Excerpt] = []
        own = self.work.context.view.document.id
        for one in members:
            quoted = [
                (place.start_line, place.end_line)
                for place in step.candidate.evidence
                if (place.document_id or own) == one.document.id and place.start_line and place.end_line
            ]
            for first, last in merged_lines([*one.spans, *((a or 1, b or 1) for a, b in quoted)]):
                text = "\n".join(one.lines[first - 1 : last])
                shown.append(Excerpt(len(shown) + 1, first, text, one.title))
        run = answer_from_excerpts(
            self.models.validator,
            step.candidate.question,
            None,
            shown,
            document_id=own,
            role=validator.ROLE,
            attempt=step.attempt,
            several=len(members) > 1,
        )
        if run.submitted is None or not run.submitted.answerable:
            return "", False, run.calls
        same, _, calls = model_checks.same_fact(step, self.work, self.models, run.submitted.answer)
        return run.submitted.answer, same, (*run.calls, *calls)


def _of_kind(one: OneT, kind: str) -> OneT:
    return one.model_copy(update={"candidate": one.candidate.model_copy(update={"question_type": kind})})


def groups_of(corpus: CorpusPassages, own: str) -> list[Group]:
    """The groups that belong to a document, the closest first. Raises ModelError."""
    holders: defaultdict[str, set[str]] = defaultdict(set)
    for name in _names(corpus.lines(own)):
        for other in corpus.holding(name, _WIDEST + 1):
            holders[name].add(other)
    rare = {name: found - {own} for name, found in holders.items() if 1 < len(found | {own}) <= _WIDEST}
    common: defaultdict[str, list[str]] = defaultdict(list)
    for name, found in rare.items():
        for other in found:
            common[other].append(name)
    weight = {other: sum(1 / len(rare[name]) for name in names) for other, names in common.items()}
    later = sorted((one for one in common if one > own), key=lambda one: (-weight[one], one))
    pairs = [Group((own, one), tuple(common[one])) for one in later[:_PAIRS]]
    threes = [
        Group((own, *two), shared)
        for two in combinations(later[: _PAIRS + 1], 2)
        if (shared := tuple(name for name in common[two[0]] if name in common[two[1]]))
    ]
    return [*pairs, *sorted(threes, key=lambda one: -len(one.shared))[:_TRIPLES]]


def _names(lines: Sequence[str]) -> list[str]:
    found = dict.fromkeys(" ".join(name.split()) for line in lines for name in _SHARED.findall(line))
    return list(found)[:_MOST_NAMES]
