"""The files of a published set, and the export formats, by name."""

from __future__ import annotations

from qagen_dagster.publishing.exporter import Exporter
from qagen_dagster.publishing.questions import (
    beir,
    csv_table,
    deepeval,
    huggingface,
    inspect_samples,
    langsmith,
    llamaindex,
    promptfoo,
    ragas,
    ragchecker,
    squad,
    xlsx,
)
from qagen_dagster.publishing.questions.card import Card
from qagen_dagster.publishing.questions.corpus_json import CorpusJson
from qagen_dagster.publishing.questions.eval_set import EvalSet
from qagen_dagster.publishing.questions.exported_set import ExportFormat
from qagen_dagster.publishing.questions.jsonl import Jsonl, RejectedJsonl, RetiredJsonl

EXPORTERS: tuple[Exporter[EvalSet], ...] = (CorpusJson(), Jsonl(), RejectedJsonl(), RetiredJsonl(), Card())
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
