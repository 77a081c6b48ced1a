r"""What LaTeX says, whatever its layout: the numbers in it, the words in it, the answer it ends at.

Numbers are values: 1.5, 1,500, 1{,}500, \frac{3}{2}, 3 \times 10^{8} and 2^{3} are one number each. Exponents and indices of
symbols and units, arguments of layout and drawings are none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from qagen_dagster.latex.structure import code_of, environments
from qagen_dagster.mathematics.values import close, equal, rounds_to, value_of

CLOSE = 0.005  # share by which two roundings of one answer may differ
_MOST_POWER = 400
_LAYOUT = re.compile(
    r"\\begin\{tasks\}(?:\[[^\]]*\])?\(\d+\)|\\begin\{(?:tabular|array)\}\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}"
    r"|\\(?:begin|end)\{[^{}]*\}(?:\[[^\]]*\])?|\\(?:vspace|hspace|label|ref|eqref|cite|includegraphics|input|setlength"
    r"|textcolor|color)\*?(?:\[[^\]]*\])?\{[^{}]*\}|\\\\(?:\[[^\]]*\])?|\\item\[[^\]]*\]|\\(?:task|item|ans)(?![A-Za-z])"
)
_SPACE = re.compile(
    r"\\[,;:! ]|~|\\(?:quad|qquad|left|right|displaystyle|limits|bigl|bigr|Bigl|Bigr)(?![A-Za-z])"
)
_GROUPED = re.compile(r"(?<![\d.])(\d{1,3})((?:(?:,|\{,\}|\\,|\\ )\d{3})+)(?![\d])")
_BRACED = r"\{\s*(-?\d+(?:\.\d+)?)\s*\}"
_RATIO = re.compile(rf"\\[dt]?frac\s*{_BRACED}\s*{_BRACED}")
_PLAIN = r"\d+(?:\.\d+)?|\.\d+"
_POWER = r"\^\s*(?:\{\s*([-+]?\s*\d+)\s*\}|(\d))"
_NUMBER = re.compile(
    rf"(?P<value>{_PLAIN})(?:\s*(?:\\times|\\cdot|\\ast)\s*(?P<base>10)\s*{_POWER}|(?:\s*{_POWER}))?"
)
_SCRIPT = re.compile(r"[_^]\s*(?:\{[^{}]*\}|\\?[A-Za-z]+|[-+]?\d)")
_WORD = re.compile(r"\\[A-Za-z]+|[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_SILENT = frozenset(
    [
        r"\times",
        r"\cdot",
        r"\ast",
        r"\text",
        r"\textbf",
        r"\textit",
        r"\emph",
        r"\mathrm",
        r"\mathbf",
        r"\textrm",
        r"\mathit",
        r"\operatorname",
        r"\rm",
        r"\bf",
        r"\it",
        r"\frac",
        r"\dfrac",
        r"\tfrac",
        r"\noindent",
        r"\par",
        r"\centering",
        r"\medskip",
        r"\smallskip",
        r"\bigskip",
        r"\newline",
        r"\hfill",
        r"\small",
        r"\normalsize",
        r"\unit",
        r"\si",
        r"\SI",
        r"\qty",
        r"\num",
    ]
)
_BOXED = re.compile(r"\\boxed\s*\{")
_ANSWER = re.compile(r"answer\s*(?:is|:|=)\s*(?:therefore|thus)?\s*([^\n]{1,200})", re.IGNORECASE)
_STOP = re.compile(r"\$|\\\]|\\\)|\\end|\\\\|\n|(?<!\d)[.;](?=\s|$)|[.;](?=\s|$)")
_AFTER = re.compile(r"\s*((?:[A-Za-z\u03a9\u00b0/%^0-9-]|\\[,;]){1,14})(?=[\s.,;$]|$)")


def numbers_of(latex: str) -> tuple[Fraction, ...]:
    """Its numbers as values, smallest first."""
    return tuple(sorted(_numbers(_bare(latex))))


def same_numbers(left: str, right: str) -> bool:
    """Whether both hold the same numbers, each as often."""
    return Counter(numbers_of(left)) == Counter(numbers_of(right))


def words_of(latex: str) -> tuple[str, ...]:
    r"""Its words in order, in small letters: prose, units and symbols, without layout and numbers."""
    bare = _NUMBER.sub(" ", _RATIO.sub(" ", _bare(latex)))
    return tuple(one.lower() for one in _WORD.findall(bare) if one not in _SILENT)


def same_words(left: str, right: str) -> bool:
    """Whether both say the same words in the same order."""
    return words_of(left) == words_of(right)


def final_answer(latex: str) -> str | None:
    r"""The answer that a solution ends at: the last `\boxed`, what follows "answer is", or the last `=`. None: there is none."""
    text = code_of(latex)
    boxes = list(_BOXED.finditer(text))
    if boxes:
        return _group(text, boxes[-1].end())
    said = [
        found
        for one in _ANSWER.findall(text)
        if (found := _clean(one)) and not re.match(r"\(?[a-hA-H]\)?\b", found)
    ]
    if said:
        return said[-1]
    place = text.rfind("=")
    return None if place < 0 else _clean(text[place + 1 :])


def same_answer(left: str, right: str) -> bool | None:
    """Whether two answers are one value, or roundings of one. None: that cannot be said."""
    if " ".join(left.split()) == " ".join(right.split()):
        return True
    try:
        one, other = value_of(_clean(left) or left), value_of(_clean(right) or right)
    except ValueError:
        return None
    return equal(one, other) or rounds_to(one, other) or rounds_to(other, one) or close(one, other, CLOSE)


def _bare(latex: str) -> str:
    """The text without comments, drawings and layout."""
    text = latex
    for name in ("tikzpicture", "circuitikz"):
        for start, end in reversed(environments(text, name)):
            text = f"{text[:start]} {text[end:]}"
    text = _GROUPED.sub(lambda one: one.group(1) + re.sub(r"\D", "", one.group(2)), code_of(text))
    return _SPACE.sub(" ", _LAYOUT.sub(" ", text))


def _numbers(text: str) -> Iterator[Fraction]:
    for ratio in _RATIO.finditer(text):
        below = Fraction(ratio.group(2))
        yield Fraction(ratio.group(1)) / below if below else Fraction(ratio.group(1))
    text = _RATIO.sub(" ", text)
    scripts = [
        (one.start(), one.end()) for one in _SCRIPT.finditer(text) if not _of_number(text, one.start())
    ]
    for found in _NUMBER.finditer(text):
        start = found.start()
        if any(begin <= start < end for begin, end in scripts) or _named(text, start):
            continue
        yield _value(found) * (-1 if _negative(text, start) else 1)


def _of_number(text: str, place: int) -> bool:
    """Whether the power at `place` is a number's."""
    before = text[:place].rstrip()
    return text[place] == "^" and bool(before) and before[-1].isdigit() and not _named(text, _run(before))


