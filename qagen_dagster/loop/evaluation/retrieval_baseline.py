"""Measures how well plain search in the whole corpus finds the documents and the evidence of the published questions.

Any search finds the document of a question that quotes its title. Such a question is therefore also searched with the title removed.
"""

import re
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from difflib import SequenceMatcher

from qagen_dagster.errors import BudgetExhaustedError, StoreError
from qagen_dagster.loop.evaluation.ranking_measures import metrics
from qagen_dagster.loop.evaluation.run_questions import Evaluation, Progress, Setup, blank, make_report
from qagen_dagster.loop.index import BUILD_HINT, CorpusSearch, open_index
from qagen_dagster.loop.parallel import counter, map_in_parallel
from qagen_dagster.models.embedders import EmbedderSpec
from qagen_dagster.records.document import Chunk, ChunkHit, Ranking, SearchIndex
from qagen_dagster.records.evaluation import Kind, Placement, RetrievalReport, RetrievedQuestion
from qagen_dagster.records.ids import fingerprint
from qagen_dagster.records.questions.results import Evidence, QAPair

REPEATED = 0.6  # minimum share of a title's words that a question has in a row if it quotes the title
FEWEST_WORDS = 4  # minimum number of these words
_WORD = re.compile(r"\w+")
_BEFORE = re.compile(
    r"(?:\b(?:according to|as described in|in|of|from|by|at|for|on|per|about|to)\s+)?(?:\bthe\s+)?[\"'\u201c\u2018(]*$",
    re.IGNORECASE,
)
_AFTER = re.compile(r"[\"'\u201d\u2019)]*,?\s*")


def titles_of(text: str, title: str | None) -> list[str]:
    """The texts that may be a document's title: the title in its metadata, its first two lines with words, and the first line alone."""
    lines = [line.strip(" #*=-_|") for line in text[:2_000].splitlines()]
    head = [line for line in lines if _WORD.search(line)][:2]
    return [one for one in (title or "", " ".join(head), *head[:1]) if one]


def without_title(question: str, titles: Iterable[str]) -> str:
    """The question without the longest run of words that it quotes from one of `titles`; empty text if it quotes no title."""
    asked = list(_WORD.finditer(question))
    words = [word.group().lower() for word in asked]
    best = (0, 0)
    for title in titles:
        parts = [word.lower() for word in _WORD.findall(title)]
        found = SequenceMatcher(None, words, parts, autojunk=False).find_longest_match()
        whole = found.size == len(parts) and found.size > 1
        if whole or found.size >= max(FEWEST_WORDS, REPEATED * len(parts)):
            best = max(best, (found.size, found.a))
    size, first = best
    if not size:
        return ""
    ahead = question[: asked[first].start()]
    before = _BEFORE.search(ahead)
    behind = question[asked[first + size - 1].end() :]
    after = _AFTER.match(behind)
    rest = f"{ahead[: before.start()] if before else ahead} {behind[after.end() if after else 0 :]}"
    rest = re.sub(r"\s+([?.,;:])", r"\1", " ".join(rest.split()))
    return rest[:1].upper() + rest[1:]


VERSION = "2"  # increase if the same index would give different ranks
DEPTH = 100  # number of chunks that are examined; later chunks count as not found
HELD = 0.5  # a chunk contains a quote if it has at least this share of the longest part of the quote that any chunk has


def retrieval_setup(_found: Evaluation) -> Setup:
    """The setup. It has no model, because only the search index answers."""
    return Setup((VERSION,))


def retrieval_fingerprint(found: Evaluation) -> str:
    """A hash of the index, the documents and the questions. Raises StoreError if there is no index."""
    corpus = found.combination.corpus
    index = found.space.store.find(SearchIndex.key(corpus), SearchIndex)
    if index is None:
        raise StoreError(f"corpus {corpus} has no search index: {BUILD_HINT}")
    documents = (f"{one.id} {one.text_sha256} {one.failure or ''}" for one in index.documents)
    current = (f"{name} {entry.text_sha256}" for name, entry in sorted(found.entries.items()))
    asked = (text for pair in found.questions for text in (pair.id, pair.question))
    return fingerprint([VERSION, index.fingerprint, *documents, *current, *asked])


