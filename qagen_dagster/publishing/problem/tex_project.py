r"""A TeX project: `main.tex` with a section per problem, an item a file, and what the sources define.

Items come from models and from strangers' files, and TeX can read and write files: an item with a command that does so
is left out, with its name. Pictures of the sources are not here: a frame with the file's name stands for each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from qagen_dagster.publishing.problem.definitions import definitions
from qagen_dagster.records.problem_export import BankExport, BankItem

FOLDER = "tex"
_HOSTILE = re.compile(
    r"\\(?:input|include|InputIfFileExists|openin|openout|read|readline|write|immediate|catcode|csname|special|directlua|luaexec"
    r"|ShellEscape|usepackage|RequirePackage|documentclass|verbatiminput|lstinputlisting|expandafter|scantokens|everyeof)(?![A-Za-z@])|\^\^"
)
_PACKAGES = ("amsmath", "amssymb", "mathtools", "bm", "cancel", "siunitx", "xcolor", "multicol", "enumitem")
_DRAWING = ("tikz", "circuitikz", "pgfplots")
_LIBRARY = re.compile(r"[A-Za-z0-9_.-]{1,40}")
_HEAD = r"""\documentclass[11pt,a4paper]{article}
\usepackage[margin=25mm]{geometry}
\input{preamble}
\title{%(title)s}
\date{}
\begin{document}
\maketitle
"""
_OWN = r"""\newcommand{\maybe}[1]{\IfFileExists{#1.sty}{\usepackage{#1}}{}}
%(packages)s
\usepackage{tasks}
\usepackage{graphicx}
%(libraries)s
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
        for problem, items in groupby(bank.items, key=lambda item: item.problem):
            parts.append(f"\\section*{{{_prose(problem)}}}\n\\begin{{enumerate}}\n")
            for item in items:
                found = dict(_pieces(item))
                parts += [
                    f"% {item.id}: {item.made}\n",
                    *(_shown(name, text) for name, text in found.items()),
                ]
                files |= {name: text for name, text in found.items() if not hostile(text)}
            parts.append("\\end{enumerate}\n")
        parts.append("\\end{document}\n")
        files |= {"main.tex": "".join(parts), "preamble.tex": _preamble(bank)}
        return {f"{FOLDER}/{name}": text.encode() for name, text in files.items()}


def hostile(latex: str) -> str:
    """The first command that reads or writes files, or could hide one that does; empty without one."""
    found = _HOSTILE.search(latex)
    return found.group() if found else ""


def _pieces(item: BankItem) -> Iterator[tuple[str, str]]:
    yield f"items/{item.id}.tex", f"{item.latex.strip()}\n"
    for number, other in enumerate(item.alternates, 1):
        yield f"items/{item.id}--alternate-{number}.tex", f"{other.strip()}\n"


def _shown(name: str, text: str) -> str:
    bad = hostile(text)
    if bad:
        return f"\\item (left out: it uses \\texttt{{{_prose(bad)}}})\n"
    return f"\\input{{{name.removesuffix('.tex')}}}\n"


def _preamble(bank: BankExport) -> str:
    drawing = [name for name in _DRAWING if name != "tikz"]
    text = "".join(item.latex for item in bank.items)
    wanted = [name for name in drawing if name in text or name in bank.libraries]
    libraries = [one for one in bank.libraries if one not in _DRAWING and _LIBRARY.fullmatch(one)]
    loaded = "\n".join(f"\\maybe{{{name}}}" for name in (*_PACKAGES, *wanted))
    lines = ["\\usepackage{tikz}", *(f"\\usetikzlibrary{{{one}}}" for one in dict.fromkeys(libraries))]
    found = [one for one in definitions(bank.preambles) if not hostile(one)]
    return (
        _OWN.replace("%(packages)s", loaded)
        .replace("%(libraries)s", "\n".join(lines))
        .replace("%(definitions)s", "\n".join(found))
        .replace("%%", "%")
    )


def _prose(text: str) -> str:
    return " ".join(text.split()).translate(_PROSE)
