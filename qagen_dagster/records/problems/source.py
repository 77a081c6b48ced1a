"""The problems of a set as they were read from its sources, kept so that all later work sees the same ones. Pure values."""

from __future__ import annotations

from qagen_dagster.records.base import Record
from qagen_dagster.records.problems.item import Problem


class SourceReport(Record):
    """What one file gave."""

    file: str
    problems: int
    note: str = ""


class ProblemSources(Record):
    """All problems of a set, in order, and the files they come from."""

    problems: tuple[Problem, ...]
    sources: tuple[SourceReport, ...] = ()
