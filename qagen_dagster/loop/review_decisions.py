"""Stores the decisions of reviewers, and derives the state of each question, how well reviewers agree, and which rejected
questions the generator must avoid. It also asks a solver whether an edit of an exam item or problem keeps its key.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from itertools import combinations
from pathlib import PurePosixPath

from qagen_dagster.agents.problems import solve_blind
from qagen_dagster.configuration.profiles import Role
from qagen_dagster.errors import ConfigError, StoreError
from qagen_dagster.loop.judges import Judged, agreement, judge_agreements
from qagen_dagster.loop.statistics import krippendorff, wilson
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.blind import BlindSolution
from qagen_dagster.records.decisions import MOST_TEXT, Action, Agreement, Decision, ReviewFacts, review_folder
from qagen_dagster.records.ids import Combination, check_name, question_id
from qagen_dagster.records.questions.results import RejectedQA, RejectionReason, ValidatedSet


class ReviewState(StrEnum):
    """The state of a question that follows from the decisions of its reviewers."""

    UNREVIEWED = "unreviewed"
    ACCEPTED = "accepted"
    EDITED = "edited"
    REJECTED = "rejected"
    FLAGGED = "flagged"
    DISAGREED = "disagreed"  # the reviewers do not agree


_STATES = {
    Action.ACCEPT: ReviewState.ACCEPTED,
    Action.EDIT: ReviewState.EDITED,
    Action.REJECT: ReviewState.REJECTED,
    Action.FLAG: ReviewState.FLAGGED,
}


@dataclass(frozen=True)
class QuestionReview:
    """The state of a question, and the decision of each reviewer that counts: the last one that was not undone."""

    state: ReviewState
    by_reviewer: Mapping[str, Decision]

    @property
    def last(self) -> Decision | None:
        """The latest decision that counts."""
        return max(self.by_reviewer.values(), key=_order, default=None)


def append(space: Workspace, decision: Decision) -> None:
    """Store a decision. Storing the same decision again changes nothing. Raises StoreError if another decision has its id."""
    key = Decision.key(decision.set_key, decision.question_id, decision.id)
    stored = space.store.find(key, Decision)
    if stored is None:
        space.store.write(key, decision)
    elif stored != decision:
        raise StoreError(f"{space.store.path(key)} already has another decision")


def decisions_of(
    space: Workspace, set_key: str, known: Mapping[str, Decision] | None = None
) -> dict[str, tuple[Decision, ...]]:
    """All decisions on the questions of a set, by question id, in the order of their times.

    `known` has decisions by their keys. These decisions are not read again. Raises StoreError for a damaged file, because leaving out a
    decision would change what is published.
    """
    return _under(space, review_folder(set_key), known or {})


def decisions_on(
    space: Workspace, set_key: str, question_id: str, known: Mapping[str, Decision]
) -> tuple[Decision, ...]:
    """All decisions on one question, in the order of their times. `known` has decisions by their keys, as in `decisions_of`."""
    found = _under(space, f"{review_folder(set_key)}/{check_name(question_id)}", known)
    return found.get(question_id, ())


def _under(space: Workspace, folder: str, known: Mapping[str, Decision]) -> dict[str, tuple[Decision, ...]]:
    found: defaultdict[str, list[Decision]] = defaultdict(list)
    for key in space.store.list(folder):
        decision = known.get(key) or space.store.read(key, Decision)
        found[decision.question_id].append(decision)
    return {name: tuple(sorted(some, key=_order)) for name, some in found.items()}


def decision_ids(space: Workspace, set_key: str) -> set[str]:
    """The ids of all decisions on the questions of a set. The ids are found without reading a file."""
    return {PurePosixPath(key).stem for key in space.store.list(review_folder(set_key))}


def rejections_of(space: Workspace, set_key: str) -> dict[str, str]:
    """The reviewer and the reason of each rejected question of a set, as one text by question id. Raises StoreError for a damaged file."""
    found = {name: state_of(some) for name, some in decisions_of(space, set_key).items()}
    return {
        name: f"{review.last.reviewer}: {review.last.reason}".removesuffix(": ")
        for name, review in found.items()
        if review.state is ReviewState.REJECTED and review.last is not None
    }


def edits_of(space: Workspace, set_key: str) -> dict[str, Decision]:
    """The edits that apply to the items of a bank, by item id. The latest edit that was not undone applies, unless somebody accepted the
    original later, or the reviewers disagree or reject the item. Raises StoreError for a damaged file.
    """
    found = {name: _edit(some) for name, some in decisions_of(space, set_key).items()}
    return {name: one for name, one in found.items() if one is not None}


def edit_on(space: Workspace, set_key: str, item_id: str) -> Decision | None:
    """The edit that applies to one item of a bank; None if none does."""
    return _edit(decisions_on(space, set_key, item_id, {}))


def _edit(decisions: Sequence[Decision]) -> Decision | None:
    if state_of(decisions).state in (ReviewState.DISAGREED, ReviewState.REJECTED):
        return None
    standing = (one for one in _standing(decisions) if one.action in (Action.ACCEPT, Action.EDIT))
    latest = next(standing, None)
    edit = next((one for one in (latest, *standing) if one is not None and one.new_item), None)
    return edit if edit is not None and latest is not None and _view(latest) == _view(edit) else None


def state_of(decisions: Iterable[Decision]) -> QuestionReview:
    """The state of one question from all decisions on it."""
    counting: dict[str, Decision] = {}
    for decision in _standing(decisions):
        counting.setdefault(decision.reviewer, decision)
    last = tuple(counting.values())
    if len({_view(one) for one in last}) > 1 or len({one.new_item for one in last if one.new_item}) > 1:
        return QuestionReview(ReviewState.DISAGREED, counting)
    states = {_STATES[one.action] for one in last} or {ReviewState.UNREVIEWED}
    return QuestionReview(ReviewState.EDITED if ReviewState.EDITED in states else states.pop(), counting)


def _standing(decisions: Iterable[Decision]) -> Iterator[Decision]:
    """The decisions that give a state and were not undone, latest first."""
    undone: set[tuple[str, str]] = set()
    for decision in sorted(decisions, key=_order, reverse=True):
        if (decision.reviewer, decision.id) in undone:
            continue
        if decision.undoes is not None:
            undone.add((decision.reviewer, decision.undoes))
        elif decision.action in _STATES:
            yield decision


def _view(decision: Decision) -> tuple[str, ...]:
    """The opinion in a decision, for comparison. A reviewer who accepts the texts of an edit agrees with the edit."""
    if decision.action not in (Action.ACCEPT, Action.EDIT):
        return (decision.action,)
    is_edit = decision.action is Action.EDIT
    texts = (decision.new_question, decision.new_answer) if is_edit else (decision.question, decision.answer)
    return Action.ACCEPT, *(text[:MOST_TEXT].strip() for text in texts)


def _order(decision: Decision) -> tuple[object, str]:
    return decision.time, decision.id


SEED = "sign-off"
BY_REVIEWERS = (RejectionReason.REJECTED_BY_REVIEWER, RejectionReason.EDITED_BY_REVIEWER)


def review_facts(
    space: Workspace,
    combination: Combination,
    validated: ValidatedSet,
    known: Collection[str] | None = None,
    judged: Iterable[Judged] | None = None,
) -> ReviewFacts | None:
    """The review facts of a set, from the decisions with the ids `known`, or from all decisions if that is None.

    `judged` holds the questions; None means the published and the rejected questions. Returns None without decisions. Raises StoreError.
    """
    stored = decisions_of(space, combination.key)
    used = [one for some in stored.values() for one in some if known is None or one.id in known]
    if not used:
        return None
    ids = _generated(combination, validated) - made_by_edits(combination, used)
    reviews = {name: state_of([one for one in used if one.question_id == name]) for name in stored}
    judges = judge_agreements(space.store, combination, accepted_by_all(reviews), judged)
    return facts_of(ids, reviews, judges)


def made_by_edits(combination: Combination, decisions: Iterable[Decision]) -> set[str]:
    """The ids of the questions that reviewers' edits have made."""
    return {
        question_id(combination, decision.document_id, decision.new_question, decision.new_answer)
        for decision in decisions
        if decision.action is Action.EDIT
    }


