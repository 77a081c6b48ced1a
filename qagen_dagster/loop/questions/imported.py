"""Imports questions that people asked: reads a log of them, measures how well a set covers the log, and adds its questions to a result.

A question is tried on the documents that a search ranks highest, in order. The first document that answers the question gets it. The stages
of the other documents reach the same result for free, because their requests are equal and the ledger has the responses.
"""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from qagen_dagster.agents.questions import validator
from qagen_dagster.agents.questions.batch import answerer
from qagen_dagster.agents.questions.batch.one_reply import Task
from qagen_dagster.agents.questions.batch.shown_text import BUDGETS, Reading
from qagen_dagster.agents.questions.evidence.submission_check import EvidenceCheck
from qagen_dagster.english.words import shared_words
from qagen_dagster.errors import BudgetExhaustedError, ConfigError, StoreError, TooLargeError
from qagen_dagster.formats.decoding import decode
from qagen_dagster.loop.grading.answer_file import MOST_BYTES, lines, read_object
from qagen_dagster.loop.questions import model_checks
from qagen_dagster.loop.questions.document_work import DocumentWork
from qagen_dagster.loop.questions.duplicates.similarity import find_duplicates
from qagen_dagster.loop.questions.no_answer import stage as stages
from qagen_dagster.loop.questions.no_answer.prove import DocumentPassages
from qagen_dagster.loop.questions.plan import results_of
from qagen_dagster.loop.questions.state import Judged, Validate
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.corpus_options import QuestionType
from qagen_dagster.records.ids import Combination, normalise
from qagen_dagster.records.questions import imported, results
from qagen_dagster.records.questions.batch import AnsweredQuestion
from qagen_dagster.records.questions.imported import NO_DOCUMENT, LoggedQuestion
from qagen_dagster.records.questions.results import CandidateSet, RejectionReason, ValidatedSet
from qagen_dagster.records.questions.submissions import EvidenceQuote
from qagen_dagster.untrusted_file import read_file

# questions with at least this cosine ask for the same, unless numbers, names or kinds of answers differ
ALIKE = 0.7


def read_log(path: Path) -> tuple[list[imported.LoggedQuestion], list[str]]:
    """The questions of a JSON Lines, CSV or TSV file, and a line for each row left out. Raises ConfigError if no question can be read."""
    found: list[imported.LoggedQuestion] = []
    faults: list[str] = []
    try:
        for number, row in _csv_rows(path) if path.suffix.lower() in (".csv", ".tsv") else lines(path):
            try:
                found.append(_logged(row if isinstance(row, Mapping) else read_object(row)))
            except ValueError as error:
                faults.append(f"{path}:{number}: {error}")
    except (OSError, TooLargeError, csv.Error) as error:
        raise ConfigError(f"cannot be read: {error}", file=path) from None
    if not found:
        raise ConfigError(f"it has no question ({'; '.join(faults[:1]) or 'it is empty'})", file=path)
    return found, faults


def _csv_rows(path: Path) -> Iterator[tuple[int, Mapping[str, object]]]:
    text = decode(read_file(path, MOST_BYTES)).text
    header = text.partition("\n")[0]
    table = csv.DictReader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=header.count))
    for row in table:
        yield table.line_num, row


def _logged(row: Mapping[str, object]) -> imported.LoggedQuestion:
    """The question of a row. Raises ValueError with a description of the fault."""
    fields = {str(name).strip().lower(): value for name, value in row.items()}
    texts = {name: fields.get(name) or "" for name in imported.LoggedQuestion.model_fields}
    for name, text in texts.items():
        if not isinstance(text, str | int | float):
            raise ValueError(f"`{name}` is not text")
    one = imported.LoggedQuestion(**{name: " ".join(str(text).split()) for name, text in texts.items()})
    if not one.question:
        raise ValueError(f"it has no text in `question` (fields: {', '.join(fields) or 'none'})")
    return one


def keep_log(
    space: Workspace, combination: Combination, new: Iterable[imported.LoggedQuestion], *, forget: bool
) -> imported.QuestionLog:
    """Add the questions to the log. With `forget`, all earlier questions are removed. A question that is imported again replaces its
    earlier record. Raises StoreError if there is no question."""
    found = (
        None
        if forget
        else space.store.find_valid(imported.QuestionLog.key(combination), imported.QuestionLog)
    )
    before = found or imported.QuestionLog(questions=())
    every = {normalise(one.question): one for one in (*before.questions, *new)}
    if not every:
        raise StoreError(f"{combination.key} has no imported questions: name a file")
    log = before.model_copy(update={"questions": tuple(every.values())})
    space.store.write(imported.QuestionLog.key(combination), log)
    return log


