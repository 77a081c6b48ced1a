"""The generator explores a document with tools and proposes one question with its evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.agents.questions.context import History, QAContext, prompt_values
from qagen_dagster.agents.questions.evidence.submission_check import EvidenceCheck
from qagen_dagster.agents.runner import AgentRun, call_summaries, first_that_fits, run_agent
from qagen_dagster.agents.spec import AgentLimits, AgentSpec, Finish, Terminal
from qagen_dagster.english.words import shared_words
from qagen_dagster.errors import ToolError
from qagen_dagster.models.base import Model
from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import Mode, normalise
from qagen_dagster.records.questions.results import CallSummary, Candidate, RejectionReason
from qagen_dagster.records.questions.submissions import ReportExhausted, SubmitQA, SubmitVisualQA
from qagen_dagster.toolkit.excerpt import one_line

ROLE = "generator"
_SAME_WORDS = 0.7  # share of the content words that a question keeps when a condition in it is corrected
_NOTES, _NOTE = 5, 200  # notes of a submission; characters of one
REFUSED = {
    RejectionReason.WRONG_ANSWER: "another reader of the document came to another answer to this question",
    RejectionReason.ANSWER_NOT_SUPPORTED: "a reader who sees only your quotes cannot tell that the answer follows",
}
TRIVIAL = "a reader who saw only the question gave the right answer"
_MEND = (
    "Not accepted: {why}. Look at the passages again. If you find the mistake, correct the answer or the evidence, or a condition in the "
    "question that the document does not bear out, leave the rest as it is, and submit once more. If you find none, submit the same "
    "again; the question is dropped then."
)
_REWORD = (
    "Not accepted: {why}. Word the question anew, so that neither its words nor general knowledge lead to the answer, or ask for another "
    "fact of these passages, and submit once more. If that is impossible, submit the same again; the question is dropped then."
)


@dataclass(frozen=True)
class Proposal:
    """How one attempt ended: a candidate, exhaustion with its reason, or a failure."""

    candidate: Candidate | None
    exhausted: str | None
    failure: str | None
    viewed_pages: tuple[int, ...]
    calls: tuple[CallSummary, ...]
    also_seen: tuple[str, ...] = ()


def prompt_for(mode: Mode) -> Prompt:
    return load_prompt(f"questions/generator_{mode.value}")


def propose(context: QAContext, model: Model, history: History, attempt: int) -> Proposal:
    """Run the generator once. Raises ModelError."""
    check = EvidenceCheck(context, left=history.left)
    run = _run(context, model, history, attempt, check.reject_once)
    calls = call_summaries(run, ROLE, model.spec, context.view.document.id, attempt)
    return _proposal(run, check, calls)


def mend(
    context: QAContext,
    model: Model,
    history: History,
    attempt: int,
    refused: Candidate,
    why: str,
) -> Proposal:
    """Run the same conversation again, and refuse the submission that became `refused`; then the generator may correct it once.

    `why` is what it is told. If the question is TRIVIAL, it must change, else only a condition in it may. The proposal has no candidate
    if nothing was corrected. Raises ModelError.
    """
    check = EvidenceCheck(context, left=history.left)
    told, trivial = False, why.startswith(TRIVIAL)

    def reject(result: Record) -> None:
        nonlocal told
        if not told and isinstance(result, SubmitQA) and check.candidate_of(result) == refused:
            told = True
            raise ToolError((_REWORD if trivial else _MEND).format(why=why))
        check.reject_once(result)

    run = _run(context, model, history, attempt, reject)
    calls = call_summaries(run, ROLE, model.spec, context.view.document.id, attempt)
    found = _proposal(run, check, calls)
    given = found.candidate
    same = given is None or given == refused
    if given is not None and trivial:
        same = normalise(given.question) == normalise(refused.question)
    elif given is not None:
        same = same or not _only_corrected(given.question, refused.question)
    return replace(found, candidate=None if same or not told else given)


def _only_corrected(question: str, before: str) -> bool:
    """Whether most words of a question are those that it had before."""
    return min(shared_words(question, before), shared_words(before, question)) >= _SAME_WORDS


def _run(
    context: QAContext, model: Model, history: History, attempt: int, check: Callable[[Record], None]
) -> AgentRun:
    submission = SubmitVisualQA if context.mode is Mode.VISUAL else SubmitQA
    spec = AgentSpec(
        name=f"{context.mode.value} question generator",
        role=ROLE,
        prompt=prompt_for(context.mode),
        tools=tuple(context.tools),
        terminals=(Terminal("submit_qa", submission, check), Terminal("report_exhausted", ReportExhausted)),
        limits=AgentLimits(max_turns=40, max_tool_calls=80),
    )
    run = partial(run_agent, spec, model, context.tools, prompt_values(context, history), sample=attempt)
    return first_that_fits(partial(run, opening=opening) for opening in context.openings(model.spec))


def _proposal(run: AgentRun, evidence_check: EvidenceCheck, calls: tuple[CallSummary, ...]) -> Proposal:
    pages = tuple(
        dict.fromkeys(page for call in run.used if (page := evidence_check.viewed_page(call)) is not None)
    )
    if not isinstance(run.end, Finish):
        return Proposal(None, None, str(run.end), pages, calls)
    if isinstance(run.end.result, ReportExhausted):
        return Proposal(None, run.end.result.reason, None, pages, calls)
    submission = run.end.result
    if not isinstance(submission, SubmitQA):
        raise TypeError(f"{type(submission).__name__} is no result of a generator")
    noted = tuple(one_line(note, _NOTE) for note in submission.also_seen[:_NOTES])
    return Proposal(evidence_check.candidate_of(submission), None, None, pages, calls, noted)
