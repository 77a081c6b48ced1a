"""Finds the finished documents that are most similar to the planned ones, and says how much uncertainty remains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from qagen_dagster.catalog.past_runs import PastDocument, PastSet, PastUse, past_documents, past_sets
from qagen_dagster.configuration.profiles import Role
from qagen_dagster.errors import StoreError
from qagen_dagster.loop.calls import unique_calls
from qagen_dagster.loop.catalog import catalog_file
from qagen_dagster.loop.estimate.forecast import Example, Use
from qagen_dagster.loop.questions.combination import CombinationPlan
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.budget import FREE_PROVIDERS
from qagen_dagster.records.document import IndexEntry
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.results import CallSummary, DocumentEnd, GenerationResult
from qagen_dagster.store import Store

ENOUGH = 12  # documents; with this many examples, less similar ones are not used
MOST_READ = 300  # finished documents of the combination itself, spread evenly
_PAGE_CHARACTERS = 2_000  # a page without text
_LINE_CHARACTERS = 50
_VISUAL_CHARACTERS = 500  # a visual gives as many questions as a paragraph
_LESS_ALIKE = 0.25  # weight of an example of one rank, relative to the rank before
_TELLING = (Role.GENERATOR, Role.VALIDATOR)  # roles whose models determine the number of calls
_RAN_DRY = (DocumentEnd.EXHAUSTED_REPORTED, DocumentEnd.CONSECUTIVE_FAILURES)


@dataclass(frozen=True)
class Likeness:
    """Where an example comes from, and the relative uncertainty that results from it."""

    told: str
    doubt: float


LIKENESS = (
    Likeness("of this combination with the same models", 0.1),
    Likeness("of this corpus with the same models", 0.15),
    Likeness("of other corpora with the same models", 0.3),
    Likeness("of this corpus with other models", 0.5),
    Likeness("of other corpora with other models", 0.6),
)


@dataclass(frozen=True)
class Past:
    """The content of the catalog for one mode."""

    documents: tuple[PastDocument, ...] = ()
    sets: tuple[PastSet, ...] = ()


@dataclass(frozen=True)
class Chosen:
    """Examples by likeness, the most similar first; empty when there is no similar work."""

    examples: tuple[Example, ...] = ()
    counts: Mapping[int, int] = field(default_factory=dict[int, int])  # by index of LIKENESS

    @property
    def told(self) -> str:
        """Where the examples come from, in words."""
        parts = [f"{count} {LIKENESS[rank].told}" for rank, count in sorted(self.counts.items())]
        return f"from past documents: {', '.join(parts)}" if parts else "no past runs: a rough guess"


def read_past(store: Store, mode: Mode) -> Past:
    """The content of the catalog for `mode`; empty when there is no readable catalog."""
    try:
        with catalog_file(store) as file:
            return Past(past_documents(file, mode), past_sets(file, mode))
    except StoreError:
        return Past()


def size_of(mode: Mode, *, characters: int, pages: int, lines: int, visuals: int) -> float:
    """How much there is to ask about, in characters of text."""
    text = characters or max(pages * _PAGE_CHARACTERS, lines * _LINE_CHARACTERS)
    return float(text + (visuals * _VISUAL_CHARACTERS if mode is Mode.VISUAL else 0))


def use_of(calls: Iterable[CallSummary]) -> dict[str, Use]:
    """The amounts of calls by role, each request once."""
    found: dict[str, Use] = {}
    for call in unique_calls(calls):
        one = Use(
            1.0,
            call.input_tokens,
            call.cached_tokens,
            call.output_tokens,
            call.reasoning_tokens,
            call.seconds,
            call.cache_write_tokens,
        )
        found[call.role] = found.get(call.role, Use()).plus(one)
    return found


def finished_here(
    planned: CombinationPlan, done: Sequence[tuple[IndexEntry, float]], store: Store
) -> dict[str, Example]:
    """Finished documents of the plan itself, by id; an even selection if there are many. `done` has their sizes."""
    step = max(1, -(-len(done) // MOST_READ))
    found: dict[str, Example] = {}
    for entry, size in done[::step]:
        result = store.find_valid(planned.result_key(entry), GenerationResult)
        if result is not None and result.calls:
            found[entry.id] = Example(
                size=size,
                target=result.stats.target_count,
                accepted=len(result.accepted),
                ran_dry=result.end in _RAN_DRY,
                uses=use_of(result.calls),
            )
    return found


def choose(planned: CombinationPlan, here: Mapping[str, Example], past: Past) -> Chosen:
    """The examples that are most similar to the planned work. Less similar ones are added only while there are few."""
    ranked: dict[int, list[Example]] = {}
    if here:
        ranked[0] = list(here.values())
    for document in past.documents:
        combination = Combination.from_key(document.combination)
        if combination == planned.combination and document.document_id in here:
            continue
        rank = likeness(planned, combination, document.uses)
        if rank is not None:
            ranked.setdefault(rank, []).append(_example(document, combination.mode))
    examples: list[Example] = []
    counts: dict[int, int] = {}
    for rank in sorted(ranked):
        if len(examples) >= ENOUGH:
            break
        # Many examples of a less similar rank must not outweigh the ranks before.
        weight = _LESS_ALIKE ** len(counts) * min(1.0, ENOUGH / len(ranked[rank]))
        examples += [_weighed(example, weight, LIKENESS[rank].doubt) for example in ranked[rank]]
        counts[rank] = len(ranked[rank])
    return Chosen(tuple(examples), counts)


def likeness(planned: CombinationPlan, other: Combination, uses: Sequence[PastUse]) -> int | None:
    """The index of LIKENESS; None for work that is not comparable."""
    models = {role: planned.profile.spec(role, planned.combination.mode) for role in _TELLING}
    asked = [(models[Role(use.role)], use.model) for use in uses if use.role in _TELLING]
    same_corpus = other.corpus == planned.combination.corpus
    if all(spec.name == name for spec, name in asked):
        return 0 if other == planned.combination else 1 if same_corpus else 2
    if all(_kind(spec.name) == _kind(name) for spec, name in asked):
        return 3 if same_corpus else 4
    return None


def set_rate(planned: CombinationPlan, past: Past) -> tuple[float, Use | None] | None:
    """Corpus-wide comparisons per pair of accepted questions, and the amounts of one comparison if any was made.

    None when no set is known. Sets of the same corpus are preferred.
    """
    spec = planned.profile.spec(Role.DEDUPLICATOR, planned.combination.mode)
    fit = [one for one in past.sets if one.accepted and (one.use is None or _same_kind(one.use, spec))]
    own = [one for one in fit if Combination.from_key(one.combination).corpus == planned.combination.corpus]
    sets = own or fit
    if not sets:
        return None
    total = Use()
    for one in sets:
        total = total.plus(_use(one.use)) if one.use is not None else total
    # Half a comparison is added, because none in the past does not mean none in the future.
    rate = (total.calls + 0.5) / sum(one.accepted**2 for one in sets)
    return rate, total.times(1 / total.calls) if total.calls else None


def _same_kind(use: PastUse, spec: ModelSpec) -> bool:
    return _kind(use.model) == _kind(spec.name)


def _kind(model: str) -> str:
    """The kind of a model: embedded, scripted, or a language model on a server. Their amounts are not comparable."""
    provider = model.partition(":")[0]
    return provider if provider in FREE_PROVIDERS else "server"


def _example(document: PastDocument, mode: Mode) -> Example:
    size = size_of(
        mode, characters=document.characters, pages=document.pages, lines=0, visuals=document.visuals
    )
    return Example(
        size=size,
        target=document.target_count,
        accepted=document.accepted,
        ran_dry=document.end in _RAN_DRY,
        uses={use.role: _use(use) for use in document.uses},
    )


def _use(use: PastUse) -> Use:
    return Use(
        use.calls,
        use.input_tokens,
        use.cached_tokens,
        use.output_tokens,
        use.reasoning_tokens,
        use.seconds,
        use.cache_write_tokens,
    )


def _weighed(example: Example, weight: float, doubt: float) -> Example:
    return Example(
        example.size, example.target, example.accepted, example.ran_dry, example.uses, weight, doubt
    )
