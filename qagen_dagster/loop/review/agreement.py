"""How far reviewers got with a set, how well they agree, and what a random sample of it says about the whole."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import combinations

from qagen_dagster.loop.review.decisions import QuestionReview, ReviewState, decisions_of, state_of
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Combination, question_id
from qagen_dagster.records.questions.results import RejectionReason, ValidatedSet
from qagen_dagster.records.review import Action, Agreement, Decision, ReviewFacts

SEED = "sign-off"
_Z = 1.959963984540054  # 95 % of a normal distribution lie within so many standard deviations
BY_REVIEWERS = (RejectionReason.REJECTED_BY_REVIEWER, RejectionReason.EDITED_BY_REVIEWER)


def review_facts(
    space: Workspace, combination: Combination, validated: ValidatedSet, known: Collection[str] | None = None
) -> ReviewFacts | None:
    """What the decisions with the ids `known`, or all decisions, say of a set; None if there are none. Raises StoreError."""
    stored = decisions_of(space, combination.key)
    used = [one for some in stored.values() for one in some if known is None or one.id in known]
    if not used:
        return None
    ids = _generated(combination, validated) - made_by_edits(combination, used)
    by_question = {name: [one for one in used if one.question_id == name] for name in ids & {*stored}}
    return facts_of(ids, {name: state_of(some) for name, some in by_question.items()})


def made_by_edits(combination: Combination, decisions: Iterable[Decision]) -> set[str]:
    """The ids of the questions that edits make."""
    return {
        question_id(combination, one.document_id, one.new_question, one.new_answer)
        for one in decisions
        if one.action is Action.EDIT
    }


def facts_of(ids: Collection[str], reviews: Mapping[str, QuestionReview]) -> ReviewFacts:
    """The facts of a set of questions, some of which were reviewed."""
    states = {name: reviews[name].state if name in reviews else ReviewState.UNREVIEWED for name in ids}
    actions = {
        name: {who: one.action.value for who, one in review.by_reviewer.items()}
        for name, review in reviews.items()
    }
    sampled = [states[name] for name in _judged_first(random_order(ids), states)]
    accepted = sum(state is ReviewState.ACCEPTED for state in sampled)
    return ReviewFacts(
        states=Counter(state.value for state in states.values()),
        reviewers=Counter(who for found in actions.values() for who in found),
        agreements=tuple(agreements(actions)),
        disagreed=tuple(sorted(name for name, state in states.items() if state is ReviewState.DISAGREED)),
        sampled=len(sampled),
        sample_accepted=accepted,
        interval=wilson(accepted, len(sampled)) if sampled else None,
    )


def agreements(actions: Mapping[str, Mapping[str, str]]) -> Iterator[Agreement]:
    """Of each two reviewers, how well they agree on the questions that both judged. `actions` is by question and reviewer."""
    for first, second in combinations(sorted({who for found in actions.values() for who in found}), 2):
        both = [(some[first], some[second]) for some in actions.values() if first in some and second in some]
        if both:
            same = sum(one == other for one, other in both)
            yield Agreement(first=first, second=second, both=len(both), same=same, kappa=kappa(both))


def kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Cohen's kappa; None where it is not defined: both reviewers always decided the same one thing."""
    count = len(pairs)
    observed = sum(first == second for first, second in pairs) / count
    ours, theirs = Counter(first for first, _ in pairs), Counter(second for _, second in pairs)
    expected = sum(ours[name] * theirs[name] for name in ours) / count**2
    return None if expected == 1 else (observed - expected) / (1 - expected)


def wilson(part: float, whole: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share. For a sum of values from 0 to 1 it is at least as wide as it must be."""
    if not whole:
        return 0.0, 1.0
    share, spread = part / whole, _Z**2 / whole
    centre = (share + spread / 2) / (1 + spread)
    half = math.sqrt(share * (1 - share) * spread + spread**2 / 4) / (1 + spread)
    return max(0.0, centre - half), min(1.0, centre + half)


def random_order(ids: Collection[str], seed: str = SEED) -> list[str]:
    """The ids in a random order, which is the same for the same seed: its first n are a random sample of n."""
    return sorted(ids, key=lambda name: sha256(f"{seed}\0{name}".encode()).digest())


def _judged_first(order: Sequence[str], states: Mapping[str, ReviewState]) -> Iterator[str]:
    """The questions before the first one that nobody judged. They are a random sample, whatever else was judged."""
    for name in order:
        if states[name] is ReviewState.UNREVIEWED:
            return
        yield name


def _generated(combination: Combination, validated: ValidatedSet) -> set[str]:
    """The ids of the questions before reviewers changed the set."""
    gone = (one for one in validated.removed if one.rejection_reason in BY_REVIEWERS)
    lost = (question_id(combination, one.document_id, one.question, one.answer) for one in gone)
    return {*(pair.id for pair in validated.questions), *lost}
