"""What the card of a published set says about how the set was made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain

from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.questions.set_files import SetFacts
from qagen_dagster.records.corpus import Strategy
from qagen_dagster.records.questions.history import Spent
from qagen_dagster.records.questions.results import (
    CandidateSet,
    DocumentEnd,
    GenerationResult,
    ValidatedSet,
)
from qagen_dagster.records.run import CallSummary, Usage

_WITHOUT_QUESTIONS = (DocumentEnd.NOT_USABLE, DocumentEnd.NO_VISUALS)


def set_facts(
    workspace: Workspace,
    candidates: CandidateSet,
    validated: ValidatedSet,
    results: Iterable[GenerationResult],
) -> SetFacts:
    """The facts of a set, from its results alone: the same results give the same facts. They are read once."""
    corpus = workspace.corpus(candidates.corpus).config
    scenario = corpus.scenarios[candidates.scenario]
    planned: list[int] = []
    by_type: Counter[str] = Counter()

    def read() -> Iterator[CallSummary]:
        for result in results:
            if result.end not in _WITHOUT_QUESTIONS:
                planned.append(result.stats.target_count)
                by_type.update(_planned(result))
            yield from result.calls

    spent = Spent.on(_once_each(chain(read(), validated.calls)))
    return SetFacts(
        corpus_context=corpus.corpus_context,
        scenario_name=scenario.name,
        scenario_description=scenario.description,
        profile=candidates.profile,
        strategy=scenario.strategy.value,
        models=candidates.models,
        prompts=candidates.prompts,
        documents_by_outcome=Counter(one.end.value for one in candidates.documents),
        planned=sum(planned),
        planned_by_type=dict(by_type) if scenario.strategy is Strategy.BATCH else {},
        **spent.model_dump(include=set(SetFacts.model_fields)),
    )


def _once_each(calls: Iterable[CallSummary]) -> list[Usage]:
    """The calls behind a set as they were paid: a response from the ledger was paid for when it was first given."""
    paid: list[Usage] = []
    known: set[str] = set()
    earlier: dict[str, Usage] = {}
    for one in calls:
        if one.replayed:
            earlier[one.request_key] = Usage.of(one)._replace(replayed=False)
        else:
            known.add(one.request_key)
            paid.append(Usage.of(one))
    return [*paid, *(one for key, one in earlier.items() if key not in known)]


def _planned(result: GenerationResult) -> Counter[str]:
    """The questions that were wanted of each type: those that a document gave, or more if it has a shortfall."""
    given = Counter(pair.question_type for pair in result.accepted)
    return given | Counter({one.question_type: one.wanted for one in result.shortfalls})
