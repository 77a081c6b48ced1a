"""Reads from the store the calls, tokens and time that finished documents of the combinations took."""

from dataclasses import dataclass

from qagen_dagster.loop.estimate.amounts import Use, use_of
from qagen_dagster.loop.estimate.documents import Document, Example
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import FREE_PROVIDERS
from qagen_dagster.records.corpus_config import Strategy
from qagen_dagster.records.document import CorpusIndex, IndexEntry, VisualManifest
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.results import CandidateSet, DocumentEnd, GenerationResult, ValidatedSet

MOST_READ = 30  # maximum finished documents of one combination that are read, spread evenly
_PAGE_CHARACTERS = 2_000  # characters that count for a page without text
_LINE_CHARACTERS = 50
_VISUAL_CHARACTERS = 500  # size of a visual, which gives as many questions as a paragraph
_RAN_DRY = (DocumentEnd.EXHAUSTED_REPORTED, DocumentEnd.CONSECUTIVE_FAILURES)
_CUT_SHORT = (DocumentEnd.BUDGET_EXHAUSTED, DocumentEnd.MODEL_ERROR)


@dataclass(frozen=True)
class PastRun:
    """The calls, tokens and time that the last run of a combination took."""

    combination: Combination
    strategy: Strategy
    kinds: dict[str, str]  # kind of the model by role
    target_count: int
    dry: frozenset[str]  # ids of documents whose questions ran out; a higher target would not change them
    examples: dict[str, Example]  # by document id
    accepted: int
    compared: Use  # amounts for comparing its accepted questions across documents


def past_run(space: Workspace, combination: Combination, strategy: Strategy) -> PastRun | None:
    """The last run of a combination; None if there was none."""
    candidates = space.store.find_valid(CandidateSet.key(combination), CandidateSet)
    index = space.store.find_valid(CorpusIndex.key(combination.corpus), CorpusIndex)
    if candidates is None or index is None:
        return None
    entries = {entry.id: entry for entry in index.documents}
    finished = [
        (one.result_key, entries[one.document_id])
        for one in candidates.documents
        if one.result_key and one.document_id in entries and one.end not in _CUT_SHORT
    ]
    examples: dict[str, Example] = {}
    for key, entry in finished[:: max(1, -(-len(finished) // MOST_READ))]:
        result = space.store.find_valid(key, GenerationResult)
        if result is not None and result.calls:
            examples[entry.id] = example_of(
                result, document_of(entry, combination.mode, visual_count(space, combination, entry), 0)
            )
    made = space.store.find_valid(ValidatedSet.key(combination), ValidatedSet)
    return PastRun(
        combination,
        strategy,
        {role: kind_of(name) for role, name in candidates.models.items()},
        candidates.target_count,
        frozenset(one.document_id for one in candidates.documents if one.end in _RAN_DRY),
        examples,
        sum(one.accepted for one in candidates.documents),
        use_of(made.calls if made is not None else ()).get("deduplicator", Use()),
    )


def example_of(result: GenerationResult, document: Document) -> Example:
    """A finished document as an example for others. Its target is the one that it was finished with."""
    return Example(
        document.size,
        document.subjects,
        result.stats.target_count,
        len(result.accepted),
        use_of(result.calls),
        staged=result.no_answer_target,
    )


def visual_count(space: Workspace, combination: Combination, entry: IndexEntry) -> int:
    """The number of a document's visuals that questions may be about."""
    if combination.mode is not Mode.VISUAL:
        return 0
    found = space.store.find_valid(VisualManifest.key(combination.corpus, entry.id), VisualManifest)
    return len(found.visuals) if found is not None and found.document_version == entry.version else 0


def document_of(entry: IndexEntry, mode: Mode, visuals: int, target: int, staged: int = 0) -> Document:
    """The document of an index entry, with the sizes that estimates use."""
    pages, lines = (entry.page_count or 0) * _PAGE_CHARACTERS, entry.line_count * _LINE_CHARACTERS
    size = float(entry.char_count or max(pages, lines))
    subjects = size if mode is Mode.TEXTUAL else float(visuals * _VISUAL_CHARACTERS)
    return Document(size, subjects, target, staged=staged)


def kind_of(model: str) -> str:
    """The kind of a model: embedded, scripted, or a language model on a server. Amounts of different kinds are not comparable."""
    provider = model.partition(":")[0]
    return provider if provider in FREE_PROVIDERS else "server"
