"""The generator explores a document with tools, and submits one question with its evidence, or several questions at once.

The faults of a submission are reported to the generator once. After that, a question with a fault is rejected.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from qagen_dagster.agents.next_step import Finish
from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.agents.questions import wording_limits
from qagen_dagster.agents.questions.evidence.submission_check import EvidenceCheck
from qagen_dagster.agents.questions.prompt_values import History, QAContext, prompt_values
from qagen_dagster.agents.runner import call_summaries, run_agent
from qagen_dagster.agents.spec import AgentLimits, AgentSpec, Terminal
from qagen_dagster.english.words import shared_words
from qagen_dagster.errors import ToolError
from qagen_dagster.models.base import Model
from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import Mode, normalise
from qagen_dagster.records.questions.results import Candidate, RejectionReason
from qagen_dagster.records.questions.submissions import ReportExhausted, SubmitQA, SubmitVisualQA
from qagen_dagster.records.run import CallSummary
from qagen_dagster.toolkit.excerpt import Block, block, one_line

ROLE = "generator"
_SAME_WORDS = 0.7  # minimum share of each wording's content words in the other, if only a condition changed
_NOTES, _NOTE = 5, 200  # maximum notes of a submission; maximum characters of a note
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


class Proposed(Record):
    """The generator submitted a candidate."""

    kind: Literal["proposed"] = "proposed"
    candidate: Candidate
    viewed_pages: tuple[int, ...] = ()
    also_seen: tuple[str, ...] = ()
    calls: tuple[CallSummary, ...] = ()


class GenerationFailed(Record):
    """The generator ended without a candidate, because of a limit, a refusal, or text in place of a tool call."""

    kind: Literal["generation_failed"] = "generation_failed"
    reason: str
    viewed_pages: tuple[int, ...] = ()
    calls: tuple[CallSummary, ...] = ()


class Exhausted(Record):
    """The generator reported that no more questions can be asked."""

    kind: Literal["exhausted"] = "exhausted"
    reason: str
    viewed_pages: tuple[int, ...] = ()
    calls: tuple[CallSummary, ...] = ()


class Mended(Record):
    """The generator was asked to correct its refused candidate. `candidate` is None if there is no acceptable correction."""

    kind: Literal["mended"] = "mended"
    candidate: Candidate | None
    calls: tuple[CallSummary, ...] = ()


Proposal = Proposed | GenerationFailed | Exhausted  # how an attempt ended


def prompt_for(mode: Mode) -> Prompt:
    return load_prompt(f"questions/generator_{mode.value}")


def propose(context: QAContext, model: Model, history: History, attempt: int) -> Proposal:
    """Run the generator once. Raises ModelError."""
    check = EvidenceCheck(context, left=history.left)
    return _asked(context, model, history, attempt, check, check.reject_once)


def mend(
    context: QAContext, model: Model, history: History, attempt: int, refused: Candidate, why: str
) -> Mended:
    """Repeat the conversation, but refuse the submission that became `refused`, so that the generator may correct it once.

    `why` is the reason that the generator gets. If it begins with TRIVIAL, the question must change. Otherwise the answer and the
    evidence may change, but only a condition of the question. Without such a correction there is no candidate. Raises ModelError.
    """
    check = EvidenceCheck(context, left=history.left)
    reported, trivial = False, why.startswith(TRIVIAL)

    def reject(result: Record) -> None:
        nonlocal reported
        if not reported and isinstance(result, SubmitQA) and check.candidate_of(result) == refused:
            reported = True
            raise ToolError((_REWORD if trivial else _MEND).format(why=why))
        check.reject_once(result)

    found = _asked(context, model, history, attempt, check, reject)
    corrected = found.candidate if isinstance(found, Proposed) else None
    same = corrected is None or corrected == refused
    if corrected is not None and trivial:
        same = normalise(corrected.question) == normalise(refused.question)
    elif corrected is not None:
        same = same or not _only_corrected(corrected.question, refused.question)
    return Mended(candidate=None if same or not reported else corrected, calls=found.calls)


def _only_corrected(question: str, before: str) -> bool:
    """Whether each of two wordings of a question has most content words of the other."""
    return min(shared_words(question, before), shared_words(before, question)) >= _SAME_WORDS


def _asked(
    context: QAContext,
    model: Model,
    history: History,
    attempt: int,
    evidence_check: EvidenceCheck,
    check: Callable[[Record], None],
) -> Proposal:
    submission = SubmitVisualQA if context.mode is Mode.VISUAL else SubmitQA
    spec = AgentSpec(
        name=f"{context.mode.value} question generator",
        role=ROLE,
        prompt=prompt_for(context.mode),
        tools=(),
        terminals=(Terminal("submit_qa", submission, check), Terminal("report_exhausted", ReportExhausted)),
        limits=AgentLimits(max_turns=40, max_tool_calls=80),
    )
    style = wording_limits.next_style(context.scenario, (pair.question for pair in history.accepted))
    values = prompt_values(context, history)
    run = context.explore(spec, model, values, attempt, style=style, wanted=history.wanted)
    calls = call_summaries(run.responses, ROLE, model.spec, context.view.document.id, attempt)
    pages = tuple(
        dict.fromkeys(page for call in run.used if (page := evidence_check.viewed_page(call)) is not None)
    )
    if not isinstance(run.end, Finish):
        return GenerationFailed(reason=str(run.end), viewed_pages=pages, calls=calls)
    result = run.end.result
    if isinstance(result, ReportExhausted):
        return Exhausted(reason=result.reason, viewed_pages=pages, calls=calls)
    submitted = SubmitQA.model_validate(result)
    noted = tuple(one_line(note, _NOTE) for note in submitted.also_seen[:_NOTES])
    found = evidence_check.candidate_of(submitted)
    return Proposed(candidate=found, viewed_pages=pages, also_seen=noted, calls=calls)


@dataclass(frozen=True)
class Drafts:
    """The candidates of one request, or the reason why there are none. The `gate` of a candidate is the reason to reject it, if any."""

    candidates: tuple[Candidate, ...]
    failure: str
    calls: tuple[CallSummary, ...]


def ask(
    what: str,
    prompt: Prompt,
    terminal: Terminal,
    context: QAContext,
    model: Model,
    values: dict[str, str],
    candidates_of: Callable[[Record], Sequence[Candidate]],
    sample: int,
    *,
    explores: bool = False,
) -> Drafts:
    """Ask for a submission of questions, which `what` names. An agent that `explores` is shown the context's document. Raises ModelError.
    Candidates with a fault are sent back once, and the others are kept. Later faults stay in the `gate` of their candidates."""
    kept: dict[str, Candidate] = {}
    reported = False

    def return_once(result: Record) -> None:
        nonlocal reported
        found = candidates_of(result)
        faults = [f"question {at}: {one.gate_detail}" for at, one in enumerate(found, 1) if one.gate]
        if not faults or reported:
            return
        reported = True
        kept.update({one.question: one for one in found if not one.gate})
        raise ToolError(
            f"Not accepted: {'; '.join(faults)}. Correct and submit only these; all others are kept."
        )

    limits = AgentLimits(max_turns=40, max_tool_calls=80) if explores else AgentLimits(max_turns=4)
    spec = AgentSpec(
        f"generator of {what}", ROLE, prompt, (), (replace(terminal, check=return_once),), limits
    )
    if explores:
        run = context.explore(spec, model, values, sample)
    else:
        run = run_agent(spec, model, {}, values, sample=sample)
    calls = call_summaries(run.responses, ROLE, model.spec, context.view.document.id, sample)
    last = candidates_of(run.end.result) if isinstance(run.end, Finish) else ()
    found = {one.question: one for one in last} | kept
    ended = isinstance(run.end, Finish) or bool(kept)
    return Drafts(tuple(found.values()), "" if ended else str(run.end), calls)


def listed(questions: Iterable[str]) -> Block | str:
    """Questions as a list for a prompt."""
    return block(f"- {one}" for one in questions) or "(none yet)"


def refused(questions: Iterable[tuple[str, str]]) -> Block | str:
    """Rejected questions, each with the reason, as a list for a prompt."""
    return (
        block(line for one, why in questions for line in (f"- {one}", f"  {one_line(why, 600)}"))
        or "(none yet)"
    )
