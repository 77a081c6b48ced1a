"""The inputs of a problem's task: models and tools, the LaTeX of the item, and the fingerprint of all that the result depends on."""

import contextlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from qagen_dagster.agents.problems import ASSIGNMENTS, role_prompt, scan_prompt, variant_prompt
from qagen_dagster.agents.prompts import Prompt
from qagen_dagster.configuration.profiles import Role
from qagen_dagster.formats.parser_pool import ParserPool
from qagen_dagster.index.references import ReferenceStore, read_references
from qagen_dagster.latex.engine import compile_item, find_engine
from qagen_dagster.latex.structure import has_environment, options_of, statement_of, tikz_pictures
from qagen_dagster.loop.problems.state_machine import ProblemState, earlier
from qagen_dagster.loop.shared_budget import all_metered
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.base import Model
from qagen_dagster.models.budget import Meter
from qagen_dagster.models.embedders import EmbedderSpec, LocalEmbedder
from qagen_dagster.models.messages import Image
from qagen_dagster.records.ids import digest, fingerprint
from qagen_dagster.records.problems import submissions as items
from qagen_dagster.records.problems.result import Compiled, Stage, Task
from qagen_dagster.toolkit.search_passages import TIKZ_TOOL, search_tikz_reference_tool
from qagen_dagster.toolkit.tool import Tool

ROLE_OF = {stage: job.role for stage, job in ASSIGNMENTS.items()}
# takes an item or a picture, its preamble and its libraries
CompileLatex = Callable[[str, str, tuple[str, ...]], Compiled]
_OPTIONS = re.compile(r"\\begin\{(?:tasks|choices|oneparchoices)\}|\\task(?![A-Za-z])|(?:^|\s)\(?[Bb][).]\s")
_ASKS_INTEGER = re.compile(
    r"\bas an? integer\b|\bnearest integer\b|\binteger (?:answer|value)|\bnumerical value of (?:your|the) answer",
    re.IGNORECASE,
)
_BEFORE = (r"\begin{tasks}", r"\begin{solution}")
_SOLVED = (Stage.SCAN, Stage.DIAGRAM, Stage.VARIANT, Stage.CONVERT)  # stages that make or complete an item
PROBLEM_VERSION = "6"  # increase if the same responses would give another result


@dataclass(frozen=True)
class Compiler:
    """A TeX engine for tasks. `name` identifies the engine, so that everything is checked again if the engine changes."""

    name: str
    compile: CompileLatex


_UNCOMPILED = Compiled(message="there is no TeX engine: the structure alone was looked at")
NO_ENGINE = Compiler("none", lambda _latex, _preamble, _libraries: _UNCOMPILED)


@dataclass(frozen=True)
class References:
    """The references that the drawing role may search. `version` changes with the files."""

    tools: Mapping[str, Tool] = field(default_factory=dict[str, Tool])
    version: str = ""


@dataclass(frozen=True)
class ProblemWork:
    """One problem, with everything that decides the results of its tasks."""

    problem: items.Problem
    tasks: tuple[Task, ...]
    models: Mapping[Role, Model]
    see: Callable[[items.Picture], Image]
    seed: int = 0
    compiler: Compiler = NO_ENGINE
    references: References = field(default_factory=References)
    solve: float = 1
    prompts: Mapping[str, Prompt] = field(default_factory=dict[str, Prompt])  # they replace shipped ones

    def own(self, prompt: Prompt) -> Prompt:
        """The prompt that the set has in place of a shipped one, else the shipped one."""
        return self.prompts.get(prompt.name, prompt)

    def solver(self, task: Task) -> Model | None:
        """The model that solves the item of `task`; None if there is none, or if the item is not in the random share `solve`."""
        drawn = int(digest(f"{self.seed}/{self.problem.id}/{task.key}")[:8], 16) / 16**8
        return self.models.get(Role.SOLVER) if task.stage in _SOLVED and drawn < self.solve else None

    def second_reader(self, task: Task) -> Model | None:
        """The solver, if it reads pictures and the task scans a picture; else None."""
        solver = self.solver(task) if task.stage is Stage.SCAN and self.problem.picture is not None else None
        return solver if solver is not None and solver.spec.images else None

    def metered(self, meter: Meter) -> "ProblemWork":
        """The same work with models whose calls `meter` checks and records."""
        return replace(self, models=all_metered(self.models, meter))


