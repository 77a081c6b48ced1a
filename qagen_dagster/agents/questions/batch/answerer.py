"""The answerer answers questions from the text it is shown, one or several in one request. Code looks up its quotes in the document."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from qagen_dagster.agents.next_step import Finish
from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.agents.questions.batch import one_reply
from qagen_dagster.agents.questions.batch.one_reply import Task, ask
from qagen_dagster.agents.questions.batch.shown_text import Reading
from qagen_dagster.agents.questions.evidence.submission_check import EvidenceCheck
from qagen_dagster.agents.questions.prompt_values import QAContext
from qagen_dagster.agents.spec import Terminal, without_tools
from qagen_dagster.errors import ToolError
from qagen_dagster.models.base import Model
from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus_options import QuestionType
from qagen_dagster.records.ids import normalise
from qagen_dagster.records.questions.batch import (
    AnsweredQuestion,
    SubmitGroundedAnswer,
    SubmitGroundedAnswers,
)
from qagen_dagster.records.questions.results import Candidate, RejectionReason
from qagen_dagster.records.run import CallSummary
from qagen_dagster.toolkit.excerpt import block, one_line

ROLE = "answerer"
INSUFFICIENT = "insufficient information in the document"
OF_QUESTION = (
    RejectionReason.NOT_SELF_CONTAINED,
    RejectionReason.IRRELEVANT,
)  # faults that another answer cannot correct
NO_QUOTE = "the answer quotes no passage of the document"


@dataclass(frozen=True)
class Asked:
    """A question, and earlier answers with their faults."""

    question: str
    question_type: QuestionType
    rejected: Sequence[tuple[str, str]] = ()


class Answered(Record):
    """The answer to a question, or in `failure` the reason why there is none. The `gate` of the candidate may name a fault."""

    kind: Literal["answered"] = "answered"
    candidate: Candidate | None
    failure: str = ""
    calls: tuple[CallSummary, ...] = ()


@dataclass(frozen=True)
class Answers:
    """A candidate for each question, in order; None for a question without an answer. `failure` is the reason if there is no answer."""

    candidates: tuple[Candidate | None, ...]
    calls: tuple[CallSummary, ...]
    failure: str = ""
    was_cut: bool = False  # at the output limit


def prompt() -> Prompt:
    return load_prompt("questions/batch/answer")


def answer(context: QAContext, model: Model, reading: Reading, asked: Asked, task: Task) -> Answered:
    """Answer one question. Raises ModelError."""
    found = answer_all(context, model, reading, (asked,), task)
    return Answered(candidate=found.candidates[0], failure=found.failure, calls=found.calls)


def answer_all(
    context: QAContext, model: Model, reading: Reading, asked: Sequence[Asked], task: Task
) -> Answers:
    """Answer questions from the parts in `task` in one request. Only a single question may have rejected answers. Raises ModelError."""
    check, several = _AnswersCheck(context, asked), len(asked) > 1
    items = "answers" if several else ""
    terminal = Terminal("submit_grounded_answers", SubmitGroundedAnswers, check.reject_once, items)
    spec = without_tools("batch answerer", ROLE, prompt(), terminal, max_nudges=1)
    numbered = [f"{at}. [{one.question_type.value}] {one.question}" for at, one in enumerate(asked, 1)]
    kind = "several, with the type of each in brackets" if several else asked[0].question_type.value
    values = {
        "question": block(numbered) if several else asked[0].question,
        "question_type": kind,
        "rejected": block(
            part
            for earlier, why in asked[0].rejected
            for part in (f"- {one_line(earlier, 1500)}", f"  {one_line(why, 600)}")
        )
        or "(none)",
    }
    reply = ask(spec, model, context, reading, task, values)
    written = None if several or isinstance(reply.run.end, Finish) else one_reply.answer(reply.texts)
    if written is not None:
        check.kept[1] = written
    failure = "" if check.kept else reply.failure
    return Answers(check.candidates(), reply.calls, failure, reply.run.was_cut)


class _AnswersCheck:
    """Applies the evidence check of all question agents to answers. An answer of "insufficient" needs no quotes. `kept` has the latest
    answer to each question, by the question's number. After a refusal, only faulty answers must be submitted again."""

    def __init__(self, context: QAContext, asked: Sequence[Asked]) -> None:
        self._check, self._asked = EvidenceCheck(context, graded=True), asked
        self.kept: dict[int, SubmitGroundedAnswer] = {}
        self._told = False

    def reject_once(self, result: Record) -> None:
        """Raise ToolError for the first submission with an answer that fails. Later submissions pass."""
        for one in SubmitGroundedAnswers.model_validate(result).answers:
            number = one.number if len(self._asked) > 1 else 1
            self.kept[number] = SubmitGroundedAnswer(**one.shared(SubmitGroundedAnswer))
        found = enumerate(self.candidates(), 1)
        faults = {at: fault for at, one in found if one is not None and (fault := self._fault(one))}
        if self._told or not faults:
            return
        self._told = True
        shown = [f"answer {at}: {fault}" if len(self._asked) > 1 else fault for at, fault in faults.items()]
        rest = "; the others are kept" if len(self._asked) > 1 else ""
        raise ToolError(f"Not accepted: {'; '.join(shown)}. Correct and submit once more{rest}.")

    def candidates(self) -> tuple[Candidate | None, ...]:
        """The candidate for each question, with its evidence in the words of the document; None for a question without an answer."""
        return tuple(
            self._candidate_of(one, self.kept[number]) if number in self.kept else None
            for number, one in enumerate(self._asked, 1)
        )

    def _fault(self, one: Candidate) -> str:
        """The fault of an answer or its evidence; empty if there is none, or if the fault is in the question."""
        if one.gate in (None, *OF_QUESTION) or _is_insufficient(one.answer):
            return ""
        return one.gate_detail

    def _candidate_of(self, asked: Asked, submitted: SubmitGroundedAnswer) -> Candidate:
        kind, fault = asked.question_type.value, None
        if _is_insufficient(submitted.answer):
            fault = RejectionReason.UNANSWERABLE, submitted.answer
        elif not submitted.evidence:
            fault = RejectionReason.EVIDENCE_NOT_FOUND, NO_QUOTE
        if fault is not None:
            return Candidate.of(asked.question, submitted.answer, (), kind, fault)
        whole = submitted.shared(AnsweredQuestion, question=asked.question, question_type=kind)
        return self._check.candidate_of(AnsweredQuestion(**whole))


def _is_insufficient(answer: str) -> bool:
    return normalise(answer).strip(" \"'*_").startswith(INSUFFICIENT.partition(" in ")[0])
