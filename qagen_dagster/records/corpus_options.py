"""The schema and defaults of corpus.yaml. `configuration/corpora.py` reads the file and reports errors with their lines."""

import math
from collections.abc import Iterable
from enum import StrEnum
from itertools import islice
from typing import Annotated

from pydantic import Field, StringConstraints, ValidationInfo, field_validator, model_validator
from pydantic.functional_validators import BeforeValidator

from qagen_dagster.records.base import Record
from qagen_dagster.records.document import VisualType
from qagen_dagster.records.grading import Grade, Method, Share
from qagen_dagster.records.ids import Mode, Name
from qagen_dagster.records.index_options import IndexOptions

Template = Annotated[str, Field(pattern=r"^https?://\S+$", max_length=2000)]


class FulltextOptions(Record):
    """The places where a full text that the corpus lacks is searched for.

    Attributes:
        download: whether the network is searched when an answer needs the full text. If False, nothing is fetched.
        doi_url, unpaywall_url, europe_pmc_url: addresses of sources, with `{doi}`. null leaves the source out.
        email: the address that replaces `{email}` in `unpaywall_url`. Without it, this source is left out if its address has `{email}`.
        proxy_url: the address of an institution's proxy, with `{url}`. It is used only if a person or `always_allow_proxy` allows it.
        always_allow_proxy: whether the proxy may be used without asking a person.
        max_megabytes: the maximum size of a file. Larger files are refused.
        seconds: the time limit of one request with its redirects. All requests for a document may take four times as long.
        allow_private: the `host:port` pairs that may be at private or loopback addresses. Other servers at such addresses are refused.
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

    @field_validator("doi_url", "unpaywall_url", "europe_pmc_url", "proxy_url")
    @classmethod
    def _has_place(cls, value: str | None, info: ValidationInfo) -> str | None:
        place = "{url}" if info.field_name == "proxy_url" else "{doi}"
        if value is not None and place not in value:
            raise ValueError(f"must contain {place}")
        return value


class AnsweringOptions(Record):
    """The options for answering a question from one document.

    Attributes:
        use_fulltext: whether an existing full text is used. If False, only the abstract is used.
        max_chunks: the maximum number of pieces of the document that the model is shown.
        similarity_threshold: pieces whose cosine to the question is smaller are left out, unless this leaves out all pieces.
        temperature: the temperature of the answering model; null: the temperature of the profile.
        fulltext: the places where a missing full text is searched for.
    """

    use_fulltext: bool = True
    max_chunks: Annotated[int, Field(ge=1, le=100)] = 5
    similarity_threshold: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.3
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None = None
    fulltext: FulltextOptions = Field(default_factory=FulltextOptions)


_Prose = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class QuestionType(StrEnum):
    """The types of questions of the batch strategy, see "QAGRedo Algorithm Report", section 2.2.

    The preset `basic` has only the type `factual`.
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
    """Presets of question types, see "QAGRedo Algorithm Report", section 2.3."""

    BASIC = "basic"
    MODERATE = "moderate"
    ADVANCED = "advanced"

    @property
    def question_types(self) -> tuple[QuestionType, ...]:
        if self is Complexity.BASIC:
            return (QuestionType.FACTUAL,)
        if self is Complexity.MODERATE:
            return (QuestionType.ANALYSIS, QuestionType.COMPARISON, QuestionType.INFERENCE)
        return tuple(kind for kind in QuestionType if kind is not QuestionType.FACTUAL)

    @classmethod
    def of(cls, question_type: str) -> "Complexity":
        """The lowest preset that has a question type; basic for types that no preset has."""
        return next((one for one in cls if question_type in one.question_types), cls.BASIC)


_METHOD = "questions are checked by code, and `grading.method` is how answers are graded"
# What to use here in place of keys and values of "QAGRedo Algorithm Report", section 10.
ELSEWHERE = {
    "num_questions": "use `target_count` or `batch.mix`",
    "duplicate_similarity_threshold": "use `batch.similarity`",
    "deduplication_method": "questions are compared by meaning; use `batch.similarity`",
    "validation": f"use `batch.min_question_confidence` and `batch.question_regenerations`; {_METHOD}",
    "multi_turn": "use `batch.min_answer_confidence` and `batch.answer_regenerations`",
    **dict.fromkeys(("method", "semantic", "keyword", "llm", "hybrid"), _METHOD),
}


class Strategy(StrEnum):
    """The way to make candidates: one at a time by an agent with tools, many at once from the whole text, or from several documents."""

    AGENT = "agent"
    BATCH = "batch"
    ACROSS = "across"


