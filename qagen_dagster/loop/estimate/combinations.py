"""Estimates the calls, tokens, cost and time of each combination as ranges, before anything is paid.

Documents that have a result cost nothing and are left out. The numbers come from past runs (`past_runs`, `forecast`) or, if there
are none, from `rough_guess`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from qagen_dagster.configuration.profiles import QUESTION_ROLES, Role
from qagen_dagster.loop.estimate import batch_guess, forecast, past_runs, rough_guess
from qagen_dagster.loop.estimate.cost import BudgetEnd, batch_share, budget_ends, money
from qagen_dagster.loop.estimate.forecast import METRICS, NOTHING, Need, Range, Use
from qagen_dagster.loop.estimate.run_time import run_time
from qagen_dagster.loop.questions.batch.state import BatchLimits
from qagen_dagster.loop.questions.combination import CombinationPlan, RunOptions, finished, plan
from qagen_dagster.loop.questions.fingerprint import specs_of
from qagen_dagster.loop.questions.run_document import why_unusable
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.records.base import Record
from qagen_dagster.records.document import IndexEntry, VisualManifest
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.results import CandidateSet

_RARELY = 0.1  # share of accepted questions that may be duplicates of other documents' questions, before any set was compared


class Amounts(Record):
    """Expected amounts."""

    calls: Range = NOTHING
    input_tokens: Range = NOTHING
    cached_tokens: Range = NOTHING  # part of the input
    cache_write_tokens: Range = NOTHING  # part of the input
    output_tokens: Range = NOTHING
    reasoning_tokens: Range = NOTHING  # part of the output
    usd: Range | None = NOTHING  # None: a price that is needed is unknown
    seconds: Range = NOTHING  # of a role: time of its model; else wall-clock time

    def plus(self, other: Amounts) -> Amounts:
        together = {name: getattr(self, name).plus(getattr(other, name)) for name in METRICS}
        money = None if self.usd is None or other.usd is None else self.usd.plus(other.usd)
        return Amounts(**together, usd=money)


class RoleEstimate(Amounts):
    """The estimate of one role of a combination."""

    role: str
    model: str
    by_batch: float = 0.0  # share of its cost that goes through provider batches, which are cheaper


class CombinationEstimate(Amounts):
    """The estimate of one combination: its documents by state, and the expected amounts."""

    combination: str
    profile: str
    target_count: int
    documents: int
    done: int  # documents that have a result
    without_work: int  # documents that give no questions in this mode
    to_do: int
    begun: int  # part of the documents to do
    accepted: Range  # new questions
    guessed: bool  # no past run was found
    basis: str  # what the numbers are based on, in words
    unknown_prices: tuple[str, ...] = ()
    roles: tuple[RoleEstimate, ...] = ()


class Estimate(Record):
    """All combinations and their sum. They run one after another."""

    total: Amounts
    unknown_prices: tuple[str, ...]
    combinations: tuple[CombinationEstimate, ...]
    budgets: tuple[BudgetEnd, ...] = ()  # limits that the upper ends of the ranges exceed


@dataclass(frozen=True)
class _Work:
    """The documents of a plan with their sizes."""

    done: list[tuple[IndexEntry, float]]
    to_do: list[Need]
    without: int


def estimate(space: Workspace, combinations: Sequence[Combination], options: RunOptions) -> Estimate:
    """Estimate a run of `combinations`. Raises ConfigError, or StoreError when a corpus was never parsed."""
    past = {mode: past_runs.read_past(space.store, mode) for mode in {one.mode for one in combinations}}
    plans = [plan(space, one, options) for one in combinations]
    found = tuple(_combination(space, one, past[one.combination.mode]) for one in plans)
    total = Amounts()
    for one in found:
        total = total.plus(one)
    unknown = {name: None for one in found for name in one.unknown_prices}
    return Estimate(
        total=total,
        unknown_prices=tuple(unknown),
        combinations=found,
        budgets=tuple(_budget_ends(plans, found, total)),
    )


def _budget_ends(
    plans: Sequence[CombinationPlan], found: Sequence[CombinationEstimate], total: Amounts
) -> Iterator[BudgetEnd]:
    to_do = sum(one.to_do for one in found)
    for allowance in dict.fromkeys(planned.budget.run for planned in plans):
        yield from budget_ends("run", None, allowance, dict(total), to_do)
    for planned, one in zip(plans, found, strict=True):
        for scope, allowance in (
            ("partition", planned.budget.partition),
            ("document", planned.budget.document),
        ):
            yield from budget_ends(scope, one.combination, allowance, dict(one), one.to_do)


def _combination(space: Workspace, planned: CombinationPlan, past: past_runs.Past) -> CombinationEstimate:
    mode, task = planned.combination.mode, _task(planned)
    work = _work(space, planned)
    found = (
        _forecast(space, planned, work, past)
        if work.to_do
        else _Forecast({}, NOTHING, "nothing to do", False)
    )
    specs = {role: planned.profile.spec(role, mode) for role in found.roles}
    size = sum(need.size for need in work.to_do) / max(1, len(work.to_do))
    roles = tuple(_role(role, specs[role], amounts, task, size) for role, amounts in found.roles.items())
    total = Amounts()
    for one in roles:
        total = total.plus(one)
    workers = space.settings.document_workers
    amounts = dict(total) | {
        "seconds": run_time(specs, found.roles, documents=len(work.to_do), workers=workers)
    }
    return CombinationEstimate(
        **amounts,
        combination=planned.combination.key,
        profile=planned.profile_name,
        target_count=planned.limits.target_count,
        documents=len(planned.documents),
        done=len(work.done),
        without_work=work.without,
        to_do=len(work.to_do),
        begun=sum(bool(need.paid) for need in work.to_do),
        accepted=found.accepted,
        guessed=found.guessed,
        basis=found.basis,
        unknown_prices=tuple(dict.fromkeys(one.model for one in roles if one.usd is None)),
        roles=roles,
    )


def _work(space: Workspace, planned: CombinationPlan) -> _Work:
    """Group the documents by the work that is left."""
    mode, found = planned.combination.mode, _Work([], [], 0)
    without = 0
    for entry in planned.documents:
        visuals = _visuals(space, planned, entry) if mode is Mode.VISUAL else 0
        size = past_runs.size_of(
            mode,
            characters=entry.char_count,
            pages=entry.page_count or 0,
            lines=entry.line_count,
            visuals=visuals,
        )
        if why_unusable(entry, mode, has_text=entry.char_count > 0, visuals=visuals) is not None:
            without += 1
        elif finished(space, planned, entry) is not None:
            found.done.append((entry, size))
        else:
            calls = [call for event in planned.journal(entry, space).events for call in event.calls]
            found.to_do.append(Need(size, past_runs.use_of(calls)))
    return _Work(found.done, found.to_do, without)


def _visuals(space: Workspace, planned: CombinationPlan, entry: IndexEntry) -> int:
    found = space.store.find_valid(VisualManifest.key(planned.combination.corpus, entry.id), VisualManifest)
    return len(found.visuals) if found is not None and found.document_version == entry.version else 0


@dataclass(frozen=True)
class _Forecast:
    roles: dict[Role, dict[str, Range]]
    accepted: Range
    basis: str
    guessed: bool


def _forecast(space: Workspace, planned: CombinationPlan, work: _Work, past: past_runs.Past) -> _Forecast:
    here = past_runs.finished_here(planned, work.done, space.store)
    chosen = past_runs.choose(planned, here, past)
    target = planned.limits.target_count
    if chosen.examples:
        roles = {
            role: forecast.forecast(chosen.examples, work.to_do, role.value, target)
            for role in _roles(planned, chosen)
        }
        accepted = forecast.accepted(chosen.examples, work.to_do, target)
    else:
        roles, accepted = _guess(planned, work.to_do)
    compared = _comparisons(space, planned, accepted.expected, past)
    own = roles[Role.DEDUPLICATOR]
    roles[Role.DEDUPLICATOR] = {name: own[name].plus(compared[name]) for name in METRICS}
    return _Forecast(roles, accepted, chosen.told, not chosen.examples)


def _roles(planned: CombinationPlan, chosen: past_runs.Chosen) -> list[Role]:
    """The roles of questions, and the other roles that the examples used and that have a model."""
    mode, asked = planned.combination.mode, {role for one in chosen.examples for role in one.uses}
    more = [role for role in Role if role not in QUESTION_ROLES and role.value in asked]
    return [*QUESTION_ROLES, *(role for role in more if planned.profile.find(role, mode) is not None)]


def _task(planned: CombinationPlan) -> rough_guess.Task:
    where = planned.combination
    return rough_guess.Task(
        planned.corpus.config, planned.corpus.scenario(where.scenario), where.mode, planned.limits
    )


def _guess(planned: CombinationPlan, needs: Sequence[Need]) -> tuple[dict[Role, dict[str, Range]], Range]:
    task, target = _task(planned), planned.limits.target_count
    models = specs_of(planned.profile, task.mode, planned.strategy)
    totals = dict.fromkeys(models, Use())
    for need in needs:
        for role, use in _guessed(task, need.size, models).items():
            left = Use(*(max(0.0, a - b) for a, b in zip(use, need.paid.get(role, Use()), strict=True)))
            totals[Role(role)] = totals[Role(role)].plus(left)
    questions = sum(rough_guess.expected_questions(need.size, target) for need in needs)
    most = float(target * len(needs))
    accepted = Range(low=questions / rough_guess.FACTOR, expected=questions, high=most)
    return {role: _widely(total, rough_guess.FACTOR) for role, total in totals.items()}, accepted


def _guessed(task: rough_guess.Task, size: float, models: dict[Role, ModelSpec]) -> dict[str, Use]:
    if isinstance(task.limits, BatchLimits):
        return batch_guess.guess(task, task.limits, size, models)
    return rough_guess.guess(task, size, models)


def _comparisons(
    space: Workspace, planned: CombinationPlan, new: float, past: past_runs.Past
) -> dict[str, Range]:
    """The expected amounts for comparing the questions of all documents, which grow with the number of pairs."""
    made = space.store.find_valid(CandidateSet.key(planned.combination), CandidateSet)
    total = new + (sum(document.accepted for document in made.documents) if made is not None else 0)
    known = past_runs.set_rate(planned, past)
    spec = planned.profile.spec(Role.DEDUPLICATOR, planned.combination.mode)
    rate, measured = known or (_RARELY / max(1.0, total), None)
    one = measured or rough_guess.comparison(_task(planned), spec)
    return _widely(one.times(min(total, rate * total**2)), rough_guess.FACTOR)


def _widely(use: Use, factor: float) -> dict[str, Range]:
    return {
        name: Range(low=value / factor, expected=value, high=value * factor)
        for name, value in zip(METRICS, use, strict=True)
    }


def _role(
    role: Role, spec: ModelSpec, amounts: Mapping[str, Range], task: rough_guess.Task, size: float
) -> RoleEstimate:
    share = batch_share(role, spec, task, size)
    return RoleEstimate(
        role=role.value, model=spec.name, by_batch=share, **amounts, usd=money(spec, amounts, share)
    )
