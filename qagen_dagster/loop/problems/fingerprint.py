"""The fingerprint of everything that the result of a problem task depends on: model, prompt, problem, earlier results."""

from __future__ import annotations

import json

from qagen_dagster.agents.problems.roles import role_prompt, scan_prompt, variant_prompt
from qagen_dagster.agents.prompts import Prompt
from qagen_dagster.loop.problems.inputs import ROLE_OF, ProblemWork
from qagen_dagster.loop.problems.item_latex import format_of, item_of, scanned_as
from qagen_dagster.loop.problems.state_machine import ProblemState, earlier
from qagen_dagster.records.ids import fingerprint
from qagen_dagster.records.problems.item import VariantKind
from qagen_dagster.records.problems.result import Stage, Task

PROBLEM_VERSION = "3"  # increase when the same responses would give another result


def prompt_of(task: Task, work: ProblemWork, state: ProblemState) -> Prompt:
    """The prompt of a task."""
    if task.stage is Stage.SCAN:
        return scan_prompt(scanned_as(work.problem, state).value)
    if task.stage is Stage.VARIANT:
        return variant_prompt(task.variant or VariantKind.NUMERICAL)
    return role_prompt(ROLE_OF[task.stage])


def task_fingerprint(task: Task, work: ProblemWork, state: ProblemState) -> str:
    """Changes with everything that can change the result of a task: model, prompt, problem, and earlier results."""
    told = [
        one.result.model_dump_json()
        for one in state.results
        if one.task.stage in (Stage.CLASSIFY, Stage.SCAN, Stage.DIAGRAM, Stage.IDEA)
        and one.result is not None
    ]
    told += [one.result.model_dump_json() for one in earlier(state, task) if one.result is not None]
    return fingerprint(
        [
            PROBLEM_VERSION,
            task.model_dump_json(),
            json.dumps(work.models[ROLE_OF[task.stage]].spec.identity(), sort_keys=True),
            prompt_of(task, work, state).hash,
            work.problem.fingerprint,
            item_of(work.problem, state),
            format_of(work.problem, state).value if task.stage is Stage.CONVERT else "",
            work.references.version if task.stage is Stage.DIAGRAM else "",
            work.compiler.name,
            str(work.seed),
            *told,
        ]
    )
