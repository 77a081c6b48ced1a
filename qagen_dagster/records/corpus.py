"""What a corpus.yaml may say. Reading the file, with line numbers, is `configuration/corpora.py`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints, field_validator

from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import Mode, Name

_Prose = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class ScenarioConfig(Record):
    """A named evaluation context. `name` and `description` are required, the rest are options.

    Attributes:
        modes: which modes exist for this scenario; each is one partition.
        profile: models for this scenario; None: the profile of the run.
        target_count: accepted questions to reach per document.
        max_consecutive_failures: a document ends when more candidates than this fail in a row.
        max_attempts: candidates per document at most; None: 4 per target question, at least 10.
        min_pass_rate: share of validated candidates that should pass; below it the check warns.
    """

    name: _Prose
    description: _Prose
    modes: Annotated[tuple[Mode, ...], Field(min_length=1)] = (Mode.TEXTUAL, Mode.VISUAL)
    profile: Name | None = None
    target_count: Annotated[int, Field(ge=1, le=1000)] = 5
    max_consecutive_failures: Annotated[int, Field(ge=1, le=100)] = 5
    max_attempts: Annotated[int | None, Field(ge=1)] = None
    min_pass_rate: Annotated[float, Field(ge=0, le=1)] = 0.5

    @field_validator("modes")
    @classmethod
    def _each_once(cls, value: tuple[Mode, ...]) -> tuple[Mode, ...]:
        if len(set(value)) != len(value):
            raise ValueError("names a mode twice")
        return value


class DocumentOptions(Record):
    """How this corpus' files are read.

    Attributes:
        ocr: recognise text on pages that have none, when tesseract is installed.
        ocr_languages: tesseract's language codes, joined by `+`.
        passwords: file path under documents/ (or `*`) -> environment variable that holds its password.
        max_megabytes: larger files end as `too_large`.
        max_pages: longer documents end as `too_large`.
    """

    ocr: bool = True
    ocr_languages: Annotated[str, Field(pattern=r"^[A-Za-z_]+(\+[A-Za-z_]+)*$")] = "eng"
    passwords: dict[str, Annotated[str, Field(pattern=r"^[A-Z_][A-Z0-9_]*$")]] = Field(default_factory=dict)
    max_megabytes: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 200.0
    max_pages: Annotated[int, Field(ge=1)] = 5000


class CorpusConfig(Record):
    """One corpus.yaml."""

    name: _Prose
    corpus_context: _Prose
    scenarios: Annotated[dict[Name, ScenarioConfig], Field(min_length=1)]
    documents: DocumentOptions = Field(default_factory=DocumentOptions)
