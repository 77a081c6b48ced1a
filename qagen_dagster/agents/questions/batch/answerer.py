"""The answerer answers one question, or several at once, from the text it is shown. Code looks up its quotes in the document."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from qagen_dagster.agents.prompts import Prompt, load_addition, load_prompt
from qagen_dagster.agents.questions.batch import one_reply
from qagen_dagster.agents.questions.batch.one_reply import Reply, Task, ask
from qagen_dagster.agents.questions.batch.shown_text import Reading
from qagen_dagster.agents.questions.context import QAContext
from qagen_dagster.agents.questions.evidence.submission_check import EvidenceCheck
from qagen_dagster.agents.spec import Finish, Terminal, without_tools
from qagen_dagster.errors import ToolError
from qagen_dagster.models.base import Model
from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus_config import QuestionType
from qagen_dagster.records.ids import normalise
from qagen_dagster.records.questions.batch import (
    AnsweredQuestion,
    SubmitGroundedAnswer,
    SubmitGroundedAnswers,
)
from qagen_dagster.records.questions.results import CallSummary, Candidate, RejectionReason
from qagen_dagster.toolkit.excerpt import block, one_line

ROLE = "answerer"
INSUFFICIENT = "insufficient information in the document"
OF_QUESTION = (
    RejectionReason.NOT_SELF_CONTAINED,
    RejectionReason.IRRELEVANT,
)  # faults that no other answer mends
NO_QUOTE = "the answer quotes no passage of the document"


@dataclass(frozen=True)
class Asked:
    """The question, and earlier answers with what was wrong with them."""

    question: str
    question_type: QuestionType
    rejected: Sequence[tuple[str, str]] = ()


class Answered(Record):
    """A question was answered, or `failure` says why it was not. The `gate` of the candidate may name a fault."""

    kind: Literal["answered"] = "answered"
    candidate: Candidate | None
    failure: str = ""
    calls: tuple[CallSummary, ...] = ()


@dataclass(frozen=True)
class AnsweredMany:
    """A candidate for each question, in order; None for a question without an answer."""

    candidates: tuple[Candidate | None, ...]
    calls: tuple[CallSummary, ...]
    was_cut: bool = False  # at the output limit


def prompt() -> Prompt:
    return load_prompt("questions/batch/answer")


def many_prompt() -> Prompt:
    """The addition before the user part of `prompt`, for several questions."""
    return load_addition("questions/batch/answer_many")


def answer(context: QAContext, model: Model, reading: Reading, asked: Asked, task: Task) -> Answered:
    """Answer `asked`; `task` says from which parts. Raises ModelError."""
    check = _AnswerCheck(context, asked)
    terminal = Terminal("submit_grounded_answer", SubmitGroundedAnswer, check.reject_once)
    spec = without_tools("batch answerer", ROLE, prompt(), terminal, max_nudges=1)
    values = {
        "question": asked.question,
        "question_type": asked.question_type.value,
        "rejected": block(
            part
            for said, why in asked.rejected
            for part in (f"- {one_line(said, 1500)}", f"  {one_line(why, 600)}")
        )
        or "(none)",
    }
    reply = ask(spec, model, context, reading, task, values)
    found = _submitted(reply)
    if found is None:
        return Answered(candidate=None, failure=reply.failure, calls=reply.calls)
    return Answered(candidate=check.candidate_of(found), calls=reply.calls)


def answer_many(
    context: QAContext, model: Model, reading: Reading, asked: Sequence[Asked], task: Task
) -> AnsweredMany:
    """Answer several questions in one request, so that the document is shown once. Raises ModelError."""
    check = _AnswersCheck([_AnswerCheck(context, one) for one in asked])
    terminal = Terminal("submit_grounded_answers", SubmitGroundedAnswers, check.reject_once, items="answers")
    spec = without_tools(
        "batch answerer of several questions", ROLE, many_prompt().before(prompt()), terminal, max_nudges=1
    )
    values = {
        "question": block(
            f"{number}. [{one.question_type.value}] {one.question}" for number, one in enumerate(asked, 1)
        ),
        "question_type": "several, with the type of each in brackets",
        "rejected": "(none)",
    }
    reply = ask(spec, model, context, reading, task, values)
    return AnsweredMany(check.candidates(), reply.calls, reply.run.was_cut)


def _submitted(reply: Reply) -> SubmitGroundedAnswer | None:
    if isinstance(reply.run.end, Finish):
        return SubmitGroundedAnswer.model_validate(reply.run.end.result)
    return one_reply.answer(reply.texts)


class _AnswerCheck:
    """The evidence check of all question agents, for an answer to a given question. An answer of "insufficient" needs no quotes."""

    def __init__(self, context: QAContext, asked: Asked) -> None:
        self._check, self._asked = EvidenceCheck(context, graded=True), asked
        self._told = False

    def reject_once(self, result: Record) -> None:
        """Raise ToolError for the first answer that fails the evidence check. Later ones pass."""
        fault = self.fault(SubmitGroundedAnswer.model_validate(result))
        if fault and not self._told:
            self._told = True
            raise ToolError(f"Not accepted: {fault}. Correct it and submit once more.")

    def fault(self, submitted: SubmitGroundedAnswer) -> str:
        """What is wrong with the answer or its evidence; empty if nothing is, or if the fault is that of the question."""
        found = self.candidate_of(submitted)
        return (
            ""
            if found.gate in (None, *OF_QUESTION) or _is_insufficient(submitted.answer)
            else found.gate_detail
        )

    def candidate_of(self, submitted: SubmitGroundedAnswer) -> Candidate:
        """The question with this answer and its evidence in the words of the document."""
        if _is_insufficient(submitted.answer):
            return self._without_evidence(submitted, RejectionReason.UNANSWERABLE, submitted.answer)
        if not submitted.evidence:
            return self._without_evidence(submitted, RejectionReason.EVIDENCE_NOT_FOUND, NO_QUOTE)
        whole = AnsweredQuestion(
            question=self._asked.question,
            answer=submitted.answer,
            evidence=submitted.evidence,
            question_type=self._asked.question_type.value,
            computation=submitted.computation,
        )
        return self._check.candidate_of(whole)

    def _without_evidence(
        self, submitted: SubmitGroundedAnswer, gate: RejectionReason, why: str
    ) -> Candidate:
        kind = self._asked.question_type.value
        return Candidate.of(self._asked.question, submitted.answer, (), kind, (gate, why))


class _AnswersCheck:
    """The evidence checks of several answers. After a refusal the answers without a fault are kept."""

    def __init__(self, checks: Sequence[_AnswerCheck]) -> None:
        self._checks = checks
        self._kept: dict[int, SubmitGroundedAnswer] = {}
        self._told = False

    def reject_once(self, result: Record) -> None:
        """Raise ToolError for the first submission with an answer that fails. Later ones pass."""
        for one in SubmitGroundedAnswers.model_validate(result).answers:
            self._kept[one.number] = SubmitGroundedAnswer.model_validate(one.model_dump(exclude={"number"}))
        if self._told:
            return
        self._told = True
        faults = [
            f"answer {number}: {fault}"
            for number, check in enumerate(self._checks, 1)
            if number in self._kept and (fault := check.fault(self._kept[number]))
        ]
        if faults:
            raise ToolError(
                f"Not accepted: {'; '.join(faults)}. Submit these once more; the others are kept."
            )

    def candidates(self) -> tuple[Candidate | None, ...]:
        return tuple(
            check.candidate_of(self._kept[number]) if number in self._kept else None
            for number, check in enumerate(self._checks, 1)
        )


def _is_insufficient(answer: str) -> bool:
    return normalise(answer).strip(" \"'*_").startswith(INSUFFICIENT.partition(" in ")[0])
