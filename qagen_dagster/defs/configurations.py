"""Which configuration each asset depends on, and the observations that record its versions in the Dagster instance.

An observation has a fingerprint as its data version, and the parts of the configuration as metadata.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import dagster as dg

from qagen_dagster.defs.jobs import EXAM_PART, GRADING, INDEX, QUESTIONS
from qagen_dagster.defs.presentation import Group
from qagen_dagster.errors import QagenError
from qagen_dagster.ingest import parsing
from qagen_dagster.loop.configuration import Configuration, what_changed
from qagen_dagster.loop.evaluation.kinds import made_evaluation, wanted_evaluation
from qagen_dagster.loop.exams.outdated import made_part, wanted_part
from qagen_dagster.loop.grading.report import made_grading, wanted_grading
from qagen_dagster.loop.index.build import made_index, wanted_index
from qagen_dagster.loop.problems.outdated import made_problems, wanted_problems
from qagen_dagster.loop.questions.combination import RunOptions
from qagen_dagster.loop.questions.configuration import made_questions, wanted_questions
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.document import CorpusIndex
from qagen_dagster.records.evaluation import Kind
from qagen_dagster.records.exams.item import ExamPart
from qagen_dagster.records.ids import Combination, fingerprint

VERSION_TAG = "dagster/data_version"
CORPUS_FILES = "corpus_files"
_PARTS = "configuration"  # name of the metadata with the parts
Wanted = Callable[[Workspace, str, RunOptions], Configuration]
Made = Callable[[Workspace, str, Configuration], Configuration | None]


@dataclass(frozen=True)
class Observed:
    """A configuration that is an asset of its own.

    Attributes:
        partitions: what its partitions are: combination, corpus, part or set.
        assets: the assets that depend on it. Their partitions have the same keys.
        wanted: the configuration as the files say it now, with the options of a launch.
        made: the configuration of what is stored; None if nothing is.
    """

    name: str
    group: str
    partitions: str
    assets: tuple[str, ...]
    wanted: Wanted
    made: Made
    description: str


def _of_combination(
    wanted: Callable[[Workspace, Combination], Configuration],
    made: Callable[[Workspace, Combination, Configuration], Configuration | None],
) -> tuple[Wanted, Made]:
    return (
        lambda space, key, _: wanted(space, Combination.from_key(key)),
        lambda space, key, now: made(space, Combination.from_key(key), now),
    )


def _evaluated(kind: Kind) -> tuple[Wanted, Made]:
    return (
        lambda space, key, options: wanted_evaluation(
            space, Combination.from_key(key), kind, options.profile
        ),
        lambda space, key, now: made_evaluation(space, Combination.from_key(key), kind, now),
    )


def _files(space: Workspace, key: str, _: RunOptions) -> Configuration:
    return Configuration(parsing.files_version(space.corpus(key), space.settings))


def _parsed_files(space: Workspace, key: str, wanted: Configuration) -> Configuration | None:
    index = space.store.find_valid(CorpusIndex.key(key), CorpusIndex)
    if index is None:
        return None
    changed = parsing.why_outdated(space.corpus(key), space.store, space.settings)
    return Configuration(fingerprint([index.model_dump_json()])) if changed else wanted


OBSERVED = (
    Observed(
        CORPUS_FILES, Group.DOCUMENTS, "corpus", ("parsed_documents",), _files, _parsed_files,
        "The files of each corpus, the options for parsing them, and the parsers. A file that is added, changed or "
        "removed changes the data version.",
    ),
    Observed(
        "model_config", Group.QUESTIONS, "combination", QUESTIONS[:1],
        lambda space, key, options: wanted_questions(space, Combination.from_key(key), options),
        lambda space, key, now: made_questions(space, Combination.from_key(key), now),
        "The models, prompts, scenario and limits of each combination. When one of them changes, the data "
        "version changes and the combination becomes stale.",
    ),
    Observed(
        "grading_config", Group.QUESTIONS, "combination", GRADING, *_of_combination(wanted_grading, made_grading),
        "The judge, the method and the bounds with which the answers of each combination are graded.",
    ),
    Observed(
        "closed_book_config", Group.EVALUATION, "combination", ("closed_book_check",), *_evaluated(Kind.CLOSED_BOOK),
        "The models and prompts with which questions are answered without their documents.",
    ),
    Observed(
        "retrieval_config", Group.EVALUATION, "combination", ("retrieval_baseline",), *_evaluated(Kind.RETRIEVAL),
        "The embedder and the options of the search index in which questions are searched for.",
    ),
    Observed(
        "answer_config", Group.EVALUATION, "combination", ("answer_baseline",), *_evaluated(Kind.ANSWERS),
        "The models, prompts and search options with which questions are answered from their documents.",
    ),
    Observed(
        "index_config", Group.DOCUMENTS, "corpus", INDEX,
        lambda space, key, options: wanted_index(space, key, options.profile), made_index,
        "The embedder and the options of the search index of each corpus.",
    ),
    Observed(
        "exam_config", Group.EXAMS, "part", EXAM_PART,
        lambda space, key, options: wanted_part(space, ExamPart.from_key(key), options.profile),
        lambda space, key, now: made_part(space, ExamPart.from_key(key), now),
        "The models, prompts, schema and limits of each part of an exam.",
    ),
    Observed(
        "problem_config", Group.PROBLEMS, "set", ("problem_sources", "problem_bank"),
        lambda space, key, options: wanted_problems(space, key, options.profile), made_problems,
        "The models, prompts, options and source files of each problem set.",
    ),
)  # fmt: skip


def changed_configurations(
    entry: Observed, space: Workspace, instance: dg.DagsterInstance, keys: Iterable[str], log: logging.Logger
) -> Iterator[dg.AssetObservation]:
    """Observations of the partitions whose version differs from the one that was observed last. Changes are logged.

    The first observation of a partition is that of what is stored, so that an edit made before it counts as a change.
    """
    for key in keys:
        try:
            wanted = entry.wanted(space, key, RunOptions())
            last = latest(instance, entry.name, key)
            before = last or entry.made(space, key, wanted)
        except (QagenError, KeyError) as error:
            log.error(f"{entry.name} {key}: {error}")
            continue
        if last is not None and last.version == wanted.version:
            continue
        if last is None and before is not None and before.version != wanted.version:
            yield observation(entry, key, before)
        changes = _explained(entry, space, key, before, wanted, last is not None)
        if changes:
            stale = ", ".join(f"{name} {key}" for name in entry.assets)
            log.info(f"{entry.name} {key}: {'; '.join(changes)}; stale: {stale}")
        yield observation(entry, key, wanted, changes)


def all_versions(space: Workspace, partitions: Mapping[str, Iterable[str]]) -> str:
    """Changes when any configuration or any file does. `partitions` has the keys of each kind."""
    found: list[str] = []
    for entry in OBSERVED:
        for key in partitions[entry.partitions]:
            try:
                found.append(entry.wanted(space, key, RunOptions()).version)
            except (QagenError, KeyError) as error:
                found.append(str(error))
    return fingerprint(found)


def _explained(
    entry: Observed,
    space: Workspace,
    key: str,
    before: Configuration | None,
    wanted: Configuration,
    observed: bool,
) -> tuple[str, ...]:
    if before is None or before.version == wanted.version:
        return ()
    if entry.name == CORPUS_FILES:
        return parsing.why_outdated(space.corpus(key), space.store, space.settings)
    everything = {**wanted.parts, **wanted.settings} if observed else wanted.parts
    return what_changed(before, Configuration(wanted.version, everything))


def observation(
    entry: Observed, key: str, found: Configuration, changes: tuple[str, ...] = ()
) -> dg.AssetObservation:
    """An observation of a version. `changes` say what differs from the version before it."""
    shown: dict[str, Any] = {_PARTS: dg.MetadataValue.json({**found.parts, **found.settings})}
    if changes:
        shown["changed"] = "; ".join(changes)
        shown["stale"] = ", ".join(f"{name} {key}" for name in entry.assets)
    return dg.AssetObservation(entry.name, partition=key, metadata=shown, tags={VERSION_TAG: found.version})


def latest(instance: dg.DagsterInstance, name: str, key: str) -> Configuration | None:
    """The version of a partition that was observed last, with its parts."""
    wanted = dg.AssetRecordsFilter(asset_key=dg.AssetKey(name), asset_partitions=[key])
    for record in instance.fetch_observations(wanted, limit=1).records:
        found = record.asset_observation
        if found is not None and VERSION_TAG in found.tags:
            parts = found.metadata.get(_PARTS)
            named = cast(dict[str, str], {} if parts is None else parts.value)
            return Configuration(found.tags[VERSION_TAG], named)
    return None


def observe_launch(
    space: Workspace, instance: dg.DagsterInstance, run: dg.DagsterRun, assets: set[str], key: str
) -> None:
    """Record the configurations with which a run makes its assets, before it makes them.

    Dagster compares later observations with this one to show which partitions are stale.
    """
    fields = _fields(run.run_config.get("ops", {}))
    options = RunOptions(fields.get("profile"), fields.get("target_count"))
    for entry in OBSERVED:
        if assets.isdisjoint(entry.assets):
            continue
        try:
            wanted, last = entry.wanted(space, key, options), latest(instance, entry.name, key)
        except (QagenError, KeyError, ValueError):  # the run itself reports what is wrong
            continue
        if last is None or last.version != wanted.version:
            instance.report_runless_asset_event(observation(entry, key, wanted))


def _fields(config: object) -> dict[str, Any]:
    """The fields of a run configuration, without their places."""
    found: dict[str, Any] = {}
    for name, value in cast(Mapping[str, Any], config).items():
        found |= _fields(cast(object, value)) if isinstance(value, Mapping) else {name: value}
    return found