def facts_of(
    ids: Collection[str], reviews: Mapping[str, QuestionReview], judges: Iterable[Agreement] = ()
) -> ReviewFacts:
    """The review facts of the questions `ids`. Not every question needs a review. Reviews of other questions are ignored."""
    reviews = {name: one for name, one in reviews.items() if name in ids and one.by_reviewer}
    states = {name: reviews[name].state if name in reviews else ReviewState.UNREVIEWED for name in ids}
    actions = {
        name: {who: one.action.value for who, one in review.by_reviewer.items()}
        for name, review in reviews.items()
    }
    reviewers = Counter(who for found in actions.values() for who in found)
    sampled = [states[name] for name in _judged_first(random_order(ids), states)]
    accepted = sum(state is ReviewState.ACCEPTED for state in sampled)
    return ReviewFacts(
        states=Counter(state.value for state in states.values()),
        reviewers=reviewers,
        agreements=(*agreements(actions), *judges),
        alpha=krippendorff([*some.values()] for some in actions.values()) if len(reviewers) > 2 else None,
        disagreed=tuple(sorted(name for name, state in states.items() if state is ReviewState.DISAGREED)),
        sampled=len(sampled),
        sample_accepted=accepted,
        interval=wilson(accepted, len(sampled)) if sampled else None,
    )


