"""Estimates the calls, tokens and time of a document, from a table, or from finished documents of the store.

The table is in `amounts.py`. The amounts of finished documents are multiplied by a factor: the table's amounts for the new
document divided by the table's amounts for the finished documents.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import quantiles

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.loop.estimate import amounts
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.call_cost import FREE_PROVIDERS
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.models.tokens import TOKEN_CHARACTERS
from qagen_dagster.records.corpus_options import Strategy
from qagen_dagster.records.document import CorpusIndex, IndexEntry, VisualManifest
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.results import CandidateSet, DocumentEnd, GenerationResult, ValidatedSet

_CHARACTERS_PER_QUESTION = 250  # if the text is shorter than this times the target, the questions run out
ENOUGH = 5  # enough finished documents of the combination; with fewer, other combinations count, too
# The narrowest ranges, as factors: with enough documents of the combination, with enough of all combinations, and with fewer.
FROM_OWN, FROM_OTHERS, FROM_FEW = 1.5, 2.0, 3.0
_PARTS = 20  # parts of equal size into which finished documents are divided; ranges leave out the first and the last part
_CACHING = ("openai", "anthropic")  # providers that cache the common beginning of requests
_READING = ("input_tokens", "cached_tokens", "cache_write_tokens")
_MOST_READ = 30  # maximum finished documents of one combination that are read, spread evenly
_PAGE_CHARACTERS = 2_000  # characters that count for a page without text
_LINE_CHARACTERS = 50
_VISUAL_CHARACTERS = 500  # characters that count for a visual; it gives as many questions as a paragraph
_RAN_DRY = (DocumentEnd.EXHAUSTED_REPORTED, DocumentEnd.CONSECUTIVE_FAILURES)
_CUT_SHORT = (DocumentEnd.BUDGET_EXHAUSTED, DocumentEnd.MODEL_ERROR)


@dataclass(frozen=True)
class Document:
    """A document from which `target` questions are wanted."""

    size: float  # characters of its text
    subjects: float  # characters that questions of the mode can be about
    target: int
    # part of the target: unanswerable questions and cross-document questions
    staged: int = field(default=0, kw_only=True)
    imported: int = field(default=0, kw_only=True)  # part of the target: questions that people asked

    @property
    def questions(self) -> float:
        """The number of questions that the document is likely to give."""
        planned = self.staged + self.imported
        return min(float(self.target - planned), self.subjects / _CHARACTERS_PER_QUESTION) + planned


@dataclass(frozen=True)
class Example(Document):
    """A finished document."""

    accepted: int
    uses: Mapping[str, amounts.Use]  # amounts by role


class DocumentEstimator:
    """Estimates single documents of one combination."""

    def __init__(
        self,
        rows: Mapping[Role, amounts.Row],
        models: Mapping[Role, ModelSpec],
        own: Sequence[Example] = (),
        others: Sequence[Example] = (),
    ) -> None:
        """`own` are finished documents of the combination. `others`, of other combinations, count only if `own` has few."""
        self._rows, self._models = rows, models
        examples = [*own, *(others if len(own) < ENOUGH else ())]
        self.guessed = not examples
        self.basis = _basis(len(own), len(examples) - len(own))
        self._seen = {
            role.value: amounts.total(example.uses.get(role.value, amounts.Use()) for example in examples)
            for role in models
        }
        self._usual = amounts.total(use for example in examples for use in self._table(example).values())
        questions = sum(example.questions for example in examples)
        self._pass_rate = sum(example.accepted for example in examples) / questions if questions else 1.0
        enough = FROM_OWN if len(own) >= ENOUGH else FROM_OTHERS
        self.around = self._spread(examples, enough if len(examples) >= ENOUGH else FROM_FEW)

    def uses(self, document: Document) -> dict[str, amounts.Use]:
        """The estimated amounts of each role for a document."""
        table = self._table(document)
        if self.guessed:
            return table
        new, usual = amounts.total(table.values()), self._usual
        calls, reading = new.calls / usual.calls, new.input_tokens / usual.input_tokens
        factors = [reading if name in _READING else calls for name in amounts.METRICS]
        return {
            role: amounts.Use(*(amount * factor for amount, factor in zip(seen, factors, strict=True)))
            for role, seen in self._seen.items()
        }

    def accepted(self, document: Document) -> float:
        """The estimated number of accepted questions of a document."""
        return min(float(document.target), self._pass_rate * document.questions)

    def call(self, role: Role) -> amounts.Use:
        """The amounts of one call that shows no document."""
        return self._calls(role, 1.0, 0.0)

    def _spread(self, examples: Sequence[Example], least: float) -> amounts.Range:
        """The range of amounts as factors of the estimate. At least about nine of ten finished documents lie in it."""
        taken = [_tokens(example.uses) / (_tokens(self.uses(example)) or 1.0) for example in examples]
        cuts = quantiles(taken, n=_PARTS, method="inclusive") if len(taken) > 1 else [1.0]
        return amounts.Range(low=min(1 / least, cuts[0]), expected=1.0, high=max(least, cuts[-1]))

    def _table(self, document: Document) -> dict[str, amounts.Use]:
        """The amounts of each role for a document, from the rows of the table."""
        return {role.value: self._by_row(role, spec, document) for role, spec in self._models.items()}

    def _by_row(self, role: Role, spec: ModelSpec, document: Document) -> amounts.Use:
        row = self._rows[role]
        shown = min(document.size, row.shown, spec.opening_characters)
        # A validator that is not shown the whole document reads parts of it for each question.
        each_shows = row.each_shows or (role is Role.VALIDATOR and document.size > shown)
        proved = document.staged
        answered = document.questions - proved
        each = row.each * answered
        shows = row.once + (each if each_shows else 0.0)
        proofs = row.unanswered_once * bool(proved) + row.unanswered_each * proved
        shows += proved if row.unanswered_each else row.unanswered_once * bool(proved)
        blank = self._calls(role, row.each_blank * answered, 0.0, amounts.SHORT)
        return blank.plus(self._calls(role, row.once + each + proofs, shows * shown / TOKEN_CHARACTERS))

    def _calls(
        self, role: Role, calls: float, document_tokens: float, row: amounts.Row | None = None
    ) -> amounts.Use:
        """The amounts of calls with the prompt and the output of `row`, by default the row of the role."""
        spec, row = self._models[role], row or self._rows[role]
        if spec.provider in FREE_PROVIDERS:
            return amounts.LOCAL_CALL.times(calls)
        return amounts.Use(
            calls=calls,
            input_tokens=calls * row.prompt + document_tokens,
            cached_tokens=document_tokens if spec.provider in _CACHING else 0.0,
            output_tokens=calls * row.output,
            seconds=calls * (amounts.START_SECONDS + row.output / amounts.TOKENS_PER_SECOND),
        )


def _basis(own: int, others: int) -> str:
    """A description of the documents on which an estimate is based."""
    sources = {"this combination": own, "other combinations": others}
    parts = [f"{count} of {source}" for source, count in sources.items() if count]
    return f"from past documents: {', '.join(parts)}" if parts else "no past runs: a rough guess"


def _tokens(uses: Mapping[str, amounts.Use]) -> float:
    return sum(use.input_tokens + use.output_tokens for use in uses.values())


@dataclass(frozen=True)
class PastRun:
    """The calls, tokens and time that the last run of a combination took."""

    combination: Combination
    strategy: Strategy
    kinds: dict[str, str]  # kind of the model by role
    target_count: int
    dry: frozenset[str]  # ids of documents whose questions ran out; a higher target would give no more
    examples: dict[str, Example]  # by document id
    accepted: int
    compared: amounts.Use  # amounts for comparing accepted questions across documents


def past_run(space: Workspace, combination: Combination, strategy: Strategy) -> PastRun | None:
    """The last run of a combination; None if there was no run, or if the corpus has no index."""
    candidates = space.store.find_valid(CandidateSet.key(combination), CandidateSet)
    index = space.store.find_valid(CorpusIndex.key(combination.corpus), CorpusIndex)
    if candidates is None or index is None:
        return None
    entries = {entry.id: entry for entry in index.documents}
    finished = [
        (document.result_key, entries[document.document_id])
        for document in candidates.documents
        if document.result_key and document.document_id in entries and document.end not in _CUT_SHORT
    ]
    examples: dict[str, Example] = {}
    for key, entry in finished[:: max(1, -(-len(finished) // _MOST_READ))]:
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
        frozenset(document.document_id for document in candidates.documents if document.end in _RAN_DRY),
        examples,
        sum(document.accepted for document in candidates.documents),
        amounts.use_of(made.calls if made is not None else ()).get("deduplicator", amounts.Use()),
    )


def example_of(result: GenerationResult, document: Document) -> Example:
    """A finished document as an example for others. Its target is the target with which it was finished."""
    return Example(
        document.size,
        document.subjects,
        result.stats.target_count,
        len(result.accepted),
        amounts.use_of(result.calls),
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
