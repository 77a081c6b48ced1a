"""The final answer of a LaTeX solution."""

from __future__ import annotations

import re

from qagen_dagster.latex.layout import without_pictures
from qagen_dagster.mathematics.reading import read_unit

_BOXED = re.compile(r"\\(?:boxed|fbox)[ \t]*\{")
_SAID = re.compile(r"\banswer[ \t]*(?:is|:|=)[ \t]*(?:therefore|thus|:)?[ \t]*([^\n]{1,200})", re.IGNORECASE)
_SHAPE = re.compile(r"\\(?:begin|includegraphics|\\)[^\n\[=]{0,60}\[[^\]\n]{0,200}\]")
_LETTER = re.compile(r"(?:option|choice)?\s*\(?[a-hA-H]\)?(?![A-Za-z])")
_EQUALS = re.compile(r"=|\\(?:approx|simeq|cong|approxeq)(?![A-Za-z])|\u2248")
_STOP = re.compile(
    r"\$|\\\]|\\\)|\\end(?![A-Za-z])|\\\\|\n|(?<!\d)[.;](?=\s|$)|[.;](?=\s|$)|,(?=\s)|\\(?:implies|Rightarrow|therefore)(?![A-Za-z])"
)
_AFTER = re.compile(
    r"[ \t~]*((?:\\text\{|\\mathrm\{|[A-Za-z\u03a9\u00b5\u00b0/%^0-9{}-]|\\[,;]){1,24})(?=[\s.,;$)]|$)"
)


def final_answer(latex: str) -> str | None:
    r"""The final answer: the last `\boxed`, else the text after the last "answer is" or `=`. None if there is none."""
    text = without_pictures(latex)
    boxes = list(_BOXED.finditer(text))
    if boxes:
        return _group(text, boxes[-1].end())
    said = [found for one in _SAID.findall(text) if (found := _clean(one)) and not _LETTER.fullmatch(found)]
    if said:
        return said[-1]
    signs = list(_EQUALS.finditer(_SHAPE.sub(lambda one: " " * len(one.group()), text)))
    return (_clean(text[signs[-1].end() :]) or None) if signs else None


def boxed_answers(latex: str) -> tuple[str, ...]:
    """The content of each box: the answers of a problem with several questions."""
    text = without_pictures(latex)
    return tuple(_group(text, one.end()) for one in _BOXED.finditer(text))


def bare_answer(answer: str) -> str:
    """An answer without its box, its dollar signs and the text after it."""
    text = " ".join(answer.split())
    boxed = _BOXED.match(text.lstrip("$ "))
    if boxed:
        text = _group(text.lstrip("$ "), boxed.end())
    return _clean(text) or text


def _group(text: str, start: int) -> str:
    """The content of the braces that open before `start`."""
    depth, place = 1, start
    while place < len(text):
        if text[place] == "\\":
            place += 1
        elif text[place] in "{}":
            depth += 1 if text[place] == "{" else -1
        if depth == 0:
            return text[start:place].strip()
        place += 1
    return text[start:].strip()


def _clean(text: str) -> str:
    """The text up to the end of the answer, with a unit that follows the formula."""
    body = text.strip()
    opened = body.startswith(("$", r"\("))
    body = body.removeprefix(r"\(").lstrip("$ ")
    stop = _STOP.search(body)
    if stop is None:
        return body.strip(" .,;")
    answer, rest = body[: stop.start()].strip(" .,;"), body[stop.end() :]
    ends_formula = stop.group() in ("$", r"\)", r"\]") and (opened or stop.group() in body)
    unit = _AFTER.match(rest) if ends_formula else None
    return f"${answer}$ {unit.group(1)}" if unit and _is_unit(unit.group(1)) else answer


def _is_unit(word: str) -> bool:
    try:
        read_unit(word)
    except ValueError:
        return False
    return True
