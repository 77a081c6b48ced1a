"""Turns slots of exams and banks of physics problems into flat rows, which `sql/load.sql` loads into the catalog's tables."""

from collections.abc import Iterable, Iterator, Mapping

from qagen_dagster.catalog.rows import Row, TableRow, call_rows, utc
from qagen_dagster.records.exams import bank
from qagen_dagster.records.exams.paper import Sitting
from qagen_dagster.records.problems.result import ProblemRecord, TaskResult

REPEATED = "repeated"


def slot_rows(
    result: bank.SlotResult,
    schema_title: str,
    models: Mapping[str, str],
    left_out: bank.RejectedItem | None = None,
    flaws: Iterable[str] | None = None,
) -> Iterator[TableRow]:
    """The item, the attempts and the calls of one slot of an exam.

    Args:
        models: provider:model by role.
        left_out: the reason why an accepted item is not in the bank; None for any other slot.
        flaws: the criteria of the item-writing flaws that were found; None: there is no question.
    """
    keys = {**dict(result.part), "slot": result.slot}
    made = {"schema_title": schema_title, "models": models, "flaws": flaws}
    yield "exam_items", {**keys, **made, **_item(result, left_out)}
    for attempt in result.attempts:
        row = {"attempt": attempt.number, **_seen(attempt), **_caught(result, attempt)}
        yield "exam_attempts", {**keys, **row}
    for _, call in call_rows(result.calls, {**keys, "run_id": result.run_id}):
        yield "exam_calls", call


def sitting_rows(sitting: Sitting) -> Iterator[TableRow]:
    """A row for each item of a sitting, with the reliability of its form."""
    # the items are in the order of the forms
    of_forms = [form for form in sitting.forms for _ in range(form.items)]
    for form, one in zip(of_forms, sitting.items, strict=True):
        row: Row = {
            "exam": sitting.exam,
            "sitting_id": sitting.id,
            "paper": sitting.paper or None,
            "file": sitting.file,
            "read_on": sitting.read,
            "item_id": one.item,
            "item_version": one.version,
            "key_option": one.key,
            "candidates": one.candidates,
            "upper_third": one.upper,
            "lower_third": one.lower,
            "chosen": one.chosen,
            "dead_distractors": one.dead,
            "suspected_key": one.suspected,
            "flags": one.flags,
        }
        estimates = {"facility": one.facility, "discrimination": one.discrimination, "kr20": form.reliability}
        for name, found in estimates.items():
            if found is not None:
                row |= {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
        yield "exam_statistics", row


def _item(result: bank.SlotResult, left_out: bank.RejectedItem | None) -> Row:
    rejected = result.rejected
    last = result.attempts[-1] if result.attempts else bank.Attempt(number=0)
    made: Row = {
        "outcome": result.end,
        "item_id": None if result.item is None else result.item.id,
        "detail": result.end_detail or None,
        "options": None if last.package is None else dict(last.package.question.options),
        "attempts": last.number,
        "fingerprint": result.fingerprint,
        "run_id": result.run_id,
        "finished": utc(result.finished),
        **_seen(last),
    }
    if left_out is not None:
        outcome = REPEATED if left_out.stage == bank.DUPLICATE_STAGE else bank.SlotEnd.REJECTED
        found = {"outcome": outcome, "caught_by": left_out.stage, "failure_type": left_out.failure_type}
        return made | found | {"detail": "; ".join(left_out.reasons)}
    if rejected is None:
        return made
    return made | {
        "caught_by": rejected.stage,
        "failure_type": rejected.failure_type,
        "severity": rejected.severity,
        "detail": "; ".join(rejected.reasons) or None,
    }


def _seen(attempt: bank.Attempt) -> Row:
    """The findings of the steps of an attempt; None for steps that it did not reach."""
    package, blind, style = attempt.package, attempt.blind, attempt.style
    return {
        "stem": None if package is None else package.question.stem,
        "key_option": None if package is None else package.question.correct_option,
        "key_proof": None if attempt.examination is None else attempt.examination.proof.status.value,
        "blind_option": None if blind is None else blind.chosen_option,
        "style_mean": None if style is None else style.scores.mean,
        "style_least": None if style is None else min(style.scores.values),
    }


def _caught(result: bank.SlotResult, attempt: bank.Attempt) -> Row:
    """The step at which the attempt failed; empty if it did not fail. The step's detail in the log is `<failure type> (<severity>)`."""
    for step in result.log:
        if step.attempt == attempt.number and not step.ok and step.stage is not bank.Stage.DESIGNER:
            return {"caught_by": step.stage.value, "failure_type": step.detail.partition(" (")[0]}
    return {}


def problem_row(problem_set: str, position: int, one: ProblemRecord) -> TableRow:
    found = one.classification
    return "problem_items", {
        **({} if found is None else dict(found)),
        "problem_set": problem_set,
        "problem_id": one.id,
        "position": position,
        "outcome": one.end,
        "detail": one.detail or None,
        "source_path": one.problem.source_path,
        "latex": one.latex or None,
        "tikz_code": None if one.tikz is None else one.tikz.tikz_code,
        "alternates": len(one.alternates),
        "variants": one.variants,
        "conversions": one.conversions,
        "breaches": [str(breach) for breach in one.breaches],
        "flagged": one.flagged,
        "compiled": None if one.compiled is None else one.compiled.outcome,
        "models": one.models,
    }


def task_rows(problem_set: str, problem_id: str, result: TaskResult, *, current: bool) -> Iterator[TableRow]:
    """One result of a task, and its calls. `current`: whether a present bank was made with this result."""
    keys: Row = {
        "problem_set": problem_set,
        "problem_id": problem_id,
        "task": result.task.key,
        "fingerprint": result.fingerprint,
        "current": current,
    }
    yield (
        "problem_tasks",
        {
            **keys,
            "stage": result.task.stage,
            "outcome": result.end,
            "detail": result.detail or None,
            "breaches": [str(one) for one in result.breaches],
            "repaired": [str(one) for one in result.repaired],
            "warnings": result.warnings,
            "compiled": None if result.compiled is None else result.compiled.outcome,
            "model": result.model or None,
            "prompt": result.prompt or None,
            "finished": utc(result.at),
        },
    )
    for _, call in call_rows(result.calls, keys):
        yield "problem_calls", call