def measure(space: Workspace, combination: Combination, log: imported.QuestionLog) -> imported.Coverage:
    """The fate of each question of the log, and the gaps of the set. The gaps are stored for the next run. Raises StoreError."""
    validated = space.store.read(ValidatedSet.key(combination), ValidatedSet)
    fates = _fates(space, combination, validated)
    why = "no document that was worked on is likely to answer it"
    questions = [
        fates.get(normalise(one.question))
        or imported.ImportedQuestion(question=one.question, outcome=imported.NOT_TRIED, detail=why)
        for one in log.questions
    ]
    in_set, asked = [pair.question for pair in validated.questions], [one.question for one in questions]
    subjects: dict[str, list[imported.ImportedQuestion]] = {}
    for one, same in zip(questions, find_duplicates(asked, in_set, space.encode, ALIKE), strict=True):
        subjects.setdefault(one.question if same is None else same.of, []).append(one)
    gaps: list[tuple[str, tuple[str, ...]]] = []
    missing = {name: list(known) for name, known in log.missing.items()}
    for about, group in subjects.items():
        refused = [one for one in group if one.outcome != imported.NOT_TRIED and not one.passages]
        covered = {imported.PUBLISHED, RejectionReason.DUPLICATE} & {one.outcome for one in group}
        if about not in in_set and refused and not covered:
            gaps.append((refused[0].document_id, tuple(one.question for one in group)))
            missing.setdefault(refused[0].document_id, []).append(refused[0].question)
    coverage = imported.Coverage(questions=tuple(questions), subjects=len(subjects), gaps=tuple(gaps))
    space.store.write(imported.Coverage.key(combination), coverage)
    kept = {name: tuple(dict.fromkeys(known)) for name, known in missing.items()}
    space.store.write(imported.QuestionLog.key(combination), log.model_copy(update={"missing": kept}))
    return coverage


def _fates(
    space: Workspace, combination: Combination, validated: ValidatedSet
) -> dict[str, imported.ImportedQuestion]:
    """The fates of the imported questions, by their normalised texts."""
    candidates = space.store.read(CandidateSet.key(combination), CandidateSet)
    lost = [one for result in results_of(space, candidates) for one in result.rejected]
    refused = {
        normalise(one.question): imported.ImportedQuestion(
            question=one.question,
            outcome=one.rejection_reason,
            document_id=one.document_id,
            detail=one.rejection_detail,
            passages=one.evidence if one.rejection_detail.startswith(imported.NO_DOCUMENT) else (),
        )
        for one in (*lost, *validated.removed)
        if one.origin == "imported"
    }
    return refused | {
        normalise(one.question): imported.ImportedQuestion(
            question=one.question, outcome=imported.PUBLISHED, document_id=one.document_id
        )
        for one in validated.questions
        if one.origin == "imported"
    }


DOCUMENTS = 3  # maximum documents on which one question is tried
_MOST = 600  # characters of a reason
_NOT_HERE = ("unanswerable", "evidence_not_found", "answer_not_supported")  # reasons to try the next document
Matched = tuple[LoggedQuestion, Sequence[DocumentPassages]]  # the likeliest document first


