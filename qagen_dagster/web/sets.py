"""The sets of the review page. A set that was made again is read again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Lock

from qagen_dagster.configuration.exams import load_exams
from qagen_dagster.configuration.problems import load_problem_sets
from qagen_dagster.errors import StoreError
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Mode
from qagen_dagster.web.exams import exam_source
from qagen_dagster.web.problems import problem_source
from qagen_dagster.web.questions.published_set import question_source
from qagen_dagster.web.review_set import ReviewSet, SetSource


class Sets:
    """The sets that exist, of some sources."""

    def __init__(self, space: Workspace, sources: Sequence[SetSource]) -> None:
        self.space = space
        self._sources = {one.key: one for one in sources}
        self._read: dict[str, tuple[object, ReviewSet]] = {}
        self.times_read = 0  # of any set: a page that knows another number shows old questions
        self._lock = Lock()

    def all(self) -> Iterator[ReviewSet]:
        """The sets that were made, in the order of the sources."""
        for source in self._sources.values():
            found = self._find(source)
            if found is not None:
                yield found

    def get(self, key: str) -> ReviewSet:
        """Raises StoreError when there is no such set."""
        source = self._sources.get(key)
        found = None if source is None else self._find(source)
        if found is None:
            raise StoreError(f"there is no published set of {key} here")
        return found

    def _find(self, source: SetSource) -> ReviewSet | None:
        with self._lock:  # two requests at once read a large set once
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
    """The question sets that are chosen; all sets and banks if none is chosen."""
    questions = [question_source(space, one) for one in space.corpora.combinations(corpus, scenario, mode)]
    return Sets(space, questions if corpus or scenario or mode else [*questions, *_banks(space)])


def _banks(space: Workspace) -> Iterator[SetSource]:
    """The banks of all exams and problem sets."""
    for exam in load_exams(space.settings.corpora).exams:
        yield exam_source(space, exam)
    for name in load_problem_sets(space.settings.corpora).sets:
        yield problem_source(space, name)
