"""Reasons not to begin a run: a published set that it must not replace, or a paid model that refuses to answer."""

from collections.abc import Iterable

from qagen_dagster.configuration.profiles import QUESTION_ROLES, Role
from qagen_dagster.errors import ModelError, PermanentModelError
from qagen_dagster.loop.parallel import map_in_parallel
from qagen_dagster.loop.profile_checkup import key_of
from qagen_dagster.loop.questions.plan import RunOptions
from qagen_dagster.loop.shared_budget import BudgetMeter, RunSpending, effective_budget, metered
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.call_cost import FREE_PROVIDERS
from qagen_dagster.models.checkup import HELLO, short, unreachable
from qagen_dagster.models.providers import key_variable
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.questions.published import CorpusGenerationResult
from qagen_dagster.records.questions.results import CandidateSet


def why_kept(workspace: Workspace, combination: Combination, options: RunOptions) -> str | None:
    """The reason why a run with these options may replace the published set only with --replace; None if there is none.

    Raises ConfigError for a profile that cannot be used.
    """
    store, limit = workspace.store, options.num_documents
    published = store.find_valid(CorpusGenerationResult.key(combination), CorpusGenerationResult)
    if published is None or not published.questions:
        return None
    name = workspace.profile_name(combination, options.profile)
    makers = {one.generation_metadata.generator_model for one in published.questions}
    paid = sorted(maker for maker in makers if maker.partition(":")[0] not in FREE_PROVIDERS)
    if paid and workspace.profile(name).spec(Role.GENERATOR, combination.mode).provider in FREE_PROVIDERS:
        return (
            f"not run: {', '.join(paid)} made the published set, and profile {name} has no such model "
            "(choose a profile, or replace the set with --replace)"
        )
    candidates = store.find_valid(CandidateSet.key(combination), CandidateSet)
    if limit is not None and candidates is not None and len(candidates.documents) > limit:
        return (
            f"not run: the published set covers {len(candidates.documents)} documents, and the run would cover {limit} "
            "(--replace replaces the set)"
        )
    return None


def refused(
    workspace: Workspace, combinations: Iterable[Combination], options: RunOptions, spending_id: str
) -> list[str]:
    """A line for each paid model of these combinations whose server refuses the shortest possible call.

    All models are asked at the same time. The ledger keeps the responses, so a model that has answered is not asked again. A server that
    is busy or cannot be reached is not reported here, because the run retries it. If a budget is 0, no model is asked. The calls
    count toward the spending of the run.
    """
    spending = RunSpending(workspace.store, f"spending/{spending_id}/first_calls")
    specs: dict[str, tuple[ModelSpec, BudgetMeter]] = {}
    for one in combinations:
        profile = workspace.profile(workspace.profile_name(one, options.profile))
        budget = effective_budget(profile, options.limits)
        if 0 not in (budget.run.max_usd, budget.run.max_tokens, budget.run.max_calls):
            found = [profile.find(role, one.mode) for role in (*QUESTION_ROLES, Role.JUDGE)]
            shares = workspace.corpus(one.corpus).scenario(one.scenario).writers
            found += [spec for spec, _ in profile.writing(shares, one.mode).values()]
            paid = (spec for spec in found if spec is not None and _is_paid(spec))
            specs |= {key_of(spec): (spec, BudgetMeter(budget, spending)) for spec in paid}
    chosen = list(specs.values())
    lines = map_in_parallel(lambda one: _refused(workspace, *one), chosen, workers=len(chosen) or 1)
    return [line for line in lines if line is not None]


def _refused(workspace: Workspace, spec: ModelSpec, meter: BudgetMeter) -> str | None:
    short_spec = short(spec).model_copy(update={"execution": "direct", "max_attempts": 1})
    try:
        metered(workspace.model(short_spec), meter).respond(HELLO)
    except PermanentModelError as error:
        variable = key_variable(spec.provider, spec.api_key_env)
        return f"{spec.name}: {unreachable(spec, variable, error).detail}"
    except ModelError:
        return None
    return None


def _is_paid(spec: ModelSpec) -> bool:
    """Whether a call probably costs money: the profile has a price for the model, or the model needs an API key."""
    priced = spec.usd_per_million_input or spec.usd_per_million_output
    return bool(priced or key_variable(spec.provider, spec.api_key_env))
