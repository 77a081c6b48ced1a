"""Proves that the corpus does not answer a question: the validator looks for the answer where a search finds it likeliest.

It is asked with the passages of all found documents together, with the question's own document, and with each other document that has
a name or a number of the question. One answer refuses the question. A false premise must be denied by the own document. An underspecified question must have an answer for
each reading.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from qagen_dagster.agents.answering.answerer import Excerpt, answer_from_excerpts
from qagen_dagster.agents.questions import validator
from qagen_dagster.english.answers import Match, match
from qagen_dagster.english.sentences import split
from qagen_dagster.english.words import says_all
from qagen_dagster.loop.questions import controls
from qagen_dagster.loop.questions.document_work import DocumentWork, QAModels
from qagen_dagster.loop.questions.no_answer.corpus_passages import CorpusPassages, DocumentPassages
from qagen_dagster.loop.questions.state import Validate
from qagen_dagster.records.corpus_config import NoAnswerKind
from qagen_dagster.records.document import LineRange
from qagen_dagster.records.questions.no_answer import NoAnswer, Searched
from qagen_dagster.records.questions.results import BY_READER, CallSummary, Candidate, RejectionReason
from qagen_dagster.records.questions.submissions import BlindAnswer, JudgingAnswer

CONTROLS = 3  # questions with an answer on which the validator must show that it finds answers
_MOST = 300  # characters of an answer in a record


@dataclass(frozen=True)
class Proved:
    """The candidate with its proof, or why it is refused, and the calls."""

    candidate: Candidate
    reason: RejectionReason | None = None
    detail: str = ""
    calls: tuple[CallSummary, ...] = ()


class _Refused(Exception):
    def __init__(self, reason: RejectionReason, detail: str) -> None:
        super().__init__(detail)
        self.reason, self.detail = reason, detail


@dataclass
class Prover:
    """Proves candidates of one document. The calls of all its questions to the validator are in `calls`."""

    work: DocumentWork
    models: QAModels
    corpus: CorpusPassages
    calls: list[CallSummary] = field(default_factory=list[CallSummary])

    def prove(self, candidate: Candidate, claim: NoAnswer, attempt: int) -> Proved:
        """Raises ModelError."""
        searched: list[Searched] = []
        try:
            if claim.kind is NoAnswerKind.UNDERSPECIFIED:
                self._readings(candidate, claim, attempt, searched)
            else:
                self._search(candidate, claim, attempt, searched)
        except _Refused as refused:
            return Proved(candidate, refused.reason, refused.detail, self._taken())
        proof = {"documents": len(self.corpus.documents), "searched": tuple(searched)}
        proved = candidate.model_copy(update={"no_answer": claim.model_copy(update=proof)})
        return Proved(proved, calls=self._taken())

    def finds_answers(self, questions: Sequence[str]) -> tuple[int, list[str], tuple[CallSummary, ...]]:
        """Ask questions that have an answer in the same way. Returns how many were asked, those without an answer, and the calls."""
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
        gave = blind.answerable and bool(blind.answer.strip()) and not false
        self._look(Searched(document_id=self._own, answered=gave, said=_said(blind)), candidate, searched)
        for other in found:
            # a document that has no name and no number of the question was shown with the others, and alone says less
            if other.document_id != self._own and (false or other.may_answer(question)):
                self._look(self._from_excerpts(question, [other], attempt), candidate, searched)

    def _check_words(self, question: str, found: Sequence[DocumentPassages]) -> None:
        """Refuse a question if one sentence has all its words: it hardly ever lacks the answer, so no model is asked."""
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
            given = self._blind(one.question, attempt)
            read = candidate.model_copy(update={"question": one.question, "answer": one.answer})
            step = Validate(candidate=read, attempt=attempt)
            same, _, calls = controls.same_fact(step, self.work, self.models, given.answer)
            self.calls += calls
            if not (given.answerable and same):
                why = f"to the reading {one.question!r} the validator answered {_said(given)}"
                raise _Refused(RejectionReason.WRONG_ANSWER, why)

    def _look(self, found: Searched, candidate: Candidate, searched: list[Searched]) -> None:
        """Keep what the validator said. An answer refuses the candidate, unless it only corrects a false premise."""
        corrects = candidate.question_type == NoAnswerKind.FALSE_PREMISE.value and match(
            found.said, candidate.answer
        ) in (Match.SAME, Match.CLOSE)
        if found.answered and not corrects:
            where = found.document_id or "the documents together"
            raise _Refused(RejectionReason.ANSWERABLE, f"{where} answers it: {found.said!r}")
        searched.append(found.model_copy(update={"answered": False}))

    def _blind(self, question: str, attempt: int) -> BlindAnswer:
        found = validator.answer_blind(self.work.context, self.models.validator, question, attempt)
        self.calls += found.calls
        if found.answer is None:
            raise _Refused(RejectionReason.VALIDATOR_FAILED, found.failure)
        heard = isinstance(found.answer, JudgingAnswer) and not found.answer.note.startswith(BY_READER)
        if heard and not getattr(found.answer, "self_contained", True):
            raise _Refused(RejectionReason.NOT_SELF_CONTAINED, _said(found.answer))
        return found.answer

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
