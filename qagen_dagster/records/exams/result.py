"""What became of one slot of a part: the attempts at it, what was found, by whom, and how it ended.

What a bank makes of it is `records/exams/bank.py`.
"""

from __future__ import annotations

from enum import StrEnum

from qagen_dagster.records.base import Record
from qagen_dagster.records.exams.bank import ExamItem, RejectedItem
from qagen_dagster.records.exams.item import (
    BlindSolution,
    ExamPart,
    IdeaPlan,
    QuestionPackage,
    Severity,
    StyleReport,
    VerifierReport,
)
from qagen_dagster.records.exams.proof import Examination
from qagen_dagster.records.run import CallSummary


class Stage(StrEnum):
    """A station of an item's way; the value says who caught what was wrong."""

    DESIGNER = "designer"
    IMPLEMENTER = "implementer"
    GATES = "gates"  # code, the proof of the key included
    BLIND_SOLUTION = "blind_solution"  # the verifier's answer, compared with the key by code
    VERIFIER = "verifier"
    STYLE_JUDGE = "style_judge"


class Finding(Record):
    """Why an attempt failed. `instructions` are what the implementer is told to change."""

    stage: Stage
    name: str
    severity: Severity
    detail: str
    instructions: str = ""


class Attempt(Record):
    """One implementation of an idea, as far as it went. `broken` is a stage that ended without a result, and why."""

    number: int
    package: QuestionPackage | None = None
    examination: Examination | None = None
    blind: BlindSolution | None = None
    report: VerifierReport | None = None
    style: StyleReport | None = None
    broken: Finding | None = None


class SlotEnd(StrEnum):
    """How the work on a slot ended; only the first two are final."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    BUDGET_EXHAUSTED = "budget_exhausted"


class StageLog(Record):
    """One step as logs.jsonl tells it. `raw_text` is what the model wrote, word for word."""

    stage: Stage
    attempt: int
    ok: bool
    detail: str = ""
    raw_text: str = ""
    at: str = ""  # ISO 8601, UTC


class SlotResult(Record):
    """Everything one slot gave."""

    part: ExamPart
    slot: int  # from 1
    end: SlotEnd
    end_detail: str = ""
    plan: IdeaPlan | None = None
    attempts: tuple[Attempt, ...] = ()
    item: ExamItem | None = None
    rejected: RejectedItem | None = None
    log: tuple[StageLog, ...] = ()
    calls: tuple[CallSummary, ...] = ()
    fingerprint: str = ""  # of models, prompts, exam, schema, seed and code
    run_id: str = ""
    finished: str = ""  # ISO 8601, UTC


class SlotPlan(Record):
    """How far the design of a slot is."""

    part: ExamPart
    slot: int
    plan: IdeaPlan | None = None
    failures: tuple[str, ...] = ()  # designs that could not be used
    calls: tuple[CallSummary, ...] = ()
