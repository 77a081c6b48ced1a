"""The asset that exports the published set of each combination to formats of other programs."""

from typing import Any

import dagster as dg
from pydantic import Field

from qagen_dagster.defs.layout import Layout
from qagen_dagster.defs.metadata import ROW_COUNT, Metadata, markdown_table, uri
from qagen_dagster.defs.partitions import Partitions
from qagen_dagster.defs.resources import WorkspaceResource
from qagen_dagster.loop.questions.publication.exports import (
    FOLDER,
    SetExports,
    chosen_formats,
    exported_formats,
    store_exports,
)
from qagen_dagster.loop.refresh.products import Group
from qagen_dagster.records.ids import Combination, content_hash, fingerprint
from qagen_dagster.records.questions.published import CorpusGenerationResult
from qagen_dagster.store import Store


class ExportConfig(dg.Config):
    """The option of a launch that exports sets."""

    formats: list[str] = Field(
        [], description="The formats to write, by name. Empty: the formats of the last export, or all."
    )


def build_exports(layout: Layout, partitions: Partitions) -> dg.AssetsDefinition:
    return layout.asset(
        exports,
        Group.QUESTIONS,
        partitions_def=partitions.combinations,
        kinds={"json"},
        deps=["corpus_json"],
        description="The published set as files of evaluation tools and spreadsheets. Replaces earlier exports. "
        "Fails when a quote is no longer in its document.",
    )


def exports(
    context: dg.AssetExecutionContext, config: ExportConfig, workspace: WorkspaceResource
) -> dg.MaterializeResult[Any]:
    space, combination = workspace.open(), Combination.from_key(context.partition_key)
    formats = chosen_formats(config.formats or exported_formats(space, combination))
    made = store_exports(space, combination, formats)
    return dg.MaterializeResult(
        metadata=of_exports(space.store, combination, made), data_version=dg.DataVersion(_version(made))
    )


def of_exports(store: Store, combination: Combination, made: SetExports) -> Metadata:
    """A row per format, the folder of their files, and the visuals that could not be rendered."""
    rows = [(one.format, one.questions, len(one.left_out), ", ".join(one.files)) for one in made.exports]
    return {
        ROW_COUNT: max((one.questions for one in made.exports), default=0),
        "formats": markdown_table(("format", "questions", "left out", "files"), rows),
        "folder": CorpusGenerationResult.file_key(combination, FOLDER),
        **uri(store, CorpusGenerationResult.file_key(combination, FOLDER), "questions"),
        "left_out": {one.format: list(one.left_out) for one in made.exports if one.left_out} or "none",
        "no_picture": list(made.no_picture) or "none",
    }


def _version(made: SetExports) -> str:
    files = ((f"{one.format}/{path}", data) for one in made.exports for path, data in one.files.items())
    return fingerprint(text for path, data in files for text in (path, content_hash(data)))