class AcrossKind(StrEnum):
    """The kinds of questions that need several documents."""

    BRIDGE = "bridge"
    COMPARISON = "comparison"
    INTERSECTION = "intersection"
    TEMPORAL = "temporal"
    CONTRADICTION = "contradiction"


class NoAnswerKind(StrEnum):
    """The kinds of questions that the corpus does not answer as they are asked."""

    UNANSWERABLE = "unanswerable"  # the subject is in the corpus, the fact is not
    FALSE_PREMISE = "false_premise"  # the corpus denies what the question takes for granted
    UNDERSPECIFIED = "underspecified"  # the question has two readings with different answers


class Span(StrEnum):
    """The kind of a question whose evidence comes from several documents."""

    ACROSS = "across"


class Hops(StrEnum):
    """The number of separate passages in the evidence."""

    ONE = "one_passage"
    TWO = "two_passages"
    MORE = "more_passages"

    @classmethod
    def of(cls, passages: int) -> "Hops":
        return cls.ONE if passages < 2 else cls.TWO if passages == 2 else cls.MORE


# The groups of a mix. In each group, a question counts for one kind at most: for its type if the mix names it, else for the preset.
MIX_GROUPS: tuple[tuple[type[StrEnum], ...], ...] = ((QuestionType, Complexity), (Hops,), (VisualType,))
Staged = NoAnswerKind | Span  # kinds of questions that are made after the other questions of a document
MixKind = Staged | QuestionType | Complexity | Hops | VisualType


def mix_kinds(question_type: str, passages: int, visuals: Iterable[str]) -> list[str]:
    """All names under which a mix may count a question: its type, the preset of the type, the number of passages, and a type of visual.

    `passages` is the number of separate passages in the evidence. Only the first type in `visuals` is used."""
    name = "_".join(question_type.lower().replace("-", " ").split())
    return [name, Complexity.of(name).value, Hops.of(passages).value, *islice(visuals, 1)]


def _kind(value: object) -> object:
    known = [kind for group in ((NoAnswerKind, Span), *MIX_GROUPS) for names in group for kind in names]
    found = next((kind for kind in known if kind == value), None)
    if found is not None:
        return found
    raise ValueError(f"{value!r} is no kind of question: use {', '.join(known)}")


_NEARLY, _ROUNDED = 1e-6, 0.01  # tolerances for sums of shares; shares of writers may be rounded
# Limits of shares: enough other questions must be made first, because they test whether the validator finds answers.
MOST_WITHOUT_ANSWER, MOST_STAGED = 0.5, 0.9


