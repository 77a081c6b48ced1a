"""The work on one problem as a value: the problem, its models, its tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.loop.shared_budget import metered
from qagen_dagster.models.base import Model
from qagen_dagster.models.budget import Meter
from qagen_dagster.models.messages import Image
from qagen_dagster.records.problems.item import Picture, Problem
from qagen_dagster.records.problems.result import Compiled, Stage, Task
from qagen_dagster.toolkit.tool import Tool

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
