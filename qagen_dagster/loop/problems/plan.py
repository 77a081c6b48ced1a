"""Plans a problem set: everything that decides its results, from configuration, profile and options of the run."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pydantic import Field

from qagen_dagster.agents.problems import prompts
from qagen_dagster.agents.prompts import Prompt
from qagen_dagster.configuration.problems import ProblemSet
from qagen_dagster.configuration.profiles import Role, problem_specs
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.problems.inputs import NO_ENGINE, ROLE_OF, Compiler, ProblemWork, References
from qagen_dagster.loop.problems.run_problem import BLIND, TaskResults
from qagen_dagster.loop.problems.state_machine import FULL, Wishes, tasks_of
from qagen_dagster.loop.shared_budget import effective_budget
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.base import Model
from qagen_dagster.models.budget import Allowance, Budget
from qagen_dagster.models.messages import Image, Request, Response
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.ids import check_name, content_hash, store_key
from qagen_dagster.records.problems.result import ProblemRecord, Stage, TaskResult
from qagen_dagster.records.problems.submissions import Picture, Problem
from qagen_dagster.store import Store

_SUFFIXES = {"image/png": "png", "image/jpeg": "jpg"}


class ProblemOptions(Allowance):
    """Options of a run that replace the configuration. None keeps the configured value. The limits replace the profile's budget of a run.

    `refresh`: the run brings a bank up to date. It has the profile and the seed of the launch that made the bank, and replaces
    only what is still wanted: nothing is removed.
    """

    profile: str | None = None
    seed: int | None = Field(default=None, description="Another seed leads to other model responses.")
    replace: bool = Field(
        default=False, description="Replace earlier results. If false, a run only adds results."
    )
    refresh: bool = Field(
        default=False,
        description="Use the options of the last launch, and make only the changed results again.",
    )


@dataclass(frozen=True)
class SetPlan:
    """One set of problems, with everything that decides its results.

    Attributes:
        missing: one line for each wanted problem that cannot be worked yet, such as a combined problem without finished parts.
        former: the published bank. Its problems and their results stay, unless `replace`. With `refresh`, problems and results that are no
            longer wanted stay even if `replace`.
        given: the profile and the seed that the launch set.
        solve: the share of items that the solver solves.
        prompts: the prompts that replace shipped ones, by name.
    """

    name: str
    problems: tuple[Problem, ...]
    wishes: Wishes
    profile_name: str
    specs: Mapping[Role, ModelSpec]
    budget: Budget
    seed: int = 0
    compiler: Compiler = NO_ENGINE
    references: References = field(default_factory=References)
    missing: tuple[str, ...] = ()
    former: Mapping[str, ProblemRecord] = field(default_factory=dict[str, ProblemRecord])
    replace: bool = False
    refresh: bool = False
    given: tuple[str | None, int | None] = (None, None)
    solve: float = 1
    prompts: Mapping[str, Prompt] = field(default_factory=dict[str, Prompt])

    @cached_property
    def _by_id(self) -> dict[str, Problem]:
        return {problem.id: problem for problem in self.problems}

    def problem(self, problem_id: str) -> Problem:
        """The problem with this id. Raises ConfigError if it is not in the set."""
        found = self._by_id.get(problem_id)
        if found is None:
            raise ConfigError(f"there is no problem {problem_id!r} in {self.name}")
        return found

    def work(self, problem: Problem, models: Mapping[Role, Model], store: Store) -> ProblemWork:
        wanted = tasks_of(problem, self.wishes)
        more = (one.task for one in self._kept(problem) if one.task not in wanted)
        return ProblemWork(
            problem=problem,
            tasks=tuple(sorted((*wanted, *more), key=lambda one: FULL.index(one.stage))),
            models=models,
            see=lambda picture: see_picture(store, picture),
            seed=self.seed,
            compiler=self.compiler,
            references=self.references,
            solve=self.solve,
            prompts=self.prompts,
        )

    def results(self, problem: Problem, store: Store) -> TaskResults:
        kept = {one.task.key: one.fingerprint for one in self._kept(problem)}
        return TaskResults(store, self.name, problem.id, kept)

    def _kept(self, problem: Problem) -> list[TaskResult]:
        """The successful results of a problem in the published bank that stay. With `replace`, none stays; with `refresh` and `replace`,
        the results of tasks that are no longer wanted stay if the problem is the same."""
        record = None if self.replace and not self.refresh else self.former.get(problem.id)
        if record is None or (self.replace and record.problem.fingerprint != problem.fingerprint):
            return []
        anew = tasks_of(problem, self.wishes) if self.replace else ()
        return [task for task in record.tasks if task.end.ok and task.task not in anew]


@dataclass(frozen=True)
class PlaceholderModel:
    """A model that must not be asked. It is enough to read stored results."""

    spec: ModelSpec

    def respond(self, request: Request) -> Response:
        raise RuntimeError(
            f"{self.spec.name} must not be asked, because only results are read: {request.system[:80]}"
        )


def wishes_of(problem_set: ProblemSet) -> Wishes:
    """The tasks that the author of a set wants for every problem."""
    return Wishes(**problem_set.config.shared(Wishes))


def plan_set(
    workspace: Workspace,
    name: str,
    problems: Sequence[Problem],
    wishes: Wishes,
    options: ProblemOptions | None = None,
    **more: Any,
) -> SetPlan:
    """Plan a set: resolve models and prompts. `more` has other fields of the plan. Asks no model and writes nothing. Raises ConfigError."""
    chosen = options or ProblemOptions()
    twice = sorted(name for name, times in Counter(problem.id for problem in problems).items() if times > 1)
    if twice:
        raise ConfigError(f"problems of {name} have the same id: {', '.join(twice)}")
    profile_name = chosen.profile or workspace.settings.profile
    profile = workspace.profile(profile_name)
    prompts()
    return SetPlan(
        name=_checked(name),
        problems=tuple(problems),
        wishes=wishes,
        profile_name=profile_name,
        specs=problem_specs(profile, profile_name),
        budget=effective_budget(profile, chosen.limits),
        seed=chosen.seed or 0,
        **more,
    )


def vision_fault(plan: SetPlan, problem: Problem) -> str:
    """One line that names a model that must see the problem's picture and does not accept pictures.

    Empty if there is no such model, or if the problem is not only a picture.
    """
    if problem.picture is None or problem.tex.strip():
        return ""
    readers = (Stage.CLASSIFY, Stage.SCAN, Stage.DIAGRAM)
    for task in tasks_of(problem, plan.wishes):
        classified = task.stage is Stage.CLASSIFY and problem.classification is not None
        spec = plan.specs[ROLE_OF[task.stage]]
        if task.stage in readers and not classified and not spec.images:
            return BLIND.format(name=spec.name, role=ROLE_OF[task.stage].value)
    return ""


def keep_picture(store: Store, data: bytes, media_type: str) -> Picture:
    """Store a picture under a hash of its content. Raises ValueError for a media type that models do not accept."""
    if media_type not in _SUFFIXES:
        raise ValueError(f"{media_type} is none of {', '.join(_SUFFIXES)}")
    picture = Picture.model_validate({"sha256": content_hash(data), "media_type": media_type})
    store.write_if_changed(picture_key(picture), data)
    return picture


def picture_key(picture: Picture) -> str:
    """The store key of a picture."""
    return store_key("pictures", picture.sha256[:2], f"{picture.sha256}.{_SUFFIXES[picture.media_type]}")


def see_picture(store: Store, picture: Picture) -> Image:
    """The stored picture in the form that a model gets. Raises StoreError if its bytes are missing."""
    data = store.read_bytes(picture_key(picture))
    return Image(media_type=picture.media_type, data=data, title="picture of the problem")


def _checked(name: str) -> str:
    try:
        return check_name(name)
    except ValueError as error:
        raise ConfigError(f"a problem set's name is unusable: {error}") from None
