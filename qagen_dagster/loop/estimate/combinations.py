"""Estimates the calls, tokens, cost and time of each combination as ranges, before anything is paid, and where a budget may end the run.

Documents that have a result cost nothing and are left out. Finished documents of the store are examples for the others.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.loop.estimate.amounts import (
    LABELS,
    METRICS,
    NOTHING,
    PANEL,
    TABLE,
    Amounts,
    Range,
    Use,
    price,
    total,
    use_of,
)
from qagen_dagster.loop.estimate.document_estimate import (
    Document,
    DocumentEstimator,
    Example,
    PastRun,
    document_of,
    example_of,
    kind_of,
    past_run,
    visual_count,
)
from qagen_dagster.loop.evaluation.panel import answerers
from qagen_dagster.loop.evaluation.relevance_labels import labels_setup
from qagen_dagster.loop.evaluation.run_questions import configured_evaluation
from qagen_dagster.loop.questions.fingerprint import specs_of
from qagen_dagster.loop.questions.plan import CombinationPlan, RunOptions, finished, plan
from qagen_dagster.loop.questions.run_document import why_unusable
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.models.call_cost import FREE_PROVIDERS
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.base import Record
from qagen_dagster.records.evaluation import EvaluationReport, Kind
from qagen_dagster.records.ids import Combination

# assumed share of questions that a model compares across documents, if no earlier set was compared
_RARELY = 0.1
_KINDRED = (Role.GENERATOR, Role.VALIDATOR)  # an example must have the same kinds of models in these roles
# Share of a role's cost that can go through provider batches. A validator uses batches only for comparisons.
_BY_BATCH = {Role.DEDUPLICATOR: 1.0, Role.JUDGE: 1.0, Role.VALIDATOR: 0.15}
_USED_PACE = 0.95  # share of a limit that is used, see models/rate_limits.py
_LOCAL_WORKERS = 2  # models in this process share its interpreter, so more parallel documents hardly help
_LOCAL_STEP = 0.003  # seconds per call for tools and journal, besides the model
_LOCAL_START = 3.0  # seconds that models in this process may take to load
_UNEVEN = 0.3  # share of a document's time by which the last worker ends after the others


class RoleEstimate(Amounts):
    """The estimate of one role of a combination."""

    role: str
    model: str
    by_batch: float = 0.0  # share of the role's cost that goes through cheaper provider batches


class CombinationEstimate(Amounts):
    """The estimate of one combination: its documents by state, and the expected amounts."""

    combination: str
    profile: str
    target_count: int
    documents: int
    done: int  # documents that have a result
    without_work: int  # documents that give no questions in this mode
    to_do: int
    begun: int  # documents of `to_do` whose work has begun
    accepted: Range  # new questions
    guessed: bool  # whether there were no finished documents to estimate from
    basis: str  # the basis of the numbers, in words
    unknown_prices: tuple[str, ...] = ()
    roles: tuple[RoleEstimate, ...] = ()


class BudgetEnd(Record):
    """A limit that may end the work, and the point at which the work then ends.

    `documents` is the number of documents, out of `of`, that are finished when the limit is reached. For the scope `document`, each
    document stops at its own limit, and `documents` is the total work until then, in documents.
    """

    scope: str  # run, partition or document
    combination: str | None  # None: the whole run
    limit: str  # max_usd, max_tokens or max_calls
    allowed: float
    of: int
    documents: Range


class Estimate(Record):
    """All combinations and their sum. They run one after another."""

    total: Amounts
    unknown_prices: tuple[str, ...]
    combinations: tuple[CombinationEstimate, ...]
    budgets: tuple[BudgetEnd, ...] = ()  # limits that the upper ends of the ranges exceed


@dataclass
class _Work:
    """The documents of a plan by the work that is left."""

    finished: dict[str, Example] = field(default_factory=dict[str, Example])  # by document id
    without: int = 0
    # Each document with the amounts that its unfinished work has already used.
    to_do: list[tuple[Document, dict[str, Use]]] = field(
        default_factory=list[tuple[Document, dict[str, Use]]]
    )


def estimate(space: Workspace, combinations: Sequence[Combination], options: RunOptions) -> Estimate:
    """Estimate a run of `combinations`. Raises ConfigError, and StoreError if a corpus was never parsed."""
    plans = [plan(space, combination, options) for combination in combinations]
    past = _past_runs(space, plans)
    found = tuple(_combination(space, planned, past) for planned in plans)
    sums = Amounts()
    for estimate_of_set in found:
        sums = sums.plus(estimate_of_set)
    return Estimate(
        total=sums,
        unknown_prices=tuple(dict.fromkeys(name for one in found for name in one.unknown_prices)),
        combinations=found,
        budgets=tuple(_budget_ends(plans, found, sums)),
    )


def _past_runs(space: Workspace, plans: Sequence[CombinationPlan]) -> list[PastRun]:
    """The last runs of all combinations of the project that have the mode and the strategy of one of the plans."""
    wanted = {(planned.strategy, planned.combination.mode) for planned in plans}
    found = (
        past_run(space, combination, strategy)
        for corpus in space.corpora.corpora.values()
        for combination in corpus.combinations()
        if ((strategy := corpus.scenario(combination.scenario).strategy), combination.mode) in wanted
    )
    return [run for run in found if run is not None]


def _budget_ends(
    plans: Sequence[CombinationPlan], found: Sequence[CombinationEstimate], sums: Amounts
) -> Iterator[BudgetEnd]:
    to_do = sum(one.to_do for one in found)
    for allowance in dict.fromkeys(planned.budget.run for planned in plans):
        yield from budget_ends("run", None, allowance, sums, to_do)
    for planned, one in zip(plans, found, strict=True):
        yield from budget_ends("partition", one.combination, planned.budget.partition, one, one.to_do)
        yield from budget_ends("document", one.combination, planned.budget.document, one, one.to_do)


def _combination(space: Workspace, planned: CombinationPlan, past: Sequence[PastRun]) -> CombinationEstimate:
    models = specs_of(planned.profile, planned.combination.mode, planned.strategy)
    alike = [run for run in past if _is_alike(run, planned, models)]
    earlier = next((run for run in alike if run.combination == planned.combination), None)
    work = _work(space, planned, earlier)
    own = (earlier.examples if earlier is not None else {}) | work.finished
    estimator = DocumentEstimator(
        TABLE[planned.strategy, planned.combination.mode],
        models,
        list(own.values()),
        [example for run in alike if run is not earlier for example in run.examples.values()],
    )
    accepted = sum(estimator.accepted(document) for document, _ in work.to_do)
    uses = dict.fromkeys(models, Use())
    for document, paid in work.to_do:
        for role, use in estimator.uses(document).items():
            uses[Role(role)] = uses[Role(role)].plus(use.without(paid.get(role, Use())))
    made = earlier.accepted if earlier is not None else 0
    if work.to_do:
        compared = _comparisons(estimator, accepted + made, alike if earlier is None else [earlier])
        uses[Role.DEDUPLICATOR] = uses[Role.DEDUPLICATOR].plus(compared)
    writers = planned.profile.writing(planned.scenario.writers, planned.combination.mode)
    roles = tuple(
        _role(name, spec, use.times(share), estimator, _BY_BATCH.get(role, 0.0))
        for role, use in uses.items()
        for name, (spec, share) in (
            {f"writer {one}": both for one, both in writers.items()}
            if writers and role is Role.GENERATOR
            else {role.value: (models[role], 1.0)}
        ).items()
    )
    roles += tuple(_evaluations(space, planned, estimator, accepted, made))
    sums = Amounts()
    for one in roles:
        sums = sums.plus(one)
    workers = space.settings.document_workers
    seconds = run_time(models, uses, estimator.around, documents=len(work.to_do), workers=workers)
    expected = estimator.around.times(accepted)
    most = float(sum(document.target for document, _ in work.to_do))
    return CombinationEstimate(
        **dict(sums) | {"seconds": seconds},
        combination=planned.combination.key,
        profile=planned.profile_name,
        target_count=planned.limits.target_count,
        documents=len(planned.documents),
        done=len(work.finished),
        without_work=work.without,
        to_do=len(work.to_do),
        begun=sum(bool(paid) for _, paid in work.to_do),
        accepted=expected.model_copy(update={"high": min(most, expected.high)}),
        guessed=estimator.guessed and bool(work.to_do),
        basis=estimator.basis if work.to_do else "nothing to do",
        unknown_prices=tuple(dict.fromkeys(one.model for one in roles if one.usd is None)),
        roles=roles,
    )


def _evaluations(
    space: Workspace, planned: CombinationPlan, estimator: DocumentEstimator, accepted: float, made: float
) -> Iterator[RoleEstimate]:
    """The evaluations that the run brings up to date: labels if a judge grades them, and a panel that has answered before."""
    evaluation = configured_evaluation(space, planned.combination, planned.profile_name)
    known = {
        kind: space.store.exists(EvaluationReport.key(planned.combination, kind))
        for kind in (Kind.LABELS, Kind.PANEL)
    }
    judge = labels_setup(evaluation).judge
    if judge is not None:  # questions of earlier runs may have no labels yet
        options = planned.scenario.evaluation
        # LABELS is for a pool of depth 20. A round of feedback adds at most half of it.
        size = options.pool_depth / 20 * (1 + options.feedback_rounds / 2)
        use = LABELS.times(size * (accepted if known[Kind.LABELS] else accepted + made))
        yield _role("judge of labels", judge, use, estimator, 1.0)
    readers = [answerer.reader for answerer in answerers(evaluation)] if known[Kind.PANEL] else []
    counts = Counter(reader.name for reader in readers)
    for name, spec in {reader.name: reader for reader in readers}.items():
        if spec.provider not in FREE_PROVIDERS:
            yield _role(f"panel: {name}", spec, PANEL.times(counts[name] * accepted), estimator, 0.0)


def _is_alike(run: PastRun, planned: CombinationPlan, models: Mapping[Role, ModelSpec]) -> bool:
    """Whether a past run had the strategy, the mode and the kinds of models that are planned."""
    same = (run.strategy, run.combination.mode) == (planned.strategy, planned.combination.mode)
    return same and all(run.kinds.get(role) == kind_of(models[role].name) for role in _KINDRED)


def _work(space: Workspace, planned: CombinationPlan, earlier: PastRun | None) -> _Work:
    """Group the documents by the work that is left. `earlier` is the last run of the combination."""
    work, mode, target = _Work(), planned.combination.mode, planned.limits.target_count
    # an imported question takes about as many calls as a generated question
    imported = 0 if planned.log is None else ceil(len(planned.log.questions) / max(1, len(planned.documents)))
    for entry in planned.documents:
        visuals = visual_count(space, planned.combination, entry)
        most = (
            min(target, earlier.target_count) if earlier is not None and entry.id in earlier.dry else target
        )
        most += len(planned.missing(entry.id))
        staged = sum(planned.staged(entry.id).values())
        target_of = max(most, staged) + imported
        document = replace(document_of(entry, mode, visuals, target_of, staged), imported=imported)
        if why_unusable(entry, mode, has_text=entry.char_count > 0, visuals=visuals) is not None:
            work.without += 1
        elif (result := finished(space, planned, entry)) is not None:
            work.finished[entry.id] = example_of(result, document)
        else:
            calls = [call for event in planned.journal(entry, space).events for call in event.calls]
            work.to_do.append((document, use_of(calls)))
    return work


def _comparisons(estimator: DocumentEstimator, questions: float, runs: Sequence[PastRun]) -> Use:
    """The amounts for comparing the questions of all documents with each other.

    The number of comparisons grows with the number of pairs, but there is at most one for each question.
    """
    calls = sum(run.compared.calls for run in runs)
    pairs = sum(run.accepted**2 for run in runs)
    if not pairs:
        return estimator.call(Role.DEDUPLICATOR).times(_RARELY * questions)
    # Half a comparison is added, because there may be some even if there were none in the past.
    expected = min(questions, (calls + 0.5) / pairs * questions**2)
    one = total(run.compared for run in runs).times(1 / calls) if calls else estimator.call(Role.DEDUPLICATOR)
    return one.times(expected)


def _role(
    role: str, spec: ModelSpec, use: Use, estimator: DocumentEstimator, by_batch: float
) -> RoleEstimate:
    share = by_batch if spec.execution == "batch" else 0.0
    usd = price(spec, use, share)
    return RoleEstimate(
        role=role,
        model=spec.name,
        by_batch=share,
        **{name: estimator.around.times(amount) for name, amount in zip(METRICS, use, strict=True)},
        usd=None if usd is None else estimator.around.times(usd),
    )


def run_time(
    specs: Mapping[Role, ModelSpec], uses: Mapping[Role, Use], around: Range, *, documents: int, workers: int
) -> Range:
    """Wall-clock seconds for `documents` documents with `workers` in parallel. `uses` has the total amounts of each role.

    `around` is the range of the amounts, as factors.
    """
    parallel, everything = max(1, min(workers, documents)), total(uses.values())
    if not documents or not everything.calls:
        return NOTHING
    if all(spec.provider in FREE_PROVIDERS for spec in specs.values()):
        # The seconds of past documents include the loading of models, so the lower end is far below them.
        own = _LOCAL_STEP * everything.calls
        return Range(
            low=around.low * everything.seconds / parallel / 2,
            expected=everything.seconds / min(parallel, _LOCAL_WORKERS) + own,
            high=around.high * (everything.seconds + own) + _LOCAL_START,
        )
    shared: dict[tuple[str, str | None], tuple[ModelSpec, Use]] = {}  # roles of a model share its limits
    for role, use in uses.items():
        spec = specs[role]
        _, others = shared.get((spec.name, spec.base_url), (spec, Use()))
        shared[spec.name, spec.base_url] = spec, others.plus(use)
    uneven = (1 / parallel + _UNEVEN / documents) * everything.seconds
    return around.times(max(uneven, *(_least(spec, use) for spec, use in shared.values())))


def _least(spec: ModelSpec, use: Use) -> float:
    """The shortest time in seconds that the limits of a model allow."""
    bounds = [0.0]
    if spec.requests_per_minute is not None:
        bounds.append(use.calls * 60 / (_USED_PACE * spec.requests_per_minute))
    if spec.tokens_per_minute is not None:
        bounds.append((use.input_tokens + use.output_tokens) * 60 / (_USED_PACE * spec.tokens_per_minute))
    if spec.concurrency is not None:
        bounds.append(use.seconds / spec.concurrency)
    return max(bounds)


def budget_ends(
    scope: str, combination: str | None, allowance: Allowance, amounts: Amounts, of: int
) -> Iterator[BudgetEnd]:
    """The limits of `allowance` that the upper ends of `amounts` exceed. A limit per document is multiplied by `of`."""
    expected = {
        "max_usd": amounts.usd,
        "max_tokens": amounts.input_tokens.plus(amounts.output_tokens),
        "max_calls": amounts.calls,
    }
    for limit, taken in expected.items():
        allowed: float | None = getattr(allowance, limit)
        if allowed is None or taken is None:
            continue
        most = allowed * of if scope == "document" else allowed
        if taken.high > most:
            yield BudgetEnd(
                scope=scope,
                combination=combination,
                limit=limit,
                allowed=allowed,
                of=of,
                documents=Range(
                    low=_reached(most, taken.high, of),
                    expected=_reached(most, taken.expected, of),
                    high=_reached(most, taken.low, of),
                ),
            )


def _reached(allowed: float, taken: float, of: int) -> float:
    return float(of) if taken <= allowed else of * allowed / taken
