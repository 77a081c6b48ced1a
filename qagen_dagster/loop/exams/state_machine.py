"""The state machine of one exam item: its events, why an attempt fails, and the next step.

Code decides whether an attempt fails, even if a model states a verdict.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from qagen_dagster.agents.spec import is_unusable
from qagen_dagster.loop.exams.flaws import flaws_of
from qagen_dagster.loop.journal import Journal
from qagen_dagster.records.base import Record
from qagen_dagster.records.exams.bank import Attempt, Examination, Finding, Stage
from qagen_dagster.records.exams.config import StyleThresholds
from qagen_dagster.records.exams.submissions import (
    BlindSolution,
    IdeaPlan,
    QuestionPackage,
    Severity,
    StyleReport,
    Verdict,
    VerifierReport,
)
from qagen_dagster.records.run import CallSummary

_SEVERITY_ORDER = (Severity.STRUCTURAL, Severity.UNKNOWN, Severity.FIXABLE)
UNUSABLE = "unusable_output"


class _ReplyEvent(Record):
    """A model was asked. `raw` is the text of its reply. `failure` says why there is no result."""

    failure: str = ""
    raw: str = ""
    calls: tuple[CallSummary, ...] = ()
    at: str = ""  # ISO 8601, UTC


class Designed(_ReplyEvent):
    kind: Literal["designed"] = "designed"
    plan: IdeaPlan | None = None


class Implemented(_ReplyEvent):
    kind: Literal["implemented"] = "implemented"
    package: QuestionPackage | None = None


class Examined(Record):
    """Code checked the question and computed its form."""

    kind: Literal["examined"] = "examined"
    examination: Examination
    calls: tuple[CallSummary, ...] = ()  # always empty; every event has this field
    at: str = ""


class Solved(_ReplyEvent):
    """The verifier's own solution, made without the key."""

    kind: Literal["solved"] = "solved"
    blind: BlindSolution | None = None


class Verified(_ReplyEvent):
    kind: Literal["verified"] = "verified"
    report: VerifierReport | None = None


class Styled(_ReplyEvent):
    kind: Literal["styled"] = "styled"
    report: StyleReport | None = None


ExamEvent = Annotated[
    Designed | Implemented | Examined | Solved | Verified | Styled, Field(discriminator="kind")
]


class ExamJournal(Journal[ExamEvent]):
    """The journal of one exam item."""


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
    worst = min(examination.faults, key=lambda one: _SEVERITY_ORDER.index(one.severity))
    return Finding(
        stage=Stage.GATES,
        name=worst.name,
        severity=worst.severity,
        detail="; ".join(f"{one.name}: {one.detail}" for one in examination.faults),
    )


def _of_flaws(attempt: Attempt, thresholds: StyleThresholds) -> Finding | None:
    if thresholds.most_flaws is None or attempt.package is None:
        return None
    flaws = flaws_of(attempt.package, attempt.style)
    if len(flaws) <= thresholds.most_flaws:
        return None
    detail = "; ".join(f"{name}: {why}" for name, why in flaws.items())
    stage = Stage.GATES if attempt.style is None else Stage.STYLE_JUDGE
    return Finding(
        stage=stage, name="item_writing_flaws", severity=Severity.FIXABLE, detail=detail, instructions=detail
    )


def _of_blind(blind: BlindSolution, key: str) -> Finding | None:
    """The finding if the verifier's own answer is not exactly the key; None if it is."""
    found = blind.disagreement((key,))
    if found is None:
        return None
    name, said = found
    return Finding(
        stage=Stage.BLIND_SOLUTION,
        name=name,
        severity=Severity.FIXABLE,
        detail=f"solving without the key, the verifier {said}, not {key}; its value: {blind.value}",
        instructions=blind.advice(key, said, "leave no room for it in the new question"),
    )


def _of_report(report: VerifierReport) -> Finding | None:
    if report.verdict is Verdict.PASSED:
        return None
    return Finding(
        stage=Stage.VERIFIER,
        name=report.failure_type or "unspecified",
        severity=report.severity or Severity.UNKNOWN,
        detail="; ".join(report.reasons) or "no reasons given",
        instructions=report.regen_instructions,
    )


def _of_style(style: StyleReport, thresholds: StyleThresholds) -> Finding | None:
    if thresholds.accepts(style.scores):
        return None
    scores = ", ".join(f"{name} {value}" for name, value in style.scores.model_dump().items())
    return Finding(
        stage=Stage.STYLE_JUDGE,
        name=style.failure_type or "below_thresholds",
        severity=style.severity or Severity.UNKNOWN,
        detail=f"{scores}; needed: each at least {thresholds.least_score}, mean at least {thresholds.least_mean:g}",
        instructions=style.regen_instructions,
    )


class ItemLimits(Record):
    """The limits of the loop, and the thresholds of the scores."""

    max_designer_retries: int = Field(default=2, ge=0)
    max_implementer_retries: int = Field(default=2, ge=0)
    thresholds: StyleThresholds = StyleThresholds()


class ItemState(Record):
    """The state of the work on an item."""

    plan: IdeaPlan | None = None
    design_failures: tuple[str, ...] = ()
    attempts: tuple[Attempt, ...] = ()

    @property
    def last(self) -> Attempt | None:
        return self.attempts[-1] if self.attempts else None


class Design(Record):
    """Ask for an idea. `failures` says why earlier replies could not be used."""

    failures: tuple[str, ...] = ()


class Implement(Record):
    """Ask for a question. From the second attempt on, the step has the failed attempt and its finding."""

    number: int
    plan: IdeaPlan
    failed: Attempt | None = None
    finding: Finding | None = None


class Examine(Record):
    """Let code check the question."""

    package: QuestionPackage