def with_diagram(latex: str, tikz_code: str) -> str:
    """`latex` with the diagram at its mark. Without a mark, it is put before the options, else before the solution, else at the end.

    `latex` is returned unchanged if it has a diagram already.
    """
    if not tikz_code.strip() or tikz_pictures(latex):
        return latex
    shown = _centred(tikz_code)
    lines = latex.split("\n")
    for place in _marks(lines)[:1]:
        return "\n".join((*lines[:place], shown, *lines[place + 1 :]))
    for mark in _BEFORE:
        place = latex.find(mark)
        if place >= 0:
            return f"{latex[:place].rstrip()}\n{shown}\n{latex[place:]}"
    return f"{latex.rstrip()}\n{shown}"


def with_figure_of(latex: str, source: str) -> str:
    """`latex` with the drawings of its source at its marks, if it has no drawings of its own.

    If there are as many marks as drawings, each mark gets one. Else the first mark gets all.
    """
    drawings = tikz_pictures(source)
    lines = latex.split("\n")
    marks = _marks(lines)
    if not drawings or tikz_pictures(latex):
        return latex
    shares = drawings if len(drawings) == len(marks) else ["\n".join(drawings)]
    for place, drawing in zip(marks, shares, strict=False):
        inside = place > 0 and lines[place - 1].strip() == r"\begin{center}"
        lines[place] = drawing.strip() if inside else _centred(drawing)
    return "\n".join(lines)


def _marks(lines: Sequence[str]) -> list[int]:
    return [place for place, line in enumerate(lines) if line.strip().lower() == items.DIAGRAM_MARK]


def _centred(drawing: str) -> str:
    return f"\\begin{{center}}\n{drawing.strip()}\n\\end{{center}}"


def item_of(problem: items.Problem, state: ProblemState) -> str:
    """The item as later tasks use it, with its diagram; empty for a problem that is a description."""
    scanned = state.first(Stage.SCAN)
    latex = scanned.scan.latex if scanned is not None and scanned.scan is not None else problem.tex.strip()
    if problem.input is items.ProblemInput.DESCRIPTION:
        return ""
    drawn = state.first(Stage.DIAGRAM)
    code = drawn.tikz.tikz_code if drawn is not None and drawn.end.ok and drawn.tikz is not None else ""
    return with_diagram(latex, code)


def classification_of(problem: items.Problem, state: ProblemState) -> items.ClassificationResult | None:
    """The classification by the classifier, or else by a person; None if there is neither."""
    found = state.first(Stage.CLASSIFY)
    return (found.classification if found is not None else None) or problem.classification


def kind_of(problem: items.Problem, state: ProblemState) -> items.QuestionKind | None:
    """The kind that a person gave, or else the classifier; None if neither gave a kind."""
    known = classification_of(problem, state)
    return problem.kind or (known.question_type if known is not None else None)


def scanned_as(problem: items.Problem, state: ProblemState) -> items.QuestionKind:
    """The kind whose prompt the scanner uses: the known kind, or else subjective for TeX without options, and mcq_sc for the rest."""
    known = kind_of(problem, state)
    if known is not None:
        return known
    loose = problem.input is items.ProblemInput.TEX and not _OPTIONS.search(problem.tex)
    return items.QuestionKind.SUBJECTIVE if loose else items.QuestionKind.MCQ_SC


