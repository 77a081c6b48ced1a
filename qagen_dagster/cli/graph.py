"""Opens the asset graph for commands, and finds corpora with unparsed documents."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING

from qagen_dagster.cli.interrupts import interrupts_are_final
from qagen_dagster.cli.progress import Progress
from qagen_dagster.ingest.parsing import is_current
from qagen_dagster.loop.unfinished import DOCUMENTS, is_unfinished
from qagen_dagster.loop.workspace import Workspace

if TYPE_CHECKING:
    from qagen_dagster.defs.in_process import Graph
    from qagen_dagster.loop.questions.head_start import Work


def unread(space: Workspace, corpora: Iterable[str]) -> list[str]:
    """The corpora with documents that are new or changed since they were parsed, or whose last parsing failed."""
    return [
        key
        for key in corpora
        if not is_current(space.corpus(key), space.store, space.settings)
        or is_unfinished(space.store, key, DOCUMENTS)
    ]


@contextmanager
def open_quietly(space: Workspace, progress: Progress, work: Work | None = None) -> Generator[Graph]:
    """The graph on the project's instance. `work` is work that the command may have begun before the graph was open.

    Dagster takes seconds to load, so it is imported only here. Its warnings about its beta and preview features are for
    developers, so commands hide them. Tests show them.
    """
    warnings.filterwarnings("ignore", message=".*currently in (beta|preview).*")
    with interrupts_are_final():
        from qagen_dagster.definitions import open_graph

        with open_graph(space.settings, progress, work) as graph:
            yield graph
