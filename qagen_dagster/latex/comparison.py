"""The content of a LaTeX text without its layout: its numbers, words and answer, and whether two texts have the same content. Values
are read and compared in `mathematics/` (`equality.py`, `notation.toml`)."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from qagen_dagster.latex.structure import PICTURES, blanked, code_of, environments
from qagen_dagster.mathematics.equality import CLOSE, ROUNDED, close, equal, known_value, rounds_to
from qagen_dagster.mathematics.units import joined_ohms, written_out
from qagen_dagster.mathematics.value_reading import known_unit
from qagen_dagster.records.data_files import read_table

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
_SPACE = re.compile(
    r"\\[,;:! /]|~|\\(?:quad|qquad|left|right|middle|displaystyle|textstyle|limits|nolimits|[bB]ig{1,2}[lrm]?)(?![A-Za-z])"
)
_RAISED = re.compile("[\u207a\u207b\u2070\u00b9\u00b2\u00b3\u2074-\u2079]+")
_LOWERED = re.compile("[\u2080-\u2089]+")
_SMALL = str.maketrans(
    "\u207a\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u2080\u2081\u2082\u2083\u2084\u2085\u2086\u2087\u2088\u2089",
    "+-01234567890123456789",
)
_TABLES = read_table(__package__, "tables.toml")
_SIGNS: dict[str, str] = _TABLES["replaced"]
_MOST_DIGITS = 60  # a longer row of digits is a word
_BEHIND = 80  # characters that are kept before a number and after it
_MOST_POWER = 1_000  # maximum exponent of ten, and maximum of an exponent times the length of its base
_PLAIN = r"(?:\d+(?:\.\d+)?|\.\d+)"
_TERM = rf"(?:\{{[ \t]*-?[ \t]*{_PLAIN}[ \t]*\}}|\d)"
_POWER = r"\^\s*(?:\{\s*[-+]?\s*\d+\s*\}|[-+]?\d+)"
_TOKEN = re.compile(
    rf"(?P<math>\$\$?|\\[()\[\]])"
    rf"|(?P<whole>\d+[ \t]*)?\\(?:[dt]?frac|nicefrac|sfrac)[ \t]*(?P<above>{_TERM})[ \t]*(?P<below>{_TERM})"
    rf"|(?<![\d.])(?P<over>{_PLAIN})[ \t]*/[ \t]*(?P<under>{_PLAIN})(?![\d.]|[ \t]*[\^_])"
    rf"|(?P<value>{_PLAIN})(?:[eE](?P<e>[-+]?\d{{1,3}})(?![\w.])|\s*(?:\\times(?![A-Za-z])|\\cdot(?![A-Za-z])|\*|x)\s*10\s*"
    rf"(?P<ten>{_POWER})|\s*(?P<power>{_POWER}))?"
    r"|(?P<index>_\s*(?:\{(?:[^{}]|\{[^{}]{0,60}\}){0,60}\}|\\[A-Za-z]+|[^\s{}\\$]))"
    r"|(?P<raised>\^\s*(?:\{\s*[-+]?\s*\d+\s*\}|\d|\{\s*\\prime\s*\}|[*']))"
    r"|(?P<word>\\[A-Za-z]+|[^\W\d_]+(?:['][^\W\d_]+|\d+[^\W\d_]*)*)"
    r"|(?P<other>\S)"
)
_FONTS = re.compile(r"\\(?:mathrm|mathbf|mathit|mathsf|text[a-z]{0,6}|operatorname|rm|bf|it)(?![A-Za-z])")
_ORDINAL = frozenset(("st", "nd", "rd", "th"))
_AN = re.compile(r"an[\s${]*\Z", re.IGNORECASE)
_OPERAND = re.compile(r"[\w)\]}']\Z")
_SILENT = frozenset(f"\\{name}" for name in _TABLES["layout"].split())
_BOXED = re.compile(r"\\(?:boxed|fbox)[ \t]*\{")
_SAID = re.compile(r"\banswer[ \t]*(?:is|:|=)[ \t]*(?:therefore|thus|:)?[ \t]*([^\n]{1,200})", re.IGNORECASE)
_SHAPE = re.compile(r"\\(?:begin|includegraphics|\\)[^\n\[=]{0,60}\[[^\]\n]{0,200}\]")
_LETTER = re.compile(r"(?:option|choice)?\s*\(?[a-hA-H]\)?(?![A-Za-z])")
_BARE = r"\(\s*[a-hA-H]\s*\)|(?<![$\\\w])[A-H](?=[.,;:]|\s*$|\s+(?:and|or|because|since|as)\b)"
_NAMED = rf"(?:{_BARE})(?:(?:\s*,\s*|\s*,?\s*(?:and|&)\s*)(?:{_BARE}))*"
_KEYS = tuple(
    re.compile(pattern.replace("NAMED", f"(?P<named>{_NAMED})"), re.MULTILINE)
    for pattern in (
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


def without_pictures(latex: str) -> str:
    """The text with comments, verbatim text and drawings replaced by spaces, so that positions stay the same."""
    text = latex
    for name in PICTURES:
        for start, end in environments(text, name):
            text = text[:start] + blanked(text[start:end]) + text[end:]
    return code_of(text)


def without_layout(latex: str) -> str:
    r"""The prose and formulas: 1,500 and 1{,}500 become 1500, 10⁸ becomes 10^{8}, 30° becomes `30 \degree`."""
    text = written_out(_joined(without_pictures(latex)))
    text = _DEGREES.sub(r" \\degree ", text)
    text = _RAISED.sub(lambda one: f"^{{{one.group().translate(_SMALL)}}}", text)
    text = _LOWERED.sub(lambda one: f"_{{{one.group().translate(_SMALL)}}}", text)
    return joined_ohms(_SPACE.sub(" ", _LAYOUT.sub(" ", text.translate(str.maketrans(_SIGNS)))))


def _joined(text: str) -> str:
    """Join the digits of grouped numbers, and turn decimal commas marked for TeX into points."""
    for grouped in (_LAKHS, _THOUSANDS):
        text = grouped.sub(lambda one: re.sub(r"\D", "", one.group()), text)
    return _DECIMAL_COMMA.sub(".", text)


@dataclass
class _Content:
    """The content read so far. `around` has, for each number, the text before and after it, and whether it is in a formula. `counted`
    says that the last token was a number, which ended at `at`."""

    numbers: list[Fraction] = field(default_factory=list[Fraction])
    around: list[tuple[str, str, bool]] = field(default_factory=list[tuple[str, str, bool]])
    words: list[str] = field(default_factory=list[str])
    counted: bool = False
    at: int = 0


def numbers_of(latex: str) -> tuple[Fraction, ...]:
    """The numbers as values, smallest first."""
    return tuple(sorted(_read(latex).numbers))


def listed(numbers: Iterable[Fraction]) -> str:
    """The different numbers, smallest first, in decimal notation where that is exact."""
    decimals = {number: f"{float(number):.12g}" for number in sorted(numbers)}
    return ", ".join(text if Fraction(text) == one else str(one) for one, text in decimals.items())


def amounts_of(latex: str) -> tuple[tuple[Fraction, str, str, bool], ...]:
    """The numbers in order, each with the text before and after it (without layout), and whether it stands in a formula."""
    found = _read(latex)
    return tuple((number, *around) for number, around in zip(found.numbers, found.around, strict=True))


def words_of(latex: str) -> tuple[str, ...]:
    """The words in order: prose in lower case, units, symbols, their indices and exponents; no layout, no numbers. Changes that a number
    causes in its neighbours are undone: "an 8", "3 seconds" and "2nd" give "a", "second" and "th"."""
    return tuple(_read(latex).words)


@lru_cache(maxsize=256)
def _read(latex: str) -> _Content:
    text = without_layout(latex)
    found, inside = _Content(), False
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup or ""
        if kind == "math":
            inside = token.group() in (r"\(", r"\[") or (token.group()[0] == "$" and not inside)
        elif kind in ("word", "index", "raised") or len(token.group()) > _MOST_DIGITS:
            _word(found, token, inside=inside)
        elif kind != "other":
            sign = -1 if _negative(text, token.start(), inside) else 1
            values = list(_values(token))
            found.numbers += [sign * values[0], *values[1:]]
            before, behind = (
                text[max(0, token.start() - _BEHIND) : token.start()],
                text[token.end() : token.end() + _BEHIND],
            )
            found.around += [(before, behind, inside)] * len(values)
            found.counted, found.at = True, token.end()
            if found.words[-1:] == ["an"] and _AN.search(text, max(0, token.start() - 20), token.start()):
                found.words[-1] = "a"
        else:
            found.counted = found.counted and token.group() in "{}"
    return found


def _word(found: _Content, token: re.Match[str], *, inside: bool) -> None:
    word = token.group()
    if token.lastgroup != "word":
        word = re.sub(r"[\s{}+]", "", _FONTS.sub("", word))
    elif word in _SILENT:
        return
    prose = not (inside or found.counted)  # M and m are two symbols, MW and mW two units
    if prose and (len(word) == 1 or word[1:].islower()):
        word = word.casefold()
    if found.counted and found.at == token.start() and word in _ORDINAL:
        word = "th"
    elif found.counted and len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us")):
        word = word[:-1]
    found.words.append(word)
    found.counted = False


def _values(token: re.Match[str]) -> Iterator[Fraction]:
    """The value of a number; the values of its parts if its power is too high, its divisor is zero, or its mixed fraction is improper."""
    above, below = token.group("above") or token.group("over"), token.group("below") or token.group("under")
    if above is not None:
        yield from _ratio(token.group("whole"), _fraction(above), _fraction(below))
        return
    value = Fraction(token.group("value"))
    power = _exponent(token.group("e") or token.group("ten") or token.group("power") or "")
    if power is None:
        yield value
    elif abs(power) * (len(token.group("value")) if token.group("power") else 1) > _MOST_POWER:
        yield from (value, Fraction(power))
    elif token.group("power"):
        yield value**power if value else value
    else:
        yield value * Fraction(10) ** power


def _ratio(whole: str | None, above: Fraction, below: Fraction) -> Iterator[Fraction]:
    if not below:
        yield from (Fraction(whole or 0), above, below)
    elif whole is not None and 0 < above < below and above.denominator == below.denominator == 1:
        yield int(whole) + above / below
    elif whole is not None:
        yield from (Fraction(int(whole)), above / below)
    else:
        yield above / below


def _fraction(text: str) -> Fraction:
    return Fraction(re.sub(r"[\s{}]", "", text))


def _exponent(text: str) -> int | None:
    digits = re.sub(r"[\s{}^]", "", text)
    return int(digits) if digits and len(digits) < 20 else None


def _negative(text: str, start: int, formula: bool) -> bool:
    """Whether a minus is the sign of the number, and not an operator or a dash."""
    before = text[max(0, start - 60) : start]
    bare = before.rstrip()
    if not bare.endswith("-") or bare.endswith("--"):
        return False
    head = bare[:-1]
    if formula:
        return not _OPERAND.search(head.rstrip()) or bool(
            re.search(r"\\(?:times|cdot|approx|pm|leq?|geq?)\Z", head.rstrip())
        )
    return bare == before and (not head or head[-1].isspace() or head[-1] in "([{=,|$")


def final_answer(latex: str) -> str | None:
    r"""The text in the last `\boxed`, else after the last "answer is", else after the last equals sign; None if there is none of these."""
    text = without_pictures(latex)
    boxes = list(_BOXED.finditer(text))
    if boxes:
        return group_of(text, boxes[-1].end())
    stated = [found for one in _SAID.findall(text) if (found := _clean(one)) and not _LETTER.fullmatch(found)]
    if stated:
        return stated[-1]
    signs = list(_EQUALS.finditer(_SHAPE.sub(lambda one: " " * len(one.group()), text)))
    return (_clean(text[signs[-1].end() :]) or None) if signs else None


def boxed_answers(latex: str) -> tuple[str, ...]:
    """The content of each box: the answers of a problem with several questions."""
    text = without_pictures(latex)
    return tuple(group_of(text, found.end()) for found in _BOXED.finditer(text))


def named_options(solution: str) -> tuple[frozenset[str], ...]:
    """The letters, in lower case, of the options that a solution calls right: one set for each phrase such as "the correct option is (A)",
    and then one set for each box that names options."""
    text = _plain(without_pictures(solution))
    named = [found["named"] for pattern in _KEYS for found in pattern.finditer(text)]
    boxes = (_plain(answer) for answer in boxed_answers(solution))
    named += [box for box in boxes if box.startswith("(") or re.fullmatch(_NAMED, box)]
    first = (re.match(_NAMED, one) for one in named)
    return tuple(frozenset(re.findall(r"\b[a-h]\b", one.group().lower())) for one in first if one)


def _plain(text: str) -> str:
    """Text without its fonts and braces, on single spaces."""
    return re.sub(r"[ \t]+", " ", _FRAME.sub(" ", text)).strip()


def bare_answer(answer: str) -> str:
    """An answer without its box, without text behind its end, and without dollar signs unless a unit follows the formula."""
    text = " ".join(answer.split())
    boxed = _BOXED.match(text.lstrip("$ "))
    if boxed:
        text = group_of(text.lstrip("$ "), boxed.end())
    return _clean(text) or text


def group_of(text: str, start: int) -> str:
    """The content of the braces that open just before `start`; the rest of the text if they are never closed."""
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
    return f"${answer}$ {unit.group(1)}" if unit and known_unit(unit.group(1)) else answer


def same_numbers(left: str, right: str) -> bool:
    """Whether both hold the same numbers equally often."""
    return Counter(numbers_of(left)) == Counter(numbers_of(right))


def same_words(left: str, right: str) -> bool:
    """Whether both hold the same words in the same order."""
    return words_of(left) == words_of(right)


def same_answer(left: str, right: str) -> bool | None:
    """Whether two answers are the same. Values are the same if they differ by at most `CLOSE`, or if one may be the rounded value of the
    other. If an answer has no value, the result is True if both have the same words and numbers, else None."""
    one, other = bare_answer(left), bare_answer(right)
    if one == other:
        return True
    mine, theirs = known_value(one), known_value(other)
    if mine is None or theirs is None:
        return _same_text(one, other)
    return (
        equal(mine, theirs)
        or close(mine, theirs, CLOSE)
        or (close(mine, theirs, ROUNDED) and (rounds_to(mine, theirs) or rounds_to(theirs, mine)))
    )


def _same_text(left: str, right: str) -> bool | None:
    """True if both have the same words and numbers, else None, because they may still be equal."""
    named = bool(words_of(left) or numbers_of(left))
    return True if named and same_words(left, right) and same_numbers(left, right) else None