class BatchOptions(Record):
    """The options of the batch strategy. All defaults except `similarity` are from "QAGRedo Algorithm Report", section 10.

    Attributes:
        complexity: the preset of question types.
        question_types: the types that are used in place of the preset.
        mix: the number of questions of each type per document. None: `target_count` is distributed evenly over the types.
        similarity: two questions whose cosine is at least this value count as the same question.
        min_question_confidence: a question whose grounding has a lower confidence is remade.
        question_regenerations: the maximum number of times that a question is remade.
        min_answer_confidence, answer_regenerations: the limits for answers, like the two limits for questions.
        publish_ungrounded: whether questions whose answers remain ungrounded are also published. The report marks these answers.
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
    def _one_way(self) -> "BatchOptions":
        if self.mix is not None and self.question_types is not None:
            raise ValueError("mix names the question types already: leave question_types out")
        return self


class GradingOptions(Record):
    """The options for grading answers, and the limits of the check.

    Attributes:
        method: `semantic` and `keyword` call no model. `llm` calls the judge for each answer, `hybrid` only for answers that
            `semantic` does not find grounded.
        min_grade: the check fails if the overall grade is lower.
        max_not_measured: the check fails if the share of answers that could not be measured is larger.
    """

    method: Method = Method.HYBRID
    min_grade: Grade = Grade.C
    max_not_measured: Share = 0.1


class EvaluationOptions(Record):
    """The options for evaluating a published set, and the limits of its checks. A check whose limit is None never fails.

    Attributes:
        max_leaked: the check fails if the share of questions that a model answers correctly without their document is larger.
        min_recall_at_5: the check fails if the share of questions whose document is among the first five found is smaller.
        min_answer_f1: the check fails if the mean F1 of the answers from the document is lower.
        judge_labels: whether the judge of the profile grades the passages whose relevance code does not know.
        pool_depth: the number of results of each ranking that are graded, and the maximum of passages that a round of feedback adds.
        feedback_rounds: the number of rounds of feedback, which add passages that are similar to relevant ones.
    """

    max_leaked: Share | None = 0.1
    min_recall_at_5: Share | None = None
    min_answer_f1: Share | None = None
    judge_labels: bool = False
    pool_depth: Annotated[int, Field(ge=1, le=200)] = 20
    feedback_rounds: Annotated[int, Field(ge=0, le=10)] = 0


class Publish(StrEnum):
    """The choice of validated questions that are published."""

    ALL = "all"
    REVIEWED = "reviewed"  # questions that reviewers accepted, and edited questions that passed their checks


class Style(StrEnum):
    """The wording of a question."""

    QUESTION = "question"  # a whole question
    KEYWORD = "keyword"  # a search by key words
    INSTRUCTION = "instruction"  # "List ..."
    CONVERSATIONAL = "conversational-first-turn"  # the first message of a chat, in the first person


class Audience(StrEnum):
    """The groups of people whose wording the questions of a set may imitate."""

    READER = "reader"  # somebody who has seen the text
    SEARCHER = "searcher"  # somebody who has not seen the text


class Drop(StrEnum):
    """Questions that evaluations found faulty."""

    LEAKED = "leaked"  # answered rightly without documents
    SUSPECTED = "suspected"  # their answer is likely to be wrong


class PublishOptions(Record):
    """The options for publishing validated questions. If corpus.yaml has a string, the string is the value of `only`."""

    only: Publish = Publish.ALL
    drop: tuple[Drop, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: object) -> object:
        return {"only": given} if isinstance(given, str) else given


class ScenarioConfig(Record):
    """A named evaluation context. `name` and `description` are required.

    Attributes:
        modes: the modes of this scenario; each is one partition.
        profile: the name of the profile for this scenario; None: the profile of the run.
        target_count: the number of accepted questions that a document should give.
        max_consecutive_failures: work on a document ends when more consecutive attempts fail, or earlier if no reply is usable.
        max_attempts: the maximum number of attempts at a document; None: 4 for each target question, but at least 10.
        min_pass_rate: the check fails if a smaller share of the validated candidates passes.
        strategy: how candidates are made.
        batch: the options of the batch strategy.
        grading: how answers are graded.
        evaluation: how sets are evaluated, and when the checks of `qagen evaluate` fail.
        search_meaning: whether agents may also search the document by meaning.
        text_control: whether a visual question is rejected if the validator answers it without pictures.
        language: the ISO 639-1 code of the language of the questions; None: the language of the document.
        max_overlap: the largest share of the content words of a question that may be in its evidence. None: the share for `audience`.
        audience: the people whose wording is imitated. It limits the similarity of questions to their evidence. None: no limit.
        style: the share of the questions in each style; None: whole questions, and code does not check the style.
        personas: the people who ask, each described in a sentence. Only the generator is told about them.
        mix: the shares of kinds. Shares of unanswerable and of cross-document questions (textual mode only) are shares of `target_count`.
            Other shares are shares of the questions that are left.
        closed_book: whether a question is rejected as trivial if the validator answers it without the document.
        publish: the choice of validated questions that are published: a string, or `only` and `drop`.
        max_unreviewed: the check fails if a larger share of the questions has no decision. None: it never fails.
        writers: the shares of models in the writing: `generator`, and `writers` of the profile by name. None: the generator writes all.
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
    closed_book: bool = True
    language: Annotated[str, Field(pattern=r"^[a-z]{2,3}$")] | None = None
    max_overlap: Share | None = None
    audience: Audience | None = None
    style: Annotated[dict[Style, Share] | None, Field(min_length=1)] = None
    personas: tuple[_Prose, ...] = ()
    mix: Annotated[dict[Annotated[MixKind, BeforeValidator(_kind)], Share] | None, Field(min_length=1)] = None
    publish: PublishOptions = Field(default_factory=PublishOptions)
    max_unreviewed: Share | None = None
    writers: Annotated[dict[Name, Annotated[Share, Field(gt=0)]] | None, Field(min_length=1)] = None

    @model_validator(mode="after")
    def _fits(self) -> "ScenarioConfig":
        if self.strategy is not Strategy.BATCH and self.batch is not None:
            raise ValueError("batch: needs `strategy: batch`")
        if self.strategy is not Strategy.AGENT and Mode.VISUAL in self.modes:
            raise ValueError(f"strategy: {self.strategy.value} reads text only: set `modes: [textual]`")
        if self.writers is not None and not math.isclose(sum(self.writers.values()), 1, abs_tol=_ROUNDED):
            raise ValueError(f"writers: the shares are {sum(self.writers.values()):g} in all, not 1")
        self._check_mix(self.mix or {})
        return self

    def _check_mix(self, mix: dict[MixKind, float]) -> None:
        if mix and self.strategy is Strategy.ACROSS:
            raise ValueError("mix: is not read with `strategy: across`")
        staged, groups = self.staged, self.mix_groups(Mode.VISUAL)
        none = {kind: share for kind, share in staged.items() if isinstance(kind, NoAnswerKind)}
        for kinds, most in (
            (none, MOST_WITHOUT_ANSWER),
            (staged, MOST_STAGED),
            *((one, 1.0) for one in groups),
        ):
            total, whole = sum(kinds.values()), any(set(one) <= kinds.keys() for one in (Complexity, Hops))
            if total > most + _NEARLY or (whole and total < 1 - _NEARLY):
                wrong = "not 1" if whole else f"more than {most:g}"
                raise ValueError(f"mix: the shares of {', '.join(kinds)} are {total:g} in all, {wrong}")
        if any(isinstance(kind, VisualType) for kind in mix) and Mode.VISUAL not in self.modes:
            raise ValueError("mix: kinds of visuals need visual mode")
        if groups[0] and self.batch is not None and self.batch.mix is not None:
            raise ValueError(
                f"mix: batch.mix names the question types already: leave {', '.join(groups[0])} out"
            )

    @property
    def staged(self) -> dict[Staged, float]:
        """The shares of questions without an answer, and of questions across documents."""
        return {kind: share for kind, share in (self.mix or {}).items() if isinstance(kind, Staged)}

    def mix_groups(self, mode: Mode) -> list[dict[MixKind, float]]:
        """For each of MIX_GROUPS, the shares of questions with an answer. In textual mode there are no visuals."""
        counted = {
            kind: share
            for kind, share in (self.mix or {}).items()
            if mode is Mode.VISUAL or not isinstance(kind, VisualType)
        }
        return [{kind: counted[kind] for kind in counted if isinstance(kind, group)} for group in MIX_GROUPS]

    @field_validator("style", mode="before")
    @classmethod
    def _one_style(cls, value: object) -> object:
        return {value: 1.0} if isinstance(value, str) else value

    @field_validator("style")
    @classmethod
    def _whole(cls, value: dict[Style, float] | None) -> dict[Style, float] | None:
        if value is not None and abs(sum(value.values()) - 1) > _NEARLY:
            raise ValueError(f"the shares are {sum(value.values()):g} in all, not 1")
        return value

    @property
    def searches_corpus(self) -> bool:
        """Whether the questions of the scenario depend on the texts of the whole corpus."""
        return self.strategy is Strategy.ACROSS or bool(self.staged)

    @field_validator("modes")
    @classmethod
    def _each_once(cls, value: tuple[Mode, ...]) -> tuple[Mode, ...]:
        if len(set(value)) != len(value):
            raise ValueError("names a mode twice")
        return value