def _run(before: str) -> int:
    """Where the digits at the end begin."""
    return len(before) - len(re.search(r"[\d.]*$", before).group())  # pyright: ignore[reportOptionalMemberAccess]


def _named(text: str, start: int) -> bool:
    """Whether the digits belong to a name, as in H2O or R1."""
    return (
        start > 0
        and (text[start - 1].isalpha() or text[start - 1] == "_")
        and not re.search(r"\\[A-Za-z]+$", text[:start])
    )


def _value(found: re.Match[str]) -> Fraction:
    value = Fraction(found.group("value"))
    powers = [int(one.replace(" ", "")) for one in found.groups()[2:] if one]
    if not powers or abs(powers[0]) > _MOST_POWER:
        return value
    if found.group("base"):
        return value * Fraction(10) ** powers[0]
    return value ** powers[0] if value else value


def _negative(text: str, start: int) -> bool:
    before = text[:start].rstrip()
    if not before.endswith(("-", "\u2212")):
        return False
    glued, head = text[start - 1] in "-\u2212", before[:-1]
    if not head.strip() or head.rstrip()[-1] in "([{=,$<>^|:":
        return True
    return glued and head[-1].isspace() and not head.rstrip()[-1].isdigit()


def _group(text: str, start: int) -> str:
    depth = 1
    for place in range(start, len(text)):
        if text[place] in "{}" and text[place - 1] != "\\":
            depth += 1 if text[place] == "{" else -1
        if depth == 0:
            return text[start:place].strip()
    return text[start:].strip()


def _clean(text: str) -> str:
    """Up to where the answer stops, and a unit that stands after the mathematics."""
    body = text.strip()
    opened = body.startswith("$")
    body = body.lstrip("$ ")
    stop = _STOP.search(body)
    if stop is None:
        return body.strip(" .,;")
    answer, rest = body[: stop.start()].strip(" .,;"), body[stop.end() :]
    unit = _AFTER.match(rest) if stop.group() == "$" and (opened or "$" in text) else None
    return f"${answer}$ {unit.group(1)}" if unit and _is_unit(unit.group(1)) else answer


def _is_unit(word: str) -> bool:
    from qagen_dagster.mathematics.reading import read_unit

    try:
        read_unit(word)
    except ValueError:
        return False
    return True
