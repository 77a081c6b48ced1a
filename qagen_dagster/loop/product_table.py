"""The table of the products that a run can make.

A row states the partitions of a product, its inputs, the reasons why it is out of date, the way to make it, and its place in the UI and the
documentation. Commands, sensors, the schedule and the observed configurations read the table. A new product is a row here and
the code that the row names.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any

from qagen_dagster.configuration.exams import find_exam
from qagen_dagster.configuration.problems import find_problem_set
from qagen_dagster.ingest import parsing
from qagen_dagster.loop.catalog import catalog_knows, runs_to_add
from qagen_dagster.loop.configuration import Configuration
from qagen_dagster.loop.evaluation.kinds import made_evaluation, wanted_evaluation, why_unevaluated
from qagen_dagster.loop.exams.bank import is_bank_current, made_part, wanted_part, why_part_outdated
from qagen_dagster.loop.exams.plan import part_set
from qagen_dagster.loop.grading.grade_set import made_grading, wanted_grading, why_ungraded
from qagen_dagster.loop.index import made_index, wanted_index, why_index_outdated
from qagen_dagster.loop.problems.bank import published_bank
from qagen_dagster.loop.problems.outdated import made_problems, wanted_problems, why_bank_outdated
from qagen_dagster.loop.questions.plan import RunOptions, made_questions, wanted_questions
from qagen_dagster.loop.questions.publication.exports import why_not_exported
from qagen_dagster.loop.questions.publication.publish import why_outdated
from qagen_dagster.loop.unfinished import DOCUMENTS, QUESTIONS
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.document import CorpusIndex, SearchIndex
from qagen_dagster.records.evaluation import EvaluationReport, Kind
from qagen_dagster.records.exams.submissions import ExamPart
from qagen_dagster.records.grading import GroundingReport
from qagen_dagster.records.ids import Combination, content_hash, fingerprint
from qagen_dagster.records.problems.result import Stage
from qagen_dagster.records.questions.published import CorpusGenerationResult, LatestExports
from qagen_dagster.records.questions.results import CandidateSet, ValidatedSet
from qagen_dagster.records.text import counted

Fields = Mapping[str, Any]  # the fields of the configuration of assets that a launch sets, by name
BUDGET = ("max_usd", "max_tokens", "max_calls")
PROBLEM_STAGES = {  # the assets of a problem set that have an op for each shard of problems
    "classifications": Stage.CLASSIFY,
    "scans": Stage.SCAN,
    "diagrams": Stage.DIAGRAM,
    "ideas": Stage.IDEA,
    "alternates": Stage.ALTERNATE,
    "variants": Stage.VARIANT,
    "conversions": Stage.CONVERT,
}


class Product(StrEnum):
    """The product that a task makes. Its name begins the name of the task."""

    DOCUMENTS = "documents"
    QUESTIONS = "questions"
    GRADING = "grading"
    EXPORTS = "exports"
    INDEX = "index"
    CLOSED_BOOK = Kind.CLOSED_BOOK.value
    RETRIEVAL = Kind.RETRIEVAL.value
    ANSWERS = Kind.ANSWERS.value
    LABELS = Kind.LABELS.value
    PANEL = Kind.PANEL.value
    EXAM_PART = "exam_part"
    ITEM_BANK = "item_bank"
    PROBLEMS = "problems"
    CATALOG = "catalog"


class Group:
    """The groups of assets in the UI. Their names begin with numbers, because the UI sorts them by name."""

    DOCUMENTS = "1_documents"
    QUESTIONS = "2_questions"
    EVALUATION = "3_evaluation"
    EXAMS = "4_exams"
    PROBLEMS = "5_problems"
    CATALOG = "6_catalog"


class Unit(StrEnum):
    """The unit that a partition of a product belongs to. Except for the parts of an exam, each unit is one partition with the same key."""

    CORPUS = "corpus"
    COMBINATION = "combination"
    EXAM = "exam"
    SET = "set"
    ALL = "all"  # for a product without partitions; the key is empty


@dataclass(frozen=True)
class Scope:
    """The partitions to examine.

    Attributes:
        options: the options of the run.
        force: whether documents and questions always count as out of date.
        everything: whether exams and problem sets are included. If so, a product that cannot be examined does not end the search.
        running: the partition of a run that asks at the end of its work. It does not count as unfinished.
    """

    combinations: tuple[Combination, ...] = ()
    options: RunOptions = field(default_factory=RunOptions)
    force: bool = False
    everything: bool = False
    running: str = ""


@dataclass(frozen=True)
class Observed:
    """The configuration of a product as a separate asset, whose data version changes with the configuration.

    Attributes:
        assets: the assets that depend on this asset. Their partitions have the same keys.
        partitions: the kind of its partitions: corpus, combination, part or set.
        wanted: the configuration that a run would use now, from the files and the options of a launch.
        made: the configuration that the stored product was made with, given the wanted configuration; None if nothing is stored.
    """

    name: str
    assets: tuple[str, ...]
    partitions: str
    description: str
    wanted: Callable[[Workspace, str, RunOptions], Configuration]
    made: Callable[[Workspace, str, Configuration], Configuration | None]


@dataclass(frozen=True)
class Row:
    """One product.

    Attributes:
        assets: what a run of the product materializes.
        page: its page of the documentation.
        title: the title of a run in the progress of a command; `{}` is the partition.
        ops: the configuration of the ops of a run, from the fields of a launch.
        needs: the products that the product is made from.
        why: the reasons why a partition is out of date, one line each. Raises QagenError.
        inputs: a value that changes with the inputs of a partition, except the configuration.
        keys: the partitions of a unit that are kept up to date. For most products these are the partitions that have been made before.
        profile: the profile that the models of a partition come from.
        observed: the configuration of the product, if it has one.
        anew: fields of the launch that brings a product up to date. Without these fields a run would keep the existing results.
        always: whether the product is also made if it was never made, after a failed run, and with --force.
        within: a product whose runs also make this product.
        option: the entry of `Settings.optional` that the product needs; empty if it is always made.
    """

    product: Product
    unit: Unit
    group: str
    page: str
    assets: tuple[str, ...]
    title: str
    ops: Callable[[Fields], Fields]
    needs: tuple[Product, ...]
    why: Callable[[Workspace, str, Scope], tuple[str, ...]]
    inputs: Callable[[Workspace, str], str] = lambda _space, _key: ""
    keys: Callable[[Workspace, str], Iterable[str]] = lambda _space, key: (key,)
    profile: Callable[[Workspace, str, RunOptions], str] = lambda _space, _key, _options: ""
    observed: Observed | None = None
    anew: Fields = field(default_factory=dict[str, Any])
    always: bool = False
    within: Product | None = None
    option: str = ""


def every(assets: Iterable[str], fields: Fields) -> Fields:
    """The same configuration for each of several assets."""
    return {name: {"config": dict(fields)} for name in assets}


def _only(fields: Fields, *names: str) -> Fields:
    return {name: value for name, value in fields.items() if name in names}


def _nothing(_: Fields) -> Fields:
    return {}


def _question_ops(fields: Fields) -> Fields:
    """The configuration of the ops of the questions. `fields` are fields of RunOptions."""
    return {
        "candidate_qa": {"ops": {"plan_shards": {"config": dict(fields)}}},
        "corpus_json": {"config": {"replace": fields.get("replace", False)}},
        **every(("validated_qa", "grounding_report"), _only(fields, *BUDGET)),
    }


def _problem_ops(fields: Fields) -> Fields:
    """The configuration of the ops of problems. `fields` are fields of ProblemConfig."""
    stages = {
        asset: {"ops": {f"plan_{stage.value}": {"config": dict(fields)}}}
        for asset, stage in PROBLEM_STAGES.items()
    }
    return {**stages, **every(("problem_bank",), fields)}


def _stored(space: Workspace, *keys: str) -> str:
    return "".join(content_hash(space.store.get(key) or b"") for key in keys)


def _documents(space: Workspace, corpus: str) -> str:
    """A hash of the parsed documents and their outcomes."""
    index = space.store.find_valid(CorpusIndex.key(corpus), CorpusIndex)
    entries = () if index is None else index.documents
    return fingerprint(f"{entry.id} {entry.version} {entry.text_sha256} {entry.outcome}" for entry in entries)


def _why_unparsed(space: Workspace, key: str, _: Scope) -> tuple[str, ...]:
    return parsing.why_outdated(space.corpus(key), space.store, space.settings)


def _parsed_files(space: Workspace, key: str, wanted: Configuration) -> Configuration | None:
    index = space.store.find_valid(CorpusIndex.key(key), CorpusIndex)
    if index is None:
        return None
    changed = _why_unparsed(space, key, Scope())
    return Configuration(fingerprint([index.model_dump_json()])) if changed else wanted


def _why_questions_outdated(space: Workspace, key: str, scope: Scope) -> tuple[str, ...]:
    """The reasons why a combination is out of date. If grading is made, questions that were never graded are a reason."""
    combination = Combination.from_key(key)
    found = why_outdated(space, combination, scope.options)
    if (
        found
        or "grading" not in space.settings.optional
        or space.store.exists(GroundingReport.key(combination))
    ):
        return found
    return why_ungraded(space, combination)


def _profile_of(space: Workspace, key: str, options: RunOptions) -> str:
    return space.profile_name(Combination.from_key(key), options.profile)


def _if_stored(record: Callable[[Combination], str]) -> Callable[[Workspace, str], Iterable[str]]:
    """A function that returns the key of a combination if the store has a record of it."""
    return lambda space, key: (key,) if space.store.exists(record(Combination.from_key(key))) else ()


def _evaluation(kind: Kind, asset: str, config: str, description: str) -> Row:
    """The row of one kind of evaluation of a published set."""
    searches = kind is not Kind.CLOSED_BOOK

    def inputs(space: Workspace, key: str) -> str:
        combination = Combination.from_key(key)
        corpus = combination.corpus
        read = (CorpusGenerationResult.key(combination), SearchIndex.key(corpus))
        return _documents(space, corpus) + _stored(space, *read)

    return Row(
        Product(kind.value), Unit.COMBINATION, Group.EVALUATION, "evaluation.md", (asset,), "evaluate {}",
        ops=partial(every, (asset,)),
        option="evaluation",
        needs=(Product.QUESTIONS, Product.INDEX) if searches else (Product.QUESTIONS,),
        why=lambda space, key, scope: why_unevaluated(
            space, Combination.from_key(key), kind, scope.options.profile
        ),
        inputs=inputs,
        keys=_if_stored(lambda combination: EvaluationReport.key(combination, kind)),
        profile=_profile_of,
        observed=Observed(
            config, (asset,), "combination", description,
            wanted=lambda space, key, options: wanted_evaluation(
                space, Combination.from_key(key), kind, options.profile
            ),
            made=lambda space, key, now: made_evaluation(space, Combination.from_key(key), kind, now),
        ),
    )  # fmt: skip


def _made_parts(space: Workspace, exam: str) -> list[ExamPart]:
    parts = find_exam(space.settings.corpora, exam).parts()
    return [part for part in parts if space.store.exists(part.set_key())]


def _exam_profile(space: Workspace, key: str, _: RunOptions) -> str:
    exam, made = find_exam(space.settings.corpora, key.split("/")[0]), part_set(space, ExamPart.from_key(key))
    return (made and made.given.profile) or exam.config.profile or space.settings.profile


def _problem_profile(space: Workspace, key: str, _: RunOptions) -> str:
    found = find_problem_set(space.settings.corpora, key)
    made = published_bank(space, key)
    return (made and made.profile) or found.config.profile or space.settings.profile


def _why_catalog_outdated(space: Workspace, _: str, scope: Scope) -> tuple[str, ...]:
    unknown = runs_to_add(space.store)
    made = [one for one in scope.combinations if space.store.exists(CandidateSet.key(one))]
    if not unknown and (not made or catalog_knows(space.store, made)):
        return ()
    return tuple(counted("runs that it does not have", unknown)) or ("it does not have the latest sets",)


ROWS = (
    Row(
        Product.DOCUMENTS, Unit.CORPUS, Group.DOCUMENTS, "corpora.md", DOCUMENTS, "parse {}",
        ops=_nothing, needs=(), why=_why_unparsed, always=True,
        observed=Observed(
            "corpus_files", DOCUMENTS[:1], "corpus",
            "The files of each corpus, the options for parsing them, and the parsers. A file that is added, changed or "
            "removed changes the data version.",
            wanted=lambda space, key, _: Configuration(parsing.files_version(space.corpus(key), space.settings)),
            made=_parsed_files,
        ),
    ),
    Row(
        Product.QUESTIONS, Unit.COMBINATION, Group.QUESTIONS, "how-it-works.md", QUESTIONS, "{}",
        ops=_question_ops,
        needs=(Product.DOCUMENTS,),
        why=_why_questions_outdated,
        inputs=lambda space, key: _documents(space, Combination.from_key(key).corpus),
        profile=_profile_of,
        always=True,
        observed=Observed(
            "model_config", QUESTIONS[:1], "combination",
            "The models, prompts, scenario and limits of each combination. When one of them changes, the data "
            "version changes and the combination becomes stale.",
            wanted=lambda space, key, options: wanted_questions(space, Combination.from_key(key), options),
            made=lambda space, key, now: made_questions(space, Combination.from_key(key), now),
        ),
    ),
    Row(
        Product.GRADING, Unit.COMBINATION, Group.QUESTIONS, "grading.md",
        ("grounding_report", "corpus_json"),  # the published rows have the grades
        "grade {}",
        ops=lambda fields: every(("grounding_report",), _only(fields, *BUDGET)),
        needs=(), within=Product.QUESTIONS, option="grading",
        why=lambda space, key, _: why_ungraded(space, Combination.from_key(key)),
        inputs=lambda space, key: _stored(space, ValidatedSet.key(Combination.from_key(key))),
        profile=_profile_of,
        observed=Observed(
            "grading_config", ("grounding_report",), "combination",
            "The judge, the method and the bounds with which the answers of each combination are graded.",
            wanted=lambda space, key, _: wanted_grading(space, Combination.from_key(key)),
            made=lambda space, key, now: made_grading(space, Combination.from_key(key), now),
        ),
    ),
    Row(
        Product.EXPORTS, Unit.COMBINATION, Group.QUESTIONS, "exports.md", ("exports",), "export {}",
        ops=_nothing, needs=(Product.QUESTIONS, Product.GRADING),
        why=lambda space, key, _: why_not_exported(space, Combination.from_key(key)),
        inputs=lambda space, key: _stored(space, CorpusGenerationResult.key(Combination.from_key(key))),
        keys=_if_stored(LatestExports.key),
    ),
    Row(
        Product.INDEX, Unit.CORPUS, Group.DOCUMENTS, "search.md", ("document_index",), "index {}",
        ops=partial(every, ("document_index",)), needs=(Product.DOCUMENTS,), option="evaluation",
        why=lambda space, key, scope: why_index_outdated(space, key, scope.options.profile),
        inputs=_documents,
        keys=lambda space, key: (key,) if space.store.exists(SearchIndex.key(key)) else (),
        profile=lambda space, _, options: options.profile or space.settings.profile,
        observed=Observed(
            "index_config", ("document_index",), "corpus",
            "The embedder and the options of the search index of each corpus.",
            wanted=lambda space, key, options: wanted_index(space, key, options.profile), made=made_index,
        ),
    ),
    _evaluation(
        Kind.CLOSED_BOOK, "closed_book_check", "closed_book_config",
        "The models and prompts with which questions are answered without their documents.",
    ),
    _evaluation(
        Kind.RETRIEVAL, "retrieval_baseline", "retrieval_config",
        "The embedder and the options of the search index in which questions are searched for.",
    ),
    _evaluation(
        Kind.ANSWERS, "answer_baseline", "answer_config",
        "The models, prompts and search options with which questions are answered from their documents.",
    ),
    _evaluation(
        Kind.LABELS, "relevance_labels", "label_config",
        "The search index in which passages are found, and the judge that grades them.",
    ),
    _evaluation(
        Kind.PANEL, "answer_panel", "panel_config",
        "The models and prompts of the panel that answers the questions, and the search index that it reads.",
    ),
    Row(
        Product.EXAM_PART, Unit.EXAM, Group.EXAMS, "exams.md", ("idea_plans", "exam_items"), "{}",
        ops=partial(every, ("idea_plans", "exam_items")), needs=(), anew={"refresh": True}, option="exams",
        why=lambda space, key, _: why_part_outdated(space, ExamPart.from_key(key)),
        keys=lambda space, exam: [part.key for part in _made_parts(space, exam)],
        profile=_exam_profile,
        observed=Observed(
            "exam_config", ("idea_plans", "exam_items"), "part",
            "The models, prompts, schema and limits of each part of an exam.",
            wanted=lambda space, key, options: wanted_part(space, ExamPart.from_key(key), options.profile),
            made=lambda space, key, now: made_part(space, ExamPart.from_key(key), now),
        ),
    ),
    Row(
        Product.ITEM_BANK, Unit.EXAM, Group.EXAMS, "exams.md", ("item_bank",), "bank {}",
        ops=lambda fields: every(("item_bank",), _only(fields, "replace")), needs=(Product.EXAM_PART,), option="exams",
        why=lambda space, key, _: () if is_bank_current(space, key) else ("its files do not have the latest items",),
        inputs=lambda space, key: _stored(space, *(part.set_key() for part in _made_parts(space, key))),
        keys=lambda space, key: (key,) if _made_parts(space, key) else (),
    ),
    Row(
        Product.PROBLEMS, Unit.SET, Group.PROBLEMS, "problems.md",
        ("problem_sources", *PROBLEM_STAGES, "problem_bank"), "problems {}",
        ops=_problem_ops, needs=(), anew={"refresh": True}, option="problems",
        why=lambda space, key, _: why_bank_outdated(space, key),
        profile=_problem_profile,
        observed=Observed(
            "problem_config", ("problem_sources", "problem_bank"), "set",
            "The models, prompts, options and source files of each problem set.",
            wanted=lambda space, key, options: wanted_problems(space, key, options.profile), made=made_problems,
        ),
    ),
    Row(
        Product.CATALOG, Unit.ALL, Group.CATALOG, "catalog.md", ("catalog",), "catalog",
        ops=_nothing, needs=tuple(Product), why=_why_catalog_outdated,
        inputs=lambda space, _: " ".join(runs_to_add(space.store)),
    ),
)  # fmt: skip
TABLE = {row.product: row for row in ROWS}


def made_rows(optional: Iterable[str]) -> tuple[Row, ...]:
    """The rows of the products without an option, and of the products whose option is in `optional`."""
    return tuple(row for row in ROWS if row.option in ("", *optional))
