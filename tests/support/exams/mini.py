"""A small exam on disk, and results of its slots in the store as runs leave them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from qagen_dagster.loop.exams.bank import keep_part
from qagen_dagster.loop.exams.plan import ExamOptions, PartPlan, plan_part
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.exams.bank import (
    Attempt,
    Examination,
    ExamItem,
    Fault,
    RejectedItem,
    SlotEnd,
    SlotResult,
    Stage,
    StageLog,
)
from qagen_dagster.records.exams.submissions import ExamPart, Severity, Verdict, VerifierReport
from qagen_dagster.records.run import CallSummary
from tests.support.exams.items import TIME, TITLES
from tests.support.exams.items import plan as idea

YAML = """\
name: Mini
candidate_profile: Somebody who can add.
difficulties: {easy: 1, hard: 1}
items: 4
"""


def write_exam(
    corpora: Path, key: str = "mini", yaml: str = YAML, schemas: Sequence[str] = ("M1", "P2")
) -> Path:
    """Two schemas, two difficulties: four parts, one item each."""
    folder = corpora / "exams" / key
    folder.mkdir(parents=True)
    (folder / "exam.yaml").write_text(yaml)
    (folder / "schemas.md").write_text("\n".join(schema_block(one) for one in schemas))
    return folder


def schema_block(schema_id: str) -> str:
    return (
        f"## {schema_id}. {TITLES.get(schema_id, schema_id)}\n"
        "### Core thinking move\nSee the ratio.\n"
        "### Contexts\n- solids\n- rates\n"
        "### Wrong paths\n- takes the square\n- takes the inverse\n- adds\n"
    )


def accepted(plan: PartPlan, slot: int, item: ExamItem, caught: Stage | None = None) -> SlotResult:
    """A slot that gave `item`, at the second attempt when somebody caught something at the first."""
    gates = Examination(faults=(Fault(name="wrong_key", severity=Severity.FIXABLE, detail="it is 3"),))
    before = (Attempt(number=1, examination=gates),) if caught is Stage.GATES else ()
    last = Attempt(
        number=len(before) + 1,
        package=item.question_package,
        blind=item.blind_solution,
        report=item.verifier_report,
        style=item.style_report,
    )
    return SlotResult(
        part=plan.part,
        slot=slot,
        end=SlotEnd.ACCEPTED,
        plan=item.idea_plan,
        attempts=(*before, last),
        item=item.model_copy(update={"attempts": last.number}),
        log=(StageLog(stage=Stage.DESIGNER, attempt=1, ok=True, raw_text="\u00e9", at=TIME.isoformat()),),
        calls=(call(f"{plan.part.key}-{slot}"),),
        fingerprint=plan.fingerprint,
        run_id="run",
    )


def rejected(plan: PartPlan, slot: int, failure: str = "ambiguity") -> SlotResult:
    one = RejectedItem(
        exam=plan.part.exam,
        schema_id=plan.part.schema_id,
        schema_title=plan.schema.title,
        difficulty=plan.part.difficulty,
        slot=slot,
        stage=Stage.VERIFIER.value,
        failure_type=failure,
        severity=Severity.STRUCTURAL,
        attempts=1,
        timestamp=TIME.isoformat(),
    )
    report = VerifierReport(verdict=Verdict.FAILED, failure_type=failure, severity=Severity.STRUCTURAL)
    return SlotResult(
        part=plan.part,
        slot=slot,
        end=SlotEnd.REJECTED,
        plan=idea(plan.part.schema_id),
        attempts=(Attempt(number=1, report=report),),
        rejected=one,
    )


def call(key: str, usd: float | None = 0.5) -> CallSummary:
    return CallSummary(
        request_key=key,
        role="designer",
        model="m",
        document_id=key,
        attempt=1,
        input_tokens=10,
        output_tokens=5,
        usd=usd,
    )


def store_part(
    space: Workspace,
    key: str,
    make: Callable[[PartPlan, int], SlotResult | None],
    options: ExamOptions | None = None,
) -> PartPlan:
    """Results of a part as a run leaves them; `make` takes plan and slot."""
    plan = plan_part(space, ExamPart.from_key(key), options or ExamOptions())
    for slot in range(1, plan.slots + 1):
        result = make(plan, slot)
        if result is not None:
            space.store.write(plan.result_key(slot), result)
    keep_part(space, plan, "run", TIME.isoformat())
    return plan
