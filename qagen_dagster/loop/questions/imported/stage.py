"""Adds the questions of an imported log to the result of the document that answers them.

A question is tried on the documents that a search ranks highest, in order. The first document that answers the question gets it. The stages
of the other documents reach the same result for free, because their requests are equal and the ledger has the responses.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from qagen_dagster.agents.questions import validator
from qagen_dagster.agents.questions.batch import answerer
from qagen_dagster.agents.questions.batch.one_reply import Task
from qagen_dagster.agents.questions.batch.shown_text import BUDGETS, Reading
from qagen_dagster.agents.questions.evidence.submission_check import EvidenceCheck
from qagen_dagster.english.words import shared_words
from qagen_dagster.errors import BudgetExhaustedError
from qagen_dagster.loop.questions import controls
from qagen_dagster.loop.questions.document_work import DocumentWork
from qagen_dagster.loop.questions.no_answer import stage as stages
from qagen_dagster.loop.questions.no_answer.prove import DocumentPassages
from qagen_dagster.loop.questions.state import Judged, Validate
from qagen_dagster.records.corpus_options import QuestionType
from qagen_dagster.records.ids import normalise
from qagen_dagster.records.questions import results
from qagen_dagster.records.questions.batch import AnsweredQuestion
from qagen_dagster.records.questions.imported import NO_DOCUMENT, LoggedQuestion
from qagen_dagster.records.questions.submissions import EvidenceQuote

DOCUMENTS = 3  # maximum documents on which one question is tried
_MOST = 600  # characters of a reason
_NOT_HERE = ("unanswerable", "evidence_not_found", "answer_not_supported")  # reasons to try the next document
Matched = tuple[LoggedQuestion, Sequence[DocumentPassages]]  # the likeliest document first


@dataclass
class ImportStage(stages.JournaledStage):
    """The stage of one document. `open_document` opens another document by its id."""

    open_document: Callable[[str], DocumentWork]

    def add(self, result: results.GenerationResult, questions: Sequence[Matched]) -> results.GenerationResult:
        """The result with the questions that this document answers. The likeliest document also gets the unanswered questions. Raises ModelError."""
        self.start(result)
        ended = ""
        try:
            for number, (logged, passages) in enumerate(questions):
                draft = partial(self._draft, logged, passages, self.state.attempts + 1)
                for candidate in self.drafted(number, draft).candidates:
                    self.decided(candidate, partial(self.decide, judge=self._judge))
        except BudgetExhaustedError as error:
            ended = str(error)
        answering = (self.models.answerer or self.models.generator).spec.name
        return self.added(result, self.own, ended, answering)

    def _draft(
        self, logged: LoggedQuestion, passages: Sequence[DocumentPassages], attempt: int
    ) -> stages.Drafted:
        """The question with its answer, if this document answers it first, or if it is the likeliest document and no document answers."""
        own, calls, tried = self.work.context.view.document.id, list[results.CallSummary](), list[str]()
        for one in passages:
            mine = one.document_id == own
            found = self._answer(logged, one, attempt if mine else 0)
            calls += found.calls
            candidate = found.candidate
            if candidate is not None and candidate.gate not in _NOT_HERE:
                return stages.Drafted(candidates=(candidate,) if mine else (), calls=tuple(calls))
            tried.append(
                f"{one.document_id}: {found.failure if candidate is None else candidate.gate_detail}"
            )
        lost = results.Candidate(
            question=logged.question,
            answer=logged.answer,
            evidence=tuple(_nearest(one, logged.question, own) for one in passages),
            question_type=QuestionType.FACTUAL.value,
            gate=results.RejectionReason.UNANSWERABLE,
            gate_detail=f"{NO_DOCUMENT} ({'; '.join(tried)})"[:_MOST],
            origin="imported",
        )
        likeliest = passages[0].document_id == own
        return stages.Drafted(candidates=(lost,) if likeliest else (), calls=tuple(calls))

    def _answer(self, logged: LoggedQuestion, passages: DocumentPassages, attempt: int) -> answerer.Answered:
        mine = passages.document_id == self.work.context.view.document.id
        work = self.work if mine else self.open_document(passages.document_id)
        reading = Reading(work.context.view)
        found = reading.around(at for one in passages.spans for at in range(one.start_line, one.end_line + 1))
        near = (reading.near(logged.question, most) for most in BUDGETS[2:])
        choices = [tuple(sorted({*one, *found})) if one else one for one in near]
        asked = answerer.Asked(logged.question, QuestionType.FACTUAL)
        model, task = self.models.answerer or self.models.generator, Task([*choices, found], attempt, 0)
        answered = answerer.answer(work.context, model, reading, asked, task)
        candidate = answered.candidate and _as_logged(work, logged, answered.candidate)
        return answered.model_copy(update={"candidate": candidate})

    def _judge(self, step: Validate) -> Judged:
        judged = validator.judge(self.work.context, self.models.validator, step.candidate, step.attempt)
        return controls.without_document(step, self.work, self.models, judged)


def _as_logged(work: DocumentWork, logged: LoggedQuestion, found: results.Candidate) -> results.Candidate:
    """The candidate with the answer of the log, if any, and quotes that support this answer: the found quotes, or the line that has it."""
    changes = {"origin": "imported"}
    if not logged.answer:
        return found.model_copy(update=changes)
    wanted, lines = normalise(logged.answer), enumerate(work.context.view.lines, 1)
    holding = [EvidenceQuote(quote=text, start_line=at) for at, text in lines if wanted in normalise(text)]
    holding.sort(key=lambda one: shared_words(logged.question, one.quote), reverse=True)
    quoted = [EvidenceQuote(quote=one.quote, start_line=one.start_line) for one in found.evidence]
    checked = [
        EvidenceCheck(work.context, graded=True).candidate_of(
            AnsweredQuestion(
                question=logged.question,
                answer=logged.answer,
                question_type=found.question_type,
                evidence=quotes,
            )
        )
        for quotes in (tuple(quoted), tuple(holding[:1]))
        if quotes
    ]
    best = next((one for one in checked if one.gate is None), checked[0] if checked else found)
    if best.gate in _NOT_HERE and found.gate is None:
        detail = f"{best.gate_detail}; the document says {found.answer!r}"
        changes |= {"gate": results.RejectionReason.WRONG_ANSWER, "gate_detail": detail}
    return best.model_copy(update=changes)


def _nearest(passages: DocumentPassages, question: str, own: str) -> results.Evidence:
    """The line of the passages that shares the most words with the question."""
    lines = [at for one in passages.spans for at in range(one.start_line, one.end_line + 1)]
    best = max(lines, key=lambda at: shared_words(question, passages.lines[at - 1]))
    other = passages.document_id if passages.document_id != own else None
    return results.Evidence(quote=passages.lines[best - 1], start_line=best, end_line=best, document_id=other)
