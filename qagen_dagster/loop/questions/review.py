"""Applies the decisions of reviewers, which `loop/review_decisions.py` reads, to the questions of a combination.

A rejected question leaves the set. An edited question is a new candidate: the evidence check and the validator decide on it, and it
is compared with the other questions afterwards.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from qagen_dagster.agents.questions.evidence.answer_support import unsupported
from qagen_dagster.agents.questions.evidence.widening import look, surroundings
from qagen_dagster.agents.questions.validator import judge, rejection
from qagen_dagster.errors import BudgetExhaustedError
from qagen_dagster.loop.parallel import map_in_parallel
from qagen_dagster.loop.questions.combination_run import CombinationRun
from qagen_dagster.loop.questions.document_journal import DocumentJournal
from qagen_dagster.loop.questions.document_work import DocumentPool, QAModels
from qagen_dagster.loop.questions.plan import RunOptions, plan
from qagen_dagster.loop.questions.state import Judged
from qagen_dagster.loop.review_decisions import QuestionReview, ReviewState, decisions_of, state_of
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.corpus_options import Strategy
from qagen_dagster.records.decisions import Decision
from qagen_dagster.records.ids import Mode, fingerprint, question_id
from qagen_dagster.records.questions import results
from qagen_dagster.records.questions.results import CallSummary, QAPair, RejectedQA, RejectionReason

_Reviews = Mapping[str, QuestionReview]


@dataclass(frozen=True)
class Reviewed:
    """The questions that remain. `edited` has the ids of the new questions that a reviewer's edits made."""

    pairs: Sequence[QAPair]
    removed: tuple[RejectedQA, ...] = ()
    edited: frozenset[str] = frozenset()
    undecided: int = 0
    calls: tuple[CallSummary, ...] = ()
    review: results.AppliedReview | None = None


@dataclass(frozen=True)
class _Outcome:
    """The outcome for one question: the pair that remains, if any, and the rejected candidates."""

    pair: QAPair | None
    removed: tuple[RejectedQA, ...] = ()
    verdict: results.VerdictRecord | None = None
    is_edited: bool = False
    undecided: bool = False
    calls: tuple[CallSummary, ...] = ()


def apply_decisions(
    workspace: Workspace,
    candidates: results.CandidateSet,
    pairs: Sequence[QAPair],
    models: QAModels,
    workers: int,
) -> Reviewed:
    """Apply all stored decisions of the combination. Raises StoreError, ConfigError or ModelError."""
    combination = candidates.combination
    decisions = decisions_of(workspace, combination.key)
    if not decisions:
        return Reviewed(pairs)
    planned = plan(
        workspace, combination, RunOptions(profile=candidates.profile, target_count=candidates.target_count)
    )
    run = CombinationRun(workspace, planned, (), candidates.run_id, candidates.run_id, DocumentPool(1))
    reviews = {name: state_of(some) for name, some in decisions.items()}
    judge = _Judge(run, models, reviews)
    found = map_in_parallel(judge.decide, pairs, workers=workers)
    kept = [(one.pair, one) for one in found if one.pair is not None]
    return Reviewed(
        pairs=[pair for pair, _ in kept],
        removed=tuple(rejected for one in found for rejected in one.removed),
        edited=frozenset(pair.id for pair, one in kept if one.is_edited),
        undecided=sum(one.undecided for one in found),
        calls=tuple(call for one in found for call in one.calls),
        review=results.AppliedReview(
            decisions=tuple(sorted(one.id for some in decisions.values() for one in some)),
            approved=tuple(pair.id for pair, one in kept if _is_approved(one, reviews.get(pair.id))),
            verdicts={pair.id: one.verdict for pair, one in kept if one.verdict is not None},
        ),
    )


def left_out(pair: QAPair, reason: RejectionReason, why: str, of: str | None = None) -> RejectedQA:
    """The record of an accepted question that is left out of the set for a `reason`."""
    return RejectedQA(
        **pair.shared(RejectedQA),
        rejection_reason=reason,
        rejection_detail=why,
        duplicate_of=of,
        attempt_number=pair.generation_metadata.attempt_number,
    )


def _is_approved(one: _Outcome, review: QuestionReview | None) -> bool:
    state = ReviewState.UNREVIEWED if review is None else review.state
    return state is ReviewState.ACCEPTED or (
        one.is_edited and state in (ReviewState.UNREVIEWED, ReviewState.EDITED)
    )


