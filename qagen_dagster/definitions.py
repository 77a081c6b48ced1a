"""The code location: the whole graph is assembled here, so that a reader sees it and a test can replace a part."""

from __future__ import annotations

from typing import Any

import dagster as dg

from qagen_dagster.configuration.corpora import load_corpora
from qagen_dagster.configuration.exams import load_exams
from qagen_dagster.configuration.problems import load_problem_sets
from qagen_dagster.defs.automation import (
    build_continuer,
    build_nightly_refresh,
    build_observer,
    build_refresher,
)
from qagen_dagster.defs.catalog import build_catalog
from qagen_dagster.defs.documents.assets import build_document_assets
from qagen_dagster.defs.evaluation.assets import build_evaluation_assets
from qagen_dagster.defs.exams.assets import build_exam_assets
from qagen_dagster.defs.executor import build_executor, build_outputs
from qagen_dagster.defs.grading.assets import build_grounding_report
from qagen_dagster.defs.in_process import KILLED, Graph, Progress, progress_logger
from qagen_dagster.defs.index.assets import build_document_index
from qagen_dagster.defs.observed_assets import build_observed, build_reload_check
from qagen_dagster.defs.outdated import CHECKS, build_up_to_date_checks
from qagen_dagster.defs.partitions import build_exam_partitions, build_partitions
from qagen_dagster.defs.presentation import JOBS, presented
from qagen_dagster.defs.problems.assets import build_problem_assets
from qagen_dagster.defs.questions.assets import build_question_assets
from qagen_dagster.defs.questions.downstream import PUBLISHED_SETS, build_published_sets
from qagen_dagster.defs.questions.exports import build_exports
from qagen_dagster.defs.questions.reviews import build_review_decisions
from qagen_dagster.defs.refresh_job import build_refresh_job
from qagen_dagster.defs.resources import WorkspaceResource, build_work
from qagen_dagster.defs.run_records import record_killed
from qagen_dagster.loop.instance_home import open_home
from qagen_dagster.loop.questions.head_start import Work
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.settings import Settings, load_settings
from qagen_dagster.store import Store


def build_definitions(
    settings: Settings | None = None,
    *,
    loggers: dict[str, dg.LoggerDefinition] | None = None,
    work: Work | None = None,
    **overrides: Any,
) -> dg.Definitions:
    """Assemble the graph from the corpora folder; `work` is what a command has begun for the runs. `overrides` replace resources by name.

    Raises ConfigError for settings that cannot be used. A corpus that cannot be read is left out and shown in the UI.
    """
    chosen = settings or load_settings()
    corpora, sets = load_corpora(chosen.corpora), load_problem_sets(chosen.corpora)
    partitions, exams = build_partitions(corpora), build_exam_partitions(load_exams(chosen.corpora))
    known = {
        "corpus": partitions.corpora,
        "combination": partitions.combinations,
        "part": exams.parts,
        "set": dg.StaticPartitionsDefinition(list(sets.sets)),
    }
    assets = [
        *build_document_assets(partitions, corpora),
        build_document_index(partitions),
        *build_question_assets(partitions),
        build_grounding_report(partitions),
        build_exports(partitions),
        build_review_decisions(partitions),
        *build_evaluation_assets(partitions),
        *build_exam_assets(exams),
        *build_problem_assets(sets),
        build_catalog(),
    ]
    named = dg.AssetSelection.checks(*CHECKS)
    return dg.Definitions(
        assets=[*build_observed(known), *dg.map_asset_specs(presented, assets)],
        jobs=[
            build_refresh_job(open_graph),
            *(
                dg.define_asset_job(name, dg.AssetSelection.assets(*assets) - named, description=description)  # pyright: ignore[reportUnknownMemberType]
                for name, (assets, description) in JOBS.items()
            ),
        ],
        asset_checks=[build_reload_check(known), *build_up_to_date_checks()],
        schedules=[build_nightly_refresh(known)],
        sensors=[build_observer(known), build_refresher(known), build_continuer(known)],
        resources={
            "workspace": WorkspaceResource.of(chosen),
            "work": build_work(work),
            PUBLISHED_SETS: build_published_sets(chosen),
            **build_outputs(chosen),
            **overrides,
        },
        loggers=loggers,
        executor=build_executor(),
    )


def open_graph(settings: Settings, progress: Progress, work: Work | None = None) -> Graph:
    """The graph on the Dagster instance of the store, to run in this process. `work` is what the command may have begun already.

    Raises ConfigError as `open_home` does.
    """
    home, store = open_home(settings), Store(settings.assets)
    work = work or Work(Workspace(settings))
    loggers = {"console": progress_logger(progress)}
    graph = Graph(build_definitions(settings, loggers=loggers, work=work), home, progress, work)
    record_killed(store, graph.dead, KILLED)
    return graph


@dg.definitions
def defs() -> dg.Definitions:
    """What Dagster loads. Commands do not need it: they build the graph once, with a logger of their own."""
    return build_definitions()
