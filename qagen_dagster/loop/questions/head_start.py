"""The work that the runs of one process ask for: parsed documents, and questions about them.

The work for a run starts when the run asks for it. A command may start the work earlier, because Dagster takes seconds to load. The command
hands its `Work` to the graph. Each run finds the work that was started for its run id, waits for this work and records the results.
"""

import uuid
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import cached_property
from typing import Self

from qagen_dagster.errors import QagenError
from qagen_dagster.ingest.parallel import Progress
from qagen_dagster.ingest.parsing import ParsingResult, build_manifests, parse_corpus
from qagen_dagster.loop.parallel import in_background
from qagen_dagster.loop.questions.combination_run import CombinationRun
from qagen_dagster.loop.questions.document_work import DocumentPool
from qagen_dagster.loop.questions.plan import CombinationPlan, RunOptions, plan, unfinished
from qagen_dagster.loop.unfinished import DOCUMENTS, mark
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models import embedders
from qagen_dagster.records.document import CorpusIndex, VisualManifest
from qagen_dagster.records.ids import Combination


class Work:
    """The work of one command or one run. All runs with its `spending_id` share a budget.

    It is a context manager. At its end, documents that have not been started are left out.
    """

    def __init__(self, space: Workspace) -> None:
        self.space = space
        self.spending_id = str(uuid.uuid4())
        self.run_ids: dict[str, str] = {}  # by partition: the id of the run whose work was started ahead
        self._parsings: dict[str, CorpusParsing] = {}  # by run id, like the next two
        self._begun: dict[str, CombinationRun] = {}
        self._taken: dict[str, CombinationRun] = {}
        self._ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @cached_property
    def pool(self) -> DocumentPool:
        """The pool for the documents of all combinations."""
        return DocumentPool(self.space.settings.document_workers)

    def parsing(self, corpus: str, run_id: str) -> "CorpusParsing":
        """The parsing that was announced for the run. Otherwise a new parsing, which starts at the first request for its results."""
        return self._parsings.get(run_id) or CorpusParsing(self.space, corpus, run_id)

    def questions(
        self,
        combination: Combination,
        options: RunOptions,
        run_id: str,
        spending_id: str,
        names: Sequence[str] | None = None,
    ) -> CombinationRun:
        """The work of a run on a combination. The work is planned once, and later calls for the same run return it.

        `names` are the documents to work on, if another process has planned the run; None means all unfinished documents. Work that
        was started before the run is cancelled and planned again if options, configuration or documents have changed since.
        Raises ConfigError and StoreError.
        """
        if run_id in self._taken:
            return self._taken[run_id]
        planned = plan(self.space, combination, options)
        run = self._begun.get(run_id)
        if run is None or run.planned != planned:
            if run is not None:
                run.cancel()
            run = self._run(planned, run_id, spending_id, names)
        self._taken[run_id] = run
        return run

    def announce(self, corpora: Iterable[str]) -> None:
        """Choose the ids of the runs of these corpora. These runs will wait for `parse`."""
        for key in corpora:
            run_id = self.run_ids[key] = str(uuid.uuid4())
            self._parsings[run_id] = CorpusParsing(self.space, key, run_id, ahead=True)

    def parse(self) -> None:
        """Parse the announced corpora and find their visuals. An error is raised in the run that waits for the results."""
        for parsing in list(self._parsings.values()):
            mark(self.space.store, parsing.corpus, begun=DOCUMENTS)  # the run may never begin
            parsing.work()

    def ask(self, combinations: Iterable[Combination], options: RunOptions) -> None:
        """Start the documents of several combinations, in order, before the runs of the combinations.

        If a combination cannot be planned, its run plans it again and reports the error. After `end` nothing is started.
        """
        documents: list[Callable[[], None]] = []
        for one in combinations:
            run_id = str(uuid.uuid4())
            with suppress(QagenError):
                run = self._run(plan(self.space, one, options), run_id, self.spending_id)
                self._begun[run_id], self.run_ids[one.key] = run, run_id
                documents += run.begin()
        if self._begun and not self._ended:
            self.pool.add(documents)
            # load the embedder now, because questions are compared after the last call
            in_background(embedders.shared)

    def document_counts(self) -> tuple[int, int]:
        """Returns (ended, total): the number of documents of `ask` whose work has ended, and the number of all documents of `ask`."""
        runs = list(self._begun.values())
        return sum(len(set(run.ended)) for run in runs), sum(len(run.document_ids) for run in runs)

    def end(self) -> None:
        """Start no further document."""
        self._ended = True
        for run in (*self._taken.values(), *self._begun.values()):
            run.cancel()

    def _run(
        self, planned: CombinationPlan, run_id: str, spending_id: str, names: Sequence[str] | None = None
    ) -> CombinationRun:
        chosen = tuple(unfinished(self.space, planned) if names is None else names)
        return CombinationRun(self.space, planned, chosen, run_id, spending_id, self.pool)


class CorpusParsing:
    """The parsing of a corpus and the search for its visuals. If `ahead`, a thread calls `work`, and the run waits for the results."""

    def __init__(self, space: Workspace, corpus: str, run_id: str, *, ahead: bool = False) -> None:
        self.corpus = corpus
        self._space, self._run_id, self._ahead = space, run_id, ahead
        self._text, self._visuals = Future[ParsingResult](), Future[list[VisualManifest]]()
        self._listener: Progress | None = None

    def text(self, progress: Progress) -> ParsingResult:
        """The parsed documents. Raises as `parse_corpus` does."""
        self._listener = progress
        return self._text.result() if self._ahead else self._parse()

    def visuals(self, progress: Progress) -> list[VisualManifest]:
        """The visuals of all documents. Raises as `build_manifests` does, and StoreError if the corpus was never parsed."""
        self._listener = progress
        return self._visuals.result() if self._ahead else self._look(self._space.index(self.corpus))

    def work(self) -> None:
        """Parse, then look for visuals. An error is raised by `text` and `visuals`."""
        try:
            self._text.set_result(self._parse())
            self._visuals.set_result(self._look(self._text.result().index))
        except BaseException as error:
            for future in (self._text, self._visuals):
                if not future.done():
                    future.set_exception(error)

    def _parse(self) -> ParsingResult:
        space = self._space
        corpus = space.corpus(self.corpus)
        return parse_corpus(
            corpus, space.store, space.parsers(), space.settings, self._tell, run_id=self._run_id
        )

    def _look(self, index: CorpusIndex) -> list[VisualManifest]:
        space = self._space
        corpus = space.corpus(self.corpus)
        return build_manifests(corpus, index, space.store, space.parsers(), space.settings, self._tell)

    def _tell(self, done: int, total: int, name: str) -> None:
        if self._listener is not None:
            self._listener(done, total, name)
