"""Which assets a task materializes, with which run configuration. Commands, sensors and the schedule launch the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qagen_dagster.defs.evaluation.assets import STAGES as EVALUATION_STAGES
from qagen_dagster.defs.jobs import (
    DOCUMENTS,
    EXAM_PART,
    EXPORTS,
    GRADING,
    INDEX,
    ITEM_BANK,
    PROBLEMS,
    QUESTIONS,
)
from qagen_dagster.defs.problems.assets import STAGES as PROBLEM_STAGES
from qagen_dagster.defs.spending import SpendingConfig
from qagen_dagster.loop.questions.combination import RunOptions
from qagen_dagster.loop.refresh.tasks import Product, Task
from qagen_dagster.records.evaluation import Kind

_ASSETS = {
    Product.DOCUMENTS: DOCUMENTS,
    Product.QUESTIONS: QUESTIONS,
    Product.GRADING: (*GRADING, "corpus_json"),  # the published rows have the grades
    Product.EXPORTS: EXPORTS,
    Product.INDEX: INDEX,
    **{Product(kind.value): (EVALUATION_STAGES[kind].asset,) for kind in Kind},
    Product.EXAM_PART: EXAM_PART,
    Product.ITEM_BANK: ITEM_BANK,
    Product.PROBLEMS: PROBLEMS,
    Product.CATALOG: ("catalog",),
}


def assets_of(task: Task) -> tuple[str, ...]:
    """The assets that a task materializes."""
    return _ASSETS[task.product]


def config_of(task: Task, options: RunOptions) -> dict[str, Any]:
    """The run configuration of a task: the profile and the budget of `options`, and for questions all of them.

    Exam parts and problem sets replace what other configurations made, because a run without `replace` would keep it.
    """
    limits = _limits(options)
    given = limits if options.profile is None else {"profile": options.profile, **limits}
    match task.product:
        case Product.DOCUMENTS | Product.CATALOG | Product.ITEM_BANK | Product.EXPORTS:
            return {}
        case Product.QUESTIONS:
            return {"ops": question_ops(options)}
        case Product.GRADING:
            return {"ops": every(GRADING, limits)}
        case Product.EXAM_PART:
            return {"ops": every(EXAM_PART, given | {"replace": True})}
        case Product.PROBLEMS:
            return {"ops": problem_ops(given | {"replace": True})}
        case _:
            return {"ops": every(assets_of(task), given)}


def question_ops(options: RunOptions) -> dict[str, Any]:
    return {
        "candidate_qa": {"ops": {"plan_shards": {"config": options.given}}},
        "corpus_json": {"config": {"replace": options.replace}},
        **every(("validated_qa", *GRADING), _limits(options)),
    }


def _limits(options: RunOptions) -> dict[str, Any]:
    """The budget of a run as fields of SpendingConfig."""
    return {name: value for name, value in options.given.items() if name in SpendingConfig.model_fields}


def problem_ops(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """`chosen` holds fields of ProblemConfig."""
    stages = {
        name: {"ops": {f"plan_{stage.value}": {"config": dict(chosen)}}}
        for name, (stage, *_) in PROBLEM_STAGES.items()
    }
    return stages | every(("problem_bank",), chosen)


def every(assets: tuple[str, ...], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The same configuration for each of several assets."""
    return {name: {"config": dict(chosen)} for name in assets}