def _of_all_files(value: object) -> object:
    return {"*": value} if isinstance(value, str) else value


_OfFiles = Annotated[dict[str, _Prose], BeforeValidator(_of_all_files)]  # a single text applies to all files


class DocumentOptions(Record):
    """The options for reading the files of a corpus.

    Attributes:
        ocr: whether text is recognised on pages without text. It needs tesseract.
        ocr_languages: tesseract's language codes, joined by `+`.
        passwords: the environment variables with the passwords of files, by path under documents/ (`*` for all files).
        encoding: the encodings of text files, by path under documents/ (`*` for all files). A single name is for all files.
        max_megabytes: larger files have the outcome `too_large`.
        max_pages: documents with more pages have the outcome `too_large`.
    """

    ocr: bool = True
    ocr_languages: Annotated[str, Field(pattern=r"^[A-Za-z_]+(\+[A-Za-z_]+)*$")] = "eng"
    passwords: dict[str, Annotated[str, Field(pattern=r"^[A-Z_][A-Z0-9_]*$")]] = Field(default_factory=dict)
    encoding: _OfFiles = Field(default_factory=dict)
    max_megabytes: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 200.0
    max_pages: Annotated[int, Field(ge=1)] = 5000

    @field_validator("encoding")
    @classmethod
    def _known(cls, value: dict[str, str]) -> dict[str, str]:
        for name in value.values():
            try:
                "".encode(name)
            except LookupError:
                raise ValueError(f"{name!r} is not a text encoding") from None
        return value


class CorpusConfig(Record):
    """A corpus. `licence` and `attribution` have values by pattern of paths. They override what files state, except for the pattern `*`."""

    name: _Prose
    corpus_context: _Prose
    licence: _OfFiles = Field(default_factory=dict)
    attribution: _OfFiles = Field(default_factory=dict)
    scenarios: Annotated[dict[Name, ScenarioConfig], Field(min_length=1)]
    documents: DocumentOptions = Field(default_factory=DocumentOptions)
    answering: AnsweringOptions = Field(default_factory=AnsweringOptions)
    index: IndexOptions = Field(default_factory=IndexOptions)
