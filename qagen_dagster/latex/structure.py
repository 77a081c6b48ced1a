"""The structure of an item: its parts, and what is unbalanced. Comments and verbatim text are ignored."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from qagen_dagster.latex.code import code_of, plain_of
from qagen_dagster.latex.split_items import split_items
from qagen_dagster.records.problems.item import ANSWER_MARK

PICTURES = ("tikzpicture", "circuitikz")  # drawing environments
_MOST_FAULTS = 6
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{([^{}\n]{1,60})\}")
_NESTING = re.compile(rf"{_ENVIRONMENT.pattern}|[{{}}]")
_ITEM = re.compile(r"\\item(?![A-Za-z@])")
_TASK = re.compile(r"\\task(?:[*!](?:\(\d{1,2}\))?|(?![A-Za-z@]))(?:[ \t]*\[[^\]\n]{0,40}\])?")
_RIGHT = re.compile(rf"{re.escape(ANSWER_MARK)}(?![A-Za-z@])")
_SIZED = re.compile(r"\\(left|right)(?![A-Za-z@])")
_DOLLAR = re.compile(r"\$\$?|\n[ \t]*\n|\\begin[ \t]*\{(?:solution|tasks|document)\}")


@dataclass(frozen=True)
class Option:
    r"""One `\task`; `right` says whether `\ans` marks it."""

    text: str
    right: bool


def structure_faults(latex: str) -> tuple[str, ...]:
    """Descriptions of unbalanced braces, environments and mathematics, for the author of the text."""
    code, plain = code_of(latex), plain_of(latex)
    faults = (*_nesting(plain), *_dollars(plain), *_pairs(code.replace("\\\\", "  "), plain))
    return faults[:_MOST_FAULTS]


def item_faults(latex: str) -> tuple[str, ...]:
    r"""Why the text is not one item with its solution, from `\item` to `\end{solution}`."""
    text = latex.strip()
    return (*_ends(text), *structure_faults(text))


def has_environment(latex: str, name: str) -> bool:
    r"""Whether the text contains `\begin{name}`."""
    return any(one.group(1) == "begin" and one.group(2) == name for one in _marks(latex))


def environments(latex: str, name: str) -> tuple[tuple[int, int], ...]:
    """Start and end of each outermost environment of that name."""
    found: list[tuple[int, int]] = []
    depth, start = 0, 0
    for mark in _marks(latex):
        if mark.group(2) != name:
            continue
        if mark.group(1) == "begin":
            start = mark.start() if depth == 0 else start
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                found.append((start, mark.end()))
    return tuple(found)


def statement_of(latex: str) -> str:
    r"""The text between `\item` and the solution, with options."""
    plain = plain_of(latex)
    first = _ITEM.search(plain)
    start = first.end() if first and not plain[: first.start()].strip() else 0
    solutions = environments(latex, "solution")
    return latex[start : solutions[0][0] if solutions else len(latex)].strip()


def question_of(latex: str) -> str:
    """The statement without its tasks environments."""
    asked = statement_of(latex)
    for start, end in reversed(environments(asked, "tasks")):
        asked = f"{asked[:start].rstrip()}\n{asked[end:].lstrip()}"
    return asked.strip()


def solution_of(latex: str) -> str:
    """The content of the first solution environment; empty without one."""
    marks = [one for one in _marks(latex) if one.group(2) == "solution"]
    for start, end in environments(latex, "solution"):
        opening = next(one for one in marks if one.start() == start)
        closing = next(one for one in marks if one.end() == end)
        return latex[opening.end() : closing.start()].strip()
    return ""


def options_of(latex: str) -> tuple[Option, ...]:
    """The options of its tasks environments, in order."""
    return tuple(
        option for start, end in environments(latex, "tasks") for option in _options(latex[start:end])
    )


def tikz_pictures(latex: str) -> tuple[str, ...]:
    """The outermost drawing environments, unchanged."""
    spans = sorted(span for name in PICTURES for span in environments(latex, name))
    outer = [
        span
        for span in spans
        if not any(one[0] <= span[0] and span[1] <= one[1] and one != span for one in spans)
    ]
    return tuple(latex[start:end] for start, end in outer)


def _marks(latex: str) -> list[re.Match[str]]:
    return list(_ENVIRONMENT.finditer(plain_of(latex)))


def _options(tasks: str) -> Iterator[Option]:
    plain = plain_of(tasks)
    marks = list(_TASK.finditer(plain))
    last = plain.rfind(r"\end")
    for mark, following in zip(marks, [*(one.start() for one in marks[1:]), last], strict=True):
        rights = [one.span() for one in _RIGHT.finditer(plain, mark.end(), following)]
        text, place = "", mark.end()
        for start, end in (*rights, (following, following)):
            text, place = f"{text} {tasks[place:start]}", end
        yield Option(" ".join(text.split()), bool(rights))


def _ends(text: str) -> Iterator[str]:
    plain = plain_of(text)
    if not _ITEM.match(plain):
        yield r"it does not begin with \item"
    if not re.search(r"\\end[ \t]*\{solution\}\Z", plain):
        yield r"it does not end with \end{solution}"
    solutions = len(environments(text, "solution"))
    if solutions != 1:
        yield f"it has {solutions} complete solution environments instead of one"
    elif not code_of(solution_of(text)).strip():
        yield "its solution is empty"
    if not re.search(r"[^\W\d_]", code_of(statement_of(text))):
        yield "its statement is empty"
    items = len(split_items(text).items)
    if items > 1:
        yield rf"it has {items} \item of its own level instead of one"


def _nesting(plain: str) -> Iterator[str]:
    """Unbalanced braces and environments; a group that cuts an environment in two is a fault."""
    opened: list[str] = []
    for mark in _NESTING.finditer(plain):
        kind, name = mark.group(1), mark.group(2)
        if mark.group() == "{" or kind == "begin":
            opened.append(name or "{")
        elif not opened:
            yield _unopened(name)
            return
        elif (last := opened.pop()) != (name or "{"):
            yield _unclosed(last) if name or last != "{" else _unopened(name)
            return
    if opened:
        yield _unclosed(opened[-1])


def _unopened(name: str | None) -> str:
    return rf"\end{{{name}}} without its \begin{{{name}}}" if name else "a } without its {"


def _unclosed(opened: str) -> str:
    return "a { without its }" if opened == "{" else rf"\begin{{{opened}}} without its \end{{{opened}}}"


def _dollars(plain: str) -> Iterator[str]:
    """Unbalanced dollar signs; a formula must not contain an empty line or an environment of the item."""
    opened: list[str] = []
    for mark in _DOLLAR.finditer(plain):
        sign = mark.group()
        if sign[0] != "$":
            if opened:
                yield f"a {opened[0]} without its partner before {' '.join(sign.split()) or 'an empty line'}"
                return
        elif opened and opened[-1] == sign:
            opened.pop()
        elif opened[-1:] != ["$"]:  # after a `$`, `$$` ends one formula and begins the next
            opened.append(sign)
    if opened:
        yield f"a {opened[0]} without its partner"


def _pairs(code: str, plain: str) -> Iterator[str]:
    for opening, closing in (("\\(", "\\)"), ("\\[", "\\]")):
        if code.count(opening) != code.count(closing):
            yield f"{opening} and {closing} do not pair"
    sized = [one.group(1) for one in _SIZED.finditer(plain)]
    if sized.count("left") != sized.count("right"):
        yield r"\left and \right do not pair"
