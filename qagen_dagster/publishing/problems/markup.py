r"""Renders items as HTML with formulas between \( \). The prose keeps its lists, but loses other TeX layout.

A sentence stands for each diagram, which HTML cannot show.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from qagen_dagster.publishing.markup import paragraphs, split, with_fences

_DIAGRAM = re.compile(r"\\begin\{(tikzpicture|circuitikz)\}.*?\\end\{\1\}", re.DOTALL)
_TASKS = re.compile(r"\\begin\{tasks\}.*?\\end\{tasks\}", re.DOTALL)
_COMMENT = re.compile(r"(?m)(?<!\\)%.*$")
_FONT = re.compile(r"\\(?:textbf|textit|emph|text|textrm|underline|mbox|textsf|texttt)\{([^{}]*)\}")
_ITEM = re.compile(r"\\item[ \t]*(?:\[([^\]\n]*)\])?")
_LAYOUT = re.compile(
    r"\\(?:begin|end)\{[A-Za-z*]+\}(?:\[[^\]\n]*\])?|\\(?:centering|noindent|par|medskip|smallskip|bigskip|hfill)(?![A-Za-z])|\\ans(?![A-Za-z])"
)
_BREAK = re.compile(r"\\\\(?:\[[^\]\n]*\])?|\\newline(?![A-Za-z])")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def html(latex: str, flow: Callable[[str], str] = with_fences) -> str:
    """HTML paragraphs that are also well-formed XML; `flow` renders the formulas."""
    text = _COMMENT.sub("", _TASKS.sub("", latex))
    text = _DIAGRAM.sub("\n\n[diagram: see the TeX of this item]\n\n", text)
    return paragraphs(_flow(text).strip(), flow)


def _flow(text: str) -> str:
    """The prose without layout, and the formulas unchanged."""
    number = 0
    parts: list[str] = []
    for segment in split(text):
        if segment.kind != "prose":
            fence = ("\\[", "\\]") if segment.kind == "display" else ("\\(", "\\)")
            parts.append(f"{fence[0]}{segment.text}{fence[1]}")
            continue
        prose = _FONT.sub(r"\1", _BREAK.sub("\n", segment.text))
        pieces = _ITEM.split(prose)  # text, label, text, label, text ...
        line = _LAYOUT.sub("", pieces[0])
        for label, piece in zip(pieces[1::2], pieces[2::2], strict=True):
            line += f"\n\n{label or f'({_LETTERS[number % 26]})'} {_LAYOUT.sub('', piece).lstrip()}"
            number += 1
        parts.append(line.replace("~", " "))
    return "".join(parts)
