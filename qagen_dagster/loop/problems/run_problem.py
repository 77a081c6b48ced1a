"""Works one physics problem: performs the tasks of its state machine, and stores each result before the next task.

Stored results are reused. If code can provide a result, no model is asked; otherwise the role is asked and its output is checked. The
key of a result covers everything that the result depends on, so no journal is needed. Several processes can work on different
branches.
"""

import dataclasses
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from qagen_dagster.agents import problems
from qagen_dagster.configuration.profiles import Role
from qagen_dagster.errors import BudgetExhaustedError
from qagen_dagster.latex.comparison import numbers_of
from qagen_dagster.latex.structure import options_of, question_of, solution_of, statement_of, tikz_pictures
from qagen_dagster.loop.problems import code_checks, inputs
from qagen_dagster.loop.problems.key_checks import asked, compared, differences, read_differently, unsolvable
from qagen_dagster.loop.problems.state_machine import (
    Ended,
    ProblemState,
    Step,
    earlier,
    next_step,
    transition,
)
from qagen_dagster.models.base import Model
from qagen_dagster.models.messages import Image
from qagen_dagster.records.base import Record
from qagen_dagster.records.problems import submissions as items
from qagen_dagster.records.problems.result import (
    FIELDS,
    NOT_SOLVED,
    Compiled,
    CompileOutcome,
    ProblemEnd,
    Stage,
    Task,
    TaskEnd,
    TaskResult,
)
from qagen_dagster.records.run import CallSummary
from qagen_dagster.store import Store

BLIND = "reading a picture needs a model that takes images; {name}, bound to {role}, does not"
_Reading = problems.Reply[items.ScanResult]
_HAS_DIAGRAM = {True: "yes", False: "no", None: "not known"}


def perform(task: Task, work: inputs.ProblemWork, state: ProblemState) -> TaskResult:
    """Do `task`. Raises ModelError if the model is not available. Then nothing of the task is kept."""
    found = _TaskRun(task, work, state).do()
    return found.model_copy(
        update={"warnings": _warnings(found), "at": datetime.now(UTC).isoformat(timespec="seconds")}
    )


