r"""The structure of an item: what is whole, what stands where. Comments and verbatim text are never structure.

Whether an engine takes it is the engine's to say; what it says is `compare.py`'s.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%[^\n]*")
_VERBATIM = re.compile(
    r"\\begin\{(verbatim\*?|lstlisting|comment)\}.*?\\end\{\1\}|\\verb\*?([^A-Za-z\s*]).*?\2", re.DOTALL
)
_ESCAPED = re.compile(r"\\[\\${}%&#_]")
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{([^{}\n]{1,60})\}")
_ITEM = re.compile(r"\\item(?![A-Za-z])")
_TASK = re.compile(r"\\task(?:\*|(?![A-Za-z]))(?:\[[^\]\n]{0,40}\])?")
_RIGHT = re.compile(r"\\ans(?![A-Za-z])")


@dataclass(frozen=True)
class Option:
    r"""One `\task`; `right` tells whether it is marked with `\ans`."""

    text: str
    right: bool


def code_of(latex: str) -> str:
    """The text with comments and verbatim blanked, every character in its place."""

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found.group())

    bare = _VERBATIM.sub(blank, latex)
    return _COMMENT.sub(lambda found: found.group(1) + " " * (len(found.group()) - len(found.group(1))), bare)


def structure_faults(latex: str) -> tuple[str, ...]:
    """What is not balanced: braces, environments, dollar signs; in words for whoever wrote it."""
    code = code_of(latex)
    plain = _ESCAPED.sub("  ", code)
    return (*_braces(plain), *_environments(code), *_mathematics(code, plain))


def item_faults(latex: str) -> tuple[str, ...]:
    r"""Why the text is not one item with its solution, from `\item` to `\end{solution}`."""
    text = latex.strip()
    code = code_of(text)
    return (*_ends(text, code), *structure_faults(text))


def has_environment(latex: str, name: str) -> bool:
    r"""Whether `\begin{name}` stands in it."""
    return any(kind == "begin" and found == name for kind, found in _ENVIRONMENT.findall(code_of(latex)))


def environments(latex: str, name: str) -> tuple[tuple[int, int], ...]:
    """Where each outermost environment of that name begins and ends."""
    found: list[tuple[int, int]] = []
    depth, start = 0, 0
    for mark in _ENVIRONMENT.finditer(code_of(latex)):
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
    r"""What stands between `\item` and the solution, options included."""
    code = code_of(latex)
    first = _ITEM.search(code)
    start = first.end() if first and not code[: first.start()].strip() else 0
    solutions = environments(latex, "solution")
    return latex[start : solutions[0][0] if solutions else len(latex)].strip()


def solution_of(latex: str) -> str:
    """What stands in the first solution environment; empty without one."""
    for start, end in environments(latex, "solution"):
        inner = latex[start:end].removeprefix(r"\begin{solution}")
        return inner[: inner.rfind(r"\end")].strip()
    return ""


def options_of(latex: str) -> tuple[Option, ...]:
    """The options of its tasks environments, in order."""
    return tuple(
        option for start, end in environments(latex, "tasks") for option in _options(latex[start:end])
    )


def tikz_pictures(latex: str) -> tuple[str, ...]:
    """Its tikzpicture and circuitikz environments."""
    places = sorted((*environments(latex, "tikzpicture"), *environments(latex, "circuitikz")))
    return tuple(latex[start:end] for start, end in places)


def _options(tasks: str) -> Iterator[Option]:
    code = code_of(tasks)
    marks = list(_TASK.finditer(code))
    last = code.rfind(r"\end")
    for mark, following in zip(marks, [*(one.start() for one in marks[1:]), last], strict=True):
        text = tasks[mark.end() : following]
        yield Option(
            " ".join(_RIGHT.sub(" ", text).split()), bool(_RIGHT.search(code[mark.end() : following]))
        )


def _ends(text: str, code: str) -> Iterator[str]:
    if not _ITEM.match(text):
        yield r"it does not begin with \item"
    if not text.endswith(r"\end{solution}"):
        yield r"it does not end with \end{solution}"
    solutions = len(environments(text, "solution"))
    if solutions != 1:
        yield f"it has {solutions} solution environments instead of one"
    elif not solution_of(text):
        yield "its solution is empty"
    if not re.search(r"[A-Za-z]", statement_of(text)):
        yield "its statement is empty"
    items = _outer_items(code)
    if items > 1:
        yield rf"it has {items} \item of its own level instead of one"


def _outer_items(code: str) -> int:
    depth, count = 0, 0
    marks = [(one.start(), {"begin": 1, "end": -1}[one.group(1)]) for one in _ENVIRONMENT.finditer(code)]
    marks += [(one.start(), 0) for one in _ITEM.finditer(code)]
    for _, step in sorted(marks):
        depth += step
        count += step == 0 and depth <= 0
    return count


def _braces(plain: str) -> Iterator[str]:
    depth = 0
    for char in plain:
        depth += {"{": 1, "}": -1}.get(char, 0)
        if depth < 0:
            yield "a } without its {"
            return
    if depth:
        yield "a { without its }"


def _environments(code: str) -> Iterator[str]:
    opened: list[str] = []
    for kind, name in _ENVIRONMENT.findall(code):
        if kind == "begin":
            opened.append(name)
        elif not opened or opened.pop() != name:
            yield rf"\end{{{name}}} without its \begin"
            return
    if opened:
        yield rf"\begin{{{opened[-1]}}} without its \end"


def _mathematics(code: str, plain: str) -> Iterator[str]:
    if plain.replace("$$", "").count("$") % 2:
        yield "a $ without its partner"
    bare = code.replace("\\\\", "  ")
    for opening, closing in (("\\(", "\\)"), ("\\[", "\\]")):
        if bare.count(opening) != bare.count(closing):
            yield f"{opening} and {closing} do not pair"
