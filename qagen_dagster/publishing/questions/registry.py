"""The export formats by name."""

from __future__ import annotations

from qagen_dagster.errors import ConfigError
from qagen_dagster.publishing.questions.base import Exporter
from qagen_dagster.publishing.questions.corpus_json import CorpusJson
from qagen_dagster.publishing.questions.jsonl import Jsonl

EXPORTERS: tuple[Exporter, ...] = (CorpusJson(), Jsonl())


def exporter(name: str) -> Exporter:
    """The format of that name. Raises ConfigError, naming those that exist."""
    for candidate in EXPORTERS:
        if candidate.name == name:
            return candidate
    known = ", ".join(candidate.name for candidate in EXPORTERS)
    raise ConfigError(f"there is no export format {name!r}; known: {known}")
