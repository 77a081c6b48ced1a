"""A bank of problems on the review page: the problems, their variants and their conversions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from qagen_dagster.formats.base import PageImage
from qagen_dagster.latex.answer_key import stated_answer
from qagen_dagster.latex.engine import find_engine
from qagen_dagster.latex.structure import question_of
from qagen_dagster.loop.figures import draw_figures, rendering
from qagen_dagster.loop.problems.bank import FILES, drawing, items_of
from qagen_dagster.loop.problems.plan import picture_key
from qagen_dagster.loop.problems.review import edited_latex
from qagen_dagster.loop.review_decisions import edit_on
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.markup import with_mathml
from qagen_dagster.publishing.problems.formats import html
from qagen_dagster.records.decisions import BY_REVIEWER, MOST_TEXT, problem_set_key
from qagen_dagster.records.problems.result import (
    ORIGINAL,
    BankItem,
    ProblemBank,
    ProblemEnd,
    ProblemRecord,
    Stage,
    TaskResult,
)
from qagen_dagster.records.run import cost_of
from qagen_dagster.web import review_set
from qagen_dagster.web.review_set import Entry, Section

_OF_ORIGINAL = (Stage.CLASSIFY, Stage.SCAN, Stage.DIAGRAM, Stage.IDEA, Stage.ALTERNATE)


@dataclass(frozen=True)
class Made:
    """One item of a problem, and the results of the tasks that it comes from."""

    record: ProblemRecord
    item: BankItem
    tasks: tuple[TaskResult, ...]


def problem_source(space: Workspace, name: str) -> review_set.SetSource:
    key = ProblemBank.file_key(name, FILES[0])
    return review_set.SetSource(
        problem_set_key(name),
        lambda: space.store.get(key),
        lambda: ProblemItems(space, space.store.read(key, ProblemBank)),
    )


class ProblemItems(review_set.ReviewSet):
    def __init__(self, space: Workspace, bank: ProblemBank) -> None:
        super().__init__(problem_set_key(bank.name), bank.title)
        self._space, self._bank = space, bank

    def make_rows(self) -> Iterator[review_set.Row]:
        places = review_set.places_of(
            [key for key, one in self._made.items() if one.record.end is ProblemEnd.ACCEPTED]
        )
        return (self._row(key, one, places.get(key)) for key, one in self._made.items())

    def detail(self, question_id: str) -> review_set.Detail:
        self.find(question_id)
        made = self._made[question_id]
        record = made.record
        picture = (
            (review_set.Picture(label="source", page=1, title="Original"),) if record.problem.picture else ()
        )
        figures = draw_figures(self._space, [drawing(record, made.item)])
        edited = record.edited.keys() & {made.item.made}
        return review_set.Detail(
            id=question_id,
            notes=("edited by a reviewer",) if edited else (),
            source=f"{record.id}: {made.item.made} ({record.problem.source_path})",
            pictures=(*picture, *((review_set.COMPILED,) if find_engine() else ())),
            sections=review_set.with_pictures(_sections(made), figures),
        )

    def fields(self, question_id: str) -> dict[str, str]:
        return {"LaTeX": self._editable(question_id).item.latex}

    def _editable(self, question_id: str) -> Made:
        """The item with the edit that applies to it, even if the bank does not have that edit yet."""
        self.find(question_id)
        one, edit = self._made[question_id], edit_on(self._space, self.key, question_id)
        latex = one.item.latex if edit is None else edit.new_item
        return replace(one, item=one.item.model_copy(update={"latex": latex}))

    def edited(self, question_id: str, fields: Mapping[str, str]) -> review_set.Edited:
        made = self._editable(question_id)
        latex = edited_latex(self._space, self._bank, made.record, made.item, fields.get("LaTeX", ""))
        return review_set.Edited(
            new_question=question_of(latex)[:MOST_TEXT],
            new_answer=(stated_answer(latex) or "")[:MOST_TEXT],
            new_item=latex,
        )

    def picture(self, question_id: str, page: int, label: str) -> PageImage | None:
        self.find(question_id)
        found = self._made[question_id].record.problem.picture
        if label == review_set.COMPILED.label:
            picture = drawing(self._made[question_id].record, self._made[question_id].item)
            return rendering(self._space, picture.text, picture.preamble, picture.libraries)
        if found is None:
            return None
        return PageImage(found.media_type, self._space.store.read_bytes(picture_key(found)), 0, 0)

    def lineage(self, question_id: str) -> review_set.Lineage:
        self.find(question_id)
        made = self._made[question_id]
        calls = ((task.task.key, call) for task in made.tasks for call in task.calls)
        return review_set.Lineage(facts=dict(made.record.models), calls=review_set.calls_of(calls))

    @cached_property
    def _made(self) -> dict[str, Made]:
        found: dict[str, Made] = {}
        for record in self._bank.problems:
            for item in items_of(record):
                whole = item.made == ORIGINAL
                stored = tuple(
                    self._stored(record, task)
                    for task in record.tasks
                    if (task.task.stage in _OF_ORIGINAL if whole else task.task.made == item.made)
                )
                found.setdefault(item.content_id, Made(record, item, stored))
        return found

    def _stored(self, record: ProblemRecord, task: TaskResult) -> TaskResult:
        """The stored result, which has the calls that the bank leaves out; `task` itself if nothing is stored."""
        key = TaskResult.key(self._bank.name, record.id, task.task.key, task.fingerprint)
        return self._space.store.find_valid(key, TaskResult) or task

    def _row(self, question_id: str, made: Made, place: int | None) -> review_set.Row:
        record, item = made.record, made.item
        why = "" if record.end is ProblemEnd.ACCEPTED else record.end.value  # others are not in exports
        if record.withdrawn.keys() & {ORIGINAL, item.made}:
            why = BY_REVIEWER
        model = next((task.model for task in reversed(made.tasks) if task.model), "")
        return review_set.Row(
            id=question_id,
            set_key=self.key,
            document=record.id,
            outcome=review_set.REJECTED if why else review_set.ACCEPTED,
            question=item.statement,
            answer=item.answer or "",
            markup=(html(item.statement, with_mathml), with_mathml(f"${item.answer or '?'}$")),
            type=item.made,
            reason=why,
            model=model,
            usd=cost_of(call for task in made.tasks for call in task.calls),
            place=place,
        )


def _sections(made: Made) -> Iterator[Section]:
    item = made.item
    options = (
        Entry(label=letter, markup=html(option.text, with_mathml), mark="yes" if option.right else "")
        for letter, option in zip("abcdefghijklmnopqrstuvwxyz", item.options, strict=False)
    )
    statement = Entry(markup=html(item.statement, with_mathml))
    yield Section.of("Question", statement, *options)
    yield Section.of("Solution", Entry(markup=html(item.solution, with_mathml)))
    others = [Entry(markup=html(other, with_mathml)) for other in item.alternates]
    if others:
        yield Section.of("Other solutions", *others, is_open=False)
    yield Section.of("LaTeX", Entry(text=item.latex), is_open=False)
    yield Section.of("Tasks", *map(_task, made.tasks), is_open=False)


def _task(task: TaskResult) -> Entry:
    details = (
        task.detail,
        *map(str, task.breaches),
        *(f"repaired: {one}" for one in task.repaired),
        *task.warnings,
    )
    compiled = () if task.compiled is None else (task.compiled.outcome.value,)
    text = "; ".join((task.end.value, *(detail for detail in details if detail), *compiled))
    return Entry(label=task.task.key, text=text, mark="yes" if task.end.ok else "no")
