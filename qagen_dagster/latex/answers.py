"""The final answer of a LaTeX solution."""

from __future__ import annotations

import re

from qagen_dagster.latex.layout import without_pictures
from qagen_dagster.mathematics.reading import read_unit

_BOXED = re.compile(r"\\(?:boxed|fbox)[ \t]*\{")
_SAID = re.compile(r"\banswer[ \t]*(?:is|:|=)[ \t]*(?:therefore|thus|:)?[ \t]*([^\n]{1,200})", re.IGNORECASE)
_SHAPE = re.compile(r"\\(?:begin|includegraphics|\\)[^\n\[=]{0,60}\[[^\]\n]{0,200}\]")
_LETTER = re.compile(r"(?:option|choice)?\s*\(?[a-hA-H]\)?(?![A-Za-z])")
_BARE = r"\(\s*[a-hA-H]\s*\)|(?<![$\\\w])[A-H](?=[.,;:]|\s*$|\s+(?:and|or|because|since|as)\b)"
_NAMED = rf"(?:{_BARE})(?:(?:\s*,\s*|\s*,?\s*(?:and|&)\s*)(?:{_BARE}))*"
_KEYS = tuple(
    re.compile(one.replace("NAMED", f"(?P<named>{_NAMED})"), re.MULTILINE)
    for one in (
        r"(?i:\b(?:correct|right) (?:options?|choices?|answers?|statements?)(?:\s*(?:is|are|:|=)){0,2}\s*(?:options?\s*)?)NAMED",
        r"(?i:\banswers?\s*(?:is|are|:|=)(?:\s*(?:therefore|thus|:))?\s*(?:options?\s*|choices?\s*)?)NAMED",
        r"(?i:\b(?:options?|choices?)\s*)NAMED\s+(?i:(?:is|are)\s+(?:the\s+)?(?:only\s+)?(?:correct|right)\b)",
    )
)
_FRAME = re.compile(
    r"\\(?:text|textbf|textit|mathrm|mathbf|emph|bf|rm)(?![A-Za-z])|[{}]|\$(?=\s*\()|(?<=\))\s*\$|\\[,;! ]|~"
)
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


def named_options(solution: str) -> tuple[frozenset[str], ...]:
    """The letters of the options that each sentence of a solution, or a box, calls right, in lower case."""
    text = _plain(without_pictures(solution))
    said = [one["named"] for pattern in _KEYS for one in pattern.finditer(text)]
    boxes = (_plain(one) for one in boxed_answers(solution))
    said += [one for one in boxes if one.startswith("(") or re.fullmatch(_NAMED, one)]
    first = (re.match(_NAMED, one) for one in said)
    return tuple(frozenset(re.findall(r"\b[a-h]\b", one.group().lower())) for one in first if one)


def _plain(text: str) -> str:
    """Text without its fonts and braces, on single spaces."""
    return re.sub(r"[ \t]+", " ", _FRAME.sub(" ", text)).strip()


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