def accepted_by_all(reviews: Mapping[str, QuestionReview]) -> dict[str, bool]:
    """For each question whose reviewers agree, whether they accepted it unchanged."""
    decided = (ReviewState.ACCEPTED, ReviewState.EDITED, ReviewState.REJECTED)
    return {name: one.state is ReviewState.ACCEPTED for name, one in reviews.items() if one.state in decided}


def agreements(actions: Mapping[str, Mapping[str, str]]) -> Iterator[Agreement]:
    """For each pair of reviewers, their agreement on the questions that both judged.

    `actions` has the action of each reviewer by question and reviewer.
    """
    for first, second in combinations(sorted({who for found in actions.values() for who in found}), 2):
        both = [(some[first], some[second]) for some in actions.values() if first in some and second in some]
        if both:
            yield agreement(first, second, both)


def random_order(ids: Collection[str], seed: str = SEED) -> list[str]:
    """The ids in a random order, which depends only on the seed. The first n ids are a random sample of size n."""
    return sorted(ids, key=lambda name: sha256(f"{seed}\0{name}".encode()).digest())


def _judged_first(order: Sequence[str], states: Mapping[str, ReviewState]) -> Iterator[str]:
    """The questions in `order` before the first one that nobody judged. They are a random sample, even if other questions were judged."""
    for name in order:
        if states[name] is ReviewState.UNREVIEWED:
            return
        yield name


def _generated(combination: Combination, validated: ValidatedSet) -> set[str]:
    """The ids of the questions of the set before reviewers changed it."""
    gone = (one for one in validated.removed if one.rejection_reason in BY_REVIEWERS)
    lost = (question_id(combination, one.document_id, one.question, one.answer) for one in gone)
    return {*(pair.id for pair in validated.questions), *lost}


MOST_AVOIDED = 10  # maximum number of rejected questions; the latest ones are used


def rejected_by_reviewers(space: Workspace, combination: Combination) -> tuple[RejectedQA, ...]:
    """The latest rejected questions of all modes of the scenario, oldest first. Raises StoreError."""
    modes = space.corpus(combination.corpus).scenario(combination.scenario).modes
    found = (
        state_of(some)
        for mode in modes
        for some in decisions_of(space, combination.model_copy(update={"mode": mode}).key).values()
    )
    last = [one.last for one in found if one.state is ReviewState.REJECTED]
    latest = sorted((one for one in last if one is not None), key=lambda one: (one.time, one.id))[
        -MOST_AVOIDED:
    ]
    return tuple(
        RejectedQA(
            question=decision.question,
            answer=decision.answer,
            rejection_reason=RejectionReason.REJECTED_BY_REVIEWER,
            rejection_detail=decision.reason,
            document_id=decision.document_id,
        )
        for decision in latest
    )


def refuse(faults: Collection[str]) -> None:
    """Raise ConfigError with the faults of an edit if there are any."""
    if faults:
        raise ConfigError(f"the edit is refused: {'; '.join(dict.fromkeys(faults))}")


def solver_answer(
    space: Workspace, profile: str, account: str, question: str, options: str
) -> BlindSolution | None:
    """The answer of the profile's solver, which sees only the question and the options; None if the profile has no solver.

    Raises ConfigError if the solver gives no answer, and ModelError.
    """
    spec = space.profile(profile).roles.get(Role.SOLVER)
    if spec is None:
        return None
    reply = solve_blind(space.model(spec), account, question, options)
    if reply.result is None:
        refuse([f"the solver gave no answer: {reply.detail}"])
    return reply.result
