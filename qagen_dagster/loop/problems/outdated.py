"""Tells whether the bank of a problem set is out of date, and why. A set without a bank is not out of date."""

from collections import Counter
from functools import lru_cache

from qagen_dagster.agents.problems import prompts as shipped
from qagen_dagster.agents.problems import role_prompt
from qagen_dagster.agents.prompts import own_prompts
from qagen_dagster.configuration.problems import ProblemSet, find_problem_set
from qagen_dagster.configuration.profiles import Role, problem_specs
from qagen_dagster.loop.configuration import Configuration, differences, model_names, model_settings
from qagen_dagster.loop.problems.bank import plan_problem_set, published_bank, read_sources, reviewed
from qagen_dagster.loop.problems.code_checks import problem_prompt_hashes
from qagen_dagster.loop.problems.inputs import PROBLEM_VERSION, ROLE_OF, engine_compiler, find_references
from qagen_dagster.loop.problems.plan import ProblemOptions, SetPlan
from qagen_dagster.loop.problems.run_problem import given_result
from qagen_dagster.loop.problems.run_set import stored_work
from qagen_dagster.loop.problems.sources import TEX, read_set
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import content_hash, fingerprint
from qagen_dagster.records.problems.result import ProblemBank, ProblemEnd, Stage
from qagen_dagster.records.problems.submissions import Problem
from qagen_dagster.records.text import counted


def wanted_problems(space: Workspace, key: str, profile: str | None = None) -> Configuration:
    """The configuration with which a run would make the bank, including the source files. Raises ConfigError."""
    problem_set = find_problem_set(space.settings.corpora, key)
    made = published_bank(space, key)
    name = profile or (made and made.profile) or problem_set.config.profile or space.settings.profile
    specs = problem_specs(space.profile(name), name)
    own = own_prompts(shipped(), problem_set.prompts).items()
    prompts, outside = problem_prompt_hashes(), {"name", "profile", "sources", "prompts"}
    prompts |= {prompt: one.hash for prompt, one in own}
    if Role.SOLVER not in specs:
        del prompts[role_prompt(Role.SOLVER).name]
        outside.add("solve")
    settings = model_settings(specs) | {f"prompt {prompt}": value for prompt, value in prompts.items()}
    options = problem_set.config.model_dump(mode="json", exclude=outside)
    settings |= {field: str(value) for field, value in options.items()}
    settings["seed"] = str(problem_set.config.seed if made is None or made.seed is None else made.seed)
    settings["references"] = find_references(space, problem_set.references)[0].version
    settings["TeX engine"] = engine_compiler().name
    files = {
        f"source {source.file}": _file_hash(problem_set, source.file) for source in problem_set.config.sources
    }
    parts = model_names(specs)
    everything = sorted(f"{field}={value}" for field, value in (parts | settings | files).items())
    return Configuration(fingerprint([PROBLEM_VERSION, *everything]), parts, settings | files)


def made_problems(space: Workspace, key: str, wanted: Configuration) -> Configuration | None:
    """The configuration of the stored bank; None if there is none."""
    bank = published_bank(space, key)
    if bank is None:
        return None
    models = _models(bank)
    version = fingerprint([bank.model_dump_json()]) if why_bank_outdated(space, key) else wanted.version
    return Configuration(version, {role: models.get(role, name) for role, name in wanted.parts.items()})


def why_bank_outdated(space: Workspace, key: str) -> tuple[str, ...]:
    """The reasons why an existing bank is out of date, in one line each. Raises ConfigError and StoreError.

    Changed pictures and PDF files are found when `problem_sources` is materialized, because they must be drawn to be compared.
    """
    bank = published_bank(space, key)
    if bank is None:
        return ()
    problem_set = find_problem_set(space.settings.corpora, key)
    if all(source.file.lower().endswith(TEX) for source in problem_set.config.sources):
        known = {problem.id: problem for problem in read_sources(space, key).problems}
        if any(known.get(problem.id) != problem for problem in read_set(space, problem_set).problems):
            return ("its source files changed",)
    if reviewed(space, bank) != bank:
        return ("new decisions of reviewers",)
    plan = plan_problem_set(space, problem_set, ProblemOptions(refresh=True))
    models = _models(bank)
    roles = {role.value: spec.name for role, spec in plan.specs.items() if role.value in models}
    stored = {one.id: {task.task.key: task.fingerprint for task in one.tasks} for one in bank.problems}
    outdated = [one.id for one in plan.problems if not _is_as_planned(space, plan, one, stored.get(one.id))]
    if not outdated:
        return ()
    return (
        *differences({role: models[role] for role in roles}, roles),
        *counted("outdated problems", outdated),
    )


def _is_as_planned(space: Workspace, plan: SetPlan, problem: Problem, stored: dict[str, str] | None) -> bool:
    """Whether all results that the plan wants exist, and the bank has the same ones. `stored` has the bank's fingerprints by task."""
    _, worked = stored_work(space, plan, problem)
    known = stored or {}
    return worked.ended.end is not ProblemEnd.UNFINISHED and all(
        known.get(result.task.key) == result.fingerprint for result in worked.state.results
    )


def expected_calls(space: Workspace, plan: SetPlan) -> Counter[str]:
    """About how many calls a run of the set takes, by role, if no result must be repaired. A repair takes one more call,
    and one more call of the solver.
    """
    found: Counter[str] = Counter()
    for problem in plan.problems:
        work, worked = stored_work(space, plan, problem)
        done = {result.task.key for result in worked.state.results}
        for task in work.tasks:
            if task.key not in done:
                found[ROLE_OF[task.stage].value] += given_result(task, problem, worked.state) is None
                solved = work.solver(task) is not None and task.stage is not Stage.DIAGRAM  # its scan counts
                found[Role.SOLVER.value] += solved + (work.second_reader(task) is not None)
    return +found


def told_calls(calls: Counter[str]) -> str:
    """The expected calls in words."""
    roles = ", ".join(f"{role} {number}" for role, number in calls.items())
    return f"about {calls.total()} model calls ({roles}), and more for results that must be repaired"


def _models(bank: ProblemBank) -> dict[str, str]:
    """The model of each role that made a result of the bank."""
    return {
        ROLE_OF[task.task.stage].value: task.model
        for problem in bank.problems
        for task in problem.tasks
        if task.model
    }


def _file_hash(problem_set: ProblemSet, name: str) -> str:
    found = problem_set.file(name).stat()
    return _hash_of(problem_set, name, (found.st_size, found.st_mtime_ns, found.st_ctime_ns))


@lru_cache(maxsize=1000)
def _hash_of(problem_set: ProblemSet, name: str, _state: tuple[int, ...]) -> str:
    return content_hash(problem_set.file(name).read_bytes())
