"""What the card of a published set says about how the set was made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.questions.eval_set import SetFacts
from qagen_dagster.records.call import CallSummary
from qagen_dagster.records.corpus import Strategy
from qagen_dagster.records.questions.history import Spent
from qagen_dagster.records.questions.results import (
    CandidateSet,
    DocumentEnd,
    GenerationResult,
    ValidatedSet,
)

_WITHOUT_QUESTIONS = (DocumentEnd.NOT_USABLE, DocumentEnd.NO_VISUALS)


def set_facts(
    workspace: Workspace,
    candidates: CandidateSet,
    validated: ValidatedSet,
    results: Collection[GenerationResult],
) -> SetFacts:
    """The facts of a set, from its results alone: the same results give the same facts."""
    corpus = workspace.corpus(candidates.corpus).config
    scenario = corpus.scenarios[candidates.scenario]
    spent = Spent.on(_once_each([*(call for result in results for call in result.calls), *validated.calls]))
    usable = [result for result in results if result.end not in _WITHOUT_QUESTIONS]
    return SetFacts(
        corpus_context=corpus.corpus_context,
        scenario_name=scenario.name,
        scenario_description=scenario.description,
        profile=candidates.profile,
        strategy=scenario.strategy.value,
        models=candidates.models,
        prompts=candidates.prompts,
        documents_by_outcome=Counter(one.end.value for one in candidates.documents),
        planned=sum(result.stats.target_count for result in usable),
        planned_by_type=_planned(usable) if scenario.strategy is Strategy.BATCH else {},
        **spent.model_dump(include=set(SetFacts.model_fields)),
    )


def _once_each(calls: Collection[CallSummary]) -> list[CallSummary]:
    """The calls behind a set as they were paid: a response from the ledger was paid for when it was first given."""
    paid = [one for one in calls if not one.replayed]
    known = {one.request_key for one in paid}
    earlier = {one.request_key: one for one in calls if one.request_key not in known}
    return [*paid, *(one.model_copy(update={"replayed": False}) for one in earlier.values())]


def _planned(results: Collection[GenerationResult]) -> dict[str, int]:
    """The questions that were wanted of each type: those that a document gave, or more if it has a shortfall."""
    planned: Counter[str] = Counter()
    for result in results:
        given = Counter(pair.question_type for pair in result.accepted)
        planned.update(given | Counter({one.question_type: one.wanted for one in result.shortfalls}))
    return dict(planned)