@dataclass(frozen=True)
class _TaskRun:
    task: Task
    work: inputs.ProblemWork
    state: ProblemState
    solutions: list[tuple[str, tuple[CallSummary, ...]]] = field(
        default_factory=list[tuple[str, tuple[CallSummary, ...]]]
    )  # for each item that was solved, the outcome and the calls
    readings: list[_Reading] = field(default_factory=list[_Reading])  # empty until the second reading is made

    def do(self) -> TaskResult:
        known = given_result(self.task, self.work.problem, self.state)
        if known is not None:
            return self._taken(known)
        return {
            Stage.CLASSIFY: self._classify,
            Stage.SCAN: self._scan,
            Stage.DIAGRAM: self._draw,
            Stage.IDEA: lambda: self._ask(self._shown_parts(), code_checks.idea_breaches),
            Stage.ALTERNATE: self._solve_again,
            Stage.VARIANT: self._vary,
            Stage.CONVERT: self._convert,
        }[self.task.stage]()

    def _classify(self) -> TaskResult:
        problem = self.work.problem
        if self._is_blind():
            return self._blind()
        found = self._ask(self._shown_input(problem.tex), lambda _: ())  # its schema checks property 1
        if problem.kind is None or found.classification is None:
            return found
        right = found.classification.model_copy(update={"question_type": problem.kind})
        return found.model_copy(update={"classification": right})

    def _scan(self) -> TaskResult:
        problem, kind = self.work.problem, inputs.kind_of(self.work.problem, self.state)
        known = inputs.classification_of(problem, self.state)
        drawn = known.has_diagram if known is not None else None
        text = problem.tex.strip()
        if self._is_blind():
            return self._blind()
        word = inputs.scanned_as(problem, self.state).value
        typed = text if problem.input is items.ProblemInput.TEX else ""
        values = self._shown_input(text) | {"kind": word, "has_diagram": _HAS_DIAGRAM[drawn]}

        def judged(one: items.ScanResult) -> tuple[items.Breach, ...]:
            return code_checks.scan_breaches(one.latex, kind, source=typed) or self._read_again(one, word)

        found = self._ask(values, judged, _latex_of)
        calls = (*found.calls, *(call for reading in self.readings for call in reading.calls))
        if found.scan is None:
            return found.model_copy(update={"calls": calls})
        shown = bool(drawn) if drawn is not None else found.scan.raw_diagram_description is not None
        scan, note = found.scan.model_copy(update={"has_diagram": shown}), ""
        for one in self.readings:
            other = f"not read twice: {one.detail}" if one.result is None else differences(scan, one.result)
            note = f"{other or 'same values'} ({self.work.models[Role.SOLVER].spec.name})"
        return found.model_copy(update={"scan": scan, "read_twice": note, "calls": calls})

    def _read_again(self, first: items.ScanResult, word: str) -> tuple[items.Breach, ...]:
        """Property 16: a second reading of the picture by the solver's model has the values and the answer of `first`.

        The second reading is made only once, even if the first one is repeated.
        """
        reader = self.work.second_reader(self.task)
        if reader is None:
            return ()
        if not self.readings:
            job = dataclasses.replace(problems.ASSIGNMENTS[Stage.SCAN], role=Role.SOLVER)
            asking: problems.Asking[items.ScanResult] = problems.Asking(
                reader, self.work.problem.id, pictures=self._pictures(), sample=self.work.seed
            )
            values = self._shown_input("") | {"kind": word, "has_diagram": _HAS_DIAGRAM[None]}
            prompt = inputs.prompt_of(self.task, self.work, self.state)
            self.readings.append(problems.ask(job, prompt, asking, values))
        second = self.readings[0].result
        faults = read_differently(first, second) if second is not None else ()
        return tuple(items.Breach(property=problems.SOLVE.shape, detail=fault) for fault in faults)

    def _shown_input(self, text: str) -> dict[str, str]:
        """The problem as the classifier and the scanner are shown it: as a picture, or as `text`."""
        pictured = bool(self._pictures())
        shown = problems.material("problem", text, pictured=pictured)
        return {"input": "image" if pictured else "tex", "problem": shown}

    def _draw(self) -> TaskResult:
        problem = self.work.problem
        known = inputs.classification_of(problem, self.state)
        item = inputs.item_of(problem, self.state)
        if known is not None and not known.has_diagram:
            return self._without(TaskEnd.SKIPPED, "the problem has no diagram")
        described = self._description()
        if self._is_blind() and not (described or statement_of(item).strip()):
            return self._blind()
        text = f"{statement_of(item)}\n{described}"
        kind = known.diagram_type if known is not None else items.DiagramKind.NONE
        values = {
            "diagram": kind.value if kind is not items.DiagramKind.NONE else "not known",
            "problem": problems.material("problem", _to_draw(item) if item else ""),
            "description": problems.material("description", described, pictured=bool(self._pictures())),
        }
        found = self._ask(
            values,
            lambda one: code_checks.diagram_breaches(known, one.tikz_code, text),
            lambda one: (one.tikz_code, one.libraries),
            solves=lambda one: inputs.with_diagram(item, one.tikz_code) if unsolvable(item) else "",
        )
        if found.end is TaskEnd.DECLINED:
            return found.model_copy(update={"breaches": (items.Breach(property=4, detail=found.detail),)})
        return found

    def _shown_parts(self) -> dict[str, str]:
        item = inputs.item_of(self.work.problem, self.state)
        return {"problem": problems.shown(statement_of(item)), "solution": problems.shown(solution_of(item))}

    def _solve_again(self) -> TaskResult:
        item = inputs.item_of(self.work.problem, self.state)
        before = [one.alternate for one in earlier(self.state, self.task) if one.alternate is not None]
        known = [one.solution for one in before]
        values = self._shown_parts() | {
            "number": str(self.task.number),
            "ideas": problems.shown_ideas(self._ideas()),
            "earlier": problems.numbered("alternate", [f"{one.method}\n{one.solution}" for one in before]),
        }
        return self._ask(
            values,
            lambda one: code_checks.alternate_breaches(item, one, known),
            lambda one: (one.solution, ()),
        )

    def _vary(self) -> TaskResult:
        kind, problem = self.task.variant or items.VariantKind.NUMERICAL, self.work.problem
        before = [one.variant.latex for one in earlier(self.state, self.task) if one.variant is not None]
        values = {"number": str(self.task.number), "earlier": problems.numbered("variant", before)}
        if kind is items.VariantKind.MULTI:
            style = " ".join(problem.style.split()) or "not named"
            return self._ask(
                values | {"items": problems.numbered("problem", problem.parts), "style": style},
                lambda one: code_checks.combined_breaches(problem.parts, one.latex, before),
                _latex_of,
            )
        item = inputs.item_of(problem, self.state)
        if kind is items.VariantKind.NUMERICAL and not (
            numbers_of(statement_of(item)) or tikz_pictures(item)
        ):
            # Every variant would break property 7, so no model is asked and nothing is paid.
            return self._without(TaskEnd.DECLINED, "there is no number in it that could be another one")
        values |= {
            "variant": kind.value,
            "item": problems.shown(item),
            "ideas": problems.shown_ideas(self._ideas()),
        }
        return self._ask(
            values, lambda one: code_checks.variant_breaches(kind, item, one.latex, before), _latex_of, item
        )

    def _convert(self) -> TaskResult:
        problem, state = self.work.problem, self.state
        item, source = inputs.item_of(problem, state), inputs.format_of(problem, state)
        target = self.task.target or items.Format.SUBJECTIVE
        if source is target:
            return self._without(TaskEnd.SKIPPED, f"it is {target.value} already")
        return self._ask(
            {"source_format": source.value, "target_format": target.value, "item": problems.shown(item)},
            lambda one: code_checks.conversion_breaches(item, target, one.latex),
            _latex_of,
            item,
        )

    def _ask(
        self,
        values: dict[str, str],
        judge: Callable[[Any], tuple[items.Breach, ...]],
        latex: Callable[[Any], tuple[str, tuple[str, ...]]] | None = None,
        source: str = "",
        solves: Callable[[Any], str] | None = None,
    ) -> TaskResult:
        """Ask the role of the task. `latex` returns the LaTeX of a result and its libraries. This LaTeX is compiled.

        If there is a solver, it solves the item that `solves` returns (nothing if empty), by default the LaTeX. The marks of figures in a
        result are replaced by the figures of `source`.
        """
        stage, work = self.task.stage, self.work
        solver = work.solver(self.task)

        def judged(result: Any) -> tuple[items.Breach, ...]:
            found = judge(result)
            if found or solver is None or latex is None:
                return found
            item = solves(result) if solves is not None else latex(result)[0]
            return self._solve(solver, item) if item else ()

        def compiled(result: Any) -> Compiled | None:
            if latex is None:
                return None
            code, libraries = latex(result)
            return work.compiler.compile(code, work.problem.preamble, (*self._libraries(), *libraries))

        asking = problems.Asking[Any](
            model=self._model,
            account=work.problem.id,
            judge=judged,
            compile=compiled,
            must_compile=lambda result: latex is not None and bool(tikz_pictures(latex(result)[0])),
            settle=lambda one: (
                one.model_copy(update={"latex": inputs.with_figure_of(one.latex, source)}) if source else one
            ),
            pictures=self._pictures(),
            tools=dict(work.references.tools) if stage is Stage.DIAGRAM else {},
            sample=work.seed,
        )
        reply = problems.ask(
            problems.ASSIGNMENTS[stage], inputs.prompt_of(self.task, work, self.state), asking, values
        )
        more: dict[str, Any] = {
            "calls": (*reply.calls, *(call for _, calls in self.solutions for call in calls)),
            "solved": self.solutions[-1][0] if self.solutions else NOT_SOLVED,
            FIELDS[stage]: reply.result,
        }
        return result_of(self.task, reply, self._model).model_copy(update=more)

    @property
    def _model(self) -> Model:
        """The model of the role of the task."""
        return self.work.models[inputs.ROLE_OF[self.task.stage]]

    def _taken(self, result: Record) -> TaskResult:
        """The task's result if code provides it without a model. A scan is compiled, and solved if there is a solver."""
        preamble, solver = self.work.problem.preamble, self.work.solver(self.task)
        latex = result.latex if isinstance(result, items.ScanResult) else ""
        compiled = self.work.compiler.compile(latex, preamble, ()) if latex else None
        broken = self._solve(solver, latex) if latex and solver is not None else ()
        taken = TaskResult(task=self.task, end=TaskEnd.GIVEN, compiled=compiled)
        if self.solutions:
            taken = taken.model_copy(update=dict(zip(("solved", "calls"), self.solutions[-1], strict=True)))
        if broken:
            rejected = {"end": TaskEnd.REJECTED, "breaches": broken, "detail": str(broken[0])}
            return taken.model_copy(update=rejected)
        return taken.model_copy(update={FIELDS[self.task.stage]: result})

    def _solve(self, solver: Model, item: str) -> tuple[items.Breach, ...]:
        """Property 16: a solver that sees only the question and the options reaches the key. What code cannot compare is no breach."""
        why = unsolvable(item)
        if why:
            self.solutions.append((f"{NOT_SOLVED}: {why}", ()))
            return ()
        prompt = self.work.own(problems.role_prompt(Role.SOLVER))
        reply = problems.solve_blind(solver, self.work.problem.id, *asked(item), prompt, self.work.seed)
        note, fault = (f"{NOT_SOLVED}: {reply.detail}", "")
        if reply.result is not None and reply.end is TaskEnd.DONE:
            note, fault = compared(item, reply.result)
        self.solutions.append((f"{note} ({solver.spec.name})", reply.calls))
        return (items.Breach(property=problems.SOLVE.shape, detail=fault),) if fault else ()

    def _pictures(self) -> tuple[Image, ...]:
        """The pictures for the role; empty if the role reads no pictures or its model does not accept them."""
        picture = self.work.problem.picture
        reads = self.task.stage in (Stage.CLASSIFY, Stage.SCAN, Stage.DIAGRAM)
        if picture is None or not reads or not self._model.spec.images:
            return ()
        return (self.work.see(picture),)

    def _is_blind(self) -> bool:
        """Whether the problem is only a picture and the model does not accept pictures."""
        return not self.work.problem.tex.strip() and not self._pictures()

    def _blind(self) -> TaskResult:
        name = self._model.spec.name
        why = BLIND.format(name=name, role=inputs.ROLE_OF[self.task.stage].value)
        return self._without(TaskEnd.DECLINED, why, model=name)

    def _without(self, end: TaskEnd, detail: str, **fields: Any) -> TaskResult:
        """The end of the task without a result."""
        return TaskResult(task=self.task, end=end, detail=detail, **fields)

    def _ideas(self) -> items.IdeaResult | None:
        found = self.state.first(Stage.IDEA)
        return found.ideas if found is not None and found.end.ok else self.work.problem.ideas

    def _libraries(self) -> tuple[str, ...]:
        """The TikZ libraries of the problem's diagram, which variants and conversions contain, too."""
        drawn = self.state.first(Stage.DIAGRAM)
        return drawn.tikz.libraries if drawn is not None and drawn.tikz is not None else ()

    def _description(self) -> str:
        problem, scanned = self.work.problem, self.state.first(Stage.SCAN)
        if problem.input is items.ProblemInput.DESCRIPTION:
            return problem.tex.strip()
        words = (
            scanned.scan.raw_diagram_description if scanned is not None and scanned.scan is not None else None
        )
        return words or ""


