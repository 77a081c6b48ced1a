"""The export formats of problem banks by name."""

from __future__ import annotations

from qagen_dagster.publishing.problems.base import ProblemExporter
from qagen_dagster.publishing.problems.jsonl import JsonLines
from qagen_dagster.publishing.problems.moodle import MoodleXml
from qagen_dagster.publishing.problems.tex_project import TexProject

PROBLEM_EXPORTERS: tuple[ProblemExporter, ...] = (TexProject(), JsonLines(), MoodleXml())
