"""A compilable TeX document around an item or a picture: its packages and the macros that items expect.

A preamble from the source comes first and takes precedence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from qagen_dagster.latex.code import plain_of
from qagen_dagster.latex.structure import environments

_CLASS = (
    "\\documentclass[11pt]{article}\n\\usepackage[margin=2cm]{geometry}\n"
    "\\IfFileExists{lmodern.sty}{\\usepackage{lmodern}}{}\n"
)
_CLASSED = re.compile(r"\\documentclass(?![A-Za-z])")
_USED = (
    ("amsmath", r"\\|\$"),
    ("amssymb", r"\\|\$"),
    ("tasks", r"\\begin[ \t]*\{tasks\}"),
    ("graphicx", r"\\(?:includegraphics|resizebox|scalebox|rotatebox)(?![A-Za-z])"),
    (
        "siunitx",
        r"\\(?:SI|si|qty|num|unit|ang|SIrange|qtyrange|numrange|qtylist|numlist)(?![A-Za-z])|\\(?:ohm|volt|ampere|farad|henry|hertz)(?![A-Za-z])",
    ),
    ("mhchem", r"\\ce[ \t]*\{"),
    ("cancel", r"\\b?cancel(?![A-Za-z])"),
    ("multirow", r"\\multirow(?![A-Za-z])"),
    ("multicol", r"\\begin[ \t]*\{multicols\*?\}"),
    ("booktabs", r"\\(?:toprule|midrule|bottomrule)(?![A-Za-z])"),
    ("array", r"\\begin[ \t]*\{(?:tabular|array)\}"),
    ("enumitem", r"\\begin[ \t]*\{(?:enumerate|itemize)\}[ \t]*\["),
    ("wrapfig", r"\\begin[ \t]*\{wrapfigure\}"),
    ("float", r"\\begin[ \t]*\{figure\}[ \t]*\[H\]"),
    ("bm", r"\\bm(?![A-Za-z])"),
    ("esvect", r"\\vv(?![A-Za-z])"),
    ("gensymb", r"\\(?:degree|celsius)(?![A-Za-z])"),
    ("xcolor", r"\\(?:textcolor|color|colorbox)(?![A-Za-z])"),
    ("tikz", r"tikz|\\draw(?![A-Za-z])"),
    ("pgfplots", r"\\begin[ \t]*\{(?:axis|semilogxaxis|semilogyaxis|loglogaxis)\}|\\addplot"),
    (
        "circuitikz",
        r"\\begin[ \t]*\{circuitikz\}|\\ctikzset|to[ \t]*\[[^\]\n]{0,20}\b(?:R|C|L|V|battery1?|american)\b",
    ),
    ("tikz-feynman", r"\\begin[ \t]*\{feynman\}|\\feynmandiagram"),
)
_PACKAGES = tuple((name, re.compile(pattern)) for name, pattern in _USED)
_SIUNITX_DEGREE = frozenset(("siunitx", "gensymb"))  # both define \degree, so gensymb is dropped
_LIBRARY = re.compile(r"[A-Za-z][A-Za-z0-9.-]{0,40}\Z")
USUAL_LIBRARIES = (
    "arrows.meta",
    "calc",
    "angles",
    "quotes",
    "patterns",
    "positioning",
    "decorations.pathmorphing",
    "decorations.markings",
)  # TikZ libraries; TikZ is loaded with them
_SIGNS = {
    "00B0": r"^\circ",
    "00B1": r"\pm",
    "00B2": "^2",
    "00B3": "^3",
    "00B5": r"\mu",
    "00B7": r"\cdot",
    "00B9": "^1",
    "00D7": r"\times",
    "00F7": r"\div",
    "2022": r"\bullet",
    "2032": r"'",
    "2212": "-",
    "2248": r"\approx",
    "2264": r"\leq",
    "2265": r"\geq",
    "2260": r"\neq",
    "221A": r"\surd",
    "221E": r"\infty",
    "2192": r"\rightarrow",
    "22C5": r"\cdot",
    "2220": r"\angle",
    "2126": r"\Omega",
    "2207": r"\nabla",
    "2202": r"\partial",
    "0394": r"\Delta",
    "03A3": r"\Sigma",
    "03A6": r"\Phi",
    "03A9": r"\Omega",
    "03B1": r"\alpha",
    "03B2": r"\beta",
    "03B3": r"\gamma",
    "03B4": r"\delta",
    "03B5": r"\varepsilon",
    "03B8": r"\theta",
    "03BB": r"\lambda",
    "03BC": r"\mu",
    "03C0": r"\pi",
    "03C1": r"\rho",
    "03C3": r"\sigma",
    "03C4": r"\tau",
    "03C6": r"\varphi",
    "03C9": r"\omega",
}
_RAISED = ("2070", "2074", "2075", "2076", "2077", "2078", "2079")
_LOWERED = tuple(f"208{digit}" for digit in range(10))
_DEGREES = r"""\makeatletter
\AtBeginDocument{\@ifpackageloaded{siunitx}{%
\def\degree{\ensuremath{^\circ}}\def\celsius{\ensuremath{^\circ\mathrm{C}}}}{}}
\makeatother
"""  # siunitx makes these errors outside its own commands
_GIVEN = r"""\makeatletter
\providecommand{\ans}{\ensuremath{\surd}}
\@ifundefined{solution}{\newenvironment{solution}{\par\noindent\textbf{Solution. }}{\par}}{}
\makeatother
"""


def preamble_of(latex: str, preamble: str = "", libraries: Sequence[str] = ()) -> str:
    r"""The preamble: `preamble`, the packages used, known TikZ libraries, and `\ans` and `solution` if missing."""
    head = (
        preamble.strip() + "\n" if _CLASSED.search(plain_of(preamble)) else _CLASS + preamble.strip() + "\n"
    )
    wanted = [one.removeprefix("tikzlibrary") for one in libraries if _LIBRARY.match(one)]
    packages = packages_of(latex, wanted)
    loaded = "".join(f"\\@ifpackageloaded{{{name}}}{{}}{{\\usepackage{{{name}}}}}\n" for name in packages)
    if {"siunitx", "circuitikz"} <= set(packages):  # for values such as R=5<\\ohm>
        loaded = f"\\PassOptionsToPackage{{siunitx}}{{circuitikz}}\n{loaded}"
    known = {name for name, _ in _PACKAGES}
    named = [one for one in dict.fromkeys(wanted) if one not in known]
    tikz = f"\\usetikzlibrary{{{','.join((*USUAL_LIBRARIES, *named))}}}\n" if "tikz" in packages else ""
    if "pgfplots" in packages:
        tikz += "\\pgfplotsset{compat=newest}\n"
    return f"{head}\\makeatletter\n{loaded}\\makeatother\n{tikz}{sign_declarations()}{_GIVEN}"


def document_of(
    latex: str, preamble: str = "", libraries: Sequence[str] = (), *, pictures: bool = False
) -> str:
    """A document with an item, or with other content such as a picture.

    Without `pictures` no image files are loaded: a box stands for each.
    """
    body = latex.strip()
    listed = plain_of(body).startswith("\\item") or not _has_own_lists(body)
    if listed:
        body = f"\\begin{{enumerate}}\n{body}\n\\end{{enumerate}}"
    demo = "" if pictures else "\\PassOptionsToPackage{demo}{graphicx}\n"
    return f"{demo}{preamble_of(latex, preamble, libraries)}\\pagestyle{{empty}}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"


def _has_own_lists(body: str) -> bool:
    r"""Whether every `\item` stands in a list of the text."""
    plain = plain_of(body)
    first = re.search(r"\\item(?![A-Za-z@])", plain)
    lists = [span for name in ("enumerate", "itemize", "description") for span in environments(body, name)]
    return first is None or any(start < first.start() < end for start, end in lists)


def packages_of(latex: str, libraries: Sequence[str] = ()) -> tuple[str, ...]:
    """The packages that a text uses, in loading order; `libraries` may name more."""
    plain = plain_of(latex)
    found = [name for name, pattern in _PACKAGES if pattern.search(plain) or name in libraries]
    if set(found) >= _SIUNITX_DEGREE:
        found.remove("gensymb")
    if libraries and "tikz" not in found:
        found.append("tikz")
    return tuple(found)


def sign_declarations() -> str:
    """Declarations of typed signs that 8-bit engines lack (Unicode engines skip them), and of degrees beside siunitx."""
    signs = [
        f"\\DeclareUnicodeCharacter{{{code}}}{{\\ensuremath{{{sign}}}}}" for code, sign in _SIGNS.items()
    ]
    signs += [f"\\DeclareUnicodeCharacter{{{code}}}{{\\ensuremath{{^{code[-1]}}}}}" for code in _RAISED]
    signs += [f"\\DeclareUnicodeCharacter{{{code}}}{{\\ensuremath{{_{code[-1]}}}}}" for code in _LOWERED]
    signs.append("\\DeclareUnicodeCharacter{207B}{\\ensuremath{^-}}")
    lines = "".join(f"{sign}\n" for sign in signs)
    return f"\\ifdefined\\DeclareUnicodeCharacter\n{lines}\\fi\n{_DEGREES}"
