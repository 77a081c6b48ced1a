"""A form of an exam paper as files: the paper for candidates, the answer sheet, and the mark scheme, each in LaTeX and in HTML that prints.

The first two say nothing about schemas, difficulties or keys. No item is broken over two pages.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from qagen_dagster.publishing.exams import pages
from qagen_dagster.publishing.markup import Figures, with_figures
from qagen_dagster.records.exams.bank import ExamItem

_SHEET, _SCHEME = "Answer sheet", "Mark scheme"
_RULES = "Each question has one right option. Mark it on the answer sheet."
_PRINT = Path(__file__).with_name("print.css").read_text(encoding="utf-8")


@dataclass(frozen=True)
class PaperHead:
    """What stands on top of the papers of a form. `form` is 0 if there is only one, `minutes` None if no time is set."""

    title: str
    form: int = 0
    minutes: float | None = None

    def line(self, kind: str) -> str:
        """What is under the title: the kind of the file, the form and the time."""
        form = f"Form {self.form}" if self.form else ""
        time = "" if self.minutes is None else f"{self.minutes:g} minutes"
        return " \u00b7 ".join(filter(None, (kind, form, time)))


def paper_files(
    head: PaperHead, items: Sequence[ExamItem], number: int, figures: Figures
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
        html = pages.html_page(head.title, f"{pages.STYLE}{_PRINT}", page).encode()
        found[f"{name}-{number}.html"] = with_figures(html, figures)
    return found


def _head_tex(head: PaperHead, items: Sequence[ExamItem], kind: str = "", extra: str = "") -> str:
    """The preamble and the title; a fixed trailer, so that engines write the same bytes again."""
    fixed = "\\ifPDFTeX\\pdftrailerid{}\\fi\n\\usepackage{multicol}\n"
    start = pages.head_of(items).replace(
        "% \\printanswers % the paper with its solutions\n", f"{fixed}{extra}"
    )
    lines = pages.tex(head.line(kind))
    before = start.removesuffix(pages.QUESTIONS).replace("%(title)s", pages.tex(head.title))
    return f"{before}\\noindent {lines}\\par\\bigskip\n" if lines else before


def _paper_tex(head: PaperHead, items: Sequence[ExamItem]) -> str:
    questions = "".join(pages.latex_question(item, solved=False) for item in items)
    return (
        f"{_head_tex(head, items)}\\noindent {_RULES}\\par\\bigskip\n{pages.QUESTIONS}{questions}{pages.TAIL}"
    )


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
        f"{pages.latex_question(item)}\\par{{\\small {pages.tex(_about(item))}}}\\par\\bigskip\n\n"
        for item in items
    )
    start = _head_tex(head, items, _SCHEME, "\\printanswers\n")
    return f"{start}\\begin{{multicols}}{{5}}\n{keys}\\end{{multicols}}\n{pages.QUESTIONS}{questions}{pages.TAIL}"


def _about(item: ExamItem) -> str:
    return f"{item.id}: {item.schema_id} {item.schema_title}, {item.difficulty.value}"


def _paper_html(items: Sequence[ExamItem]) -> str:
    articles = (
        f'<article class="item"><b>{number}</b><div>{pages.question_html(item)}</div></article>'
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
    shown = "".join(
        f"<h2>{number}</h2>{pages.item_html(item)}" for number, item in enumerate(items, 1)
    ).replace("<details>", "<details open>")
    return f"<table><tr><th>Question</th><th>Key</th><th>Item</th></tr>{rows}</table>{shown}"
