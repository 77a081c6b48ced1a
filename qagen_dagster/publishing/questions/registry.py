"""The export formats by name."""

from __future__ import annotations

from qagen_dagster.publishing.exporter import Exporter
from qagen_dagster.publishing.questions.card import Card
from qagen_dagster.publishing.questions.corpus_json import CorpusJson
from qagen_dagster.publishing.questions.eval_set import EvalSet
from qagen_dagster.publishing.questions.jsonl import Jsonl, RejectedJsonl, RetiredJsonl

EXPORTERS: tuple[Exporter[EvalSet], ...] = (CorpusJson(), Jsonl(), RejectedJsonl(), RetiredJsonl(), Card())
