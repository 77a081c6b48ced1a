"""The export formats of problem banks by name."""

from __future__ import annotations

from qagen_dagster.publishing.exporter import Exporter
from qagen_dagster.publishing.problems.jsonl import JsonLines
from qagen_dagster.publishing.problems.moodle import MoodleXml
from qagen_dagster.publishing.problems.tex_project import TexProject
from qagen_dagster.records.problems.result import BankExport

PROBLEM_EXPORTERS: tuple[Exporter[BankExport], ...] = (TexProject(), JsonLines(), MoodleXml())
