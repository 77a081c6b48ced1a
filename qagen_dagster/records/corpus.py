"""What a corpus.yaml may say. Reading the file, with line numbers, is `configuration/corpora.py`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints, field_validator, model_validator

from qagen_dagster.records.base import Record
from qagen_dagster.records.grading import Grade, Method, Share
from qagen_dagster.records.ids import Mode, Name

Template = Annotated[str, Field(pattern=r"^https?://\S+$", max_length=2000)]


class FulltextOptions(Record):
    """The way to a full text that the corpus does not have.

    Attributes:
        download: look for it on the network when an answer needs it. Nothing is ever fetched otherwise.
        doi_url, unpaywall_url, europe_pmc_url: addresses with `{doi}` (and `{email}`); null leaves the source out.
        email: sent to the Unpaywall-style source, which asks for one; without it that source is left out.
        proxy_url: address of an institution's proxy with `{url}`; used only with consent.
        always_allow_proxy: the consent, given once for all.
        max_megabytes: a larger file is refused.
        seconds: of one request with its redirects; a document's requests together may take four times as long.
        allow_private: `host:port` pairs that may lie on private or loopback addresses; all others are refused.
    """

    download: bool = False
    doi_url: Template | None = "https://doi.org/{doi}"
    unpaywall_url: Template | None = "https://api.unpaywall.org/v2/{doi}?email={email}"
    europe_pmc_url: Template | None = (
        "https://www.ebi.ac.uk/europepmc/webservices/rest/search?query=DOI:%22{doi}%22&resultType=core&format=json"
    )
    email: Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+$")] | None = None
    proxy_url: Template | None = None
    always_allow_proxy: bool = False
    max_megabytes: Annotated[float, Field(gt=0, le=500, allow_inf_nan=False)] = 50.0
    seconds: Annotated[float, Field(gt=0, le=600, allow_inf_nan=False)] = 30.0
    allow_private: tuple[Annotated[str, Field(pattern=r"^\S+:\d{1,5}$")], ...] = ()

    @field_validator("doi_url", "unpaywall_url", "europe_pmc_url")
    @classmethod
    def _has_doi(cls, value: str | None) -> str | None:
        if value is not None and "{doi}" not in value:
            raise ValueError("must contain {doi}")
        return value

    @field_validator("proxy_url")
    @classmethod
    def _has_url(cls, value: str | None) -> str | None:
        if value is not None and "{url}" not in value:
            raise ValueError("must contain {url}")
        return value


class AnsweringOptions(Record):
    """How a question is answered from one document.

    Attributes:
        use_fulltext: prefer the full text; false: abstracts only.
        max_chunks: pieces of the document that the model is shown.
        similarity_threshold: pieces less similar to the question (cosine) are left out while better ones exist.
        temperature: of the answering model; null: as its profile says.
        fulltext: where a missing full text may be looked for.
    """

    use_fulltext: bool = True
    max_chunks: Annotated[int, Field(ge=1, le=100)] = 5
    similarity_threshold: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.3
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None = None
    fulltext: FulltextOptions = Field(default_factory=FulltextOptions)


_Prose = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class QuestionType(StrEnum):
    """What a question of the batch strategy asks of its reader; "QAGRedo Algorithm Report", section 2.2.

    `factual` is the one type of the preset `basic`.
    """

    FACTUAL = "factual"
    ANALYSIS = "analysis"
    AGGREGATION = "aggregation"
    COMPARISON = "comparison"
    INFERENCE = "inference"
    CAUSAL = "causal"
    TEMPORAL = "temporal"
    MULTI_HOP = "multi_hop"
    SYNTHESIS = "synthesis"
    EVALUATION = "evaluation"
    COUNTERFACTUAL = "counterfactual"


class Complexity(StrEnum):
    """Presets of question types; "QAGRedo Algorithm Report", section 2.3."""

    BASIC = "basic"
    MODERATE = "moderate"
    ADVANCED = "advanced"

    @property
    def question_types(self) -> tuple[QuestionType, ...]:
        if self is Complexity.BASIC:
            return (QuestionType.FACTUAL,)
        if self is Complexity.MODERATE:
            return (QuestionType.ANALYSIS, QuestionType.COMPARISON, QuestionType.INFERENCE)
        return tuple(one for one in QuestionType if one is not QuestionType.FACTUAL)


class Strategy(StrEnum):
    """How candidates come about: one at a time by an agent with tools, or many at once from the whole text."""

    AGENT = "agent"
    BATCH = "batch"


class BatchOptions(Record):
    """The batch strategy; defaults are those of "QAGRedo Algorithm Report", section 10, but for `similarity`.

    Attributes:
        complexity: preset of question types.
        question_types: these types in place of the preset's.
        mix: how many questions of each type a document gives, in place of an even distribution of `target_count`.
        similarity: two questions as similar as this (cosine) are one.
        min_question_confidence, question_regenerations: a question less grounded than this is asked for again.
        min_answer_confidence, answer_regenerations: the same of an answer.
        publish_ungrounded: answers that stayed ungrounded enter the published set too, marked in the report.
    """

    complexity: Complexity = Complexity.ADVANCED
    question_types: Annotated[tuple[QuestionType, ...] | None, Field(min_length=1)] = None
    mix: Annotated[dict[QuestionType, Annotated[int, Field(ge=1, le=1000)]] | None, Field(min_length=1)] = (
        None
    )
    similarity: Share = 0.93
    min_question_confidence: Share = 0.7
    question_regenerations: Annotated[int, Field(ge=0, le=20)] = 2
    min_answer_confidence: Share = 0.7
    answer_regenerations: Annotated[int, Field(ge=0, le=20)] = 3
    publish_ungrounded: bool = False

    @model_validator(mode="after")
    def _one_way(self) -> BatchOptions:
        if self.mix is not None and self.question_types is not None:
            raise ValueError("mix names the question types already: leave question_types out")
        return self


class GradingOptions(Record):
    """How answers are graded, and when the check warns.

    Attributes:
        method: semantic and keyword ask no model; llm asks the judge; hybrid asks it about what fails without.
        min_grade: a lower overall grade fails the check.
        max_not_measured: a larger share of answers that could not be measured fails the check.
    """

    method: Method = Method.HYBRID
    min_grade: Grade = Grade.C
    max_not_measured: Share = 0.1


class EvaluationOptions(Record):
    """When the checks of a published set's evaluation warn. None: never.

    Attributes:
        max_leaked: a larger share of questions answered without their document fails the check.
        min_recall_at_5: a smaller share of questions whose document is among the first five found fails it.
        min_answer_f1: a lower mean F1 of the answers given from the document fails it.
    """

    max_leaked: Share | None = 0.1
    min_recall_at_5: Share | None = None
    min_answer_f1: Share | None = None


class Publish(StrEnum):
    """Which validated questions are published."""

    ALL = "all"
    REVIEWED = "reviewed"  # those that reviewers accepted, and edited ones that passed their checks


class ScenarioConfig(Record):
    """A named evaluation context. `name` and `description` are required, the rest are options.

    Attributes:
        modes: which modes exist for this scenario; each is one partition.
        profile: models for this scenario; None: the profile of the run.
        target_count: accepted questions to reach per document.
        max_consecutive_failures: a document ends when more candidates than this fail in a row.
        max_attempts: candidates per document at most; None: 4 per target question, at least 10.
        min_pass_rate: share of validated candidates that should pass; below it the check warns.
        strategy: how candidates come about.
        batch: options of the batch strategy.
        grading: how answers are graded.
        evaluation: when the checks of `qagen evaluate` warn.
        search_meaning: agents may search the document by meaning, too.
        text_control: a visual question that the validator answers without pictures is rejected.
        publish: which validated questions are published.
        max_unreviewed: a larger share of questions without a decision fails the check. None: never.
    """

    name: _Prose
    description: _Prose
    modes: Annotated[tuple[Mode, ...], Field(min_length=1)] = (Mode.TEXTUAL, Mode.VISUAL)
    profile: Name | None = None
    target_count: Annotated[int, Field(ge=1, le=1000)] = 5
    max_consecutive_failures: Annotated[int, Field(ge=1, le=100)] = 5
    max_attempts: Annotated[int | None, Field(ge=1)] = None
    min_pass_rate: Annotated[float, Field(ge=0, le=1)] = 0.5
    strategy: Strategy = Strategy.AGENT
    batch: BatchOptions | None = None
    grading: GradingOptions = Field(default_factory=GradingOptions)
    evaluation: EvaluationOptions = Field(default_factory=EvaluationOptions)
    search_meaning: bool = False
    text_control: bool = True
    publish: Publish = Publish.ALL
    max_unreviewed: Share | None = None

    @model_validator(mode="after")
    def _fits(self) -> ScenarioConfig:
        if self.strategy is Strategy.AGENT and self.batch is not None:
            raise ValueError("batch: is read with `strategy: batch` only")
        if self.strategy is Strategy.BATCH and Mode.VISUAL in self.modes:
            raise ValueError("strategy: batch reads text only: set `modes: [textual]`")
        return self

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
        encoding: file path under documents/ (or `*`) -> encoding of its text; one name alone is that of all files. Else it is detected.
        max_megabytes: larger files end as `too_large`.
        max_pages: longer documents end as `too_large`.
    """

    ocr: bool = True
    ocr_languages: Annotated[str, Field(pattern=r"^[A-Za-z_]+(\+[A-Za-z_]+)*$")] = "eng"
    passwords: dict[str, Annotated[str, Field(pattern=r"^[A-Z_][A-Z0-9_]*$")]] = Field(default_factory=dict)
    encoding: dict[str, str] = Field(default_factory=dict)
    max_megabytes: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 200.0
    max_pages: Annotated[int, Field(ge=1)] = 5000

    @field_validator("encoding", mode="before")
    @classmethod
    def _of_all_files(cls, value: object) -> object:
        return {"*": value} if isinstance(value, str) else value

    @field_validator("encoding")
    @classmethod
    def _known(cls, value: dict[str, str]) -> dict[str, str]:
        for name in value.values():
            try:
                "".encode(name)
            except LookupError:
                raise ValueError(f"{name!r} is no encoding of text") from None
        return value


class IndexOptions(Record):
    """How this corpus' documents are cut for search. A change builds its search index anew.

    Attributes:
        chunk_characters: longest chunk; whole sentences go into one as long as they fit.
        overlap_characters: sentences up to this length are repeated at the head of the next chunk.
    """

    chunk_characters: Annotated[int, Field(ge=50, le=100_000)] = 800
    overlap_characters: Annotated[int, Field(ge=0)] = 150

    @model_validator(mode="after")
    def _goes_on(self) -> IndexOptions:
        if self.overlap_characters * 2 > self.chunk_characters:
            raise ValueError("overlap_characters may be half of chunk_characters at most")
        return self


class CorpusConfig(Record):
    """One corpus.yaml."""

    name: _Prose
    corpus_context: _Prose
    scenarios: Annotated[dict[Name, ScenarioConfig], Field(min_length=1)]
    documents: DocumentOptions = Field(default_factory=DocumentOptions)
    answering: AnsweringOptions = Field(default_factory=AnsweringOptions)
    index: IndexOptions = Field(default_factory=IndexOptions)
