"""Grades many answers in parallel. The text of each document is read once.

This module grades the answers of documents, makes the judge of a command that runs outside the asset graph, and reports how many answers
were decided, by whom, and how often such decisions were right. It does not know the sources of answers and documents.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.errors import DocumentError
from qagen_dagster.grounding.grade import grade_answer
from qagen_dagster.grounding.judge import Judge, Lines
from qagen_dagster.grounding.no_claim import abstained
from qagen_dagster.grounding.source import Source
from qagen_dagster.loop.parallel import map_in_parallel, worker_count
from qagen_dagster.loop.shared_budget import BudgetMeter, effective_budget, metered
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.base import Model
from qagen_dagster.models.budget import Allowance, Budget
from qagen_dagster.records.grading import (
    AnswerGrade,
    Decided,
    ErrorRate,
    GradedAnswer,
    Method,
    SentenceStatus,
)
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.results import Evidence

CHUNK = 4  # consecutive answers that one thread grades; several threads share a document with more

_NOT_IN_TEXT = "the text alone does not show it"
_SHOWN = (SentenceStatus.SUPPORTED, SentenceStatus.GENERIC, SentenceStatus.NOT_MEASURED)


@dataclass(frozen=True)
class AnswerToGrade:
    """An answer to grade, with the lines of its quotes. `picture` names a picture that may support the answer in place of the text."""

    id: str
    question: str
    answer: str
    attempt: int = 1
    marked: str = ""
    picture: str = ""
    quoted: tuple[Lines, ...] = ()
    computation: str = ""  # a computation that code has checked
    quotes: tuple[str, ...] = ()  # the evidence with the file's line breaks


def quoted_lines(evidence: Iterable[Evidence]) -> tuple[Lines, ...]:
    """The lines of an answer's quotes from its own document. Quotes without lines are left out."""
    found = ((one.start_line, one.end_line) for one in evidence if one.document_id is None)
    return tuple((first, last) for first, last in found if first is not None and last is not None)


@dataclass(frozen=True)
class DocumentAnswers:
    """The answers of a document. Its text is read when the grading of the document starts. `text` may raise DocumentError."""

    document_id: str
    title: str
    text: Callable[[], str]
    asked: Sequence[AnswerToGrade]


@dataclass(frozen=True)
class Grader:
    """Grades answers, `workers` of them in parallel. `sets_apart`: answers that only state that there is no answer are not measured."""

    method: Method
    judge: Model | None = None
    workers: int = 1
    sets_apart: bool = False

    def grade(self, source: Source, document_id: str, asked: AnswerToGrade) -> GradedAnswer:
        """The answer with its grade. A failure of the judge does not raise."""
        return GradedAnswer(
            id=asked.id,
            question=asked.question,
            answer=asked.answer,
            grading=self._grading(source, document_id, asked),
            marked=asked.marked,
            supporting_evidence=asked.quotes,
        )

    def _grading(self, source: Source, document_id: str, asked: AnswerToGrade) -> AnswerGrade:
        if self.sets_apart and abstained(asked.answer):
            return AnswerGrade(is_grounded=None, confidence=None, method="none (the answer abstains)")
        model = self.judge
        judge = None if model is None else Judge(model, document_id, asked.attempt, asked.quoted)
        document = source.deriving(asked.computation)
        found = grade_answer(asked.question, asked.answer, document, self.method, judge)
        return _beside_picture(found, asked.picture) if asked.picture else found


Done = Callable[[int, Sequence[GradedAnswer] | DocumentError], None]


