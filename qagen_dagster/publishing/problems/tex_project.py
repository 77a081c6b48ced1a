r"""A TeX project: `main.tex` with a section per problem, a file per item, and the definitions of the sources.

TeX can read and write files, and items come from models and untrusted files. So an item with anything that is not on the
list of allowed TeX is left out and named. Pictures of the sources are not included: a frame with the file's name stands for each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from qagen_dagster.publishing.problems.allowed import own_of
from qagen_dagster.publishing.problems.definitions import allowed_definitions, packages
from qagen_dagster.publishing.problems.drawing import refused
from qagen_dagster.records.problems.result import BankExport, BankItem

FOLDER = "tex"
_BASIC = ("amsmath", "amssymb", "mathtools")
_OURS = frozenset(("tasks", "graphicx", "tikz"))  # always loaded
_LIBRARY = re.compile(r"[A-Za-z0-9_.-]{1,40}")
_HEAD = r"""\documentclass[11pt,a4paper]{article}
\usepackage[margin=25mm]{geometry}
\input{preamble}
\title{%(title)s}
\date{}
\begin{document}
\maketitle
"""
_OWN = r"""\newcommand{\maybe}[2][]{\IfFileExists{#2.sty}{\usepackage[#1]{#2}}{}}
%(packages)s
\usepackage{tasks}
\usepackage{graphicx}
%(libraries)s
%(signs)s
\providecommand{\ans}{\hfill$\checkmark$}
\providecommand{\solution}{}
\let\solution\relax
\let\endsolution\relax
\newenvironment{solution}{\par\noindent\textbf{Solution.} }{\par\medskip}
\renewcommand{\includegraphics}[2][]{\fbox{\texttt{\detokenize{#2}}}}
%% what the sources define
%(definitions)s
"""
_PROSE = str.maketrans({
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_",
    "%": r"\%", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
})  # fmt: skip


class TexProject:
    """A folder for pdfLaTeX, XeLaTeX or LuaLaTeX: compile `main.tex` in it."""

    name = "tex"

    def export(self, bank: BankExport) -> dict[str, bytes]:
        parts = [_HEAD.replace("%(title)s", _prose(bank.title))]
        files: dict[str, str] = {}
        given = allowed_definitions(bank.preambles)
        own = own_of(given)
        for problem, items in groupby(bank.items, key=lambda item: item.problem):
            parts.append(f"\\section*{{{_prose(problem)}}}\n\\begin{{enumerate}}\n")
            for item in items:
                found = dict(_pieces(item))
                parts += [
                    f"% {item.id}: {item.made}\n",
                    *(_shown(name, refused(text, own)) for name, text in found.items()),
                ]
                files |= {name: text for name, text in found.items() if not refused(text, own)}
            parts.append("\\end{enumerate}\n")
        parts.append("\\end{document}\n")
        files |= {"main.tex": "".join(parts), "preamble.tex": _preamble(bank, given)}
        return {f"{FOLDER}/{name}": text.encode() for name, text in files.items()}


def left_out(bank: BankExport) -> list[str]:
    """The ids of the items that the project leaves out."""
    own = own_of(allowed_definitions(bank.preambles))
    return [one.id for one in bank.items if refused(one.latex, own)]


def _pieces(item: BankItem) -> Iterator[tuple[str, str]]:
    yield f"items/{item.id}.tex", f"{item.latex.strip()}\n"
    for number, other in enumerate(item.alternates, 1):
        yield f"items/{item.id}--alternate-{number}.tex", f"{other.strip()}\n"


def _shown(name: str, bad: str) -> str:
    if bad:
        return f"\\item (left out: it uses \\texttt{{{_prose(bad)}}})\n"
    return f"\\input{{{name.removesuffix('.tex')}}}\n"


def _preamble(bank: BankExport, found: Sequence[str]) -> str:
    parts = {
        "packages": "\n".join(_loaded(bank)),
        "libraries": "\n".join(_drawing(bank)),
        "signs": bank.signs.strip(),
        "definitions": "\n".join(found),
    }
    text = _OWN.replace("%%", "%")
    for name, part in parts.items():
        text = text.replace(f"%({name})s\n", f"{part}\n" if part else "")
    return text


def _loaded(bank: BankExport) -> Iterator[str]:
    """The lines that load the packages of the items and sources that are installed where the project is compiled."""
    given = packages(bank.preambles)
    names = dict.fromkeys((*_BASIC, *given, *bank.packages))
    if {"siunitx", "circuitikz"} <= set(names):  # for values such as R=5<\ohm>
        yield "\\PassOptionsToPackage{siunitx}{circuitikz}"
    for name in names:
        if name not in _OURS:
            yield f"\\maybe{given.get(name, '')}{{{name}}}"
    if "pgfplots" in names:
        yield "\\pgfplotsset{compat=newest}"


def _drawing(bank: BankExport) -> Iterator[str]:
    yield "\\usepackage{tikz}"
    for one in dict.fromkeys(bank.libraries):
        if _LIBRARY.fullmatch(one) and one not in bank.packages:
            yield f"\\usetikzlibrary{{{one}}}"


def _prose(text: str) -> str:
    return " ".join(text.split()).translate(_PROSE)