def format_of(problem: items.Problem, state: ProblemState) -> items.Format:
    """The format to convert from: the format that a person gave, or else the one that the item's structure and words show."""
    if problem.source_format is not None:
        return problem.source_format
    item, kind = item_of(problem, state), kind_of(problem, state)
    if kind is not None and kind in set(items.Format) and items.Format(kind).is_keyed:
        return items.Format(kind)
    if not has_environment(item, "tasks"):
        return items.Format.INTEGER if _ASKS_INTEGER.search(statement_of(item)) else items.Format.SUBJECTIVE
    several = sum(option.right for option in options_of(item)) > 1
    return items.Format.MCQ_MC if several or kind is items.QuestionKind.MCQ_MC else items.Format.MCQ_SC


def prompt_of(task: Task, work: ProblemWork, state: ProblemState) -> Prompt:
    """The prompt of a task."""
    if task.stage is Stage.SCAN:
        return work.own(scan_prompt(scanned_as(work.problem, state).value))
    if task.stage is Stage.VARIANT:
        return work.own(variant_prompt(task.variant or items.VariantKind.NUMERICAL))
    return work.own(role_prompt(ROLE_OF[task.stage]))


def task_fingerprint(task: Task, work: ProblemWork, state: ProblemState) -> str:
    """A hash of everything that can change the result of a task: model, prompt, problem, and earlier results."""
    results = [
        result.result.model_dump_json()
        for result in state.results
        if result.task.stage in (Stage.CLASSIFY, Stage.SCAN, Stage.DIAGRAM, Stage.IDEA)
        and result.result is not None
    ]
    solver = work.solver(task)
    if solver is not None:
        results += [
            json.dumps(solver.spec.identity(), sort_keys=True),
            work.own(role_prompt(Role.SOLVER)).hash,
        ]
    if work.second_reader(task) is not None:
        results.append("read twice and compared")
    results += [one.result.model_dump_json() for one in earlier(state, task) if one.result is not None]
    return fingerprint(
        [
            PROBLEM_VERSION,
            task.model_dump_json(),
            json.dumps(work.models[ROLE_OF[task.stage]].spec.identity(), sort_keys=True),
            prompt_of(task, work, state).hash,
            work.problem.fingerprint,
            item_of(work.problem, state),
            format_of(work.problem, state).value if task.stage is Stage.CONVERT else "",
            work.references.version if task.stage is Stage.DIAGRAM else "",
            work.compiler.name,
            str(work.seed),
            *results,
        ]
    )


def engine_compiler() -> Compiler:
    """The TeX engine of this machine. If there is none, only the structure of LaTeX is checked."""
    engine = find_engine()
    if engine is None:
        return NO_ENGINE
    return Compiler(
        engine.identity,
        lambda latex, preamble, libraries: compile_item(engine, latex, preamble, libraries).compiled,
    )


def find_references(space: Workspace, folders: Sequence[Path]) -> tuple[References, tuple[str, ...]]:
    """The references for the drawing role, and one line for each folder or file that is missing or unreadable."""
    if not folders:
        return References(), ()
    store = _references(tuple(folders), _signature(folders), space.settings.parser_workers, space.parsers())
    tools = {TIKZ_TOOL: search_tikz_reference_tool(store.search)} if store.passages else {}
    return References(tools, store.version), store.skipped


@lru_cache(maxsize=4)
def _references(
    folders: tuple[Path, ...], signature: str, threads: int, parsers: ParserPool
) -> ReferenceStore:
    """The references of the folders, cached until `signature` changes. The embedder is local and needs no API key."""
    del signature
    return read_references(folders, LocalEmbedder(EmbedderSpec(), threads), parsers)


def _signature(folders: Sequence[Path]) -> str:
    """A hash of the names, sizes and times of the files in the folders."""
    states: list[str] = []
    for path in sorted(path for folder in folders for path in folder.rglob("*")):
        with contextlib.suppress(OSError):  # deleted since it was listed
            found = path.stat()
            states.append(f"{path} {found.st_size} {found.st_mtime_ns}")
    return fingerprint(states)
