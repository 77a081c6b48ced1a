"""The work on one problem as a value: the problem, its models, its tools; and the fingerprint of a task result."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from qagen_dagster.agents.problems import alternate, classifier, converter, idea, scanner, tikz, variant
from qagen_dagster.agents.prompts import Prompt
from qagen_dagster.configuration.profiles import Role
from qagen_dagster.loop.problems.states import ProblemState, earlier
from qagen_dagster.loop.problems.text import format_of, item_of, scanned_as
from qagen_dagster.loop.spending import metered
from qagen_dagster.models.base import Model
from qagen_dagster.models.budget import Meter
from qagen_dagster.models.messages import Image
from qagen_dagster.records.ids import fingerprint
from qagen_dagster.records.problems.item import Picture, Problem, VariantKind
from qagen_dagster.records.problems.result import Compiled, Stage, Task
from qagen_dagster.toolkit.tool import Tool

PROBLEM_VERSION = "3"  # increase when the same responses would give another result
ROLE_OF = {
    Stage.CLASSIFY: Role.CLASSIFIER,
    Stage.SCAN: Role.SCANNER,
    Stage.DIAGRAM: Role.TIKZ,
    Stage.IDEA: Role.IDEA,
    Stage.ALTERNATE: Role.ALTERNATE,
    Stage.VARIANT: Role.VARIANT,
    Stage.CONVERT: Role.CONVERTER,
}
CompileLatex = Callable[
    [str, str, tuple[str, ...]], Compiled
]  # an item or a picture, its preamble, its libraries


@dataclass(frozen=True)
class Compiler:
    """A TeX engine for tasks. `name` identifies it, so that another engine checks everything again."""

    name: str
    compile: CompileLatex


def _uncompiled(_latex: str, _preamble: str, _libraries: tuple[str, ...]) -> Compiled:
    return Compiled(message="there is no TeX engine: the structure alone was looked at")


NO_ENGINE = Compiler("none", _uncompiled)


@dataclass(frozen=True)
class References:
    """What the role that draws may search. `version` changes with the files."""

    tools: Mapping[str, Tool] = field(default_factory=dict[str, Tool])
    version: str = ""


@dataclass(frozen=True)
class ProblemWork:
    """One problem, with everything that decides the results of its tasks."""

    problem: Problem
    tasks: tuple[Task, ...]
    models: Mapping[Role, Model]
    see: Callable[[Picture], Image]
    seed: int = 0
    compiler: Compiler = NO_ENGINE
    references: References = field(default_factory=References)

    def metered(self, meter: Meter) -> ProblemWork:
        """The same work, whose calls `meter` checks and records."""
        return replace(self, models={role: metered(model, meter) for role, model in self.models.items()})


def prompt_of(task: Task, work: ProblemWork, state: ProblemState) -> Prompt:
    """The prompt of a task."""
    match task.stage:
        case Stage.CLASSIFY:
            return classifier.prompt()
        case Stage.SCAN:
            return scanner.prompt_for(scanned_as(work.problem, state).value)
        case Stage.DIAGRAM:
            return tikz.prompt()
        case Stage.IDEA:
            return idea.prompt()
        case Stage.ALTERNATE:
            return alternate.prompt()
        case Stage.VARIANT:
            return variant.prompt_for(task.variant or VariantKind.NUMERICAL)
        case Stage.CONVERT:
            return converter.prompt()


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