def given_result(task: Task, problem: items.Problem, state: ProblemState) -> Record | None:
    """The result of a task that needs no model, because the problem already has the result; None if the task needs a model."""
    if task.stage is Stage.CLASSIFY:
        return problem.classification
    if task.stage is Stage.IDEA:
        return problem.ideas
    if task.stage is Stage.SCAN and problem.input is items.ProblemInput.TEX:
        text, known = problem.tex.strip(), inputs.classification_of(problem, state)
        if not code_checks.scan_breaches(text, inputs.kind_of(problem, state), strict=False):
            return items.ScanResult(latex=text, has_diagram=bool(known and known.has_diagram))
    drawn = tikz_pictures(inputs.item_of(problem, state)) if task.stage is Stage.DIAGRAM else ()
    return items.TikzResult(tikz_code="\n".join(drawn)) if drawn else None


def result_of(task: Task, reply: problems.Reply[Any], model: Model, **fields: Any) -> TaskResult:
    """The result of a task from the reply of a role, without what the role submitted."""
    values = {one.name: getattr(reply, one.name) for one in dataclasses.fields(reply) if one.name != "result"}
    return TaskResult(task=task, model=model.spec.name, **values, **fields)


def _latex_of(
    result: items.ScanResult | items.VariantResult | items.ConversionResult,
) -> tuple[str, tuple[str, ...]]:
    return result.latex, ()


