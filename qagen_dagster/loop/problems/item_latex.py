"""The LaTeX of a problem as its tasks use it: the item with its diagram, its kind and its format."""

from __future__ import annotations

import re
from collections.abc import Sequence

from qagen_dagster.latex.structure import (
    has_environment,
    options_of,
    statement_of,
    tikz_pictures,
)
from qagen_dagster.loop.problems.state_machine import ProblemState
from qagen_dagster.records.problems.item import (
    DIAGRAM_MARK,
    Format,
    Problem,
    ProblemInput,
    QuestionKind,
)
from qagen_dagster.records.problems.result import Stage

_OPTIONS = re.compile(r"\\begin\{(?:tasks|choices|oneparchoices)\}|\\task(?![A-Za-z])|(?:^|\s)\(?[Bb][).]\s")
_ASKS_INTEGER = re.compile(
    r"\bas an? integer\b|\bnearest integer\b|\binteger (?:answer|value)|\bnumerical value of (?:your|the) answer",
    re.IGNORECASE,
)
_BEFORE = (r"\begin{tasks}", r"\begin{solution}")


def with_diagram(latex: str, tikz_code: str) -> str:
    """`latex` with the diagram at its mark, else before the options, else before the solution; unchanged if it has a diagram."""
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
    """`latex` with the drawings of its source at its marks, if it has none of its own: one at each mark, or all at the first."""
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
    return [place for place, line in enumerate(lines) if line.strip().lower() == DIAGRAM_MARK]


def _centred(drawing: str) -> str:
    return f"\\begin{{center}}\n{drawing.strip()}\n\\end{{center}}"


def item_of(problem: Problem, state: ProblemState) -> str:
    """The item as later tasks use it, with its diagram."""
    scanned = state.first(Stage.SCAN)
    latex = scanned.scan.latex if scanned is not None and scanned.scan is not None else problem.tex.strip()
    if problem.input is ProblemInput.DESCRIPTION:
        return ""
    drawn = state.first(Stage.DIAGRAM)
    code = drawn.tikz.tikz_code if drawn is not None and drawn.end.ok and drawn.tikz is not None else ""
    return with_diagram(latex, code)


def kind_of(problem: Problem, state: ProblemState) -> QuestionKind | None:
    """The kind that a person gave, else the classifier's; None if nobody gave one."""
    if problem.kind is not None:
        return problem.kind
    known = problem.classification
    found = state.first(Stage.CLASSIFY)
    if found is not None and found.classification is not None:
        known = found.classification
    return known.question_type if known is not None else None


def scanned_as(problem: Problem, state: ProblemState) -> QuestionKind:
    """The kind whose prompt the scanner uses: the known one, else the one that loose TeX looks like, else mcq_sc."""
    known = kind_of(problem, state)
    if known is not None:
        return known
    loose = problem.input is ProblemInput.TEX and not _OPTIONS.search(problem.tex)
    return QuestionKind.SUBJECTIVE if loose else QuestionKind.MCQ_SC


def format_of(problem: Problem, state: ProblemState) -> Format:
    """The format to convert from: the one that a person gave, else the one that its structure and its words show."""
    if problem.source_format is not None:
        return problem.source_format
    item = item_of(problem, state)
    if not has_environment(item, "tasks"):
        return Format.INTEGER if _ASKS_INTEGER.search(statement_of(item)) else Format.SUBJECTIVE
    several = sum(option.right for option in options_of(item)) > 1
    return Format.MCQ_MC if several or kind_of(problem, state) is QuestionKind.MCQ_MC else Format.MCQ_SC
