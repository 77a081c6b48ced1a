r"""Makes items of R/exams sources: question, options and solution as `\item`, `tasks` and `solution`; numbers that R would draw become 7."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^```.*?^```[ \t]*$", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"`r [^`]*`")
_PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)(?:\{[^}]*\})?|\\\n")
_PART = re.compile(r"^(Question|Solution|Answerlist|Meta-information)\n[=-]+[ \t]*$", re.MULTILINE)
_BOLD = re.compile(r"\*\*([^*\n]+)\*\*")
_BARE = re.compile(r"(?<!\\)([%#&])")
_OUTSIDE = re.compile(r"(\$\$.*?\$\$|\$[^$]*\$)", re.DOTALL)
_RIGHT = re.compile(r"^exsolution:\s*([01]+)\s*$", re.MULTILINE)
_MADE = ("first of the numbers", "second of the numbers")  # options that R would draw


def item_of_rmd(source: str) -> str:
    """The item of one source."""
    parts = _parts(_INLINE.sub("7", _PICTURE.sub(" ", _FENCE.sub("", source))))
    options = re.split(r"^[*-][ \t]+", parts.get("Answerlist", ""), flags=re.MULTILINE)[1:] or list(_MADE)
    right = _RIGHT.search(source)
    marks = (
        right.group(1) if right and len(right.group(1)) == len(options) else "1" + "0" * (len(options) - 1)
    )
    tasks = "\n".join(
        f"\\task {_latex(option)}" + (" \\ans" if mark == "1" else "")
        for option, mark in zip(options, marks, strict=True)
    )
    solution = _latex(parts.get("Solution", "")) or "See above."
    return (
        f"\\item {_latex(parts['Question'])}\n\\begin{{tasks}}\n{tasks}\n\\end{{tasks}}\n"
        f"\\begin{{solution}}\n{solution}\n\\end{{solution}}\n"
    )


def _parts(text: str) -> dict[str, str]:
    """What stands below each heading; of options the first list, a second one belongs to the solution."""
    found: dict[str, str] = {}
    heads = list(_PART.finditer(text))
    for head, after in zip(heads, [*(one.start() for one in heads[1:]), len(text)], strict=True):
        found.setdefault(head.group(1), text[head.end() : after].strip())
    return found


def _latex(text: str) -> str:
    """Markdown as TeX, as far as these sources use it: bold, percent and the like outside of mathematics, no empty line."""
    pieces = _OUTSIDE.split(_BOLD.sub(r"\\textbf{\1}", text.strip()))
    pieces[::2] = [_BARE.sub(r"\\\1", piece) for piece in pieces[::2]]
    pieces[1::2] = [re.sub(r"\s*\n\s*", " ", piece) for piece in pieces[1::2]]
    return "".join(pieces)
