"""Finds what is out of date: each task with its reasons and the tasks that it waits for.

`qagen run`, `qagen stale`, the sensors and the schedule all use this module, so that they agree. Nothing is written, and no model is
asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial

from qagen_dagster.configuration.exams import load_exams
from qagen_dagster.configuration.problems import load_problem_sets
from qagen_dagster.errors import QagenError
from qagen_dagster.ingest import parsing
from qagen_dagster.loop.catalog.source import catalog_knows, runs_to_add
from qagen_dagster.loop.evaluation.registry import wanted_evaluation, why_unevaluated
from qagen_dagster.loop.exams.bank import is_bank_current
from qagen_dagster.loop.exams.outdated import wanted_part, why_part_outdated
from qagen_dagster.loop.grading.plan import wanted_grading, why_ungraded
from qagen_dagster.loop.index.build import index_version
from qagen_dagster.loop.index.outdated import why_index_outdated
from qagen_dagster.loop.problems.outdated import wanted_problems, why_bank_outdated
from qagen_dagster.loop.questions.combination import RunOptions
from qagen_dagster.loop.questions.configuration import wanted_questions
from qagen_dagster.loop.questions.publication.exports import why_not_exported
from qagen_dagster.loop.questions.publication.publish import why_outdated
from qagen_dagster.loop.unfinished import DOCUMENTS, QUESTIONS, is_unfinished
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.base import Record
from qagen_dagster.records.display import counted
from qagen_dagster.records.document import CorpusIndex
from qagen_dagster.records.evaluation import EvaluationReport, Kind
from qagen_dagster.records.grading import GroundingReport
from qagen_dagster.records.ids import Combination, content_hash, fingerprint
from qagen_dagster.records.index import SearchIndex
from qagen_dagster.records.questions.published import CorpusGenerationResult, LatestExports
from qagen_dagster.records.questions.results import CandidateSet, ValidatedSet


class Product(StrEnum):
    """What a task makes."""

    DOCUMENTS = "documents"
    QUESTIONS = "questions"
    GRADING = "grading"
    EXPORTS = "exports"
    INDEX = "index"
    CLOSED_BOOK = Kind.CLOSED_BOOK.value
    RETRIEVAL = Kind.RETRIEVAL.value
    ANSWERS = Kind.ANSWERS.value
    EXAM_PART = "exam_part"
    ITEM_BANK = "item_bank"
    PROBLEMS = "problems"
    CATALOG = "catalog"


EVALUATIONS = tuple(Product(kind.value) for kind in Kind)


class Task(Record):
    """One partition of a product that is out of date.

    Attributes:
        partition: its partition key; empty for the catalog.
        reasons: why it is out of date, in one line each.
        due: whether it is out of date now; else it may be when the tasks before it have run.
        after: names of the tasks that must run before.
        profile: the profile that its models come from; empty if it asks none.
    """

    product: Product
    partition: str = ""
    due: bool
    reasons: tuple[str, ...]
    after: tuple[str, ...] = ()
    profile: str = ""
    state: str = ""  # changes with what the task would work on

    @property
    def name(self) -> str:
        return f"{self.product.value} {self.partition}".strip()

    @property
    def signature(self) -> str:
        """Changes when the task would do something else than before."""
        return fingerprint([self.state, *self.reasons])


@dataclass(frozen=True)
class Scope:
    """Which products to look at.

    `everything`: exams and problem sets, too; and a product that cannot be examined does not keep the others from being examined.
    """

    combinations: tuple[Combination, ...]
    options: RunOptions = field(default_factory=RunOptions)
    force: bool = False
    everything: bool = False


@dataclass(frozen=True)
class OutOfDate:
    """The tasks in the order in which they run.

    Attributes:
        faults: one line for each product that cannot be examined.
        gone: one line for each published set whose corpus, scenario or mode no longer exists. It stays as it is.
    """

    tasks: tuple[Task, ...]
    faults: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def of(self, *products: Product) -> tuple[Task, ...]:
        return tuple(one for one in self.tasks if one.product in products)

    def due(self, *products: Product) -> tuple[Task, ...]:
        """Those that are out of date whatever the tasks before them do; of all products if none is named."""
        return tuple(one for one in self.of(*(products or Product)) if one.due)


def whole_project(space: Workspace) -> Scope:
    """Everything that can be out of date."""
    corpora = space.corpora.corpora.values()
    return Scope(tuple(one for corpus in corpora for one in corpus.combinations()), everything=True)


def find_out_of_date(space: Workspace, scope: Scope) -> OutOfDate:
    """Find all tasks of a scope. Raises ConfigError and StoreError unless the scope is everything."""
    search = _Search(space, scope)
    corpora = dict.fromkeys(one.corpus for one in scope.combinations)
    for corpus in corpora:
        search.documents(corpus)
    for combination in scope.combinations:
        search.questions(combination)
        search.exports(combination)
    for corpus in corpora:
        search.index(corpus)
    for combination in scope.combinations:
        for kind in Kind:
            search.evaluation(combination, kind)
    if scope.everything:
        search.exams()
        search.problems()
    search.catalog()
    if not scope.everything:
        return OutOfDate(tuple(search.found.values()))
    faults = (*map(str, space.corpora.faults), *search.faults)
    return OutOfDate(tuple(search.found.values()), faults, tuple(_gone(space)))


def _gone(space: Workspace) -> Iterator[str]:
    known = {one.key for corpus in space.corpora.corpora.values() for one in corpus.combinations()}
    stored = dict.fromkeys("/".join(key.split("/")[1:4]) for key in space.store.list("published"))
    for key in stored:
        corpus = key.split("/")[0]
        if key not in known and not (space.settings.corpora / corpus).is_dir():
            yield f"{key}: the folder of its corpus is gone; the published set stays"
        elif key not in known and corpus in space.corpora.corpora:
            yield f"{key}: its scenario or mode is gone; the published set stays"


class _Search:
    def __init__(self, space: Workspace, scope: Scope) -> None:
        self._space, self._scope, self._profile = space, scope, scope.options.profile
        self._forced = ("--force",) if scope.force else ()
        self.found: dict[str, Task] = {}
        self.faults: list[str] = []

    def documents(self, key: str) -> None:
        space = self._space

        def why() -> tuple[str, ...]:
            found = parsing.why_outdated(space.corpus(key), space.store, space.settings)
            return found or self._unfinished(key, DOCUMENTS) or self._forced

        self._look(
            Product.DOCUMENTS, key, why, lambda: parsing.files_version(space.corpus(key), space.settings)
        )

    def questions(self, combination: Combination) -> None:
        space, options, key = self._space, self._scope.options, combination.key
        after = self._due((Product.DOCUMENTS, combination.corpus))
        if after and parsing.only_retries(self.found[after[0]].reasons):
            after = ()

        def why() -> tuple[str, ...]:
            found = why_outdated(space, combination, options) or self._forced
            graded = space.store.exists(GroundingReport.key(combination))
            found = found if found or graded else why_ungraded(space, combination)
            return found or self._unfinished(key, QUESTIONS)

        def state() -> str:
            return wanted_questions(space, combination, options).version + self._documents(combination.corpus)

        profile = space.profile_name(combination, self._profile)
        if self._look(Product.QUESTIONS, key, why, state, after, profile):
            self._look(
                Product.GRADING,
                key,
                lambda: why_ungraded(space, combination),
                lambda: (
                    wanted_grading(space, combination).version + self._stored(ValidatedSet.key(combination))
                ),
                profile=profile,
            )

    def exports(self, combination: Combination) -> None:
        space, key = self._space, combination.key
        if space.store.exists(LatestExports.key(combination)):
            self._look(
                Product.EXPORTS,
                key,
                lambda: why_not_exported(space, combination),
                lambda: self._stored(CorpusGenerationResult.key(combination)),
                self._due((Product.QUESTIONS, key), (Product.GRADING, key)),
            )

    def index(self, corpus: str) -> None:
        space, after = self._space, self._due((Product.DOCUMENTS, corpus))
        if space.store.exists(SearchIndex.key(corpus)):
            self._look(
                Product.INDEX,
                corpus,
                lambda: why_index_outdated(space, corpus, self._profile),
                lambda: index_version(space, corpus, self._profile) + self._documents(corpus),
                after,
                self._profile or space.settings.profile,
            )

    def evaluation(self, combination: Combination, kind: Kind) -> None:
        space, corpus, key = self._space, combination.corpus, combination.key
        if not space.store.exists(EvaluationReport.key(combination, kind)):
            return
        index = [] if kind is Kind.CLOSED_BOOK else [(Product.INDEX, corpus)]
        after = self._due((Product.QUESTIONS, key), *index)

        def state() -> str:
            wanted = wanted_evaluation(space, combination, kind, self._profile).version
            read = (CorpusGenerationResult.key(combination), SearchIndex.key(corpus))
            return "".join((wanted, self._documents(corpus), *map(self._stored, read)))

        self._look(
            Product(kind.value),
            key,
            lambda: why_unevaluated(space, combination, kind, self._profile),
            state,
            after,
            space.profile_name(combination, self._profile),
        )

    def exams(self) -> None:
        space = self._space
        for exam in load_exams(space.settings.corpora).exams.values():
            parts = [one for one in exam.parts() if space.store.exists(one.set_key())]
            for part in parts:
                self._look(
                    Product.EXAM_PART,
                    part.key,
                    partial(why_part_outdated, space, part),
                    lambda part=part: wanted_part(space, part).version,
                    profile=exam.config.profile or space.settings.profile,
                )
            after = self._due(*((Product.EXAM_PART, part.key) for part in parts))
            self._look(
                Product.ITEM_BANK,
                exam.key,
                lambda exam=exam, after=after: self._why_bank_outdated(exam.key),
                lambda parts=parts: "".join(self._stored(part.set_key()) for part in parts),
                after,
            ) if parts else None

    def _why_bank_outdated(self, exam: str) -> tuple[str, ...]:
        return () if is_bank_current(self._space, exam) else ("its files do not have the latest items",)

    def problems(self) -> None:
        space = self._space
        for key, problem_set in load_problem_sets(space.settings.corpora).sets.items():
            self._look(
                Product.PROBLEMS,
                key,
                partial(why_bank_outdated, space, key),
                lambda key=key: wanted_problems(space, key).version,
                profile=problem_set.config.profile or space.settings.profile,
            )

    def catalog(self) -> None:
        store, after = self._space.store, tuple(self.found)
        unknown = runs_to_add(store)
        made = [one for one in self._scope.combinations if store.exists(CandidateSet.key(one))]

        def why() -> tuple[str, ...]:
            if not unknown and (not made or catalog_knows(store, made)):
                return ()
            return tuple(counted("runs that it does not have", unknown)) or (
                "it does not have the latest sets",
            )

        self._look(Product.CATALOG, "", why, lambda: " ".join(unknown), after)

    def _look(
        self,
        product: Product,
        key: str,
        why: Callable[[], tuple[str, ...]],
        state: Callable[[], str],
        after: tuple[str, ...] = (),
        profile: str = "",
    ) -> bool:
        """Add a task if there is a reason of its own or a task before it. Returns whether the product is up to date."""
        try:
            own = why()
            if not own and not after:
                return True
            task = Task(
                product=product,
                partition=key,
                due=bool(own),
                reasons=own or self._because(after),
                after=after,
                profile=profile,
                state=fingerprint([state()]),
            )
            self.found[task.name] = task
        except QagenError as error:
            if not self._scope.everything:
                raise
            self.faults.append(f"{product.value} {key}: {error}")
        return False

    def _due(self, *wanted: tuple[Product, str]) -> tuple[str, ...]:
        """The names of those tasks that were found."""
        names = (f"{product.value} {key}" for product, key in wanted)
        return tuple(name for name in names if name in self.found)

    def _unfinished(self, partition: str, assets: tuple[str, ...]) -> tuple[str, ...]:
        """A run that finds nothing else to do pays nothing, and its success replaces the failure in the UI."""
        return (
            ("its last run did not succeed",) if is_unfinished(self._space.store, partition, assets) else ()
        )

    def _because(self, after: tuple[str, ...]) -> tuple[str, ...]:
        first, *more = after
        return (f"after {first}" + (f" and {len(more)} more" if more else ""),)

    def _documents(self, corpus: str) -> str:
        """Changes with the parsed documents."""
        index = self._space.store.find_valid(CorpusIndex.key(corpus), CorpusIndex)
        entries = () if index is None else index.documents
        return fingerprint(f"{one.id} {one.version} {one.text_sha256} {one.outcome}" for one in entries)

    def _stored(self, key: str) -> str:
        return content_hash(self._space.store.get(key) or b"")