class Solve(Record):
    """Let the verifier solve the question without the key."""

    package: QuestionPackage


class Verify(Record):
    """Let the verifier judge the question, after the verifier's own solution has reached the key."""

    package: QuestionPackage
    blind: BlindSolution


class JudgeStyle(Record):
    """Let the style judge score the question."""

    package: QuestionPackage
    report: VerifierReport


class Accepted(Record):
    """The end of an item that passed all checks."""

    plan: IdeaPlan
    attempt: Attempt
    package: QuestionPackage
    report: VerifierReport
    style: StyleReport


class GivenUp(Record):
    """The end of an item that is rejected, with the last finding."""

    finding: Finding


Step = Design | Implement | Examine | Solve | Verify | JudgeStyle | Accepted | GivenUp


def next_step(state: ItemState, limits: ItemLimits) -> Step:
    """The step after `state`."""
    if state.plan is None:
        if len(state.design_failures) > limits.max_designer_retries:
            return GivenUp(finding=_undesigned(state))
        return Design(failures=state.design_failures)
    last = state.last
    if last is None:
        return Implement(number=1, plan=state.plan)
    finding = finding_of(last, limits.thresholds)
    if finding is None:
        return _station_of(last, state.plan)
    if finding.severity is Severity.STRUCTURAL or last.number > limits.max_implementer_retries:
        return GivenUp(finding=finding)
    return Implement(number=last.number + 1, plan=state.plan, failed=last, finding=finding)


def transition(state: ItemState, event: ExamEvent) -> ItemState:
    """The state after `event`. Raises ValueError for an event that does not fit the state."""
    if isinstance(event, Designed):
        _expect(state.plan is None, event)
        failures = () if event.plan is not None else (event.failure or UNUSABLE,)
        return state.model_copy(
            update={"plan": event.plan, "design_failures": (*state.design_failures, *failures)}
        )
    if isinstance(event, Implemented):
        _expect(state.plan is not None, event)
        fresh = Attempt(number=len(state.attempts) + 1, package=event.package)
        if event.package is None:
            fresh = fresh.model_copy(update=_broken(Stage.IMPLEMENTER, event))
        return state.model_copy(update={"attempts": (*state.attempts, fresh)})
    return _with_last(state, event)


def replay(events: tuple[ExamEvent, ...], limits: ItemLimits) -> tuple[ItemState, int]:
    """The state after the events, as far as the limits allow them, and the number of these events."""
    state = ItemState()
    for taken, event in enumerate(events):
        state = ask_again(state, limits)
        if isinstance(next_step(state, limits), (Accepted, GivenUp)):
            return state, taken
        state = transition(state, event)
    return ask_again(state, limits), len(events)


def ask_again(state: ItemState, limits: ItemLimits) -> ItemState:
    """The state in which a later run asks the models again, if no reply was usable in the failed steps of an item."""
    return ItemState(plan=state.plan) if useless_end(state, limits) else state


def useless_end(state: ItemState, limits: ItemLimits) -> str:
    """The last failure of an item that was given up although no reply was usable in its failed steps; else empty."""
    if not isinstance(next_step(state, limits), GivenUp):
        return ""
    broken = [one.broken.detail if one.broken is not None else "" for one in state.attempts]
    failures = broken or list(state.design_failures)
    return failures[-1] if all(map(is_unusable, failures)) else ""


def _station_of(last: Attempt, plan: IdeaPlan) -> Step:
    if last.package is None:
        raise ValueError("an attempt without a question has failed")
    if last.examination is None:
        return Examine(package=last.package)
    if last.blind is None:
        return Solve(package=last.package)
    if last.report is None:
        return Verify(package=last.package, blind=last.blind)
    if last.style is None:
        return JudgeStyle(package=last.package, report=last.report)
    return Accepted(plan=plan, attempt=last, package=last.package, report=last.report, style=last.style)


def _with_last(state: ItemState, event: Examined | Solved | Verified | Styled) -> ItemState:
    """The state, in which the last attempt has the result of a check. If the check gave no result, the attempt fails."""
    last = state.last
    if last is None or last.package is None or last.broken is not None:
        raise _unfit(event)
    match event:
        case Examined():
            _expect(last.examination is None, event)
            update: dict[str, object] = {"examination": event.examination}
        case Solved():
            _expect(last.examination is not None and last.blind is None, event)
            update = {"blind": event.blind} if event.blind else _broken(Stage.BLIND_SOLUTION, event)
        case Verified():
            _expect(last.blind is not None and last.report is None, event)
            update = {"report": event.report} if event.report else _broken(Stage.VERIFIER, event)
        case Styled():
            _expect(last.report is not None and last.style is None, event)
            update = {"style": event.report} if event.report else _broken(Stage.STYLE_JUDGE, event)
    return state.model_copy(update={"attempts": (*state.attempts[:-1], last.model_copy(update=update))})


def _broken(stage: Stage, event: _ReplyEvent) -> dict[str, object]:
    """The update of an attempt by a step without a result. It counts as fixable, as specified."""
    detail = event.failure or "no result"
    return {"broken": Finding(stage=stage, name=UNUSABLE, severity=Severity.FIXABLE, detail=detail)}


def _undesigned(state: ItemState) -> Finding:
    return Finding(
        stage=Stage.DESIGNER,
        name=UNUSABLE,
        severity=Severity.UNKNOWN,
        detail=f"no usable idea in {len(state.design_failures)} designs: {state.design_failures[-1]}",
    )


def _expect(holds: bool, event: ExamEvent) -> None:
    if not holds:
        raise _unfit(event)


def _unfit(event: ExamEvent) -> ValueError:
    return ValueError(f"{event.kind} does not fit the current state")
