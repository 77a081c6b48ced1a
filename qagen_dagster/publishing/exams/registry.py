"""The export formats of item banks by name."""

from __future__ import annotations

from qagen_dagster.errors import ConfigError
from qagen_dagster.publishing.exams.base import BankExporter
from qagen_dagster.publishing.exams.gift import Gift
from qagen_dagster.publishing.exams.inspect_samples import InspectSamples
from qagen_dagster.publishing.exams.latex import LatexExam
from qagen_dagster.publishing.exams.moodle import MoodleXml
from qagen_dagster.publishing.exams.preview import HtmlPreview
from qagen_dagster.publishing.exams.qti import Qti

BANK_EXPORTERS: tuple[BankExporter, ...] = (
    Qti(),
    MoodleXml(),
    Gift(),
    InspectSamples(),
    LatexExam(),
    HtmlPreview(),
)


def bank_exporter(name: str) -> BankExporter:
    """The format of that name. Raises ConfigError, naming those that exist."""
    for candidate in BANK_EXPORTERS:
        if candidate.name == name:
            return candidate
    known = ", ".join(candidate.name for candidate in BANK_EXPORTERS)
    raise ConfigError(f"there is no export format {name!r} of item banks; known: {known}")