def measure_retrieval(found: Evaluation, progress: Progress | None = None) -> RetrievalReport:
    """Search the corpus for every published question and store the report. Raises StoreError if there is no index, and ModelError if a
    question cannot be embedded."""
    version, count = retrieval_fingerprint(found), counter(progress, len(found.questions))
    with closing(open_index(found.space, found.combination.corpus, found.meter)) as search:
        spec = EmbedderSpec.model_validate(search.index.embedder)
        finder = _RankFinder(found, search)

        def searched(pair: QAPair) -> RetrievedQuestion:
            result = finder.ask(pair)
            count(result.document_id)
            return result

        workers = 1 if spec.local else found.space.settings.document_workers
        questions = tuple(map_in_parallel(searched, found.questions, workers=workers))
    made_by = Setup((VERSION,), spec.name)
    return make_report(found, Kind.RETRIEVAL, questions, metrics(questions), version, made_by)


@dataclass(frozen=True)
class _RankFinder:
    found: Evaluation
    search: CorpusSearch

    def ask(self, pair: QAPair) -> RetrievedQuestion:
        """The ranks of a question's document and evidence in each ranking."""
        unsearched = blank(RetrievedQuestion, pair)
        entry = self.found.entries.get(pair.document_id)
        if entry is None or not self.search.holds(entry):
            why = "the search index does not hold this version of the document"
            return unsearched.model_copy(update={"failure": why})
        chunks = self.search.searcher.chunks(pair.document_id)
        if not chunks:
            return unsearched.model_copy(update={"failure": "the document has no text that could be found"})
        text = self.found.text(pair.document_id)
        holders = holders_of(text, pair.evidence, chunks)
        try:
            placements = self._places(pair.question, pair.document_id, holders)
            document = self.found.document(pair.document_id)
            title = document.metadata.title if document else None
            untitled = without_title(pair.question, titles_of(text, title))
            others = self._places(untitled, pair.document_id, holders) if untitled else ()
        except BudgetExhaustedError as error:
            return unsearched.model_copy(update={"failure": str(error), "unheard": True})
        relevant = len(set[int]().union(*holders))
        update = {
            "relevant": relevant,
            "placements": placements,
            "untitled": untitled,
            "untitled_placements": others,
        }
        return unsearched.model_copy(update=update)

    def _places(self, question: str, document_id: str, holders: Sequence[set[int]]) -> tuple[Placement, ...]:
        found: list[Placement] = []
        for ranking in Ranking:
            hits = self.search.searcher.search(None, question, DEPTH, -1.0, ranking)
            found.append(placement(ranking, hits, document_id, holders))
        return tuple(found)


def placement(
    ranking: Ranking, hits: Sequence[ChunkHit], document_id: str, holders: Sequence[set[int]]
) -> Placement:
    """The rank of the document among the documents of `hits`, and the ranks among `hits` of its chunks with quotes and of the best chunk
    for each quote. A rank is None if nothing was found. `holders` has, for each quote, the numbers of the chunks that contain the quote.
    """
    documents = list(dict.fromkeys(hit.document_id for hit in hits))
    mine = {hit.chunk.number: place for place, hit in enumerate(hits, 1) if hit.document_id == document_id}
    held = set[int]().union(*holders)
    return Placement(
        ranking=ranking,
        document=documents.index(document_id) + 1 if document_id in documents else None,
        chunks=tuple(sorted(place for number, place in mine.items() if number in held)),
        evidence=tuple(
            min((place for number, place in mine.items() if number in some), default=None) for some in holders
        ),
    )


def holders_of(text: str, evidence: Sequence[Evidence], chunks: Sequence[Chunk]) -> list[set[int]]:
    """For each quote that is in the text, the numbers of the chunks that contain the quote.

    A chunk contains a quote if it has at least HELD of the longest part of the quote that any chunk has, because a quote may be longer than
    a chunk. A quote is left out if its lines do not contain it, if it has no lines (it is in a picture), or if no chunk has a part of it.
    """
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    found: list[set[int]] = []
    for place in evidence:
        if place.start_line is None or place.end_line is None or place.end_line > len(lines):
            continue
        at = text.find(place.quote, starts[place.start_line - 1], starts[place.end_line])
        if at < 0:
            continue
        shares = {
            chunk.number: min(chunk.end, at + len(place.quote)) - max(chunk.start, at) for chunk in chunks
        }
        most = max(shares.values(), default=0)
        found.append({number for number, share in shares.items() if most > 0 and share >= HELD * most})
    return [some for some in found if some]
