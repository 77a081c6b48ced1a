"""What a command begins while Dagster is still loading: it parses documents and asks questions about them.

Dagster takes seconds to load. The runs find the work by their ids, wait for it, and record it as theirs.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from contextlib import suppress
from typing import Self

from qagen_dagster.errors import QagenError
from qagen_dagster.ingest import early
from qagen_dagster.loop.parallel import in_background
from qagen_dagster.loop.questions.combination import RunOptions, plan, unfinished
from qagen_dagster.loop.questions.run_shard import CombinationRun, announce, forget, start_all
from qagen_dagster.loop.unfinished import DOCUMENTS, mark
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models import vectors
from qagen_dagster.records.ids import Combination


class HeadStart:
    """The work of one command, which ends with the context. All its runs share a budget, under `spending_id`."""

    def __init__(self) -> None:
        self.spending_id = str(uuid.uuid4())
        self.run_ids: dict[str, str] = {}  # of the runs that have a head start, by partition
        self._corpora: list[str] = []
        self._runs: list[CombinationRun] = []
        self._ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def announce(self, corpora: Iterable[str]) -> None:
        """Let the runs of these corpora wait for `read`."""
        for key in corpora:
            self.run_ids[key] = str(uuid.uuid4())
            early.announce(self.run_ids[key])
            self._corpora.append(key)

    def read(self, space: Workspace) -> None:
        """Parse the announced corpora and find their visuals. An error is left to the run that waits."""
        for key in self._corpora:
            mark(space.store, key, begun=DOCUMENTS)  # the run may never begin
            run_id = self.run_ids[key]
            early.announce(run_id).work(
                space.corpus(key), space.store, space.parsers(), space.settings, run_id
            )

    def ask(self, space: Workspace, combinations: Iterable[Combination], options: RunOptions) -> None:
        """Start the documents of several combinations, so that their runs wait for them in parallel.

        A combination that cannot be planned is left to its run, which reports the error. After `end` nothing starts.
        """
        for one in combinations:
            with suppress(QagenError):
                planned, run_id = plan(space, one, options), str(uuid.uuid4())
                names = tuple(unfinished(space, planned))
                run = CombinationRun(space, planned, names, run_id, self.spending_id)
                self.run_ids[one.key] = run_id
                self._runs.append(run)
                announce(run)
        if self._runs and not self._ended:
            start_all(self._runs)
            in_background(vectors.shared)  # comparing the questions needs it when the last call has ended

    def document_counts(self) -> tuple[int, int]:
        """The documents of `ask` that are done, and all of them."""
        runs = list(self._runs)
        return sum(len(set(run.ended)) for run in runs), sum(len(run.names) for run in runs)

    def end(self) -> None:
        """Do not work on documents that have not begun."""
        self._ended = True
        for run_id in self.run_ids.values():
            early.forget(run_id)
            forget(run_id)