@dataclass(frozen=True)
class _Judge:
    run: CombinationRun
    models: QAModels
    reviews: _Reviews

    def decide(self, pair: QAPair) -> _Outcome:
        final, edits = self._edited(pair)
        before = tuple(
            left_out(old, RejectionReason.EDITED_BY_REVIEWER, _why(edit, f"replaced by: {edit.new_question}"))
            for old, edit in edits
        )
        review = self.reviews.get(final.id)
        if review is not None and review.state is ReviewState.REJECTED and review.last is not None:
            row = left_out(final, RejectionReason.REJECTED_BY_REVIEWER, _why(review.last))
            return _Outcome(None, (*before, row))
        return self._checked(final, before, edits[-1][1].document_id) if edits else _Outcome(pair)

    def _edited(self, pair: QAPair) -> tuple[QAPair, list[tuple[QAPair, Decision]]]:
        """Returns (question after all its edits, [(question before an edit, edit), ...]). An edited question may be edited again."""
        edits: list[tuple[QAPair, Decision]] = []
        seen: set[str] = set()
        while pair.id not in seen:
            seen.add(pair.id)
            review = self.reviews.get(pair.id)
            if review is None or review.state is not ReviewState.EDITED or review.last is None:
                break
            edits.append((pair, review.last))
            pair = self._with_texts(pair, review.last)
        return pair, edits

    def _with_texts(self, pair: QAPair, edit: Decision) -> QAPair:
        combination = self.run.planned.combination
        made = pair.generation_metadata.model_copy(
            update={"validator_model": self.models.validator.spec.name}
        )
        update = {
            "id": question_id(combination, edit.document_id, edit.new_question, edit.new_answer),
            "question": edit.new_question,
            "answer": edit.new_answer,
            "generation_metadata": made,
        }
        return pair.model_copy(update=update)

    def _checked(self, pair: QAPair, before: tuple[RejectedQA, ...], edited_in: str) -> _Outcome:
        """The outcome for an edited question. `edited_in` is the id that its document had when it was edited."""
        fault = None if pair.no_answer is None else "an edit of a question without an answer cannot be proved"
        fault = fault or self._unsupported(pair)
        if fault is not None:
            row = left_out(pair, RejectionReason.ANSWER_NOT_SUPPORTED, fault)
            return _Outcome(None, (*before, row))
        try:
            judged, calls = self._judged(pair, edited_in)
        except BudgetExhaustedError as error:
            row = left_out(
                pair, RejectionReason.VALIDATION_FAILED, f"not validated ({error}); the next run decides"
            )
            return _Outcome(None, (*before, row), undecided=True)
        if judged.verdict is None:
            row = left_out(pair, RejectionReason.VALIDATOR_FAILED, judged.failure)
            return _Outcome(None, (*before, row), calls=calls)
        found = rejection(judged.verdict)
        if found is not None:
            return _Outcome(None, (*before, left_out(pair, *found)), calls=calls)
        return _Outcome(pair, before, judged.verdict, is_edited=True, calls=calls)

    def _unsupported(self, pair: QAPair) -> str | None:
        """The reason why the quotes do not support the new answer, or None. None in visual mode, because the validator sees the page."""
        if pair.category is Mode.VISUAL:
            return None
        text = "\n".join(place.quote for place in pair.evidence)
        graded = self.run.planned.strategy is Strategy.BATCH
        return unsupported(pair.question, pair.answer, text, pair.question_type, graded=graded)

    def _judged(self, pair: QAPair, edited_in: str) -> tuple[Judged, tuple[CallSummary, ...]]:
        """The validator's judgement and its calls, which are stored and reused until the surroundings or visuals of the evidence change."""
        documents = self.run.planned.documents
        work = self.run.open(next(one for one in documents if one.id == pair.document_id))
        view, attempt = work.context.view, pair.generation_metadata.attempt_number
        around = (surroundings(view.document, view.lines, one) for one in pair.evidence)
        labels = pair.labels if pair.category is Mode.VISUAL else ()
        looks = (look(view, one) or view.document.version for one in view.visuals if one.label in labels)
        version = fingerprint([work.fingerprint, pair.question, pair.answer, *around, *looks])
        key = results.GenerationResult.journal_key(work.combination, edited_in, version)
        journal = DocumentJournal(self.run.workspace.store, key, version)
        known = next((event for event in journal.events if isinstance(event, Judged)), None)
        if known is None:
            edited = pair.candidate().model_copy(update={"computation": ""})
            known = judge(work.context, self.models.validator, edited, attempt)
            journal.append(known)
        return known, known.calls


def _why(decision: Decision, what: str = "") -> str:
    """The reviewer, the reason and the consequence `what`, in one text."""
    return ": ".join(part for part in (decision.reviewer, decision.reason, what) if part)
