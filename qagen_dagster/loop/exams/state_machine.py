"""The state machine of one exam item: its events, why an attempt fails, and the next step.

An attempt fails if a stage gives no usable result, or if a rule rejects the result, such as a fault found by code, another answer than
the key, the verifier's verdict or a low score. The limits have their defaults in `records/exams/config.py`.
"""

from typing import Annotated, Literal

from pydantic import Field

from qagen_dagster.agents.exams import UNABLE
from qagen_dagster.agents.next_step import says_nothing
from qagen_dagster.loop.exams.code_checks import flaws_of
from qagen_dagster.loop.journal import Journal
from qagen_dagster.records.base import Record
from qagen_dagster.records.exams import submissions
from qagen_dagster.records.exams.bank import Attempt, Examination, Finding, Stage
from qagen_dagster.records.exams.config import StyleThresholds
from qagen_dagster.records.run import CallSummary

_SEVERITY_ORDER = (
    submissions.Severity.STRUCTURAL,
    submissions.Severity.UNKNOWN,
    submissions.Severity.FIXABLE,
)
UNUSABLE = "unusable_output"


class _ReplyEvent(Record):
    """A model was asked. `raw` is the text of its reply. `failure` says why there is no result."""

    failure: str = ""
    raw: str = ""
    calls: tuple[CallSummary, ...] = ()
    at: str = ""  # ISO 8601, UTC


class Designed(_ReplyEvent):
    kind: Literal["designed"] = "designed"
    plan: submissions.IdeaPlan | None = None


class Implemented(_ReplyEvent):
    kind: Literal["implemented"] = "implemented"
    package: submissions.QuestionPackage | None = None


class Examined(Record):
    """Code checked the question and computed its form."""

    kind: Literal["examined"] = "examined"
    examination: Examination
    calls: tuple[CallSummary, ...] = ()  # always empty; every event has this field
    at: str = ""


class Solved(_ReplyEvent):
    """The verifier's own solution, made without the key."""

    kind: Literal["solved"] = "solved"
    blind: submissions.BlindSolution | None = None


class Verified(_ReplyEvent):
    kind: Literal["verified"] = "verified"
    report: submissions.VerifierReport | None = None


class Styled(_ReplyEvent):
    kind: Literal["styled"] = "styled"
    report: submissions.StyleReport | None = None


ExamEvent = Annotated[
    Designed | Implemented | Examined | Solved | Verified | Styled, Field(discriminator="kind")
]


class ExamJournal(Journal[ExamEvent]):
    """The journal of one exam item."""


# The stages in order, each with the event that ends it, and the fields of the event and of the attempt that have its result.
_STATIONS: tuple[tuple[Stage, type[Record], str, str], ...] = (
    (Stage.DESIGNER, Designed, "plan", ""),
    (Stage.IMPLEMENTER, Implemented, "package", "package"),
    (Stage.GATES, Examined, "examination", "examination"),
    (Stage.BLIND_SOLUTION, Solved, "blind", "blind"),
    (Stage.VERIFIER, Verified, "report", "report"),
    (Stage.STYLE_JUDGE, Styled, "report", "style"),
)


def finding_of(attempt: Attempt, thresholds: StyleThresholds) -> Finding | None:
    """The finding about an attempt so far; None if no fault was found."""
    if attempt.broken is not None:
        return attempt.broken
    found: Finding | None = None
    if attempt.examination is not None:
        found = _of_code_checks(attempt.examination) or _of_flaws(attempt, thresholds)
    if found is None and attempt.blind is not None and attempt.package is not None:
        found = _of_blind(attempt.blind, attempt.package.question.correct_option)
    if found is None and attempt.report is not None:
        found = _of_report(attempt.report)
    if found is None and attempt.style is not None:
        found = _of_style(attempt.style, thresholds)
    return found


def _of_code_checks(examination: Examination) -> Finding | None:
    if not examination.faults:
        return None
    worst = min(examination.faults, key=lambda fault: _SEVERITY_ORDER.index(fault.severity))
    detail = "; ".join(f"{fault.name}: {fault.detail}" for fault in examination.faults)
    return Finding(stage=Stage.GATES, name=worst.name, severity=worst.severity, detail=detail)


def _of_flaws(attempt: Attempt, thresholds: StyleThresholds) -> Finding | None:
    if thresholds.most_flaws is None or attempt.package is None:
        return None
    flaws = flaws_of(attempt.package, attempt.style)
    if len(flaws) <= thresholds.most_flaws:
        return None
    detail = "; ".join(f"{name}: {why}" for name, why in flaws.items())
    stage = Stage.GATES if attempt.style is None else Stage.STYLE_JUDGE
    return Finding(
        stage=stage,
        name="item_writing_flaws",
        severity=submissions.Severity.FIXABLE,
        detail=detail,
        instructions=detail,
    )


def _of_blind(blind: submissions.BlindSolution, key: str) -> Finding | None:
    """The finding if the verifier's own answer is not exactly the key; None if it is."""
    found = blind.disagreement((key,))
    if found is None:
        return None
    name, reached = found
    return Finding(
        stage=Stage.BLIND_SOLUTION,
        name=name,
        severity=submissions.Severity.FIXABLE,
        detail=f"solving without the key, the verifier {reached}, not {key}; its value: {blind.value}",
        instructions=blind.advice(key, reached, "leave no room for it in the new question"),
    )


def _of_report(report: submissions.VerifierReport) -> Finding | None:
    if report.verdict is submissions.Verdict.PASSED:
        return None
    return Finding(
        stage=Stage.VERIFIER,
        name=report.failure_type or "unspecified",
        severity=report.severity or submissions.Severity.UNKNOWN,
        detail="; ".join(report.reasons) or "no reasons given",
        instructions=report.regen_instructions,
    )


