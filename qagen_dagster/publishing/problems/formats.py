"""The export formats of problem banks by name, and the exporters for JSONL and Moodle XML."""

import re
from collections.abc import Callable, Iterator
from itertools import groupby

from lxml import etree

from qagen_dagster.mathematics.equality import EXPORTED, Quantity, known_value
from qagen_dagster.mathematics.units import ONE
from qagen_dagster.publishing import markup
from qagen_dagster.publishing.exporter import Exporter
from qagen_dagster.publishing.problems.tex_project import tex_project
from qagen_dagster.records.problems.result import BankExport, BankItem

_TASKS = re.compile(r"\\begin\{tasks\}.*?\\end\{tasks\}", re.DOTALL)
_COMMENT = re.compile(r"(?m)(?<!\\)%.*$")
_FONT = re.compile(r"\\(?:textbf|textit|emph|text|textrm|underline|mbox|textsf|texttt)\{([^{}]*)\}")
_ITEM = re.compile(r"\\item[ \t]*(?:\[([^\]\n]*)\])?")
_LAYOUT = re.compile(
    r"\\(?:begin|end)\{[A-Za-z*]+\}(?:\[[^\]\n]*\])?|\\(?:centering|noindent|par|medskip|smallskip|bigskip|hfill)(?![A-Za-z])|\\ans(?![A-Za-z])"
)
_BREAK = re.compile(r"\\\\(?:\[[^\]\n]*\])?|\\newline(?![A-Za-z])")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_SPACED = re.compile(r"\s*([\^{}/-])\s*")
_UPRIGHT = re.compile(r"\\(?:mathrm|text|textrm|rm|unit|si|SI|qty|degree|circ|%|Omega|ohm)|[\u00b0%\u03a9]")
_SHARES = {
    1: "100", 2: "50", 3: "33.33333", 4: "25", 5: "20", 6: "16.66667", 7: "14.28571", 8: "12.5", 9: "11.11111", 10: "10",
}  # fmt: skip  # the fractions that Moodle accepts


def html(latex: str, flow: Callable[[str], str] = markup.with_fences) -> str:
    """HTML paragraphs that are also well-formed XML; `flow` renders the formulas."""
    text = _COMMENT.sub("", _TASKS.sub("", latex))
    return markup.paragraphs(_flow(text).strip(), flow)


def _flow(text: str) -> str:
    """The text without the layout commands of its prose. Formulas and figures are unchanged."""
    number = 0
    parts: list[str] = []
    for segment in markup.split(text):
        if segment.kind == "figure":
            parts.append(f"\n\n{segment.text}\n\n")
            continue
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


def moodle_file(bank: BankExport) -> dict[str, bytes]:
    by_problem = groupby(bank.items, key=lambda item: item.problem)
    return markup.moodle_file(bank.title, ((name, map(_question, items)) for name, items in by_problem))


def _question(item: BankItem) -> markup.Element:
    value = _value(item.answer or "") if not item.options else None
    kind = "multichoice" if item.options else "numerical" if value else "essay"
    question = markup.moodle_question(kind, item.id, html(item.statement), html(item.solution))
    markup.add_settings(question, defaultgrade="1", idnumber=item.id[: markup.LONGEST_ID])
    if item.options:
        _choices(question, item)
    elif value:
        _number(question, value)
    else:
        markup.add_settings(question, responseformat="editor")
        markup.html_of(question, "graderinfo", html(item.solution))
    known = item.classification
    tags = () if known is None else (known.difficulty.value, known.topic)
    markup.add_tags(question, item.made, *tags)
    return question


def _value(answer: str) -> Quantity | None:
    """The number of an answer with its unit; None if it is not a single number other than 0, or its unit is not upright."""
    found = known_value(answer.strip().strip("$").strip()) if answer.strip() else None
    if found is None or len({*found.numbers}) != 1 or not found.numbers[0]:
        return None
    return found if found.unit == ONE or _UPRIGHT.search(answer) else None  # "2mg" is 2 times m times g


def _number(question: markup.Element, value: Quantity) -> None:
    number = float(value.numbers[0] or 0)
    allowed = abs(number) * EXPORTED if value.unit != ONE else float(value.last_place or 0) / 2
    answer = etree.SubElement(question, "answer", {"fraction": "100", "format": "moodle_auto_format"})
    markup.add_settings(answer, text=f"{number:.12g}", tolerance=f"{allowed:.3g}")
    if value.unit == ONE:
        return
    # A wrong unit costs a tenth of the mark. Students type the unit.
    markup.add_settings(question, unitgradingtype="1", unitpenalty="0.1", showunits="0", unitsleft="0")
    units = etree.SubElement(question, "units")
    for name in _spellings(value.unit.text):
        markup.add_settings(etree.SubElement(units, "unit"), multiplier="1", unit_name=name)


def _spellings(unit: str) -> Iterator[str]:
    """The ways to type a unit: as powers in a row, and with a slash if the last of several factors has a negative power."""
    plain = _SPACED.sub(r"\1", unit).replace("{", "").replace("}", "").removeprefix("^")
    yield plain
    above, _, last = plain.rpartition(" ")
    if above and "^-" in last:
        below, power = last.split("^-")
        yield f"{above}/{below}" if power == "1" else f"{above}/{below}^{power}"


def _choices(question: markup.Element, item: BankItem) -> None:
    right = sum(option.right for option in item.options)
    wrong = len(item.options) - right
    single = "true" if right == 1 else "false"
    # The answers are not shuffled, because solutions may name options by letter.
    markup.add_settings(question, single=single, shuffleanswers="false", answernumbering="abc")
    for option in item.options:
        answer = markup.html_of(question, "answer", html(option.text))
        share = _SHARES.get(right, "0") if option.right else "0"
        if not option.right and right != 1:
            share = f"-{_SHARES.get(wrong, '0')}"
        answer.set("fraction", share)


def json_lines(bank: BankExport) -> dict[str, bytes]:
    return {"items.jsonl": "".join(f"{item.model_dump_json()}\n" for item in bank.items).encode()}


PROBLEM_EXPORTERS: tuple[Exporter[BankExport], ...] = (
    Exporter("tex", tex_project),
    Exporter("jsonl", json_lines),
    Exporter("moodle", moodle_file),
)
