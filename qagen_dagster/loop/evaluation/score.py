"""Reads the output of a system under test, scores it against published questions, and compares two systems."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import cast

from pydantic import ValidationError

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.english.key_facts import key_facts, share_stated
from qagen_dagster.errors import ConfigError, ModelError
from qagen_dagster.grounding.judge import RecordingModel
from qagen_dagster.grounding.no_claim import abstained
from qagen_dagster.loop.evaluation import system_scores
from qagen_dagster.loop.evaluation.answer_marks import Marked, mark_abstention, mark_answer
from qagen_dagster.loop.evaluation.ranking_measures import graded_measures
from qagen_dagster.loop.grading.answer_file import lines, read_object
from qagen_dagster.loop.grading.grade_answers import CommandJudge
from qagen_dagster.loop.parallel import map_in_parallel
from qagen_dagster.loop.questions.publication.publish import labels_of
from qagen_dagster.loop.questions.publication.published_set import PublishedSet, shared_lines
from qagen_dagster.models.base import Model
from qagen_dagster.records.evaluation import (
    Decided,
    Label,
    Passage,
    ScoredAnswer,
    ScoredSet,
    ScoreReport,
    SystemAnswer,
    SystemOutput,
    SystemScores,
)
from qagen_dagster.records.questions.published import PublishedQuestion
from qagen_dagster.records.questions.results import Evidence

_FIELDS = frozenset(SystemAnswer.model_fields)
Located = tuple[
    str, Callable[[], Mapping[str, object]]
]  # the place of a row, and a function that reads it or raises ValueError


def read_output(path: Path, known: Iterable[str]) -> SystemOutput:
    """Read the output of a system from a JSON Lines file. `known` has the ids of the questions. A row that is not usable adds a fault.
    Raises ConfigError if the file cannot be read."""
    rows = ((f"{path}:{number}", partial(read_object, line)) for number, line in lines(path))
    try:
        return _collect(path.stem, rows, frozenset(known))
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=path) from None


def given_output(name: str, rows: Iterable[Mapping[str, object]], known: Iterable[str]) -> SystemOutput:
    """As `read_output`, from rows in memory."""
    located = ((f"{name}:{at}", partial(dict[str, object], row)) for at, row in enumerate(rows, 1))
    return _collect(name, located, frozenset(known))


def _collect(name: str, rows: Iterable[Located], known: frozenset[str]) -> SystemOutput:
    answers: dict[str, SystemAnswer] = {}
    faults: list[str] = []
    for place, read in rows:
        try:
            answer = _answer(read())
            if answer.id not in known:
                raise ValueError(f"no published question has the id {answer.id!r}")
            if answer.id in answers:
                raise ValueError(f"a row above has the id {answer.id!r}, too")
            answers[answer.id] = answer
        except ValueError as error:
            faults.append(f"{place}: {error}")
    return SystemOutput(name=name, answers=answers, faults=tuple(faults))


def _answer(row: Mapping[str, object]) -> SystemAnswer:
    """The answer in a row, without unknown fields. Raises ValueError with a description of the fault."""
    fields = {name: value for name, value in row.items() if name in _FIELDS}
    passages = fields.get("passages")
    if isinstance(passages, (list, tuple)):
        fields["passages"] = [_passage(one) for one in cast("Iterable[object]", passages)]
    if not fields.keys() & {"answer", "passages"}:
        raise ValueError("it has neither `answer` nor `passages`")
    try:
        return SystemAnswer.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"`{place}`: {first['msg']}") from None


def _passage(value: object) -> object:
    """The passage with only the known fields. A bare document id stands for the whole document."""
    if isinstance(value, str):
        return {"document_id": value}
    if not isinstance(value, Mapping):
        return value
    fields = cast("Mapping[object, object]", value)
    return {name: fields[name] for name in Passage.model_fields if name in fields}


HELD = 0.5  # minimum number of common lines, as a share of a quote's lines, or of the lines of the shorter one of passage and label


def score_systems(
    sets: Sequence[PublishedSet],
    outputs: Sequence[SystemOutput],
    judge: CommandJudge,
    difference: float | None = None,
) -> ScoreReport:
    """Score each system on all questions of the sets. If there are two systems, they are also compared. `judge` decides where code cannot.
    With `difference`, the report states how many questions are needed to show a difference of this size between two systems."""
    questions = [question for one in sets for question in one]
    labels = {key: some for one in sets for key, some in labels_of(one.store, one.combination).items()}
    scored = [_score(questions, output, judge, labels) for output in outputs]
    found = system_scores.with_own(scored, [one.model for one in outputs])
    return ScoreReport(
        sets=tuple(
            ScoredSet(combination=one.combination.key, content_id=one.content_id, questions=len(one))
            for one in sets
        ),
        judge_model="" if judge.model is None else judge.model.spec.name,
        systems=found,
        comparisons=system_scores.compare_systems(*found) if len(found) == 2 else (),
        plans=() if difference is None else system_scores.plan_questions(found, difference),
    )


def _score(
    questions: Sequence[PublishedQuestion],
    output: SystemOutput,
    judge: CommandJudge,
    labels: Mapping[str, Sequence[Label]],
) -> SystemScores:
    rows = output.answers.values()
    answered = any(row.answer is not None for row in rows)
    passages = [passage for row in rows for passage in row.passages or ()]
    lined = any(passage.start_line is not None for passage in passages)

    def one(question: PublishedQuestion) -> ScoredAnswer:
        row = output.answers.get(question.id, SystemAnswer(id=question.id))
        found = _ranked(question, row, labels.get(question.id, ()), lined=lined)
        return _with_facts(_marked(found, question, judge.model), question) if answered else found

    answers = map_in_parallel(one, questions, workers=judge.workers)
    retrieved = any(row.passages is not None for row in rows)
    return SystemScores(
        system=output.name,
        overall=system_scores.scores(answers, answered=answered, retrieved=retrieved),
        groups=system_scores.grouped(answers, answered=answered, retrieved=retrieved),
        answers=tuple(answers),
        faults=output.faults,
    )


def _ranked(
    question: PublishedQuestion, row: SystemAnswer, labels: Sequence[Label], *, lined: bool
) -> ScoredAnswer:
    """The question with the system's answer, the ranks of the question's documents and quotes among the passages of `row`, and the graded
    measures of these passages. Quotes are ranked only if `lined`, that is, if the system gives lines of passages."""
    passages = row.passages or ()
    documents = list(dict.fromkeys(passage.document_id for passage in passages))
    mine = question.document_id
    wanted = {mine, *(one.document_id for one in question.evidence if one.document_id)}
    lined = lined and question.answerable
    known = [label.grade for label in labels if label.grade is not None]
    quotes = [one for one in question.evidence if one.start_line is not None] if lined else []
    return ScoredAnswer(
        question_id=question.id,
        document_id=mine,
        question=question.question,
        answer=question.answer,
        question_type=question.question_type,
        mode=question.mode or question.category,
        hops=question.hops,
        answerable=question.answerable,
        writer=question.writer,
        given=row.answer,
        # the rank of the last wanted document, because only then all are found
        document_rank=max(map(documents.index, wanted)) + 1 if wanted <= {*documents} else None,
        evidence_ranks=tuple(
            next(
                (at for at, one in enumerate(passages, 1) if _holds(one, quote.document_id or mine, quote)),
                None,
            )
            for quote in quotes
        ),
        graded=graded_measures(list(grades_of(passages, labels)), known) if any(known) else {},
    )


def grades_of(passages: Sequence[Passage], labels: Sequence[Label]) -> Iterator[int | None]:
    """For each passage, the best grade of the judged labels that are in it; None if no judged label is in it. If a label is in several
    passages, its grade counts for the first of them, and 0 for the others."""
    seen: set[str] = set()
    for passage in passages:
        same = {one.passage: one.grade for one in labels if one.grade is not None and _same(passage, one)}
        yield max((0 if name in seen else grade for name, grade in same.items()), default=None)
        seen |= same.keys()


def _same(passage: Passage, label: Label) -> bool:
    """Whether passage and label share at least HELD of the lines of the shorter one. A passage without lines is its whole document."""
    if passage.document_id != label.document_id or passage.start_line is None:
        return passage.document_id == label.document_id
    lines = (passage.start_line, passage.end_line or passage.start_line)
    return shared_lines(lines, (label.start_line, label.end_line)) >= HELD


def _holds(passage: Passage, document_id: str, quote: Evidence) -> bool:
    """Whether the passage has at least HELD of the quote's lines. A passage without lines is its whole document."""
    if passage.document_id != document_id or quote.start_line is None:
        return False
    if passage.start_line is None:
        return True
    end = quote.end_line or quote.start_line
    last = passage.end_line or passage.start_line
    shared = min(end, last) - max(quote.start_line, passage.start_line) + 1
    return shared >= HELD * (end - quote.start_line + 1)


