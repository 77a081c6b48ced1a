"""Banks of exam items as pages: a paper in LaTeX, and a web page.

TeX can read files, and models wrote the items. So in LaTeX prose is escaped, and a formula is typeset only if a converter knows all
its commands: that converter has no commands for files, definitions or category codes. Other formulas are shown as written.
"""

import re
from collections.abc import Iterable
from html import escape
from pathlib import Path

from qagen_dagster.publishing.allowed_tex import refused
from qagen_dagster.publishing.markup import figures_of, mathml, paragraphs, split, with_mathml, xml_text
from qagen_dagster.records.exams.bank import ExamItem, ItemBank

HEAD = Path(__file__).with_name("exam.tex").read_text(encoding="utf-8")
QUESTIONS = "\\begin{questions}\n"  # how HEAD ends
TAIL = "\\end{questions}\n\\end{document}\n"
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
_DRAWING = (
    "\\usepackage{tikz}\n\\IfFileExists{circuitikz.sty}{\\usepackage{circuitikz}}{}\n"
    "\\usetikzlibrary{arrows.meta,calc,angles,quotes,patterns,positioning,decorations.pathmorphing,decorations.markings}\n"
)
_DEFINES = re.compile(r"\\(?:def|gdef|edef|xdef|let|futurelet|global|(?:re|provide)?newcommand|renewcommand)")
_NOT_TEX = re.compile(r"\^\^|%|\\degree")  # characters by code, comments, and a command of no common package
STYLE = Path(__file__).with_name("pages.css").read_text(encoding="utf-8")
_DOT = " \u00b7 "
_PROOFS = {
    "both": "key computed by the form and reached by the verifier",
    "form": "key computed by the form alone",
    "solver": "key reached by the verifier alone",
    "neither": "key not proven",
}


class LatexExam:
    """One file for pdfLaTeX, XeLaTeX or LuaLaTeX."""

    name = "latex"

    def export(self, bank: ItemBank) -> dict[str, bytes]:
        lines = [head_of(bank.items).replace("%(title)s", tex(bank.name))]
        for number, (_, items) in enumerate(bank.sections(), 1):
            lines.append(f"\\fullwidth{{\\textbf{{Section {number}}}}}\n")
            lines += [latex_question(item) for item in items]
        return {"exam.tex": ("".join(lines) + TAIL).encode()}


def head_of(items: Iterable[ExamItem]) -> str:
    """The beginning of the file, with TikZ if an item has a figure."""
    drawn = any(figures_of(item.question.stem, *item.question.options.values()) for item in items)
    return (
        HEAD.replace("\\usepackage{amsmath,amssymb}\n", f"\\usepackage{{amsmath,amssymb}}\n{_DRAWING}")
        if drawn
        else HEAD
    )


def one_question(item: ExamItem) -> str:
    """A document with one solved question."""
    head = head_of([item]).replace("% \\printanswers", "\\printanswers %").replace("%(title)s", "")
    return f"{head}{latex_question(item)}{TAIL}"


def latex_question(item: ExamItem, *, solved: bool = True) -> str:
    """The question on one page. If `solved`, also its id, its key, its solution, and the mistakes behind the wrong options."""
    choices = "".join(
        f"  \\{'CorrectChoice' if solved and item.is_key(letter) else 'choice'} {guarded(item.question.options[letter])}\n"
        for letter in item.letters
    )
    wrong = "".join(
        f"\\par {letter}: {tex(item.feedback(letter))}\n"
        for letter in item.letters
        if not item.is_key(letter)
    )
    question = (
        f"\\question \\begin{{minipage}}[t]{{\\linewidth}}{guarded(item.question.stem)}\\smallskip\n"
        f"\\begin{{choices}}\\itemsep2pt\n{choices}\\end{{choices}}\n\\end{{minipage}}\\par\\medskip\n"
    )
    solution = f"\\begin{{solution}}\n{guarded(item.solution_text)}\n{wrong}\\end{{solution}}\n"
    return f"% {item.id}\n{question}{solution}\n" if solved else f"{question}\n"


def guarded(text: str) -> str:
    """The text as TeX after a command. Without the braces, TeX might take a bracket of the text as an optional argument."""
    return f"{{}}{tex(text)}"


def tex(text: str) -> str:
    """Prose and formulas in LaTeX. A formula with a command that is not known is shown as it is written."""
    parts: list[str] = []
    for kind, part in split(xml_text(text)):
        if kind == "prose":
            parts.append(_prose(part))
        elif kind == "figure":
            parts.append(f"\\texttt{{{_prose(part)}}}" if refused(part) else f"\n\n{part}\n\n")
        elif not _may_be_set(part):
            parts.append(f"\\texttt{{{_prose(part)}}}")
        else:
            parts.append(f"\\[{part}\\]" if kind == "display" else f"${part}$")
    return "".join(parts)


def _prose(text: str) -> str:
    paragraphs = re.split(r"\n[ \t]*\n", text.translate(_ESCAPES))
    return "\n\n".join(part.replace("\n", "\\newline\n") for part in paragraphs)


def _may_be_set(latex: str) -> bool:
    if "$" in latex.replace("\\$", "") or _DEFINES.search(latex) or _NOT_TEX.search(latex.replace("\\%", "")):
        return False
    return "\n\n" not in latex and mathml(latex) is not None


class HtmlPreview:
    name = "html"

    def export(self, bank: ItemBank) -> dict[str, bytes]:
        groups = bank.sections()
        links = _DOT.join(
            f'<a href="#{escape(schema[0])}">{escape(schema[0])}</a> ({len(items)})'
            for schema, items in groups
        )
        sections = "".join(
            f'<h2 id="{escape(schema[0])}">{escape(" ".join(schema))}</h2>' + "".join(map(item_html, items))
            for schema, items in groups
        )
        body = f"<p>{len(bank.items)} items</p><nav>{links}</nav>{sections}"
        return {"preview.html": html_page(bank.name, STYLE, body).encode()}


def html_page(name: str, style: str, body: str) -> str:
    title = escape(name)
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"/><title>{title}</title>'
        f"<style>{style}</style></head><body><h1>{title}</h1>{body}</body></html>\n"
    )


def item_html(item: ExamItem) -> str:
    """One item with its collapsed solution, as HTML that is also well-formed XML."""
    attempts = "1 attempt" if item.attempts == 1 else f"{item.attempts} attempts"
    about = _DOT.join((item.id, item.difficulty.value, _PROOFS[item.key_by], attempts))
    paths = "".join(
        f"<dt>{letter}</dt><dd>{with_mathml(item.feedback(letter))}</dd>"
        for letter in item.letters
        if not item.is_key(letter)
    )
    return (
        f'<article id="{escape(item.id)}"><header>{escape(about)}</header>'
        f"{question_html(item)}<details><summary>Solution: {item.question.correct_option}</summary>"
        f"{paragraphs(item.solution_text, with_mathml)}<dl>{paths}</dl></details></article>"
    )


def question_html(item: ExamItem) -> str:
    """The stem and options as a candidate sees them, as HTML that is also well-formed XML."""
    options = "".join(f"<li>{with_mathml(item.question.options[letter])}</li>" for letter in item.letters)
    return f"{paragraphs(item.question.stem, with_mathml)}<ol>{options}</ol>"
