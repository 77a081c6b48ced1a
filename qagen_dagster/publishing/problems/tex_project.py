"""A TeX project: `main.tex` with a section per problem, a file per item, and the definitions of the sources.

The project loads a package of the sources only if the package adds commands or symbols. Layout, fonts and languages are the project's own.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from qagen_dagster.publishing.allowed_tex import own_of, refused
from qagen_dagster.records.problems.result import BankExport

_START = re.compile(
    r"(?m)^[ \t]*(?P<how>\\(?:newcommand|renewcommand|providecommand|DeclareMathOperator|usetikzlibrary|newenvironment|def|definecolor"
    r"|colorlet|tikzset|ctikzset|pgfplotsset|sisetup|DeclareSIUnit|NewDocumentCommand))(?![A-Za-z])\*?"
    r"[ \t]*\{?(?P<name>\\[A-Za-z@]{1,40}|[A-Za-z@][\w@.-]{0,39})?"
)
_SETTINGS = ("\\usetikzlibrary", "\\tikzset", "\\ctikzset", "\\pgfplotsset", "\\sisetup")  # define no name
_LOADED = re.compile(
    r"\\usepackage[ \t]*(?P<options>\[[\w=, .-]{0,200}\])?[ \t]*\{(?P<names>[\w, -]{1,300})\}"
)
_COMMENT = re.compile(r"(?<!\\)%.*")
_PACKAGES = (
    "amsfonts array bbm bm booktabs braket cancel chemfig circuitikz commath diagbox dsfont empheq esint esvect eurosym float gensymb "
    "longtable mathrsfs mathtools mhchem multirow nicefrac pgfplots physics relsize siunitx slashed soul tabularx tensor textcomp "
    "tikz-3dplot tikz-feynman ulem units upgreek wasysym wrapfig xcolor xfrac"
)
_HARMLESS = frozenset(_PACKAGES.split())
_PROJECT_NAMES = frozenset({"\\ans", "solution", "\\maybe", "\\includegraphics"})  # the project defines them
_ROUNDS = 20  # maximum length of a chain of definitions that use each other
_MOST = 4_000  # characters in one definition
FOLDER = "tex"
_BASIC = ("amsmath", "amssymb", "mathtools")
_OURS = frozenset(("tasks", "graphicx", "tikz"))  # always loaded
_LIBRARY = re.compile(r"[A-Za-z0-9_.-]{1,40}")
_HEAD = Path(__file__).with_name("main.tex").read_text(encoding="utf-8")
_OWN = Path(__file__).with_name("preamble.tex").read_text(encoding="utf-8")
_PROSE = str.maketrans({
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_",
    "%": r"\%", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
})  # fmt: skip


def definitions(preambles: Sequence[str]) -> tuple[str, ...]:
    """The definitions in the preambles, in order. If a name has several definitions, the first one counts."""
    found: dict[str, str] = {}
    for preamble in preambles:
        for name, text in _of(preamble):
            found.setdefault(name, text)
    return tuple(found.values())


def allowed_definitions(preambles: Sequence[str]) -> tuple[str, ...]:
    """The definitions, without those that are refused or that use a refused definition; none if this takes more than _ROUNDS rounds."""
    found = definitions(preambles)
    for _ in range(_ROUNDS):
        own = own_of(found)
        kept = tuple(one for one in found if not refused(one, own))
        if kept == found:
            return found
        found = kept
    return ()


def packages(preambles: Sequence[str]) -> dict[str, str]:
    """The packages of the sources that are in _HARMLESS. Each has the options in brackets with which the first source loads it."""
    found: dict[str, str] = {}
    for mark in (mark for preamble in preambles for mark in _LOADED.finditer(_COMMENT.sub("", preamble))):
        for name in (one.strip() for one in mark.group("names").split(",")):
            if name in _HARMLESS:
                found.setdefault(name, mark.group("options") or "")
    return found


def _of(preamble: str) -> Iterator[tuple[str, str]]:
    for mark in _START.finditer(preamble):
        how, name = mark.group("how"), mark.group("name") or ""
        text = _whole(preamble, mark.start())
        if name in _PROJECT_NAMES or text is None:
            continue
        text = text.replace("\\newcommand", "\\providecommand")
        text = text.replace("\\NewDocumentCommand", "\\ProvideDocumentCommand")
        if how == "\\DeclareMathOperator":
            text = f"\\ifdefined{name}\\else{text}\\fi"
        yield (text if how in _SETTINGS else name), text


def _whole(text: str, start: int) -> str | None:
    """The text from `start` to the end of the first line where all braces are closed; None if that takes more than _MOST characters."""
    depth, opened = 0, False
    for place in range(start, min(len(text), start + _MOST)):
        char = text[place]
        if char in "{}" and text[place - 1 : place] != "\\":
            depth += 1 if char == "{" else -1
            opened = True
        if char == "\n" and opened and depth == 0:
            return text[start:place].strip()
    return text[start:].strip() if opened and depth == 0 and len(text) - start <= _MOST else None


def tex_project(bank: BankExport) -> dict[str, bytes]:
    """The files of a project, in which pdfLaTeX, XeLaTeX or LuaLaTeX can compile `main.tex`."""
    parts = [_HEAD.replace("%(title)s", _prose(bank.title))]
    files: dict[str, str] = {}
    defined = allowed_definitions(bank.preambles)
    own = own_of(defined)
    for problem, items in groupby(bank.items, key=lambda item: item.problem):
        parts.append(f"\\section*{{{_prose(problem)}}}\n\\begin{{enumerate}}\n")
        for item in items:
            parts.append(f"% {item.id}: {item.made}\n")
            others = {f"{item.id}--alternate-{at}": text for at, text in enumerate(item.alternates, 1)}
            for name, text in {item.id: item.latex, **others}.items():
                tex = f"{text.strip()}\n"
                if bad := refused(tex, own):
                    parts.append(f"\\item (left out: it uses \\texttt{{{_prose(bad)}}})\n")
                else:
                    parts.append(f"\\input{{items/{name}}}\n")
                    files[f"items/{name}.tex"] = tex
        parts.append("\\end{enumerate}\n")
    parts.append("\\end{document}\n")
    files |= {"main.tex": "".join(parts), "preamble.tex": _preamble(bank, defined)}
    return {f"{FOLDER}/{name}": text.encode() for name, text in files.items()}


def left_out(bank: BankExport) -> list[str]:
    """The ids of the items that the project leaves out."""
    own = own_of(allowed_definitions(bank.preambles))
    return [item.id for item in bank.items if refused(item.latex, own)]


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
    """The lines that load the packages of the items and sources, each only if it is installed where the project is compiled."""
    options = packages(bank.preambles)
    names = dict.fromkeys((*_BASIC, *options, *bank.packages))
    if {"siunitx", "circuitikz"} <= set(names):  # for values such as R=5<\ohm>
        yield "\\PassOptionsToPackage{siunitx}{circuitikz}"
    for name in names:
        if name not in _OURS:
            yield f"\\maybe{options.get(name, '')}{{{name}}}"
    if "pgfplots" in names:
        yield "\\pgfplotsset{compat=newest}"


def _drawing(bank: BankExport) -> Iterator[str]:
    yield "\\usepackage{tikz}"
    for library in dict.fromkeys(bank.libraries):
        if _LIBRARY.fullmatch(library) and library not in bank.packages:
            yield f"\\usetikzlibrary{{{library}}}"


def _prose(text: str) -> str:
    return " ".join(text.split()).translate(_PROSE)
