"""The sets of the review page, and the decisions on their questions. A set that has changed in the store is read again."""

from collections.abc import Iterable, Iterator, Sequence
from threading import Lock

from pydantic import Field, ValidationError

from qagen_dagster.configuration.exams import load_exams
from qagen_dagster.configuration.problems import load_problem_sets
from qagen_dagster.errors import ConfigError, StoreError
from qagen_dagster.loop import review_decisions
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.base import Record
from qagen_dagster.records.decisions import Action, Decision, ReviewFacts
from qagen_dagster.records.ids import Mode
from qagen_dagster.web.exams import exam_source
from qagen_dagster.web.problems import problem_source
from qagen_dagster.web.questions import question_source
from qagen_dagster.web.review_set import ReviewSet, SetSource


class Sets:
    """The sets of some sources. Sources without a set are skipped."""

    def __init__(self, space: Workspace, sources: Sequence[SetSource]) -> None:
        self.space = space
        self._sources = {source.key: source for source in sources}
        self._read: dict[str, tuple[object, ReviewSet]] = {}
        self.times_read = 0  # how often sets were read; a page that knows another number shows old questions
        self._lock = Lock()

    def all(self) -> Iterator[ReviewSet]:
        """All sets that exist, in the order of the sources."""
        for source in self._sources.values():
            found = self._find(source)
            if found is not None:
                yield found

    def get(self, key: str) -> ReviewSet:
        """The set with the set key `key`. Raises StoreError when there is no such set."""
        source = self._sources.get(key)
        found = None if source is None else self._find(source)
        if found is None:
            raise StoreError(f"there is no published set of {key} here")
        return found

    def _find(self, source: SetSource) -> ReviewSet | None:
        with self._lock:  # so that two requests at once do not both read a large set
            state = source.state()
            if state is None:
                return None
            known = self._read.get(source.key)
            if known is None or known[0] != state:
                known = state, source.read()
                self.times_read += 1
                self._read[source.key] = known
            return known[1]


def chosen_sets(space: Workspace, corpus: str | None, scenario: str | None, mode: Mode | None) -> Sets:
    """The question sets of a corpus, a scenario and a mode (None: of all); without any choice, all question sets and banks."""
    questions = [question_source(space, one) for one in space.corpora.combinations(corpus, scenario, mode)]
    return Sets(space, questions if corpus or scenario or mode else [*questions, *_banks(space)])


def _banks(space: Workspace) -> Iterator[SetSource]:
    for exam in load_exams(space.settings.corpora).found:
        yield exam_source(space, exam)
    for name in load_problem_sets(space.settings.corpora).found:
        yield problem_source(space, name)


Decisions = dict[str, tuple[Decision, ...]]


class Judgement(Record):
    """A decision on a question of a set, as the page sends it."""

    set_key: str
    question_id: str
    reviewer: str
    action: Action
    reason: str = ""
    new_question: str = ""
    new_answer: str = ""
    fields: dict[str, str] = Field(default_factory=dict)  # of an edited exam item or problem
    undoes: str | None = None


class QuestionReviews(Record):
    """The state of one question; each reviewer's decision that counts; and all decisions, in the order of their times."""

    state: review_decisions.ReviewState
    by_reviewer: dict[str, Decision]
    decisions: tuple[Decision, ...]


class Reviews:
    """The decisions on some sets. Decisions are never changed, so each decision is read only once."""

    def __init__(self, space: Workspace) -> None:
        self._space = space
        self._known: dict[str, Decision] = {}
        self._lock = Lock()

    def of(self, found: ReviewSet) -> dict[str, QuestionReviews]:
        """The questions that have decisions, by id. Raises StoreError for a damaged file."""
        return {key: _reviewed(some) for key, some in self._decisions(found.key).items()}

    def count(self, sets: Iterable[ReviewSet]) -> int:
        """The number of decisions on the sets."""
        return sum(len(some) for found in sets for some in self._decisions(found.key).values())

    def facts(self, found: ReviewSet) -> ReviewFacts:
        """The progress of a set's reviewers, and their agreement with each other and with models."""
        ids = {row.id for row in found.rows if row.place is not None}
        reviews = {key: review_decisions.state_of(some) for key, some in self._decisions(found.key).items()}
        return review_decisions.facts_of(
            ids, reviews, found.judges(review_decisions.accepted_by_all(reviews))
        )

    def judge(self, sets: Sets, body: bytes) -> QuestionReviews:
        """Store the decision that the page sent. Returns the new state of the question.

        Raises ConfigError for an invalid `body` or a refused edit, and StoreError for an unknown question or if storing fails.
        """
        try:
            sent = Judgement.model_validate_json(body)
            found = sets.get(sent.set_key)
            row = found.find(sent.question_id)
            texts = {"document_id": row.document, "question": row.question, "answer": row.answer}
            values = sent.model_dump(exclude={"fields"}) | texts
            if sent.action is Action.EDIT and found.fields(row.id):
                values |= found.edited(row.id, sent.fields).model_dump()
            decision = Decision.model_validate(values)
        except ValidationError as error:
            raise ConfigError(
                "; ".join(each["msg"].removeprefix("Value error, ") for each in error.errors())
            ) from None
        review_decisions.append(self._space, decision)
        return _reviewed(review_decisions.decisions_on(self._space, found.key, row.id, self._known))

    def _decisions(self, set_key: str) -> Decisions:
        with self._lock:
            found = review_decisions.decisions_of(self._space, set_key, self._known)
            for some in found.values():
                for decision in some:
                    self._known[Decision.key(set_key, decision.question_id, decision.id)] = decision
        return found


def _reviewed(decisions: tuple[Decision, ...]) -> QuestionReviews:
    state = review_decisions.state_of(decisions)
    return QuestionReviews(state=state.state, by_reviewer=dict(state.by_reviewer), decisions=decisions)
