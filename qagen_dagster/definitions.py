"""The code location of this project: the component `QuestionSets` without a prefix, and with the products of `QAGEN_INCLUDE`."""

from typing import Any

import dagster as dg

from qagen_dagster.components import QuestionSets
from qagen_dagster.defs.in_process import KILLED, Graph, Progress, progress_logger
from qagen_dagster.defs.run_records import record_killed
from qagen_dagster.loop.dagster_home import open_home
from qagen_dagster.loop.questions.head_start import Work
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.settings import Settings, load_settings
from qagen_dagster.store import Store


def _here(settings: Settings) -> QuestionSets:
    return QuestionSets.model_validate({"key_prefix": "", "include": settings.optional})


def build_definitions(settings: Settings | None = None, **more: Any) -> dg.Definitions:
    """The graph of the corpora folder. `more` goes to `QuestionSets.assemble`. Raises ConfigError for settings that cannot be used."""
    settings = settings or load_settings()
    return _here(settings).assemble(settings, **more)


def open_graph(settings: Settings, progress: Progress, work: Work | None = None) -> Graph:
    """The graph on the Dagster instance of the store, to run in this process. `work` has what the command has begun already.

    Raises ConfigError as `open_home` and `build_definitions` do.
    """
    home, store = open_home(settings), Store(settings.assets)
    work = work or Work(Workspace(settings))
    loggers = {"console": progress_logger(progress)}
    graph = Graph(
        build_definitions(settings, loggers=loggers, work=work), home, progress, work, _here(settings).layout
    )
    record_killed(store, graph.dead, KILLED)
    return graph


@dg.definitions
def defs() -> dg.Definitions:
    """The definitions that Dagster loads. Commands do not use this function: they build the graph once, with a logger of their own."""
    return build_definitions()
