"""Derives the result of a problem from the results of its tasks: its record of the bank, and the pipeline result."""

from __future__ import annotations

from collections.abc import Mapping

from qagen_dagster.loop.problems.run_problem import Worked
from qagen_dagster.records.problems.item import Problem, VariantKind
from qagen_dagster.records.problems.result import (
    PipelineResult,
    ProblemRecord,
    Stage,
    TaskEnd,
    TaskResult,
)

_MORE = (Stage.ALTERNATE, Stage.VARIANT, Stage.CONVERT)


def record_of(problem: Problem, worked: Worked, models: Mapping[str, str]) -> ProblemRecord:
    """The record of a problem. Rejected outputs appear only among its tasks."""
    results, ended = worked.state.results, worked.ended
    good = [one for one in results if one.end in (TaskEnd.DONE, TaskEnd.GIVEN)]
    scan = next((one for one in good if one.scan is not None), None)
    classification = next((one.classification for one in good if one.classification), problem.classification)
    return ProblemRecord(
        id=problem.id,
        end=ended.end,
        problem=problem,
        detail=ended.detail,
        classification=classification,
        latex=scan.scan.latex if scan is not None and scan.scan is not None else problem.tex.strip(),
        raw_diagram_description=scan.scan.raw_diagram_description if scan is not None and scan.scan else None,
        tikz=next((one.tikz for one in good if one.tikz is not None), None),
        ideas=next((one.ideas for one in good if one.ideas is not None), problem.ideas),
        alternates=tuple(one.alternate for one in good if one.alternate is not None),
        variants={one.task.made: one.variant.latex for one in good if one.variant and one.task.made},
        conversions={one.task.made: one.conversion.latex for one in good if one.conversion and one.task.made},
        compiled=scan.compiled if scan is not None else None,
        tasks=tuple(one.model_copy(update={"raw": ""}) for one in results),
        breaches=tuple(breach for one in results for breach in one.breaches),
        models=dict(models),
        timestamp=max((one.at for one in results), default=""),
    )


def pipeline_result(record: ProblemRecord) -> PipelineResult | None:
    """The result as the design of the pipeline describes it; None for a problem that was never classified."""
    if record.classification is None:
        return None
    return PipelineResult(
        source_path=record.problem.source_path,
        classification=record.classification,
        latex=record.latex,
        tikz_code=record.tikz.tikz_code if record.tikz is not None else None,
        ideas=record.ideas,
        alternate_solutions=[one.solution for one in record.alternates],
        variants={made: latex for made, latex in record.variants.items() if made not in record.withdrawn},
    )


def failures(record: ProblemRecord) -> tuple[str, ...]:
    """One line for each thing that was requested and is missing."""
    return tuple(_told(record, one) for one in record.tasks if not one.end.ok)


def refusals(record: ProblemRecord) -> tuple[str, ...]:
    """The part of `failures` that leaves the problem itself valid: another solution, variant or format that is impossible."""
    return tuple(
        _told(record, one)
        for one in record.tasks
        if one.task.stage in _MORE
        and one.end is TaskEnd.DECLINED
        and one.task.variant is not VariantKind.MULTI
    )


def _told(record: ProblemRecord, one: TaskResult) -> str:
    return f"{record.id}: {one.task.key}: {one.end.value}: {one.detail}"
