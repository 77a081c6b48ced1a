"""The export formats of problem banks by name."""

from __future__ import annotations

from qagen_dagster.publishing.problem.base import ProblemExporter
from qagen_dagster.publishing.problem.jsonl import JsonLines
from qagen_dagster.publishing.problem.moodle import MoodleXml
from qagen_dagster.publishing.problem.tex_project import TexProject

PROBLEM_EXPORTERS: tuple[ProblemExporter, ...] = (TexProject(), JsonLines(), MoodleXml())
