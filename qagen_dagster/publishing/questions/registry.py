"""The files of a published set, and the export formats, by name."""

from __future__ import annotations

from collections.abc import Callable

from qagen_dagster.publishing.questions import (
    beir,
    card,
    corpus_json,
    csv_table,
    deepeval,
    huggingface,
    inspect_samples,
    jsonl,
    langsmith,
    llamaindex,
    promptfoo,
    ragas,
    ragchecker,
    squad,
    xlsx,
)
from qagen_dagster.publishing.questions.eval_set import EvalSet
from qagen_dagster.publishing.questions.exported_set import ExportFormat

SET_FILES: tuple[Callable[[EvalSet], dict[str, bytes]], ...] = (corpus_json.export, jsonl.export, card.export)
EXPORT_FORMATS = (
    ExportFormat("ragas", ragas.export),
    ExportFormat("deepeval", deepeval.export),
    ExportFormat("llamaindex", llamaindex.export),
    ExportFormat("inspect", inspect_samples.export),
    ExportFormat("promptfoo", promptfoo.export),
    ExportFormat("beir", beir.export, beir.takes, whole_corpus=True),
    ExportFormat("squad", squad.export, squad.takes),
    ExportFormat("langsmith", langsmith.export),
    ExportFormat("ragchecker", ragchecker.export),
    ExportFormat("huggingface", huggingface.export),
    ExportFormat("csv", csv_table.export),
    ExportFormat("xlsx", xlsx.export),
)
