"""Adds the questions of an imported log to the result of the document that answers them.

A question is asked of the documents that a search finds likeliest, in order. The first that answers it has the question. The stages
of the other documents find out the same: their requests are equal, so the ledger has the responses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from qagen_dagster.agents.questions.batch import answerer
from qagen_dagster.agents.questions.batch.one_reply import Task
from qagen_dagster.agents.questions.batch.shown_text import BUDGETS, Reading
from qagen_dagster.agents.questions.evidence.submission_check import EvidenceCheck
from qagen_dagster.english.answers import Match, match
from qagen_dagster.english.words import shared_words
from qagen_dagster.errors import BudgetExhaustedError
from qagen_dagster.loop.questions import controls, model_checks
from qagen_dagster.loop.questions.document_work import DocumentWork
from qagen_dagster.loop.questions.no_answer.corpus_passages import CorpusPassages, DocumentPassages
from qagen_dagster.loop.questions.no_answer.journaled import JournaledStage, after
from qagen_dagster.loop.questions.no_answer.stage import Decided, Drafted, candidate_of, counted
from qagen_dagster.loop.questions.result import pairs_of, rejections_of
from qagen_dagster.loop.questions.state import Accepted, Judged, QAState, Validate
from qagen_dagster.models.base import Model
from qagen_dagster.records.corpus_config import QuestionType
from qagen_dagster.records.questions.batch import AnsweredQuestion
from qagen_dagster.records.questions.imported import LoggedQuestion, QuestionLog
from qagen_dagster.records.questions.results import (
    CallSummary,
    Candidate,
    DocumentEnd,
    Evidence,
    GenerationResult,
    RejectionReason,
)
from qagen_dagster.records.questions.submissions import EvidenceQuote

DOCUMENTS = 3  # documents that a question is asked of
_MOST = 600  # characters of a reason
_ELSEWHERE = (
    RejectionReason.UNANSWERABLE,
    RejectionReason.EVIDENCE_NOT_FOUND,
    RejectionReason.ANSWER_NOT_SUPPORTED,
)


@dataclass(frozen=True)
class Matched:
    """A question of the log with the likeliest passages, the likeliest document first."""

    logged: LoggedQuestion
    passages: tuple[DocumentPassages, ...]


def match_log(log: QuestionLog, corpus: CorpusPassages) -> tuple[Matched, ...]:
    """Find the likeliest documents of each question. Raises ModelError."""
    found = ((one, corpus.best(one.question, "", 1)[:DOCUMENTS]) for one in log.questions)
    return tuple(Matched(one, tuple(passages)) for one, passages in found)


@dataclass
class ImportStage(JournaledStage):
    """The stage of one document. `open_document` opens another document by its id."""

    open_document: Callable[[str], DocumentWork]

    def add(self, result: GenerationResult, questions: Sequence[Matched]) -> GenerationResult:
        """The result with the questions that this document answers, and those that none does if it is the likeliest. Raises ModelError."""
        known = tuple(Accepted(candidate=candidate_of(pair), attempt=0) for pair in result.accepted)
        state = QAState(accepted=known, attempts=result.stats.total_attempts)
        stored, ended = iter(self.journal.events), ""
        try:
            for one in questions:
                drafted = self.event(Drafted, partial(self._draft, one, state), stored)
                for candidate in drafted.candidates:
                    decide = partial(self.decide, candidate, state, self._judge)
                    state = after(state, self.event(Decided, decide, stored))
        except BudgetExhaustedError as error:
            ended = str(error)
        mine = state.model_copy(update={"accepted": state.accepted[len(known) :]})
        answering, validator = (self._answerer.spec.name, self.models.validator.spec.name)
        calls = tuple(call for event in self.journal.events for call in event.calls)
        whole = result.model_copy(
            update={
                "accepted": (*result.accepted, *pairs_of(mine, self.work, answering, validator)),
                "rejected": (*result.rejected, *rejections_of(mine, self.work)),
                "verdicts": (*result.verdicts, *state.verdicts),
                "calls": (*result.calls, *calls),
                **({"end": DocumentEnd.BUDGET_EXHAUSTED, "end_detail": ended} if ended else {}),
            }
        )
        return counted(whole, result.stats.target_count)

    @property
    def _answerer(self) -> Model:
        return self.models.answerer or self.models.generator

    def _draft(self, one: Matched, state: QAState) -> Drafted:
        """The question with its answer, if this document is the first that answers it, or if it is the likeliest and none does."""
        own, calls = self.work.context.view.document.id, list[CallSummary]()
        tried: list[tuple[str, str]] = []
        for passages in one.passages:
            name = passages.document_id
            found = self._answer(one.logged, passages, state.attempts + 1 if name == own else 0)
            calls += found.calls
            candidate = found.candidate
            if candidate is not None and candidate.gate not in _ELSEWHERE:
                mine = (candidate,) if name == own else ()
                return Drafted(candidates=mine, calls=tuple(calls))
            tried.append((name, found.failure if candidate is None else candidate.gate_detail))
        if one.passages[0].document_id != own:
            return Drafted(candidates=(), calls=tuple(calls))
        told = "; ".join(f"{name}: {why}" for name, why in tried)
        lost = Candidate(
            question=one.logged.question,
            answer=one.logged.answer,
            evidence=tuple(_nearest(each, one.logged.question, own) for each in one.passages),
            question_type=QuestionType.FACTUAL.value,
            gate=RejectionReason.UNANSWERABLE,
            gate_detail=f"none of the likeliest documents answers it ({told})"[:_MOST],
            origin="imported",
        )
        return Drafted(candidates=(lost,), calls=tuple(calls))

    def _answer(self, logged: LoggedQuestion, passages: DocumentPassages, attempt: int) -> answerer.Answered:
        name = passages.document_id
        work = self.work if name == self.work.context.view.document.id else self.open_document(name)
        reading, asked = Reading(work.context.view), answerer.Asked(logged.question, QuestionType.FACTUAL)
        lines = (at for one in passages.spans for at in range(one.start_line, one.end_line + 1))
        found, near = reading.around(lines), [reading.near(logged.question, most) for most in BUDGETS[2:]]
        choices = [tuple(sorted({*one, *found})) if one else one for one in near]
        task = Task([*choices, found], attempt=attempt, sample=0)
        given = answerer.answer(work.context, self._answerer, reading, asked, task)
        if given.candidate is None:
            return given
        return replace(given, candidate=_as_logged(work, logged, given.candidate))

    def _judge(self, step: Validate) -> tuple[Judged, tuple[CallSummary, ...]]:
        judged = controls.without_document(
            step, self.work, self.models, model_checks.validate(step, self.work, self.models)
        )
        found = judged if isinstance(judged, Judged) else Judged(verdict=judged.verdict)
        return found.model_copy(update={"failure": "" if found.verdict else found.failure}), judged.calls


def _as_logged(work: DocumentWork, logged: LoggedQuestion, found: Candidate) -> Candidate:
    """The candidate with the answer of the log, if it has one. Code checks that the quotes support it."""
    given, mine = logged.answer.strip(), found.model_copy(update={"origin": "imported"})
    if not given or not found.evidence:
        return mine
    if match(given, found.answer) is Match.SAME:
        return mine.model_copy(update={"answer": given})
    quotes = tuple(EvidenceQuote(quote=one.quote, start_line=one.start_line) for one in found.evidence)
    whole = AnsweredQuestion(
        question=found.question, answer=given, evidence=quotes, question_type=found.question_type
    )
    checked = EvidenceCheck(work.context, graded=True).candidate_of(whole)
    if checked.gate is None:
        return checked.model_copy(update={"origin": "imported"})
    detail = f"{checked.gate_detail}; the document says {found.answer!r}"
    return checked.model_copy(
        update={"origin": "imported", "gate": RejectionReason.WRONG_ANSWER, "gate_detail": detail}
    )


def _nearest(passages: DocumentPassages, question: str, own: str) -> Evidence:
    """The line of the passages that shares most words with the question."""
    lines = [at for one in passages.spans for at in range(one.start_line, one.end_line + 1)]
    best = max(lines, key=lambda at: shared_words(question, passages.lines[at - 1]))
    other = passages.document_id if passages.document_id != own else None
    return Evidence(quote=passages.lines[best - 1], start_line=best, end_line=best, document_id=other)