def _warnings(found: TaskResult) -> tuple[str, ...]:
    rows: list[str] = []
    if found.classification is not None and found.classification.flagged:
        rows.append(f"the classification is unsure (confidence {found.classification.confidence:g})")
    if found.scan is not None and found.scan.missing_sections:
        rows.append(f"could not be read: {', '.join(found.scan.missing_sections)}")
    if found.scan is not None:
        rows += [f"the figure contradicts the statement: {one}" for one in found.scan.contradictions]
    if found.read_twice and not found.read_twice.startswith("same values"):
        rows.append(f"compare the picture: {found.read_twice}")
    if found.compiled is not None and found.compiled.outcome is CompileOutcome.FAILED:
        rows.append(f"does not compile: {' '.join(found.compiled.message.split())[:300]}")
    return tuple(rows)


def _to_draw(item: str) -> str:
    """The text for the drawing role: the question, with its options only if one of them has a figure."""
    stated = statement_of(item)
    pictured = any(items.DIAGRAM_MARK in option.text for option in options_of(item))
    return stated if pictured else question_of(item)


@dataclass(frozen=True)
class TaskResults:
    """Stores the results of one problem. `kept` has the fingerprints of the results in the bank by the keys of their tasks."""

    store: Store
    problem_set: str
    problem_id: str
    kept: Mapping[str, str] = field(default_factory=dict[str, str])

    def key(self, task: Task, fingerprint: str) -> str:
        return TaskResult.key(self.problem_set, self.problem_id, task.key, fingerprint)

    def find(self, task: Task, fingerprint: str) -> TaskResult | None:
        names = dict.fromkeys((self.kept.get(task.key, fingerprint), fingerprint))
        found = (self.store.find_valid(self.key(task, name), TaskResult) for name in names)
        return next(filter(None, found), None)

    def keep(self, result: TaskResult) -> None:
        self.store.write(self.key(result.task, result.fingerprint), result)


