"""The export formats of item banks by name."""

from __future__ import annotations

from qagen_dagster.publishing.exams.gift import Gift
from qagen_dagster.publishing.exams.inspect_samples import InspectSamples
from qagen_dagster.publishing.exams.latex import LatexExam
from qagen_dagster.publishing.exams.moodle import MoodleXml
from qagen_dagster.publishing.exams.preview import HtmlPreview
from qagen_dagster.publishing.exams.qti import Qti
from qagen_dagster.publishing.exporter import Exporter
from qagen_dagster.records.exams.bank import ItemBank

BANK_EXPORTERS: tuple[Exporter[ItemBank], ...] = (
    Qti(),
    MoodleXml(),
    Gift(),
    InspectSamples(),
    LatexExam(),
    HtmlPreview(),
)
