"""The events of one exam item, as its journal stores them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from qagen_dagster.loop.journal import Journal
from qagen_dagster.records.base import Record
from qagen_dagster.records.exams.item import (
    BlindSolution,
    IdeaPlan,
    QuestionPackage,
    StyleReport,
    VerifierReport,
)
from qagen_dagster.records.exams.proof import Examination
from qagen_dagster.records.run import CallSummary


class _Said(Record):
    """A model was asked. `raw` is its text. `failure` says why there is no result."""

    failure: str = ""
    raw: str = ""
    calls: tuple[CallSummary, ...] = ()
    at: str = ""  # ISO 8601, UTC


class Designed(_Said):
    kind: Literal["designed"] = "designed"
    plan: IdeaPlan | None = None


class Implemented(_Said):
    kind: Literal["implemented"] = "implemented"
    package: QuestionPackage | None = None


class Examined(Record):
    """Code checked the question and computed its form."""

    kind: Literal["examined"] = "examined"
    examination: Examination
    calls: tuple[CallSummary, ...] = ()  # always empty; every event has this field
    at: str = ""


class Solved(_Said):
    """The verifier's own solution, made without the key."""

    kind: Literal["solved"] = "solved"
    blind: BlindSolution | None = None


class Verified(_Said):
    kind: Literal["verified"] = "verified"
    report: VerifierReport | None = None


class Styled(_Said):
    kind: Literal["styled"] = "styled"
    report: StyleReport | None = None


ExamEvent = Annotated[
    Designed | Implemented | Examined | Solved | Verified | Styled, Field(discriminator="kind")
]


class ExamJournal(Journal[ExamEvent]):
    """The journal of one exam item."""
