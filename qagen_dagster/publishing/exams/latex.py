r"""LaTeX with the exam class: a paper, with solutions unless `\printanswers` is commented out.

TeX can read files, and models wrote the items. So prose is escaped, and a formula is typeset only if a converter knows all
its commands: that converter has no commands for files, definitions or category codes. Other formulas are shown as written.
"""

from __future__ import annotations

import re
from itertools import groupby

from qagen_dagster.publishing.exams.feedback import feedback, is_key, letters, solution
from qagen_dagster.publishing.markup import Segment, mathml, split, xml_text
from qagen_dagster.records.exams.bank import ExamItem, ItemBank

_HEAD = r"""\documentclass[11pt,a4paper]{exam}
\usepackage{iftex}
\ifPDFTeX
  \usepackage[utf8]{inputenc}
  \usepackage[T1]{fontenc}
  \usepackage{textcomp}
\else
  \usepackage{fontspec}
\fi
\usepackage{amsmath,amssymb}
% \printanswers % the paper with its solutions
\CorrectChoiceEmphasis{\bfseries}
\pagestyle{headandfoot}
\firstpageheader{}{\Large\bfseries %(title)s}{}
\footer{}{\thepage}{}
\begin{document}
\begin{questions}
"""
_TAIL = "\\end{questions}\n\\end{document}\n"
_PROSE = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_",
    "%": r"\%", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}", "\u2212": r"$-$",
    "\u00d7": r"$\times$", "\u00f7": r"$\div$", "\u00b7": r"$\cdot$", "\u00b0": r"\textdegree{}",
    "\u03c0": r"$\pi$", "\u03b8": r"$\theta$", "\u03bb": r"$\lambda$", "\u03bc": r"$\mu$", "\u00b5": r"$\mu$",
    "\u03a9": r"$\Omega$", "\u2264": r"$\leq$", "\u2265": r"$\geq$", "\u2260": r"$\neq$", "\u221a": r"$\surd$",
    "\u2248": r"$\approx$", "\u221e": r"$\infty$", "\u2192": r"$\rightarrow$", "\u207b": r"$^{-}$",
    "\u00b9": r"$^{1}$", "\u00b2": r"$^{2}$", "\u00b3": r"$^{3}$", "\u2009": r"\,", "\u202f": r"\,",
    "\u00a0": "~",
}  # fmt: skip
_ESCAPES = str.maketrans(_PROSE)
_DEFINES = re.compile(r"\\(?:def|gdef|edef|xdef|let|futurelet|global|(?:re|provide)?newcommand|renewcommand)")
_NOT_TEX = re.compile(r"\^\^|%|\\degree")  # characters by code, comments, and a command of no common package


class LatexExam:
    """One file for pdfLaTeX, XeLaTeX or LuaLaTeX."""

    name = "latex"

    def export(self, bank: ItemBank) -> dict[str, bytes]:
        lines = [_HEAD.replace("%(title)s", _tex(bank.name))]
        for schema, items in groupby(bank.items, key=lambda item: (item.schema_id, item.schema_title)):
            lines.append(f"\\fullwidth{{\\textbf{{{_tex(' '.join(schema))}}}}}\n")
            lines += [_question(item) for item in items]
        return {"exam.tex": ("".join(lines) + _TAIL).encode()}


def _question(item: ExamItem) -> str:
    choices = "".join(
        f"  \\{'CorrectChoice' if is_key(item, letter) else 'choice'} {_guarded(item.question.options[letter])}\n"
        for letter in letters(item)
    )
    wrong = "".join(
        f"\\par {letter}: {_tex(feedback(item, letter))}\n"
        for letter in letters(item)
        if not is_key(item, letter)
    )
    return (
        f"% {item.id}\n\\question {_guarded(item.question.stem)}\n"
        f"\\begin{{choices}}\n{choices}\\end{{choices}}\n"
        f"\\begin{{solution}}\n{_tex(solution(item))}\n{wrong}\\end{{solution}}\n\n"
    )


def _guarded(text: str) -> str:
    """After a command that takes an optional argument in brackets."""
    return f"{{}}{_tex(text)}"


def _tex(text: str) -> str:
    return "".join(_set(segment) for segment in split(xml_text(text)))


def _set(segment: Segment) -> str:
    if segment.kind == "prose":
        return _prose(segment.text)
    if not _may_be_set(segment.text):
        return f"\\texttt{{{_prose(segment.text)}}}"
    return f"\\[{segment.text}\\]" if segment.kind == "display" else f"${segment.text}$"


def _prose(text: str) -> str:
    paragraphs = re.split(r"\n[ \t]*\n", text.translate(_ESCAPES))
    return "\n\n".join(part.replace("\n", "\\newline\n") for part in paragraphs)


def _may_be_set(latex: str) -> bool:
    if "$" in latex.replace("\\$", "") or _DEFINES.search(latex) or _NOT_TEX.search(latex.replace("\\%", "")):
        return False
    return "\n\n" not in latex and mathml(latex) is not None