def grade_all(documents: Sequence[DocumentAnswers], grader: Grader, done: Done) -> None:
    """Grade every answer. When all answers of a document are graded, a worker thread calls `done(index of document, answers)`.

    If a document cannot be read, `done` gets the error instead of answers. Other errors end the work and are raised.
    """
    chunks = [-(-len(document.asked) // CHUNK) or 1 for document in documents]
    opened = [_OpenDocument(document, count) for document, count in zip(documents, chunks, strict=True)]
    units = [(index, number) for index, count in enumerate(chunks) for number in range(count)]

    def unit(place: tuple[int, int]) -> None:
        index, number = place
        finished = opened[index].grade(grader, number)
        if finished is not None:
            done(index, finished)

    map_in_parallel(unit, units, workers=grader.workers)


def in_picture(answer: GradedAnswer) -> bool:
    """Whether the answer was not measured because a picture may support it. Pictures are not read."""
    return any(issue.startswith(_NOT_IN_TEXT) for issue in answer.grading.issues)


def _beside_picture(found: AnswerGrade, picture: str) -> AnswerGrade:
    """The grade of an answer about a picture.

    The picture is not read. It may support sentences that the text does not support, so such sentences count as not measured.
    """
    if found.is_grounded is not False:
        return found
    reason = f"{_NOT_IN_TEXT}; {picture} may, and is not read"
    sentences = tuple(
        sentence
        if sentence.status in _SHOWN
        else sentence.model_copy(update={"status": SentenceStatus.NOT_MEASURED, "reason": reason})
        for sentence in found.sentences
    )
    return found.model_copy(
        update={"is_grounded": None, "confidence": None, "issues": (reason,), "sentences": sentences}
    )


class _OpenDocument:
    """A document in progress: its text while it is needed, and the grades so far."""

    def __init__(self, document: DocumentAnswers, chunks: int) -> None:
        self._document, self._left = document, chunks
        self._reading, self._counting = threading.Lock(), threading.Lock()
        self._source: Source | DocumentError | None = None
        self._found: dict[int, GradedAnswer] = {}

    def grade(self, grader: Grader, number: int) -> Sequence[GradedAnswer] | DocumentError | None:
        """Grade one chunk. Returns the grades of all chunks after the last chunk, and None before that."""
        source, start = self._read(), number * CHUNK
        if isinstance(source, Source):
            for place, asked in enumerate(self._document.asked[start : start + CHUNK], start):
                self._found[place] = grader.grade(source, self._document.document_id, asked)
        with self._counting:
            self._left -= 1
            if self._left:
                return None
        self._source, found, self._found = None, self._found, {}
        return source if isinstance(source, DocumentError) else [found[place] for place in sorted(found)]

    def _read(self) -> Source | DocumentError:
        with self._reading:
            if self._source is None:
                try:
                    self._source = Source(self._document.text())
                except DocumentError as error:
                    self._source = error
            return self._source


@dataclass(frozen=True)
class CommandJudge:
    """The judge of a command. If `model` is None, no model is asked. `workers` answers are judged in parallel."""

    model: Model | None = None
    workers: int = 1


def command_judge(space: Workspace, profile: str, wished: Allowance | None) -> CommandJudge:
    """The judge of a profile, if it has one. `wished` replaces the profile's budget of a run. Raises ConfigError."""
    chosen = space.profile(profile)
    allowance = effective_budget(chosen, wished).run
    judge = space.find_model(chosen, Role.JUDGE, Mode.TEXTUAL)
    if judge is not None and not allowance.unlimited:
        judge = metered(judge, BudgetMeter(Budget(document=allowance), subject="command"))
    workers = worker_count(judge, space.settings.document_workers, unlimited=allowance.unlimited)
    return CommandJudge(judge, workers)


def coverage_lines(decided: Decided | None, rates: Sequence[ErrorRate]) -> list[str]:
    """Lines that state how many answers were decided and how reliable code is. The list is empty for a report of an earlier version."""
    if decided is None or decided.share is None:
        return []
    whole = decided.code + decided.judge + decided.nobody
    first = (
        f"decided: {decided.share:.0%} of {whole:,} answers ({decided.code:,} by code, {decided.judge:,} by the judge, "
        f"{decided.nobody:,} not measured)"
    )
    return [first, *(_rate_line(rate) for rate in rates if decided.code)]


def _rate_line(one: ErrorRate) -> str:
    documents = "one or two sentences" if one.documents == "short" else "more sentences"
    return (
        f"code's verdict `{one.verdict}` was right in {one.precision:.2f} of the cases ({one.low:.2f} to {one.high:.2f}) on "
        f"public sets with documents of {documents}"
    )