@dataclass
class ImportStage(stages.JournaledStage):
    """The stage of one document. `open_document` opens another document by its id."""

    open_document: Callable[[str], DocumentWork]

    def add(self, result: results.GenerationResult, questions: Sequence[Matched]) -> results.GenerationResult:
        """The result with the questions that this document answers, and the questions that no document answers, if this is the likeliest
        document for them. Raises ModelError."""
        self.start(result)
        ended = ""
        try:
            for number, (logged, passages) in enumerate(questions):
                draft = partial(self._draft, logged, passages, self.state.attempts + 1)
                for candidate in self.drafted(number, draft).candidates:
                    self.decided(candidate, partial(self.decide, judge=self._judge))
        except BudgetExhaustedError as error:
            ended = str(error)
        answering = (self.models.answerer or self.models.generator).spec.name
        return self.added(result, self.own, ended, answering)

    def _draft(
        self, logged: LoggedQuestion, passages: Sequence[DocumentPassages], attempt: int
    ) -> stages.Drafted:
        """The question with its answer, if this document answers it first, or if it is the likeliest document and no document answers."""
        own, calls, tried = self.work.context.view.document.id, list[results.CallSummary](), list[str]()
        for one in passages:
            mine = one.document_id == own
            found = self._answer(logged, one, attempt if mine else 0)
            calls += found.calls
            candidate = found.candidate
            if candidate is not None and candidate.gate not in _NOT_HERE:
                return stages.Drafted(candidates=(candidate,) if mine else (), calls=tuple(calls))
            tried.append(
                f"{one.document_id}: {found.failure if candidate is None else candidate.gate_detail}"
            )
        lost = results.Candidate(
            question=logged.question,
            answer=logged.answer,
            evidence=tuple(_nearest(one, logged.question, own) for one in passages),
            question_type=QuestionType.FACTUAL.value,
            gate=results.RejectionReason.UNANSWERABLE,
            gate_detail=f"{NO_DOCUMENT} ({'; '.join(tried)})"[:_MOST],
            origin="imported",
        )
        likeliest = passages[0].document_id == own
        return stages.Drafted(candidates=(lost,) if likeliest else (), calls=tuple(calls))

    def _answer(self, logged: LoggedQuestion, passages: DocumentPassages, attempt: int) -> answerer.Answered:
        mine = passages.document_id == self.work.context.view.document.id
        work = self.work if mine else self.open_document(passages.document_id)
        reading = Reading(work.context.view)
        found = reading.around(at for one in passages.spans for at in range(one.start_line, one.end_line + 1))
        near = (reading.near(logged.question, most) for most in BUDGETS[2:])
        choices = [tuple(sorted({*one, *found})) if one else one for one in near]
        asked = answerer.Asked(logged.question, QuestionType.FACTUAL)
        model, task = self.models.answerer or self.models.generator, Task([*choices, found], attempt, 0)
        answered = answerer.answer(work.context, model, reading, asked, task)
        candidate = answered.candidate and _as_logged(work, logged, answered.candidate)
        return answered.model_copy(update={"candidate": candidate})

    def _judge(self, step: Validate) -> Judged:
        judged = validator.judge(self.work.context, self.models.validator, step.candidate, step.attempt)
        return model_checks.without_document(step, self.work, self.models, judged)


def _as_logged(work: DocumentWork, logged: LoggedQuestion, found: results.Candidate) -> results.Candidate:
    """The candidate with the answer of the log, if any, and quotes that support this answer: the found quotes, or the line that has it."""
    changes = {"origin": "imported"}
    if not logged.answer:
        return found.model_copy(update=changes)
    wanted, lines = normalise(logged.answer), enumerate(work.context.view.lines, 1)
    holding = [EvidenceQuote(quote=text, start_line=at) for at, text in lines if wanted in normalise(text)]
    holding.sort(key=lambda one: shared_words(logged.question, one.quote), reverse=True)
    quoted = [EvidenceQuote(quote=one.quote, start_line=one.start_line) for one in found.evidence]
    checked = [
        EvidenceCheck(work.context, graded=True).candidate_of(
            AnsweredQuestion(
                question=logged.question,
                answer=logged.answer,
                question_type=found.question_type,
                evidence=quotes,
            )
        )
        for quotes in (tuple(quoted), tuple(holding[:1]))
        if quotes
    ]
    best = next((one for one in checked if one.gate is None), checked[0] if checked else found)
    if best.gate in _NOT_HERE and found.gate is None:
        detail = f"{best.gate_detail}; the document says {found.answer!r}"
        changes |= {"gate": results.RejectionReason.WRONG_ANSWER, "gate_detail": detail}
    return best.model_copy(update=changes)


def _nearest(passages: DocumentPassages, question: str, own: str) -> results.Evidence:
    """The line of the passages that shares the most words with the question."""
    lines = [at for one in passages.spans for at in range(one.start_line, one.end_line + 1)]
    best = max(lines, key=lambda at: shared_words(question, passages.lines[at - 1]))
    other = passages.document_id if passages.document_id != own else None
    return results.Evidence(quote=passages.lines[best - 1], start_line=best, end_line=best, document_id=other)
