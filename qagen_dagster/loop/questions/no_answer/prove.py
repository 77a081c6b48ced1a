"""Proves that the corpus does not answer a question: the validator looks for the answer where a search finds the likeliest passages.

The validator is asked with the passages of all found documents together, with the question's own document, and with each other
document that has a name or a number of the question. If the validator finds an answer, the question is refused. A question with a
false premise is asked with each found document by itself, and its own document must deny the premise. An underspecified question is
asked only with its own document, and must have an answer for each reading.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from qagen_dagster.agents.answering import Excerpt, answer_from_excerpts
from qagen_dagster.agents.questions import validator
from qagen_dagster.english.answers import Match, match
from qagen_dagster.english.sentences import split
from qagen_dagster.english.words import content_stems, says_all
from qagen_dagster.errors import BudgetExhaustedError, ModelError, StoreError
from qagen_dagster.ingest.corpus_files import stored_text
from qagen_dagster.loop.index import build_index, open_index
from qagen_dagster.loop.questions import model_checks
from qagen_dagster.loop.questions.document_work import DocumentWork, QAModels
from qagen_dagster.loop.questions.state import Validate
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Meter
from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus_options import NoAnswerKind
from qagen_dagster.records.document import ChunkHit, Document, IndexEntry, LineRange, Ranking, merged_lines
from qagen_dagster.records.questions.no_answer import NoAnswer, Searched
from qagen_dagster.records.questions.results import BY_READER, Candidate, RejectionReason, VerdictRecord
from qagen_dagster.records.questions.submissions import BlindAnswer, JudgingAnswer
from qagen_dagster.records.run import CallSummary

CONTROLS = 3  # answerable questions that test whether the validator finds answers
_MOST = 300  # characters of an answer in a record
DOCUMENTS, _PASSAGES = 5, 4  # other documents that are asked for an answer, and passages of each
WHOLE = 4_000  # characters; documents up to this length are shown whole
_DEPTH = 40  # chunks of each ranking that are considered
_KEY_WORDS = re.compile(r"\b(?:\w*\d[\w.,:/-]*|[^\W\d_a-z]\w+)", re.UNICODE)
_KEPT_TEXTS = 64  # documents whose lines are kept in memory


@dataclass(frozen=True)
class DocumentPassages:
    """Passages of one document, each as a range of lines."""

    document_id: str
    title: str
    spans: tuple[LineRange, ...]
    lines: tuple[str, ...]  # all lines of the document

    def may_answer(self, question: str) -> bool:
        """Whether the document has a name or a number of the question, or the question has none."""
        names = {*content_stems(" ".join(_KEY_WORDS.findall(question)))}
        return not names or bool(names & {*content_stems("\n".join((self.title, *self.lines)))})

    def excerpts(self, first: int = 1) -> list[Excerpt]:
        """The passages as excerpts with numbers from `first`."""
        return [
            Excerpt(
                number, one.start_line, "\n".join(self.lines[one.start_line - 1 : one.end_line]), self.title
            )
            for number, one in enumerate(self.spans, first)
        ]


class CorpusPassages:
    """A search in all usable documents of a corpus. Thread-safe."""

    def __init__(self, space: Workspace, corpus: str, profile: str, meter: Meter | None = None) -> None:
        """Bring the search index up to date. Raises ConfigError, StoreError, and ModelError if the index lacks a document."""
        self._space, self._corpus = space, corpus
        build = build_index(space, corpus, profile, meter=meter)
        lost = [one for one in build.index.documents if one.failure]
        if lost:
            why = (
                f"{len(lost)} documents are not in the search index, such as {lost[0].id}: {lost[0].failure}"
            )
            raise (BudgetExhaustedError if "budget" in (lost[0].failure or "") else ModelError)(why)
        self._entries = {one.id: one for one in space.index(corpus).documents}
        self.documents = tuple(one.id for one in build.index.documents)
        self._search = open_index(space, corpus, meter).searcher
        self._lines = lru_cache(_KEPT_TEXTS)(self._read)

    def best(self, question: str, own: str, passages: int = _PASSAGES) -> list[DocumentPassages]:
        """The likeliest passages: first of the document `own`, then of at most DOCUMENTS others in order of likelihood.

        Raises ModelError.
        """
        names = " ".join(_KEY_WORDS.findall(question))
        queries = [(question, one) for one in Ranking] + ([(names, Ranking.WORDS)] if names else [])
        scores: defaultdict[str, float] = defaultdict(float)
        for query, ranking in queries:
            hits = self._hits(None, query, _DEPTH, ranking)
            for rank, name in enumerate(dict.fromkeys(hit.document_id for hit in hits), 1):
                scores[name] += 1 / rank
        others = sorted((name for name in scores if name != own), key=lambda name: (-scores[name], name))
        chosen = [own, *others[:DOCUMENTS]] if own in self.documents else others[:DOCUMENTS]
        return [self._passages(name, question, names, passages) for name in chosen]

    def about(self, name: str, query: str) -> DocumentPassages:
        """The likeliest passages of one document. Raises ModelError."""
        return self._passages(name, query, query, _PASSAGES)

    def holding(self, name: str, most: int) -> list[str]:
        """At most `most` documents with a passage that has the words of `name` exactly. Raises ModelError."""
        found: dict[str, None] = {}
        for hit in self._hits(None, name, _DEPTH, Ranking.WORDS):
            lines = self.lines(hit.document_id)[hit.chunk.start_line - 1 : hit.chunk.end_line]
            if name in " ".join(" ".join(lines).split()):
                found[hit.document_id] = None
        return list(found)[:most]

    def lines(self, name: str) -> tuple[str, ...]:
        """The lines of a document."""
        return self._lines(name)[0]

    def entry(self, name: str) -> IndexEntry:
        """The entry of a document in the index of the corpus."""
        return self._entries[name]

    def document(self, name: str) -> Document:
        """The record of a document. Raises StoreError."""
        return self._space.store.read(Document.key(self._corpus, name), Document)

    def _passages(self, name: str, question: str, names: str, most: int) -> DocumentPassages:
        lines, title = self._lines(name)
        if sum(map(len, lines)) <= WHOLE:
            return DocumentPassages(name, title, (LineRange(start_line=1, end_line=len(lines)),), lines)
        hits = [*self._hits(name, question, most, Ranking.BOTH)]
        hits += self._hits(name, names, max(1, most // 2), Ranking.WORDS)
        spans = merged_lines((hit.chunk.start_line, hit.chunk.end_line) for hit in hits)
        ranges = (LineRange(start_line=start, end_line=end) for start, end in spans)
        return DocumentPassages(name, title, tuple(ranges), lines)

    def _hits(self, document: str | None, query: str, most: int, ranking: Ranking) -> list[ChunkHit]:
        try:
            return self._search.search(document, query, most, -1.0, ranking)
        except StoreError as error:
            raise ModelError(str(error)) from None

    def _read(self, name: str) -> tuple[tuple[str, ...], str]:
        store = self._space.store
        document = store.read(Document.key(self._corpus, name), Document)
        text = stored_text(store, self._corpus, self._entries[name])
        return tuple(text.split("\n")), document.metadata.title or document.source


class Decided(Record):
    """A candidate was proved, or refused for a reason."""

    kind: Literal["decided"] = "decided"
    candidate: Candidate
    reason: RejectionReason | None = None
    detail: str = ""
    duplicate_of: str | None = None
    verdict: VerdictRecord | None = None
    calls: tuple[CallSummary, ...] = ()


class _Refused(Exception):
    def __init__(self, reason: RejectionReason, detail: str) -> None:
        super().__init__(detail)
        self.reason, self.detail = reason, detail


@dataclass
class Prover:
    """Proves candidates of one document. `calls` has the calls of the question that is being proved."""

    work: DocumentWork
    models: QAModels
    corpus: CorpusPassages
    calls: list[CallSummary] = field(default_factory=list[CallSummary])

    def prove(self, candidate: Candidate, claim: NoAnswer, attempt: int) -> Decided:
        """The candidate with its proof, or the reason for its refusal. Raises ModelError."""
        searched: list[Searched] = []
        try:
            if claim.kind is NoAnswerKind.UNDERSPECIFIED:
                self._readings(candidate, claim, attempt, searched)
            else:
                self._search(candidate, claim, attempt, searched)
        except _Refused as refused:
            return Decided(
                candidate=candidate, reason=refused.reason, detail=refused.detail, calls=self._taken()
            )
        proof = {"documents": len(self.corpus.documents), "searched": tuple(searched)}
        proved = candidate.model_copy(update={"no_answer": claim.model_copy(update=proof)})
        return Decided(candidate=proved, calls=self._taken())

    def finds_answers(self, questions: Sequence[str]) -> tuple[int, list[str], tuple[CallSummary, ...]]:
        """Ask up to CONTROLS answerable questions with the passages of all found documents. Returns (asked, missed, calls): the number of
        questions asked, the questions to which the validator found no answer, and the calls."""
        chosen = list(questions[:CONTROLS])
        missed: list[str] = []
        for question in chosen:
            found = self.corpus.best(question, self._own)
            try:
                answered = self._from_excerpts(question, found, 0).answered
            except _Refused:
                answered = False
            missed += [] if answered else [question]
        return len(chosen), missed, self._taken()

    def _search(self, candidate: Candidate, claim: NoAnswer, attempt: int, searched: list[Searched]) -> None:
        question, false = candidate.question, claim.kind is NoAnswerKind.FALSE_PREMISE
        found = self.corpus.best(question, self._own)
        if not false:
            self._check_words(question, found)
            self._look(self._from_excerpts(question, found, attempt), candidate, searched)
        blind = self._blind(question, attempt)
        if false and blind.premise_holds:
            raise _Refused(
                RejectionReason.ANSWERABLE, f"the validator found no false premise: {_said(blind)}"
            )
        found_it = blind.answerable and bool(blind.answer.strip()) and not false
        self._look(Searched(document_id=self._own, answered=found_it, said=_said(blind)), candidate, searched)
        for other in found:
            # a document without a name or a number of the question was shown with the others; alone it shows less
            if other.document_id != self._own and (false or other.may_answer(question)):
                self._look(self._from_excerpts(question, [other], attempt), candidate, searched)

    def _check_words(self, question: str, found: Sequence[DocumentPassages]) -> None:
        """Refuse a question if one sentence has all its words. Such a sentence nearly always has the answer, so no model is asked."""
        for one in found:
            text = "\n\n".join(each.text for each in one.excerpts())
            stated = next((each.text for each in split(text) if says_all(question, each.text)), "")
            if stated:
                where = f"{one.document_id} has a sentence with all its words: {stated[:_MOST]!r}"
                raise _Refused(RejectionReason.ANSWERABLE, where)

    def _readings(
        self, candidate: Candidate, claim: NoAnswer, attempt: int, searched: list[Searched]
    ) -> None:
        blind = self._blind(candidate.question, attempt)
        if blind.unambiguous:
            raise _Refused(RejectionReason.ANSWERABLE, f"the validator found one meaning: {_said(blind)}")
        searched.append(Searched(document_id=self._own, answered=False, said=_said(blind)))
        for one in claim.readings:
            reading_answer = self._blind(one.question, attempt)
            as_candidate = candidate.model_copy(update={"question": one.question, "answer": one.answer})
            step = Validate(candidate=as_candidate, attempt=attempt)
            same, _, calls = model_checks.same_fact(step, self.work, self.models, reading_answer.answer)
            self.calls += calls
            if not (reading_answer.answerable and same):
                why = f"to the reading {one.question!r} the validator answered {_said(reading_answer)}"
                raise _Refused(RejectionReason.WRONG_ANSWER, why)

    def _look(self, found: Searched, candidate: Candidate, searched: list[Searched]) -> None:
        """Refuse the candidate if the validator found an answer, unless the answer only corrects the false premise as the candidate does.
        Otherwise add the reply to `searched`."""
        corrects = candidate.question_type == NoAnswerKind.FALSE_PREMISE.value and match(
            found.said, candidate.answer
        ) in (Match.SAME, Match.CLOSE)
        if found.answered and not corrects:
            where = found.document_id or "the documents together"
            raise _Refused(RejectionReason.ANSWERABLE, f"{where} answers it: {found.said!r}")
        searched.append(found.model_copy(update={"answered": False}))

    def _blind(self, question: str, attempt: int) -> BlindAnswer:
        found = validator.answer_blind(self.work.context, self.models.validator, (question,), attempt)
        self.calls += found.calls
        blind = found.found.get(question)
        if blind is None:
            raise _Refused(RejectionReason.VALIDATOR_FAILED, found.failure)
        is_judged = isinstance(blind, JudgingAnswer) and not blind.note.startswith(BY_READER)
        if is_judged and not getattr(blind, "self_contained", True):
            raise _Refused(RejectionReason.NOT_SELF_CONTAINED, _said(blind))
        return blind

    def _from_excerpts(self, question: str, found: Sequence[DocumentPassages], attempt: int) -> Searched:
        shown: list[Excerpt] = []
        for one in found:
            shown += one.excerpts(len(shown) + 1)
        alone = found[0] if len(found) == 1 else None
        run = answer_from_excerpts(
            self.models.validator,
            question,
            None if alone is None else alone.title,
            shown,
            document_id=self._own,
            role=validator.ROLE,
            attempt=attempt,
            several=len(found) > 1,
        )
        self.calls += run.calls
        if run.submitted is None:
            raise _Refused(RejectionReason.VALIDATOR_FAILED, run.failure)
        return Searched(
            document_id=None if alone is None else alone.document_id,
            lines=() if alone is None else tuple(LineRange(**one.model_dump()) for one in alone.spans),
            answered=run.submitted.answerable,
            said=run.submitted.answer[:_MOST],
        )

    @property
    def _own(self) -> str:
        return self.work.context.view.document.id

    def _taken(self) -> tuple[CallSummary, ...]:
        calls = tuple(self.calls)
        self.calls.clear()
        return calls


def _said(blind: BlindAnswer) -> str:
    return "; ".join(filter(None, (blind.answer.strip(), blind.note.strip())))[:_MOST]
