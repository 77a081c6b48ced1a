"""Finds the published questions that a model can answer without the document. Such questions do not test reading."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from qagen_dagster.agents.evaluation import closed_book
from qagen_dagster.configuration.profiles import Role
from qagen_dagster.loop.evaluation import run_questions
from qagen_dagster.loop.evaluation.answer_marks import mark_answer
from qagen_dagster.loop.parallel import worker_count
from qagen_dagster.loop.statistics import share_with_bounds
from qagen_dagster.models.base import Model, ModelSpec
from qagen_dagster.records import evaluation

VERSION = "2"  # increase if the same responses would give another verdict


def plan_closed_book(found: run_questions.Evaluation) -> run_questions.EvaluationPlan:
    """Plan the evaluation: the questions, and everything that its results depend on."""
    how = how_asked(found)
    return run_questions.plan_evaluation(found, evaluation.Kind.CLOSED_BOOK, lambda _: how)


def how_asked(found: run_questions.Evaluation) -> tuple[str, ...]:
    """Everything else that the results depend on besides the questions."""
    config = found.space.corpus(found.combination.corpus).config
    return (
        VERSION,
        config.corpus_context,
        *(json.dumps(spec.identity(), sort_keys=True) for spec in closed_book_models(found)),
        *(prompt.hash for prompt in closed_book.prompts()),
    )


def closed_book_models(found: run_questions.Evaluation) -> tuple[ModelSpec, ModelSpec]:
    """The model that answers, and the model that compares answers if code cannot decide."""
    return _spec(found, Role.ANSWERER), _comparer_of(found)[1]


def check_closed_book(
    found: run_questions.Evaluation, progress: run_questions.Progress | None = None
) -> evaluation.ClosedBookReport:
    """Ask every published question without its document and store the report.

    Raises ConfigError, StoreError, and ModelError if no model is available.
    """
    planned = plan_closed_book(found)
    role, comparer = _comparer_of(found)
    answerer = found.metered(found.space.model(_spec(found, Role.ANSWERER)))
    evaluator = _ClosedBookEvaluator(
        found.space.corpus(found.combination.corpus).config.corpus_context,
        answerer,
        found.metered(found.space.model(comparer)),
        role,
    )
    workers = worker_count(answerer, found.space.settings.document_workers, unlimited=found.budget.unlimited)
    record = evaluation.DocumentEvaluation[evaluation.ClosedBookAnswer]
    questions = run_questions.EvaluationRun(
        found, evaluator.ask, evaluation.ClosedBookAnswer, record, progress
    ).run(planned, workers)
    return run_questions.make_report(
        found, evaluation.Kind.CLOSED_BOOK, evaluation.ClosedBookReport, questions, _metrics(questions),
        fingerprint=planned.fingerprint, model=answerer.spec.name, judge_model=comparer.name,
    )  # fmt: skip


def _metrics(questions: Sequence[evaluation.ClosedBookAnswer]) -> dict[str, float]:
    """There is no share if the answerer never tried: then nothing was measured."""
    known = [one.leaked for one in questions if one.leaked is not None]
    tried = sum(
        one.decided is not None and one.decided is not evaluation.Decided.UNKNOWN for one in questions
    )
    shares = share_with_bounds("leaked_share", known, len(questions)) if tried else {}
    counts = {"leaked": sum(known), "undecided": len(questions) - len(known), "tried": tried}
    return shares | {name: float(count) for name, count in counts.items()}


def _spec(found: run_questions.Evaluation, role: Role) -> ModelSpec:
    return found.profile.spec(role, found.combination.mode)


def _comparer_of(found: run_questions.Evaluation) -> tuple[str, ModelSpec]:
    """The role and the model that compare answers if code cannot decide: the judge, or else the validator."""
    role = Role.VALIDATOR if found.profile.find(Role.JUDGE, found.combination.mode) is None else Role.JUDGE
    return role.value, _spec(found, role)


@dataclass(frozen=True)
class _ClosedBookEvaluator:
    """Asks one question. Called from many threads."""

    corpus_context: str
    answerer: Model
    comparer: Model
    role: str

    def ask(self, session: run_questions.Session) -> evaluation.ClosedBookAnswer:
        """The question with the model's guess, and whether the guess is right."""
        pair = session.pair
        unanswered = run_questions.blank(evaluation.ClosedBookAnswer, pair)
        guess = closed_book.guess(
            session.recorded(self.answerer, Role.ANSWERER.value), pair.question, self.corpus_context
        )
        if guess.result is None:
            return unanswered.model_copy(update={"failure": guess.failure})
        said = guess.result.answer.strip()
        answered = unanswered.model_copy(update={"given": said, "confidence": guess.result.confidence})
        comparer = session.recorded(self.comparer, self.role)
        marked = mark_answer(pair.question, pair.answer, said, comparer, self.role)
        if marked.result is None:
            return answered.model_copy(update={"failure": marked.failure})
        found = marked.result
        verdict = {"leaked": found.right, "decided": found.decided, "explanation": found.explanation}
        return answered.model_copy(update=verdict)
