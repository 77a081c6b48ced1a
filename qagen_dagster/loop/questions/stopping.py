"""The end of the work on a document: how many questions a run wants, and after how many attempts and failures in a row it stops
(`end_of_failures`). A scenario sets these numbers (`ScenarioConfig` in `records/corpus_options.py`)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from qagen_dagster.agents.next_step import GiveUpReason, ended_by, says_nothing
from qagen_dagster.agents.questions.batch import questioner
from qagen_dagster.agents.questions.mix import OTHER, Mix, apportioned
from qagen_dagster.configuration.profiles import Profile, Role
from qagen_dagster.loop.questions import state as qa
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.call_cost import FREE_PROVIDERS
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records import corpus_options
from qagen_dagster.records.base import Record
from qagen_dagster.records.grading import Method
from qagen_dagster.records.ids import Combination, Mode, digest
from qagen_dagster.records.questions import results

Wanted = tuple[tuple[corpus_options.QuestionType, int], ...]
_KEPT = ("max_attempts", "max_consecutive_failures")
# The default of `max_attempts` is four attempts for each wanted question, but at least ten.
LEAST_ATTEMPTS, ATTEMPTS_EACH = 10, 4
MOST_USELESS = 3  # a document ends after this many attempts without a usable reply
_UNUSABLE_REASONS = (results.RejectionReason.GENERATION_FAILED, results.RejectionReason.VALIDATOR_FAILED)
# approximate output tokens of one item, with its quotes, in a reply with several items
_QUESTION, _ANSWER, _BLIND = 80, 220, 160
MOST = 15  # answers of one request: twelve questions and their reserve


class Fit(Record):
    """The maximum numbers of items in one reply of the batch strategy, by kind of item."""

    questions: int = 200
    answers: int = MOST
    blind: int = MOST

    def smaller(self, other: "Fit") -> "Fit":
        """The smaller number of each kind of item."""
        return Fit(**{name: min(getattr(self, name), getattr(other, name)) for name in Fit.model_fields})


def fit_of(generator: ModelSpec, answerer: ModelSpec, validator: ModelSpec) -> Fit:
    """The numbers of items that fit into `max_output_tokens` of the models that write them."""
    pairs = {
        "questions": (generator, _QUESTION),
        "answers": (answerer, _ANSWER),
        "blind": (validator, _BLIND),
    }
    return Fit().smaller(
        Fit(**{name: max(1, spec.max_output_tokens // size) for name, (spec, size) in pairs.items()})
    )


class QALimits(Record):
    """The limits of the loop of a document, and the wanted questions of each kind. `mix` is None if the scenario names no kinds."""

    target_count: int
    max_consecutive_failures: int
    max_attempts: int
    # The mix of one document; the configuration has the shares of the scenario instead
    mix: Annotated[Mix | None, Field(exclude=True)] = None


class BatchLimits(QALimits):
    """The limits of the work on a document by the batch strategy. If `options` has a mix, `target_count` is its sum."""

    options: corpus_options.BatchOptions
    method: Method
    # Not part of the configuration, because a reply that is cut off would lower the limits anyway
    fit: Annotated[Fit, Field(exclude=True)] = Fit()

    def wanted(self, document_id: str) -> Wanted:
        """The number of wanted questions of each type, in order, without unwanted types.

        A preset of the scenario's mix, or the target, is divided equally among its types. The id of the document
        decides which types get the remainder, so that a corpus gets about the same number of questions of each type.
        """
        if self.options.mix is not None:
            return tuple(self.options.mix.items())
        types = tuple(dict.fromkeys(self.options.question_types or self.options.complexity.question_types))
        counts = {} if self.mix is None else self.mix.counts[0]
        found = Counter[corpus_options.QuestionType]()
        for name, count in (counts or {OTHER: self.target_count}).items():
            found.update(_spread(_types_of(name, counts, types), count, document_id))
        return tuple((kind, count) for kind, count in found.items() if count)


def _types_of(
    name: str, counts: Mapping[str, int], preferred: Sequence[corpus_options.QuestionType]
) -> Sequence[corpus_options.QuestionType]:
    """The types that a kind in a mix stands for. A preset or OTHER leaves out types that the mix names, unless no type is left."""
    levels = {kind: corpus_options.Complexity.of(kind) for kind in corpus_options.QuestionType}
    own = [kind for kind, level in levels.items() if name in (kind, level)]
    if own:
        return [kind for kind in own if kind not in counts] or own
    free = [kind for kind, level in levels.items() if kind not in counts and level not in counts]
    return [kind for kind in preferred if kind in free] or free or preferred


def _spread(
    types: Sequence[corpus_options.QuestionType], count: int, document_id: str
) -> dict[corpus_options.QuestionType, int]:
    each, more = divmod(count, len(types))
    first = int(digest(document_id)[:8], 16) % len(types)
    return {kind: each + ((place - first) % len(types) < more) for place, kind in enumerate(types)}


def batch_limits(scenario: corpus_options.ScenarioConfig, target_count: int | None) -> BatchLimits:
    """The limits of a scenario with the batch strategy. The sum of a mix of types replaces the target."""
    options = scenario.batch or corpus_options.BatchOptions()
    target = None if options.mix is None else sum(options.mix.values())
    limits = _base_limits(scenario, target_count if target is None else target)
    return BatchLimits(**dict(limits), options=options, method=scenario.grading.method)


# approximate output tokens of one result
_LEAST_OUTPUT = {Role.GENERATOR: 400, Role.VALIDATOR: 400, Role.ANSWERER: 400, Role.JUDGE: 250}


def staged_of(
    scenario: corpus_options.ScenarioConfig, mode: Mode, target_count: int, document_id: str
) -> dict[corpus_options.Staged, int]:
    """The wanted numbers of unanswerable questions, by kind, and of cross-document questions. They are a part of the target, not all of it.

    `apportioned` rounds the shares.
    """
    shares = scenario.staged if mode is Mode.TEXTUAL else {}
    found = apportioned(shares, target_count, target_count - 1, document_id)
    return {kind: count for kind, count in found.items() if count}


def loop_limits(limits: QALimits, staged: int, missing: int = 0) -> QALimits:
    """The limits of a document's loop, whose target is reduced by `staged` questions and raised by `missing` questions.

    Limits with a mix of types are returned unchanged.
    """
    if mix_of(limits) is not None:
        return limits
    return limits.model_copy(update={"target_count": limits.target_count - staged + missing})


def room_notes(scenario: corpus_options.ScenarioConfig, profile: Profile) -> list[str]:
    """Lines for models whose `max_output_tokens` are too few for what the scenario asks, with the setting to raise."""
    batch = scenario.strategy is corpus_options.Strategy.BATCH
    roles = (Role.GENERATOR, Role.VALIDATOR, *((Role.ANSWERER, Role.JUDGE) if batch else ()))
    specs = {role: spec for role in roles if (spec := profile.find(role, Mode.TEXTUAL)) is not None}
    specs = {role: spec for role, spec in specs.items() if spec.provider not in FREE_PROVIDERS}
    notes = [
        f"the {role.value} may write {spec.max_output_tokens} tokens, and one result takes about {_LEAST_OUTPUT[role]}: "
        "raise its max_output_tokens"
        for role, spec in specs.items()
        if spec.max_output_tokens < _LEAST_OUTPUT[role]
    ]
    if not batch or Role.GENERATOR not in specs or notes:
        return notes
    limits = batch_limits(scenario, None)
    asked = sum(questioner.asked_for(dict(limits.wanted("")), Fit().questions).values())
    for role, size, count in (
        (Role.GENERATOR, _QUESTION, asked),
        (Role.ANSWERER, _ANSWER, min(asked, MOST)),
        (Role.VALIDATOR, _BLIND, min(asked, MOST)),
    ):
        room = specs[role].max_output_tokens // size if role in specs else count
        if room < count:
            notes.append(
                f"the {role.value} may write {specs[role].max_output_tokens} tokens: room for about {room} of {count} items, so it is "
                f"asked more often (max_output_tokens: {size * count} has room for all)"
            )
    return notes


def limits_of(scenario: corpus_options.ScenarioConfig, target_count: int | None) -> QALimits:
    """The limits of a scenario. `target_count`, unless None, replaces the target of the scenario."""
    batch = scenario.strategy is corpus_options.Strategy.BATCH
    return batch_limits(scenario, target_count) if batch else _base_limits(scenario, target_count)


def _base_limits(scenario: corpus_options.ScenarioConfig, target_count: int | None) -> QALimits:
    target = target_count or scenario.target_count
    return QALimits(
        target_count=target,
        max_consecutive_failures=scenario.max_consecutive_failures,
        max_attempts=scenario.max_attempts or max(LEAST_ATTEMPTS, ATTEMPTS_EACH * target),
    )


def wanted_limits(
    workspace: Workspace, combination: Combination, profile: str, target_count: int | None, *, replace: bool
) -> QALimits:
    """The limits of a run with a profile. `target_count`, unless None, replaces the target of the scenario. Without `replace`, no limit is
    below the limit of the present candidate set, if the same profile made that set, because a run only adds questions."""
    scenario = workspace.corpus(combination.corpus).scenario(combination.scenario)
    limits = limits_of(scenario, target_count)
    made = workspace.store.find_head(
        results.CandidateSet.key(combination), results.CandidateSet, results.CandidateDocument
    )
    mix = mix_of(limits)
    if made is None or replace or (mix is None) != (made.mix is None) or made.profile != profile:
        return limits
    if isinstance(limits, BatchLimits) and mix is not None and made.mix is not None:
        most = {kind: max(mix.get(kind, 0), made.mix.get(kind, 0)) for kind in (*made.mix, *mix)}
        options_of_mix = limits.options.model_copy(update={"mix": most})
        limits = batch_limits(scenario.model_copy(update={"batch": options_of_mix}), None)
    else:
        limits = limits_of(scenario, max(limits.target_count, made.target_count))
    least = {name: max(getattr(limits, name), getattr(made, name)) for name in _KEPT}
    return limits.model_copy(update=least)


def mix_of(limits: QALimits) -> dict[corpus_options.QuestionType, int] | None:
    """The number of questions of each type that a scenario wants, or None if it has no mix."""
    return limits.options.mix if isinstance(limits, BatchLimits) else None


def end_of_failures(state: qa.QAState, limits: QALimits) -> qa.Done | None:
    """The end of a document after too many consecutive failures or too many attempts; None if the work goes on. If no reply was usable, or
    the last replies were all cut off, MOST_USELESS consecutive failures are too many. If both hold, one failure is too many."""
    count, useless = state.consecutive_failures, nothing_of_use(state)
    last = [one.detail for one in state.rejected if one.attempt][-max(1, min(count, MOST_USELESS)) :]
    too_long = bool(last) and all(ended_by(one, GiveUpReason.OUTPUT_LIMIT) for one in last)
    most = 1 if useless and too_long else MOST_USELESS
    if count > limits.max_consecutive_failures or (count >= most and (useless or too_long)):
        why = f", the last: {state.rejected[-1].detail}" if useless or too_long else ""
        return qa.Done(end=results.DocumentEnd.CONSECUTIVE_FAILURES, detail=f"{count} failures in a row{why}")
    if state.own_attempts >= limits.max_attempts:
        return qa.Done(end=results.DocumentEnd.MAX_ATTEMPTS, detail=f"{state.own_attempts} attempts")
    return None


def nothing_of_use(state: qa.QAState) -> bool:
    """Whether no candidate was accepted, and no attempt gave anything."""
    failures = [one for one in state.rejected if one.attempt]
    return bool(failures) and not state.accepted and all(map(gave_nothing, failures))


def gave_nothing(one: qa.Rejected) -> bool:
    """Whether an attempt failed by an unusable reply, a prompt that was too long, or a refusal."""
    return one.reason in _UNUSABLE_REASONS and says_nothing(one.detail)
