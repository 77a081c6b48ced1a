"""Finds what is out of date. Each task states its reasons and the names of the tasks that it waits for.

`qagen run`, `qagen stale`, the sensors and the schedule all use this module, so that their results agree. The table of
products states the dependencies of a product. Nothing is written, and no model is asked.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TypeVar

from qagen_dagster.configuration.exams import load_exams
from qagen_dagster.configuration.problems import load_problem_sets
from qagen_dagster.errors import QagenError
from qagen_dagster.loop.product_table import BUDGET, TABLE, Fields, Product, Row, Scope, Unit, made_rows
from qagen_dagster.loop.questions.plan import RunOptions
from qagen_dagster.loop.unfinished import is_unfinished
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import fingerprint

T = TypeVar("T")


class Task(Record):
    """One partition of a product that is out of date, or may become so.

    Attributes:
        partition: its partition key; empty for the catalog.
        reasons: one line for each reason why it is out of date. If it is not out of date yet, one line that
            names `after`.
        due: whether the partition is out of date now. If not, the tasks in `after` may make it out of date.
        after: names of the tasks that must run before.
        profile: the profile of its models; empty if it asks no model.
        state: a hash of the configuration and the inputs that the task would use.
    """

    product: Product
    partition: str = ""
    due: bool
    reasons: tuple[str, ...]
    after: tuple[str, ...] = ()
    profile: str = ""
    state: str = ""

    @property
    def name(self) -> str:
        return f"{self.product.value} {self.partition}".strip()

    @property
    def signature(self) -> str:
        """A hash of `state` and the reasons. Two tasks with the same name and the same signature would do the same."""
        return fingerprint([self.state, *self.reasons])


@dataclass(frozen=True)
class OutOfDate:
    """The partitions that are out of date.

    Attributes:
        tasks: the tasks in an order in which they can run.
        faults: one line for each broken corpus, exam or problem set, and for each partition or unit that could
            not be examined.
        gone: one line for each published set whose corpus, scenario or mode no longer exists. The set stays
            as it is.
    """

    tasks: tuple[Task, ...]
    faults: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def of(self, *products: Product) -> tuple[Task, ...]:
        return tuple(task for task in self.tasks if task.product in products)

    def due(self, *products: Product) -> tuple[Task, ...]:
        """The tasks that are out of date now. Without `products`, the tasks of all products."""
        return tuple(one for one in self.of(*(products or Product)) if one.due)


def refresh_fields(task: Task, options: RunOptions) -> Fields:
    """The fields of the launch that brings a product up to date.

    These are the profile and the budget, as far as `options` has them, and the fields `anew` of the product.
    """
    chosen = {name: value for name, value in options.given.items() if name in ("profile", *BUDGET)}
    return {**chosen, **TABLE[task.product].anew}


def whole_project(space: Workspace, running: str = "") -> Scope:
    """The scope with all corpora, exams and problem sets. `running` is the partition of the run that asks."""
    corpora = space.corpora.corpora.values()
    return Scope(
        tuple(one for corpus in corpora for one in corpus.combinations()), everything=True, running=running
    )


def find_out_of_date(space: Workspace, scope: Scope) -> OutOfDate:
    """Find all tasks of a scope, in an order in which they can run.

    The rows of the table are examined in order. Consecutive rows of the same kind of unit are examined
    together: first all of them for the first unit, then all of them for the next unit.

    Raises ConfigError and StoreError. If the scope is everything, an error about one partition becomes a
    fault of the result instead.
    """
    search = _Search(space, scope)
    for unit, rows in groupby(made_rows(space.settings.optional), lambda row: row.unit):
        together = list(rows)
        for key in _keys(space, scope, unit):
            for row in together:
                search.look(row, key)
    tasks = tuple(search.found.values())
    if not scope.everything:
        return OutOfDate(tasks)
    folder, optional = space.settings.corpora, space.settings.optional
    exams = load_exams(folder).faults if "exams" in optional else ()
    problems = load_problem_sets(folder).faults if "problems" in optional else ()
    broken = (*space.corpora.faults, *exams, *problems)
    return OutOfDate(tasks, (*map(str, broken), *search.faults), tuple(_gone(space)))


def _keys(space: Workspace, scope: Scope, unit: Unit) -> Iterable[str]:
    match unit:
        case Unit.CORPUS:
            return dict.fromkeys(combination.corpus for combination in scope.combinations)
        case Unit.COMBINATION:
            return [combination.key for combination in scope.combinations]
        case Unit.EXAM:
            return load_exams(space.settings.corpora).found if scope.everything else ()
        case Unit.SET:
            return load_problem_sets(space.settings.corpora).found if scope.everything else ()
        case Unit.ALL:
            return ("",)


def _gone(space: Workspace) -> Iterator[str]:
    """A line for each published set whose corpus, scenario or mode no longer exists.

    There is no line for the sets of a corpus whose corpus.yaml is broken.
    """
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
        self._space, self._scope = space, scope
        # The tasks found so far, by the first part of their partition: a corpus, an exam or a problem set.
        self._near: dict[str, list[Task]] = {}
        self._outdated: set[tuple[Product | None, str]] = set()  # including what could not be examined
        self.found: dict[str, Task] = {}
        self.faults: list[str] = []

    def look(self, row: Row, unit: str) -> None:
        """Add the tasks of a product in one unit.

        If the product is made by the runs of another product (`Row.within`) that is out of date, it has no
        task.
        """
        if (row.within, unit) not in self._outdated:
            for key in self._examined(row, unit, lambda: tuple(row.keys(self._space, unit))) or ():
                task = self._examined(row, key, partial(self._task, row, key))
                if task is not None:
                    self.found[task.name] = task
                    self._near.setdefault(_first(key), []).append(task)
                    self._outdated.add((row.product, key))

    def _examined(self, row: Row, key: str, examine: Callable[[], T]) -> T | None:
        """The result of `examine`. Raises the QagenError that `examine` raises.

        If the scope is everything, the error becomes a fault instead, and the result is None.
        """
        try:
            return examine()
        except QagenError as error:
            if not self._scope.everything:
                raise
            self._outdated.add((row.product, key))
            self.faults.append(f"{row.product.value} {key}: {error}")
            return None

    def _task(self, row: Row, key: str) -> Task | None:
        """The task of a partition; None if it has no reason of its own and waits for no task."""
        space, scope = self._space, self._scope
        own, after = row.why(space, key, scope) or self._again(row, key), self._before(row, key)
        if not own and not after:
            return None
        wanted = "" if row.observed is None else row.observed.wanted(space, key, scope.options).version
        return Task(
            product=row.product,
            partition=key,
            due=bool(own),
            reasons=own or _because(after),
            after=after,
            profile=row.profile(space, key, scope.options),
            state=fingerprint([wanted + row.inputs(space, key)]),
        )

    def _again(self, row: Row, key: str) -> tuple[str, ...]:
        """The reason to remake an up-to-date partition; empty if there is none.

        One reason is that its last run did not succeed. The new run pays nothing twice, and its success
        replaces the failure in the UI. The other reason is --force.
        """
        if not row.always:
            return ()
        if key != self._scope.running and is_unfinished(self._space.store, key, row.assets):
            return ("its last run did not succeed",)
        return ("--force",) if self._scope.force else ()

    def _before(self, row: Row, key: str) -> tuple[str, ...]:
        """The names of the tasks that the partition waits for, among those found so far."""
        near = self._near.get(_first(key), ()) if key else self.found.values()
        return tuple(task.name for task in near if task.product in row.needs and _belong(task.partition, key))


def _first(key: str) -> str:
    return key.split("/")[0]


def _belong(before: str, key: str) -> bool:
    """Whether the partition `key` of one product may be made from the partition `before` of another product.

    This is so if both keys are the same, if `before` is the corpus of the combination `key`, or if `before` is a
    part of the exam `key`. The catalog, whose key is empty, is made from all partitions.
    """
    return not key or before in (key, _first(key)) or before.startswith(f"{key}/")


def _because(after: tuple[str, ...]) -> tuple[str, ...]:
    """The reason for a task that only follows other tasks, as one line."""
    first, *more = after
    return (f"after {first}" + (f" and {len(more)} more" if more else ""),)
