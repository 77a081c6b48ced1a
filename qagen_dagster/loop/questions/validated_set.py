"""Makes the validated set of a combination from its candidates: applies reviewers' decisions, and removes duplicates across documents."""

from collections.abc import Collection, Sequence

from qagen_dagster.agents.questions.deduplicator import Compared
from qagen_dagster.errors import BudgetExhaustedError
from qagen_dagster.loop.parallel import run_in_parallel, worker_count
from qagen_dagster.loop.questions.document_work import question_models
from qagen_dagster.loop.questions.duplicates import similarity
from qagen_dagster.loop.questions.no_answer.stage import distrust
from qagen_dagster.loop.questions.plan import results_of
from qagen_dagster.loop.questions.review import apply_decisions, left_out
from qagen_dagster.loop.shared_budget import effective_budget, partition_meter
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.base import Model
from qagen_dagster.models.budget import Allowance
from qagen_dagster.records.ids import Combination, normalise
from qagen_dagster.records.questions import results
from qagen_dagster.records.questions.run_results import REMOVED


def validate_set(
    workspace: Workspace,
    combination: Combination,
    encode: similarity.Encode,
    run_budget: Allowance | None = None,
    spending_id: str | None = None,
    progress: similarity.Progress = lambda done, total: None,
) -> results.ValidatedSet:
    """Apply reviews, remove duplicates across documents, and store the validated set.

    Raises StoreError, ConfigError or ModelError.

    Args:
        encode: returns the vectors of questions.
        run_budget: replaces the run's budget of the profile; None keeps it.
        spending_id: if the budget limits the run or the partition, the calls are recorded in the spending
            with this id. The default is the id of the run that made the candidates.
        progress: gets the number of questions that were compared, and the number of all questions.
    """
    candidates = workspace.store.read(results.CandidateSet.key(combination), results.CandidateSet)
    pairs, unproved = _proved(workspace, candidates)
    profile = workspace.profile(candidates.profile)
    models = question_models(workspace, profile, combination.mode)
    budget = effective_budget(profile, run_budget)
    spending = combination.spending_folder(spending_id or candidates.run_id)
    meter = partition_meter(workspace.store, budget, spending)
    models = models if meter is None else models.metered(meter)
    workers = worker_count(
        models.deduplicator, workspace.settings.document_workers, unlimited=budget.unlimited
    )
    reviewed = apply_decisions(workspace, candidates, pairs, models, workers)
    kept, removed, calls = deduplicate(
        reviewed.pairs,
        models.deduplicator,
        encode,
        edited=reviewed.edited,
        workers=workers,
        progress=progress,
    )
    undecided = sum(one.rejection_reason is results.RejectionReason.VALIDATION_FAILED for one in removed)
    validated = results.ValidatedSet(
        **dict(combination),
        fingerprint=candidates.fingerprint,
        run_id=candidates.run_id,
        questions=tuple(kept),
        removed=(*unproved, *reviewed.removed, *removed),
        undecided=undecided + reviewed.undecided,
        calls=(*reviewed.calls, *calls),
        review=_remaining(reviewed.review, {pair.id for pair in kept}),
    )
    workspace.store.write(results.ValidatedSet.key(combination), validated)
    removed_only = validated.model_copy(update={"questions": ()})
    workspace.store.write(combination.history_key(validated.run_id, REMOVED), removed_only)
    return validated


def _proved(
    workspace: Workspace, candidates: results.CandidateSet
) -> tuple[list[results.QAPair], list[results.RejectedQA]]:
    """Returns (accepted, rejected) for all documents. If the validator cannot be trusted, all questions without an answer are rejected,
    otherwise none. Raises StoreError."""
    pairs: list[results.QAPair] = []
    controls: list[tuple[int, int]] = []
    for result in results_of(workspace, candidates):
        pairs.extend(result.accepted)
        controls.append(result.controls)
    why = distrust(controls)
    if not why:
        return pairs, []
    unproved = (pair for pair in pairs if pair.no_answer is not None)
    lost = [left_out(pair, results.RejectionReason.VALIDATOR_FAILED, why) for pair in unproved]
    return [pair for pair in pairs if pair.no_answer is None], lost


def _remaining(review: results.AppliedReview | None, ids: Collection[str]) -> results.AppliedReview | None:
    """The applied review, with only the approvals of the questions with these ids."""
    if review is None:
        return None
    return review.model_copy(update={"approved": tuple(name for name in review.approved if name in ids)})


def deduplicate(
    pairs: Sequence[results.QAPair],
    model: Model,
    encode: similarity.Encode,
    *,
    edited: Collection[str] = (),
    workers: int = 1,
    progress: similarity.Progress = lambda done, total: None,
) -> tuple[list[results.QAPair], list[results.RejectedQA], list[results.CallSummary]]:
    """Keep the first of each group of duplicates. Returns (kept, removed, calls). Raises ModelError.

    Up to `workers` comparisons run in parallel. The comparison of a question starts when it is decided which of
    the earlier similar questions stay. So the result is the same as with one worker.

    If the budget is exhausted, the questions that were not compared may be duplicates. They are removed with
    the reason VALIDATION_FAILED. Questions whose ids are in `edited` are also compared with the questions of
    their own document.
    """
    known = [similarity.Known(pair.question, pair.answer) for pair in pairs]
    found = similarity.links_among(known, encode, progress)
    near = [
        [link for link in some if _may_be_duplicate(pairs[number], pairs[link.index], edited)]
        for number, some in enumerate(found)
    ]
    compared = [number for number, found in enumerate(near) if found]
    place = {number: at for at, number in enumerate(compared)}
    removed: dict[int, results.RejectedQA] = {}

    def part(at: int) -> tuple[results.CallSummary, ...]:
        index = compared[at]
        others = [link for link in near[index] if link.index not in removed]
        pair = pairs[index]
        attempt = pair.generation_metadata.attempt_number
        try:
            finding = similarity.decide(
                model, known[index], known, others, document_id=pair.document_id, attempt=attempt
            )
        except BudgetExhaustedError as error:
            why = f"not compared with similar questions ({error}); the next run decides"
            removed[index] = left_out(pair, results.RejectionReason.VALIDATION_FAILED, why)
            return ()
        if finding.duplicate_of is not None:
            removed[index] = _removed(pair, pairs[finding.duplicate_of], finding)
        return finding.calls

    needs = [[place[link.index] for link in near[number] if link.index in place] for number in compared]
    calls = [call for spent in run_in_parallel(needs, part, workers=workers) for call in spent]
    kept = [pair for index, pair in enumerate(pairs) if index not in removed]
    return kept, [removed[index] for index in sorted(removed)], calls


def _may_be_duplicate(new: results.QAPair, old: results.QAPair, edited: Collection[str]) -> bool:
    """Whether to compare two questions.

    Questions of one document were compared when they were generated. Two of them are compared here only if
    one was edited since, or if their texts are equal.
    """
    if new.id in edited or old.id in edited:
        return True
    return new.document_id != old.document_id or normalise(new.question) == normalise(old.question)


def _removed(pair: results.QAPair, of: results.QAPair, found: Compared) -> results.RejectedQA:
    why = f"repeats a question on {of.document_id}: {found.detail}"
    row = left_out(pair, results.RejectionReason.DUPLICATE, why, of.question)
    return row.model_copy(update={"duplicate_score": found.score, "duplicate_step": found.step})