@dataclass(frozen=True)
class Worked:
    """The progress of a problem. `asked` is the number of tasks done in this run. `stopped` says which budget is exhausted."""

    state: ProblemState
    step: Step
    asked: int = 0
    stopped: str = ""

    @property
    def ended(self) -> Ended:
        if isinstance(self.step, Ended):
            return self.step
        return Ended(end=ProblemEnd.UNFINISHED, detail=self.stopped or f"{self.step.key} waits")


def work_problem(work: inputs.ProblemWork, results: TaskResults, stages: Collection[Stage]) -> Worked:
    """Do the missing tasks of `stages` in order. Results of other stages are only looked up.

    Raises ModelError. The results of finished tasks are kept.
    """
    state, asked = ProblemState(), 0
    step = next_step(state, work.tasks)
    while not isinstance(step, Ended):
        fingerprint = inputs.task_fingerprint(step, work, state)
        found = results.find(step, fingerprint)
        if found is None and step.stage in stages:
            try:
                found = perform(step, work, state).model_copy(update={"fingerprint": fingerprint})
            except BudgetExhaustedError as error:
                return Worked(state, step, asked, str(error))
            results.keep(found)
            asked += 1
        state = transition(state, found or step, work.tasks)
        step = next_step(state, work.tasks)
    return Worked(state, step, asked)