def _of_style(style: submissions.StyleReport, thresholds: StyleThresholds) -> Finding | None:
    if thresholds.accepts(style.scores):
        return None
    scores = ", ".join(f"{name} {value}" for name, value in style.scores.model_dump().items())
    return Finding(
        stage=Stage.STYLE_JUDGE,
        name=style.failure_type or "below_thresholds",
        severity=style.severity or submissions.Severity.UNKNOWN,
        detail=f"{scores}; needed: each at least {thresholds.least_score}, mean at least {thresholds.least_mean:g}",
        instructions=style.regen_instructions,
    )


class ItemLimits(Record):
    """The limits of the loop, and the thresholds of the scores."""

    max_designer_retries: int = Field(ge=0)
    max_implementer_retries: int = Field(ge=0)
    thresholds: StyleThresholds


class ItemState(Record):
    """The state of the work on an item."""

    plan: submissions.IdeaPlan | None = None
    design_failures: tuple[str, ...] = ()
    attempts: tuple[Attempt, ...] = ()

    @property
    def last(self) -> Attempt | None:
        return self.attempts[-1] if self.attempts else None


class Ended(Record):
    """The end of an item: it passed all checks, or it is rejected with the last finding."""

    finding: Finding | None = None


Step = Stage | Ended  # the stage to work next, or the end


def next_step(state: ItemState, limits: ItemLimits) -> Step:
    """The step after `state`."""
    if state.plan is None:
        if len(state.design_failures) > limits.max_designer_retries:
            return Ended(finding=_undesigned(state))
        return Stage.DESIGNER
    last = state.last
    if last is None:
        return Stage.IMPLEMENTER
    finding = finding_of(last, limits.thresholds)
    if finding is None:
        return _missing(last) or Ended()
    if finding.severity is submissions.Severity.STRUCTURAL or last.number > limits.max_implementer_retries:
        return Ended(finding=finding)
    return Stage.IMPLEMENTER


def _missing(attempt: Attempt) -> Stage | None:
    """The first stage whose result an attempt lacks; None if it has all results."""
    return next((one for one, _, _, field in _STATIONS[1:] if getattr(attempt, field) is None), None)


def stage_of(event: ExamEvent) -> Stage:
    """The stage that an event ends."""
    return next(stage for stage, kind, _, _ in _STATIONS if isinstance(event, kind))


def transition(state: ItemState, event: ExamEvent) -> ItemState:
    """The state after `event`. Raises ValueError for an event that does not fit the state."""
    stage, _, name, field = next(station for station in _STATIONS if isinstance(event, station[1]))
    result, failure, last = getattr(event, name), getattr(event, "failure", ""), state.last
    if stage is Stage.DESIGNER:
        fits = state.plan is None
    elif stage is Stage.IMPLEMENTER:
        fits = state.plan is not None
    else:
        fits = last is not None and last.broken is None and _missing(last) is stage
    if not fits:
        raise ValueError(f"{event.kind} does not fit the current state")
    if stage is Stage.DESIGNER:
        failures = () if result is not None else (failure or UNUSABLE,)
        return state.model_copy(
            update={"plan": result, "design_failures": (*state.design_failures, *failures)}
        )
    update = {field: result} if result is not None else {"broken": _broken(stage, failure)}
    if last is None or stage is Stage.IMPLEMENTER:
        fresh = Attempt(number=len(state.attempts) + 1).model_copy(update=update)
        return state.model_copy(update={"attempts": (*state.attempts, fresh)})
    return state.model_copy(update={"attempts": (*state.attempts[:-1], last.model_copy(update=update))})


def replay(events: tuple[ExamEvent, ...], limits: ItemLimits) -> tuple[ItemState, int]:
    """The state after applying events until the limits end the loop, and the number of applied events."""
    state = ItemState()
    for taken, event in enumerate(events):
        state = ask_again(state, limits)
        if isinstance(next_step(state, limits), Ended):
            return state, taken
        state = transition(state, event)
    return ask_again(state, limits), len(events)


def ask_again(state: ItemState, limits: ItemLimits) -> ItemState:
    """The state from which a later run goes on: `state`, or only its plan if all failed steps ended with an unusable reply or a refusal."""
    return ItemState(plan=state.plan) if useless_end(state, limits) else state


def useless_end(state: ItemState, limits: ItemLimits) -> str:
    """The last failure of an item whose failed steps all ended with an unusable reply or a refusal; empty for other items."""
    step = next_step(state, limits)
    if not isinstance(step, Ended) or step.finding is None:
        return ""
    broken = [attempt.broken.detail if attempt.broken is not None else "" for attempt in state.attempts]
    failures = broken or list(state.design_failures)
    return failures[-1] if all(map(says_nothing, failures)) else ""


def _broken(stage: Stage, failure: str) -> Finding:
    """The finding of a stage without a result. It counts as fixable, unless the implementer says that the idea is at fault."""
    detail = failure or "no result"
    if detail.startswith(UNABLE):
        return Finding(stage=stage, name="unable", severity=submissions.Severity.STRUCTURAL, detail=detail)
    return Finding(stage=stage, name=UNUSABLE, severity=submissions.Severity.FIXABLE, detail=detail)


def _undesigned(state: ItemState) -> Finding:
    return Finding(
        stage=Stage.DESIGNER,
        name=UNUSABLE,
        severity=submissions.Severity.UNKNOWN,
        detail=f"no usable idea in {len(state.design_failures)} designs: {state.design_failures[-1]}",
    )
