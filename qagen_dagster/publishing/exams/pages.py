"""Writes banks of exam items and forms of exam papers as printable pages in LaTeX and HTML.

The paper for candidates and its answer sheet do not reveal schemas, difficulties or keys. The mark scheme reveals them. No question is
split across two pages.

TeX can read files, and models wrote the items. So in LaTeX, prose is escaped, and a formula is typeset only if the converter to MathML
knows all its commands. It knows no command for files, definitions or category codes. Other formulas are shown as written.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from qagen_dagster.publishing import markup
from qagen_dagster.publishing.allowed_tex import refused
from qagen_dagster.records.blind import Letter
from qagen_dagster.records.exams.bank import ExamItem, ItemBank

_HEAD = Path(__file__).with_name("exam.tex").read_text(encoding="utf-8")
_QUESTIONS = "\\begin{questions}\n"  # the end of _HEAD
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
_DRAWING = (
    "\\usepackage{tikz}\n\\IfFileExists{circuitikz.sty}{\\usepackage{circuitikz}}{}\n"
    "\\usetikzlibrary{arrows.meta,calc,angles,quotes,patterns,positioning,decorations.pathmorphing,decorations.markings}\n"
)
_DEFINES = re.compile(r"\\(?:def|gdef|edef|xdef|let|futurelet|global|(?:re|provide)?newcommand|renewcommand)")
_NOT_TEX = re.compile(r"\^\^|%|\\degree")  # characters by code, comments, a command that few packages define
_STYLE = Path(__file__).with_name("pages.css").read_text(encoding="utf-8")
_DOT = " \u00b7 "
_PROOFS = {
    "both": "key computed by the form and reached by the verifier",
    "form": "key computed by the form alone",
    "solver": "key reached by the verifier alone",
    "neither": "key not proven",
}
_SHEET, _SCHEME = "Answer sheet", "Mark scheme"
_RULES = "Each question has one right option. Mark it on the answer sheet."
_PRINT = Path(__file__).with_name("print.css").read_text(encoding="utf-8")


def latex_exam(bank: ItemBank) -> dict[str, bytes]:
    """One file for pdfLaTeX, XeLaTeX or LuaLaTeX."""
    lines = [_head_of(bank.items).replace("%(title)s", tex(bank.name))]
    for number, (_, items) in enumerate(bank.sections(), 1):
        lines.append(f"\\fullwidth{{\\textbf{{Section {number}}}}}\n")
        lines += [_latex_question(item) for item in items]
    return {"exam.tex": ("".join(lines) + _TAIL).encode()}


def _head_of(items: Iterable[ExamItem]) -> str:
    """The beginning of a file for `items`. It loads TikZ if an item has a figure."""
    drawn = any(markup.figures_of(item.question.stem, *item.question.options.values()) for item in items)
    return (
        _HEAD.replace("\\usepackage{amsmath,amssymb}\n", f"\\usepackage{{amsmath,amssymb}}\n{_DRAWING}")
        if drawn
        else _HEAD
    )


def one_question(item: ExamItem) -> str:
    """A document with one solved question."""
    head = _head_of([item]).replace("% \\printanswers", "\\printanswers %").replace("%(title)s", "")
    return f"{head}{_latex_question(item)}{_TAIL}"


def _latex_question(item: ExamItem, *, solved: bool = True) -> str:
    """The question, which no page break splits. If `solved`, with its id, key and solution, and the mistakes behind wrong options."""
    choices = "".join(
        f"  \\{'CorrectChoice' if solved and item.is_key(letter) else 'choice'} {_guarded(item.question.options[letter])}\n"
        for letter in item.letters
    )
    others: list[Letter] = [letter for letter in item.letters if not item.is_key(letter)]
    wrong = "".join(f"\\par {letter}: {tex(item.feedback(letter))}\n" for letter in others)
    question = (
        f"\\question \\begin{{minipage}}[t]{{\\linewidth}}{_guarded(item.question.stem)}\\smallskip\n"
        f"\\begin{{choices}}\\itemsep2pt\n{choices}\\end{{choices}}\n\\end{{minipage}}\\par\\medskip\n"
    )
    solution = f"\\begin{{solution}}\n{_guarded(item.solution_text)}\n{wrong}\\end{{solution}}\n"
    return f"% {item.id}\n{question}{solution}\n" if solved else f"{question}\n"


def _guarded(text: str) -> str:
    """The text as TeX after a command. Without the braces, TeX might take a bracket of the text as an optional argument."""
    return f"{{}}{tex(text)}"


def tex(text: str) -> str:
    """A text with formulas and figures as LaTeX. Formulas and figures that are not allowed are shown as written."""
    parts: list[str] = []
    for kind, part in markup.split(markup.xml_text(text)):
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
    parts = re.split(r"\n[ \t]*\n", text.translate(_ESCAPES))
    return "\n\n".join(part.replace("\n", "\\newline\n") for part in parts)


def _may_be_set(latex: str) -> bool:
    if "$" in latex.replace("\\$", "") or _DEFINES.search(latex) or _NOT_TEX.search(latex.replace("\\%", "")):
        return False
    return "\n\n" not in latex and markup.mathml(latex) is not None


def html_preview(bank: ItemBank) -> dict[str, bytes]:
    groups = bank.sections()
    links = _DOT.join(
        f'<a href="#{escape(schema[0])}">{escape(schema[0])}</a> ({len(items)})' for schema, items in groups
    )
    sections = "".join(
        f'<h2 id="{escape(schema[0])}">{escape(" ".join(schema))}</h2>' + "".join(map(item_html, items))
        for schema, items in groups
    )
    body = f"<p>{len(bank.items)} items</p><nav>{links}</nav>{sections}"
    return {"preview.html": _html_page(bank.name, _STYLE, body).encode()}


def _html_page(name: str, style: str, body: str) -> str:
    title = escape(name)
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"/><title>{title}</title>'
        f"<style>{style}</style></head><body><h1>{title}</h1>{body}</body></html>\n"
    )


def item_html(item: ExamItem) -> str:
    """One item with its collapsed solution, as HTML that is also well-formed XML."""
    attempts = "1 attempt" if item.attempts == 1 else f"{item.attempts} attempts"
    about = _DOT.join((item.id, item.difficulty.value, _PROOFS[item.key_by], attempts))
    others: list[Letter] = [letter for letter in item.letters if not item.is_key(letter)]
    paths = "".join(
        f"<dt>{other}</dt><dd>{markup.with_mathml(item.feedback(other))}</dd>" for other in others
    )
    return (
        f'<article id="{escape(item.id)}"><header>{escape(about)}</header>'
        f"{question_html(item)}<details><summary>Solution: {item.question.correct_option}</summary>"
        f"{markup.paragraphs(item.solution_text, markup.with_mathml)}<dl>{paths}</dl></details></article>"
    )


def question_html(item: ExamItem) -> str:
    """The stem and options as a candidate sees them, as HTML that is also well-formed XML."""
    options = "".join(
        f"<li>{markup.with_mathml(item.question.options[letter])}</li>" for letter in item.letters
    )
    return f"{markup.paragraphs(item.question.stem, markup.with_mathml)}<ol>{options}</ol>"


@dataclass(frozen=True)
class PaperHead:
    """The top of the papers of a form. `form` is 0 if there is only one form, and `minutes` is None if no time is set."""

    title: str
    form: int = 0
    minutes: float | None = None

    def line(self, kind: str) -> str:
        """The line under the title: the kind of the file, the form and the time. Parts that are not set are left out."""
        form = f"Form {self.form}" if self.form else ""
        time = "" if self.minutes is None else f"{self.minutes:g} minutes"
        return " \u00b7 ".join(filter(None, (kind, form, time)))


def paper_files(
    head: PaperHead, items: Sequence[ExamItem], number: int, figures: markup.Figures
) -> dict[str, bytes]:
    """The files of form `number` by name. `items` have their options in the printed order."""
    kinds = {
        "paper": (_paper_tex(head, items), _paper_html(items), ""),
        "answer-sheet": (_sheet_tex(head, items), _sheet_html(items), _SHEET),
        "mark-scheme": (_scheme_tex(head, items), _scheme_html(items), _SCHEME),
    }
    found: dict[str, bytes] = {}
    for name, (latex, body, kind) in kinds.items():
        found[f"{name}-{number}.tex"] = latex.encode()
        page = f"<p>{escape(head.line(kind))}</p>{body}"
        html = _html_page(head.title, f"{_STYLE}{_PRINT}", page).encode()
        found[f"{name}-{number}.html"] = markup.with_figures(html, figures)
    return found


def _head_tex(head: PaperHead, items: Sequence[ExamItem], kind: str = "", extra: str = "") -> str:
    """The preamble and the title. The trailer of the PDF is fixed, so that engines write the same bytes every time."""
    fixed = "\\ifPDFTeX\\pdftrailerid{}\\fi\n\\usepackage{multicol}\n"
    start = _head_of(items).replace("% \\printanswers % the paper with its solutions\n", f"{fixed}{extra}")
    lines = tex(head.line(kind))
    before = start.removesuffix(_QUESTIONS).replace("%(title)s", tex(head.title))
    return f"{before}\\noindent {lines}\\par\\bigskip\n" if lines else before


def _paper_tex(head: PaperHead, items: Sequence[ExamItem]) -> str:
    questions = "".join(_latex_question(item, solved=False) for item in items)
    return f"{_head_tex(head, items)}\\noindent {_RULES}\\par\\bigskip\n{_QUESTIONS}{questions}{_TAIL}"


def _sheet_tex(head: PaperHead, items: Sequence[ExamItem]) -> str:
    lines = "".join(
        f"\\noindent\\makebox[2em][r]{{{number}.}}"
        + "".join(f"\\ \\textcircled{{\\scriptsize {letter}}}" for letter in item.letters)
        + "\\par\\medskip\n"
        for number, item in enumerate(items, 1)
    )
    blank = "\\noindent Name: \\hrulefill\\quad Number: \\makebox[4cm]{\\hrulefill}\\par\\bigskip\n"
    return f"{_head_tex(head, (), _SHEET)}{blank}\\begin{{multicols}}{{3}}\n{lines}\\end{{multicols}}\n\\end{{document}}\n"


def _scheme_tex(head: PaperHead, items: Sequence[ExamItem]) -> str:
    keys = "".join(
        f"\\noindent\\makebox[2em][r]{{{number}.}} \\textbf{{{item.question.correct_option}}}\\par\n"
        for number, item in enumerate(items, 1)
    )
    questions = "".join(
        f"{_latex_question(item)}\\par{{\\small {tex(_about(item))}}}\\par\\bigskip\n\n" for item in items
    )
    start = _head_tex(head, items, _SCHEME, "\\printanswers\n")
    return f"{start}\\begin{{multicols}}{{5}}\n{keys}\\end{{multicols}}\n{_QUESTIONS}{questions}{_TAIL}"


def _about(item: ExamItem) -> str:
    return f"{item.id}: {item.schema_id} {item.schema_title}, {item.difficulty.value}"


def _paper_html(items: Sequence[ExamItem]) -> str:
    articles = (
        f'<article class="item"><b>{number}</b><div>{question_html(item)}</div></article>'
        for number, item in enumerate(items, 1)
    )
    return f"<p>{_RULES}</p>{''.join(articles)}"


def _sheet_html(items: Sequence[ExamItem]) -> str:
    lines = (
        f"<p><b>{number}</b>{''.join(f'<span>{letter}</span>' for letter in item.letters)}</p>"
        for number, item in enumerate(items, 1)
    )
    return f'<p>Name: {"_" * 40} Number: {"_" * 14}</p><div class="sheet">{"".join(lines)}</div>'


def _scheme_html(items: Sequence[ExamItem]) -> str:
    rows = "".join(
        f"<tr><td>{number}</td><td>{item.question.correct_option}</td><td>{escape(_about(item))}</td></tr>"
        for number, item in enumerate(items, 1)
    )
    shown = "".join(f"<h2>{number}</h2>{item_html(item)}" for number, item in enumerate(items, 1)).replace(
        "<details>", "<details open>"
    )
    return f"<table><tr><th>Question</th><th>Key</th><th>Item</th></tr>{rows}</table>{shown}"
