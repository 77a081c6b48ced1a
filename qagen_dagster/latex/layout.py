"""Removal of layout from LaTeX: comments, drawings, environments, spaces, sizes, columns; signs are normalised."""

from __future__ import annotations

import re

from qagen_dagster.latex.code import blanked, code_of
from qagen_dagster.latex.structure import PICTURES, environments

_OPTION = r"[ \t]*\[[^\]\n]{0,300}\]"
_GROUP = r"[ \t]*\{(?:[^{}]|\{[^{}]{0,300}\}){0,300}\}"
_SHAPED = "tabular|tabularx|longtable|array|minipage|multicols|wrapfigure|adjustbox|subfigure"
_ONE = (
    "vspace|hspace|label|ref|eqref|cref|autoref|cite|tag|includegraphics|input|include|usepackage|pagestyle|settasks|color"
    "|textcolor|colorbox|scalebox|rotatebox|raisebox|parbox|makebox|framebox|cline|linespread|phantom|hphantom|vphantom"
)
_TWO = "setlength|addtolength|setcounter|addtocounter|rule|resizebox|multicolumn|multirow|fontsize"
_LAYOUT = re.compile(
    rf"\\begin[ \t]*\{{(?:{_SHAPED})\*?\}}(?:{_OPTION}|{_GROUP}){{0,4}}"
    rf"|\\begin[ \t]*\{{[^{{}}\n]{{1,60}}\}}(?:{_OPTION})?(?:[ \t]*\(\d{{1,2}}\))?|\\end[ \t]*\{{[^{{}}\n]{{1,60}}\}}"
    rf"|\\(?:{_ONE})(?![A-Za-z@])\*?(?:{_OPTION}){{0,2}}(?:{_GROUP})?"
    rf"|\\(?:{_TWO})(?![A-Za-z@])\*?(?:{_OPTION})?(?:{_GROUP}){{0,2}}"
    rf"|\\cmidrule(?:\([a-z]{{1,4}}\))?{_GROUP}|\\\\\*?(?:{_OPTION})?|\\item(?![A-Za-z@])(?:{_OPTION})?"
    rf"|\\task(?![A-Za-z@])[*!]?(?:\(\d{{1,2}}\))?(?:{_OPTION})?"
)
_COMMA = r"(?:,|\{,\})"
_THOUSANDS = re.compile(r"(?<![\d.])\d{1,3}(?:(?:,|\{,\}|\\,|\\ |\u202f|\u2009)\d{3})+(?!\d)")
_LAKHS = re.compile(rf"(?<![\d.])\d{{1,2}}(?:{_COMMA}\d{{2}})+{_COMMA}\d{{3}}(?!\d)")
_DECIMAL_COMMA = re.compile(r"(?<=\d)\{,\}(?=\d)")
_DEGREES = re.compile(r"\^[ \t]*(?:\{[ \t]*\\circ[ \t]*\}|\\circ(?![A-Za-z]))|\\degree(?![A-Za-z])|\u00b0")
_ANGLE = re.compile(r"\\ang[ \t]*\{([^{};]{0,40})\}")
_SPACE = re.compile(
    r"\\[,;:! /]|~|\\(?:quad|qquad|left|right|middle|displaystyle|textstyle|limits|nolimits|[bB]ig{1,2}[lrm]?)(?![A-Za-z])"
)
_RAISED = re.compile("[\u207a\u207b\u2070\u00b9\u00b2\u00b3\u2074-\u2079]+")
_LOWERED = re.compile("[\u2080-\u2089]+")
_SMALL = str.maketrans(
    "\u207a\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u2080\u2081\u2082\u2083\u2084\u2085\u2086\u2087\u2088\u2089",
    "+-01234567890123456789",
)
_SIGNS = str.maketrans(
    {
        "\u2212": "-",
        "\u2010": "-",
        "\u2011": "-",
        "\u00a0": " ",
        "\u202f": " ",
        "\u2009": " ",
        "\u00d7": r" \times ",
        "\u22c5": r" \cdot ",
        "\u00b7": r" \cdot ",
        "\u00b5": r"\mu ",
        "\u03bc": r"\mu ",
        "\u03a9": r"\Omega ",
        "\u2126": r"\Omega ",
        "\u03c0": r"\pi ",
        "\u03b8": r"\theta ",
        "\u2248": r" \approx ",
        "\u2019": "'",
    }
)


def without_pictures(latex: str) -> str:
    """The code with comments and drawings blanked; positions stay."""
    text = latex
    for name in PICTURES:
        for start, end in environments(text, name):
            text = text[:start] + blanked(text[start:end]) + text[end:]
    return code_of(text)


def without_layout(latex: str) -> str:
    r"""The prose and formulas: 1,500 and 1{,}500 become 1500, 10⁸ becomes 10^{8}, 30° becomes `30 \degree`."""
    text = _joined(without_pictures(latex))
    text = _ANGLE.sub(r" \1 \\degree ", _DEGREES.sub(r" \\degree ", text))
    text = _RAISED.sub(lambda one: f"^{{{one.group().translate(_SMALL)}}}", text)
    text = _LOWERED.sub(lambda one: f"_{{{one.group().translate(_SMALL)}}}", text)
    return _SPACE.sub(" ", _LAYOUT.sub(" ", text.translate(_SIGNS)))


def _joined(text: str) -> str:
    """Join the digits of grouped numbers, and turn decimal commas marked for TeX into points."""
    for grouped in (_LAKHS, _THOUSANDS):
        text = grouped.sub(lambda one: re.sub(r"\D", "", one.group()), text)
    return _DECIMAL_COMMA.sub(".", text)
