"""Finds the published questions that a model can answer without the document. Such questions do not test reading."""

from collections.abc import Sequence
from dataclasses import dataclass

from qagen_dagster.agents import evaluation as judges
from qagen_dagster.configuration.profiles import Role
from qagen_dagster.loop.evaluation import run_questions
from qagen_dagster.loop.evaluation.answer_marks import mark_answer
from qagen_dagster.loop.statistics import share_with_bounds
from qagen_dagster.models.base import Model
from qagen_dagster.records import evaluation

VERSION = "4"  # increase if the same responses would give another verdict


def plan_closed_book(found: run_questions.Evaluation) -> run_questions.EvaluationPlan:
    """Plan the evaluation: the questions, and everything that the results depend on."""
    how = closed_book_setup(found).how
    return run_questions.plan_evaluation(found, evaluation.Kind.CLOSED_BOOK, lambda _: how)


def closed_book_setup(found: run_questions.Evaluation) -> run_questions.Setup:
    """The setup, whose judge is the model that compares answers if code cannot decide."""
    config = found.space.corpus(found.combination.corpus).config
    roles = (Role.ANSWERER, _comparer_of(found))
    answerer, comparer = (found.profile.spec(role, found.combination.mode) for role in roles)
    identities = run_questions.identities(answerer, comparer)
    how = (VERSION, config.corpus_context, *identities, *(prompt.hash for prompt in judges.prompts()))
    specs = {Role.ANSWERER: answerer, Role.JUDGE: comparer}
    return run_questions.Setup(how, answerer.name, comparer, specs)


def check_closed_book(
    found: run_questions.Evaluation, progress: run_questions.Progress | None = None
) -> evaluation.ClosedBookReport:
    """Ask every published question without its document and store the report. Raises ConfigError and StoreError, and ModelError if a model
    is not available or fails for several consecutive questions."""
    planned, setup, role = plan_closed_book(found), closed_book_setup(found), _comparer_of(found)
    answerer, comparer = (found.model(spec) for spec in setup.specs.values())
    context = found.space.corpus(found.combination.corpus).config.corpus_context
    evaluator = _ClosedBookEvaluator(context, answerer, comparer, role.value)
    record = evaluation.DocumentEvaluation[evaluation.ClosedBookAnswer]
    run = run_questions.EvaluationRun(found, evaluator.ask, evaluation.ClosedBookAnswer, record, progress)
    questions = run.run(planned, answerer)
    made = _metrics(questions)
    return run_questions.make_report(
        found, evaluation.Kind.CLOSED_BOOK, questions, made, planned.fingerprint, setup
    )


def _metrics(questions: Sequence[evaluation.ClosedBookAnswer]) -> dict[str, float]:
    """The metrics by name. If the answerer gave no answer to any question, there is no share, because nothing was measured."""
    known = [question.leaked for question in questions if question.leaked is not None]
    tried = sum(
        one.decided is not None and one.decided is not evaluation.Decided.UNKNOWN for one in questions
    )
    shares = share_with_bounds("leaked_share", known, len(questions)) if tried else {}
    counts = {"leaked": sum(known), "undecided": len(questions) - len(known), "tried": tried}
    return shares | {name: float(count) for name, count in counts.items()}


def _comparer_of(found: run_questions.Evaluation) -> Role:
    """The role whose model compares answers if code cannot decide: the judge, or else the validator."""
    return Role.VALIDATOR if found.profile.find(Role.JUDGE, found.combination.mode) is None else Role.JUDGE


@dataclass(frozen=True)
class _ClosedBookEvaluator:
    """Asks one question. Called from many threads."""

    corpus_context: str
    answerer: Model
    comparer: Model
    role: str

    def ask(self, session: run_questions.Session) -> evaluation.ClosedBookAnswer:
        """The question with the model's guess, and whether the guess is right; with a failure if there is no guess or no verdict."""
        pair = session.pair
        unanswered = run_questions.blank(evaluation.ClosedBookAnswer, pair)
        guess = judges.guess(
            session.recorded(self.answerer, Role.ANSWERER.value), pair.question, self.corpus_context
        )
        if guess.result is None:
            return unanswered.model_copy(update={"failure": guess.failure})
        answer = guess.result.answer.strip()
        answered = unanswered.model_copy(update={"given": answer, "confidence": guess.result.confidence})
        comparer = session.recorded(self.comparer, self.role)
        marked = mark_answer(pair.question, pair.answer, answer, comparer, self.role)
        if marked.result is None:
            return answered.model_copy(update={"failure": marked.failure})
        found = marked.result
        verdict = {"leaked": found.right, "decided": found.decided, "explanation": found.explanation}
        return answered.model_copy(update=verdict)
