"""The state machine of one exam item: design, then implement and check it until it passes or is given up.

Order, severities and limits follow "ESAT Question Generator - Project Structure Documentation", section Retry Logic.
Only `next_step` uses the limits. `transition` accepts an event in every state that it fits, so a journal can be resumed with
other limits. The code is pure.
"""

from __future__ import annotations

from pydantic import Field

from qagen_dagster.loop.exams.events import (
    Designed,
    ExamEvent,
    Examined,
    Implemented,
    Solved,
    Styled,
    Verified,
)
from qagen_dagster.loop.exams.findings import finding_of
from qagen_dagster.records.base import Record
from qagen_dagster.records.exams.config import StyleThresholds
from qagen_dagster.records.exams.item import (
    BlindSolution,
    IdeaPlan,
    QuestionPackage,
    Severity,
    StyleReport,
    VerifierReport,
)
from qagen_dagster.records.exams.result import Attempt, Finding, Stage

UNUSABLE = "unusable_output"


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
    """Ask for an idea. `failures` are earlier attempts that could not be used."""

    failures: tuple[str, ...] = ()


class Implement(Record):
    """Ask for a question. After the first time, `Implement` has the failed attempt and its finding."""

    number: int
    plan: IdeaPlan
    failed: Attempt | None = None
    finding: Finding | None = None


class Examine(Record):
    """Let code check the question."""

    package: QuestionPackage


class Solve(Record):
    """Let the verifier solve it without the key."""

    package: QuestionPackage


class Verify(Record):
    """Let the verifier judge it, after its own solution reached the key."""

    package: QuestionPackage
    blind: BlindSolution


class JudgeStyle(Record):
    """Let the style judge score it."""

    package: QuestionPackage
    report: VerifierReport


class Accepted(Record):
    """All checks passed."""

    plan: IdeaPlan
    attempt: Attempt
    package: QuestionPackage
    report: VerifierReport
    style: StyleReport


class GivenUp(Record):
    """Rejected, with the last finding."""

    finding: Finding


Step = Design | Implement | Examine | Solve | Verify | JudgeStyle | Accepted | GivenUp


def next_step(state: ItemState, limits: ItemLimits) -> Step:
    """The next step."""
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
        fresh = Attempt(
            number=len(state.attempts) + 1,
            package=event.package,
            broken=_broken(Stage.IMPLEMENTER, event.failure) if event.package is None else None,
        )
        return state.model_copy(update={"attempts": (*state.attempts, fresh)})
    return _with_last(state, event)


def replay(events: tuple[ExamEvent, ...], limits: ItemLimits) -> tuple[ItemState, int]:
    """The state after as many events as the limits allow, and the number of these events."""
    state = ItemState()
    for taken, event in enumerate(events):
        if isinstance(next_step(state, limits), (Accepted, GivenUp)):
            return state, taken
        state = transition(state, event)
    return state, len(events)


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
    """The last attempt with the result of a check. A check that gave no result makes the attempt fail."""
    last = state.last
    if last is None or last.package is None or last.broken is not None:
        raise _unfit(event)
    match event:
        case Examined():
            _expect(last.examination is None, event)
            update: dict[str, object] = {"examination": event.examination}
        case Solved():
            _expect(last.examination is not None and last.blind is None, event)
            update = {"blind": event.blind} if event.blind else _breaking(Stage.BLIND_SOLUTION, event)
        case Verified():
            _expect(last.blind is not None and last.report is None, event)
            update = {"report": event.report} if event.report else _breaking(Stage.VERIFIER, event)
        case Styled():
            _expect(last.report is not None and last.style is None, event)
            update = {"style": event.report} if event.report else _breaking(Stage.STYLE_JUDGE, event)
    return state.model_copy(update={"attempts": (*state.attempts[:-1], last.model_copy(update=update))})


def _breaking(stage: Stage, event: Solved | Verified | Styled) -> dict[str, object]:
    return {"broken": _broken(stage, event.failure)}


def _broken(stage: Stage, failure: str) -> Finding:
    """A check without a result counts as fixable, as the document describes."""
    return Finding(
        stage=stage,
        name=UNUSABLE,
        severity=Severity.FIXABLE,
        detail=failure or "no result",
    )


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