def _with_facts(found: ScoredAnswer, question: PublishedQuestion) -> ScoredAnswer:
    """`found` with the share of the published answer's key facts that the system's answer states. The share of a right answer is 1. A
    question without an answer gets no share."""
    if not found.answerable:
        return found
    quotes = "\n".join(one.quote for one in question.evidence)
    facts = key_facts(found.question, found.answer, quotes)
    share = 1.0 if found.right else share_stated(facts, found.question, found.given or "")
    return found.model_copy(update={"key_facts": share})


def _marked(found: ScoredAnswer, question: PublishedQuestion, model: Model | None) -> ScoredAnswer:
    """The answer with its verdict. If the judge fails, the answer is undecided."""
    if found.given is None and not found.answerable:
        unanswered = Marked(False, Decided.UNKNOWN, "no answer was given")
        return found.model_copy(update=asdict(unanswered) | {"abstained": False})
    abstains = found.given is not None and abstained(found.given)
    found = found.model_copy(update={"abstained": abstains})
    asked = None if model is None else RecordingModel(model)
    mark = mark_answer if found.answerable else mark_abstention
    try:
        marked = mark(found.question, found.answer, found.given or "", asked, Role.JUDGE.value)
    except ModelError as error:
        return found.model_copy(update={"failure": f"the judge gave no verdict: {error}"[:500]})
    verdict = {"failure": marked.failure} if marked.result is None else asdict(marked.result)
    if not found.answerable:
        # the published answer states that there is no answer, so an equal answer abstains
        verdict |= {"abstained": None if marked.result is None else marked.result.right}
    attempt = question.generation_metadata.attempt_number
    calls = () if asked is None else asked.calls(Role.JUDGE.value, found.document_id, attempt)
    return found.model_copy(update={**verdict, "calls": calls})
