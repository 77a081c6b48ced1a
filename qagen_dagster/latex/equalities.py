"""The numeric equalities of a worked solution: which of them are false, and which values the solution reaches.

A side of an equality has a value if it has no symbols, but only numbers, operations, functions and units. Other sides are passed over, so a
wrong law is not found. Values that differ by at most 0.6 % count as equal if one of them has decimals, because it may be rounded.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from qagen_dagster.latex.comparison import boxed_answers, group_of, without_layout, without_pictures
from qagen_dagster.mathematics.floats import float_of
from qagen_dagster.mathematics.units import ONE, Unit, named_unit
from qagen_dagster.mathematics.value_reading import known_unit, read_unit, read_value

_ROUNDED = 0.006  # relative difference that a rounded operand may cause
_ABOUT = 0.05  # relative difference that an approximation sign allows
_LEAST_SURE = 0.02  # relative rounding error allowed for a result of one digit
_MOST_SIDES = 200
_LONGEST = 200  # maximum characters of a side
_FORMULA = re.compile(
    r"\$\$?(?P<dollar>[^$]{1,800})\$\$?|\\\((?P<round>.{1,800}?)\\\)|\\\[(?P<square>.{1,2000}?)\\\]",
    re.DOTALL,
)
_DISPLAY = re.compile(r"\\(begin|end)\s*\{(?:equation|align|gather|multline|displaymath)\*?\}")
_NEW_ROW = re.compile(r"\\\\(?:\[[^\]]{0,9}\])?(?!\s*&?\s*=)")
_TABLE = re.compile(
    r"\\begin\s*\{([a-zA-Z]*matrix|array|d?cases|tabular)\*?\}.{0,3000}?\\end\s*\{\1\*?\}", re.DOTALL
)
_STATEMENT = re.compile(
    r",(?!\d)|;|\n\s*\n|\\(?:q?quad|implies|Longrightarrow|Rightarrow|Leftrightarrow|iff|therefore|because|to|rightarrow"
    r"|text\s*\{\s*(?:and|so|or|hence|thus|then|with|where)[^{}]*\})(?![A-Za-z])"
)
_RELATION = re.compile(
    r"(?P<equal>=)|(?P<about>\\(?:approx|simeq|cong|approxeq|sim)(?![A-Za-z])|\u2248)"
    r"|\\(?:neq?|leq?|geq?|leqslant|geqslant|ll|gg|equiv|propto|in|pm|mp)(?![A-Za-z])|[<>\u2260\u2264\u2265]"
)
_LIMIT = r"(?:\{\s*-?[\d.]+\s*\}|\d)"
_BETWEEN = re.compile(rf"\[(?P<inner>[^\[\]=]{{1,80}})\]\s*_\s*(?P<low>{_LIMIT})\s*\^\s*(?P<high>{_LIMIT})")
_VARIABLE = re.compile(r"(?<![A-Za-z\\])[A-Za-z](?![A-Za-z])")
_BOX = re.compile(r"\\(?:boxed|fbox|displaystyle|mathbf|underline)(?![A-Za-z])")
_DIGITS = r"(?:\d+(?:\.\d+)?|\.\d+)"
_TEN = r"\s*(?:\\times|\\cdot)\s*10\s*\^\s*(?:\{\s*[-+]?\s*\d{1,3}\s*\}|\d)"
_NUMBER = rf"{_DIGITS}(?:{_TEN})?"
_RAISED = r"(?:\s*\^\s*(?:\{\s*-?\s*\d\s*\}|\d))?"
_UPRIGHT = rf"\\(?:mathrm|textrm|text|rm|unit|si|operatorname)\s*\{{(?P<unit>[^{{}}]{{1,40}}(?:\{{[^{{}}]{{0,9}}\}}[^{{}}]{{0,20}}){{0,4}})\}}(?P<raised>{_RAISED})"
_DEGREES = (
    r"(?P<degrees>\^\s*\{?\s*\\circ\s*\}?|\\degree(?![A-Za-z])|\u00b0)(?!\s*(?:\\(?:mathrm|text)\s*\{)?\s*C)"
)
_UNITED = re.compile(
    rf"(?P<number>{_NUMBER})?(?:\s|\\[,;: ]|~)*(?:(?P<micro>\\mu\s*)?{_UPRIGHT}(?:\s*/\s*\\(?:mathrm|text)\s*\{{(?P<below>[^{{}}]{{1,20}})\}}(?P<deeper>{_RAISED}))?|{_DEGREES}|(?P<percent>\\?%)"
    r"|(?P<omega>(?:\\mu|k|M)?\s*\\Omega)(?![A-Za-z]))"
)
_SYMBOL = r"[A-Za-z\u03a9\u00b5%]{1,4}(?:\^\d)?"
_TAIL = re.compile(rf"\s*({_SYMBOL}(?:/{_SYMBOL})?)(?![\w^$/(])")
_LONE = re.compile(rf"\s*[-+]?\s*({_NUMBER})\s*")
_TRIGONOMETRY = re.compile(r"\\?(?:sin|cos|tan|sec|csc|cot)(?![a-z])")
_TERM = r"(?:[-\d.+*/()%\u00f7^ ]|\\times |\\cdot |(?<=\d )x(?= \d)){1,80}+"
_QUOTIENT = re.compile(rf"({_TEN}\s*/\s*)({_DIGITS}{_TEN})")  # of two numbers with powers of ten
_RANGE = re.compile(r"[\d.]+\s*-\s*[\d.]+")
_OPERAND_BEFORE = re.compile(
    r"(?:\$|\d|%|\bhalf|\bthirds?|\bquarters?)\s*(?:of|times|plus|minus|divided by|multiplied by)\s*\Z"
)
_TURNS = re.compile(r"\brev|rpm")
_PROSE_SUM = re.compile(rf"(?<![\w.\\])(?=[\d(]){_TERM}(?:={_TERM}){{1,5}}+")
_GOES_ON = re.compile(r"[=\\$_{[!:,\u2044]|(?<! )[A-Za-z]|(?P<symbol>[A-Za-z])(?![A-Za-z])")
_BEGUN = re.compile(
    r"(?:[-+*/^=:%!)\]$\u2013\u2044\u00f7\u222a\u2229]|\d,|\\[a-z]+|(?<![A-Za-z])[A-Za-z]|\b(?:and|or|of|to|from|by|than|times|plus|minus))\s*\Z"
)


@dataclass(frozen=True)
class Value:
    """One side. `plain` is its number as written, and `factor` times `plain` is its number in base units. If the side is one number,
    `unit` is its unit or None, `step` the value of its last significant digit, and `digits` the count of significant digits;
    else None, 0 and 0. `united` says whether the side has units, and `exact` that it has no decimals."""

    text: str
    plain: float
    factor: float
    unit: Unit | None
    united: bool
    step: float
    digits: int
    exact: bool

    @property
    def lone(self) -> bool:
        return self.digits > 0

    @property
    def size(self) -> float:
        """The number in base units."""
        return self.plain * self.factor


def false_equalities(text: str) -> Iterator[str]:
    """Faults: numeric equalities that do not hold. Lists of values, formulas with symbols, and tables are passed over."""
    for _, sides in _headed(text):
        for (one, _), (other, about) in pairwise(sides):
            if not same_value(one, other, about=about):
                yield f"{one.text} = {other.text} is false: the left side is {one.plain:.6g}"


def reached(text: str) -> list[Value]:
    """All values that a solution states or computes, in order. The values in boxes come last."""
    return sides_of(text) + [
        value
        for box in boxed_answers(text)
        if (value := value_of_side(_unboxed(without_layout(box)))) is not None
    ]


def sides_of(text: str) -> list[Value]:
    """The sides that have a value, in all formulas and sums of the prose, in order."""
    return [side for _, sides in _headed(text) for side, _ in sides]


def ends_at(text: str) -> Value | None:
    """The value at which a solution ends, or None: in its last box, else after an "is" or "gives" at its end, else in its last equality."""
    boxes = boxed_answers(text)
    if boxes:
        return value_of_side(_unboxed(without_layout(boxes[-1])))
    ending = _SAID.search(without_layout(text).strip())
    if ending:
        return next(iter(reached(ending.group(1))), None)
    joined = [sides for head, sides in _headed(text) if sides and (head or len(sides) > 1)]
    return joined[-1][-1][0] if joined else None


def same_value(one: Value, other: Value, *, about: bool = False) -> bool:
    """Whether two values are equal, or one may be the rounded other. Values in units of different quantities count as equal, because they
    are not compared. If a unit is not known, the numbers as written or the numbers in base units must agree."""
    if one.united and other.united and bool(_TURNS.search(one.text)) != bool(_TURNS.search(other.text)):
        return True  # a turn is counted as one, or as two pi radians
    if one.unit is not None and other.unit is not None:
        return not one.unit.comparable(other.unit) or _near(one, other, one.size, other.size, about=about)
    pairs = ((one.plain, other.plain), (one.size, other.size))
    return any(_near(one, other, left, right, about=about) for left, right in pairs)


def assigned(text: str) -> Iterator[tuple[str, Value]]:
    """For each value of a chain of equalities that begins with symbols: a pair of this beginning and the value."""
    for head, sides in _headed(text):
        if head:
            yield from ((head, side) for side, _ in sides)


def _headed(text: str) -> Iterator[tuple[str, list[tuple[Value, bool]]]]:
    """The chains of equalities, each with its first side if this has symbols (else ""), and with the sides that have a value.

    Each side comes with whether a sign between it and the value before it is an approximation.
    """
    count = 0
    shown = _TABLE.sub(r" \\table ", without_pictures(text))
    displayed = _DISPLAY.sub(lambda one: r"\[" if one.group(1) == "begin" else r"\]", shown)
    for statement in _statements(without_layout(_NEW_ROW.sub(" ; ", displayed))):
        chain: list[tuple[Value, bool]] = []
        head, about = "", False
        for place, (relation, side) in enumerate(_sides(statement)):
            if relation == "other":
                yield head, chain
                chain, head, about = [], "", False
            about = about or relation == "about"
            count += 1
            value = value_of_side(side) if count <= _MOST_SIDES else None
            if value is not None:
                chain.append((value, about))
                about = False
            elif place == 0 or relation == "other":
                head = side.strip()
        yield head, chain


def _sides(statement: str) -> Iterator[tuple[str, str]]:
    relation, place = "", 0
    for mark in _RELATION.finditer(statement):
        yield relation, statement[place : mark.start()]
        relation, place = mark.lastgroup or "other", mark.end()
    yield relation, statement[place:]


def _statements(text: str) -> Iterator[str]:
    place = 0
    for formula in _FORMULA.finditer(text):
        yield from _prose_sums(text, place, formula.start())
        place = formula.end()
        body = next(group for group in formula.groups() if group is not None)
        if _OPERAND_BEFORE.search(text, max(0, formula.start() - 40), formula.start()):
            body = rf"\of {body}"  # `80% of $50=40$`: the first side begins before the formula
        *before, last = _STATEMENT.split(body.replace("&", " "))
        yield from map(_unboxed, before)
        tail = _TAIL.match(text, place)
        lone = _LONE.fullmatch(re.sub(r"[{}]", " ", _BOX.sub(" ", last.rpartition("=")[2])))
        unit = tail.group(1) if tail and lone and known_unit(tail.group(1)) else ""
        yield _unboxed(f"{last}\\mathrm{{{unit}}}" if unit else last)
    yield from _prose_sums(text, place, len(text))


def _prose_sums(text: str, start: int, end: int) -> Iterator[str]:
    """The sums in the prose, except sums with a symbol directly before or behind them."""
    for found in _PROSE_SUM.finditer(text, start, end):
        after = _GOES_ON.match(text, found.end(), end)
        unit = after is not None and after.group("symbol") and named_unit(after.group("symbol"))
        if (after is None or unit) and not _BEGUN.search(text, max(0, found.start() - 30), found.start()):
            yield re.sub(r"\*|\bx\b", r"\\times ", found.group()).replace("\u00f7", "/")


def _unboxed(text: str) -> str:
    return _BOX.sub(" ", text)


@lru_cache(maxsize=4096)
def value_of_side(side: str) -> Value | None:
    """The value of one side; None if it has symbols, cannot be read, or has an angle that may be in degrees or in radians."""
    text = _SIDE_END.sub("", side.strip()).strip()
    text = group_of(text, 1) if text.startswith("{") and text.endswith(f"{group_of(text, 1)}}}") else text
    text = _BETWEEN.sub(_difference, text)
    if not text or len(text) > _LONGEST or not re.search(r"\d", text):
        return None
    if _TRIGONOMETRY.search(text) and not re.search(r"\\circ|\\degree|\\pi|\u00b0|\^\s*\{?\s*-\s*1", text):
        return None  # degrees or radians
    units: list[Unit] = []
    try:
        base = _number(_UNITED.sub(lambda one: _factor_text(one, units), text))
        plain = _number(_UNITED.sub(_degrees_kept, text)) if units else base
    except ValueError:
        return None
    lone = _LONE.fullmatch(_UNITED.sub(lambda one: one.group("number") or "", text, count=1))
    number = lone.group(1) if lone else ""
    factor = base / plain if plain else 1.0
    unit = units[0] if number and units else None
    return Value(text, plain, factor, unit, bool(units), *_precision(number), "." not in text)


_SAID = re.compile(
    r"\b(?:is|are|be|gives|equals|get|obtain|becomes)\s*(\$[^$]{1,60}\$[^.$]{0,20}(?:\$[^$]{1,20}\$)?)\s*\.?\Z"
)
_SIDE_END = re.compile(r"(?:[.,;]|\\[,;: ]|\s|(?<=\d)\.)+\Z")


def _difference(found: re.Match[str]) -> str:
    """The value of a function of one variable between two limits, as a difference; other brackets stay as they are."""
    inner, *limits = found.group("inner", "low", "high")
    variables = set(_VARIABLE.findall(inner))
    if len(variables) != 1:
        return found.group()
    low, high = (_VARIABLE.sub(f"({limit.strip('{}')})", inner) for limit in limits)
    return f"(({high}) - ({low}))"


def _number(text: str) -> float:
    reading = read_value(_QUOTIENT.sub(r"\1(\2)", f"({text})" if _RANGE.fullmatch(text.strip()) else text))
    if reading.unit != ONE or reading.symbols:
        raise ValueError("not a number")
    return float_of(reading.expression)


def _factor_text(found: re.Match[str], units: list[Unit]) -> str:
    unit = unit_of(found)
    if unit is None:
        raise ValueError("words")
    units.append(unit)
    number = found.group("number") or ""
    factor = rf"\frac{{{unit.factor.numerator}}}{{{unit.factor.denominator}}}"
    factor += r"\pi " * (unit.pis == 1)
    return f"({number}\\cdot {factor})" if number else rf"\cdot({factor})"


def _degrees_kept(found: re.Match[str]) -> str:
    """The number without its unit. Degrees in a trigonometric function stay degrees."""
    return (found.group("number") or "") + (
        r"^\circ " if found.group("degrees") and _TRIGONOMETRY.search(found.string[: found.start()]) else " "
    )


def unit_of(one: re.Match[str]) -> Unit | None:
    """The unit in a match of `_UNITED`; None if the match has another word."""
    sign = "\u00b0" if one.group("degrees") else one.group("percent") or one.group("omega")
    if sign:
        return named_unit(_spelled(sign).replace(" ", ""))
    try:
        unit = _raised_unit(("u" if one.group("micro") else "") + one.group("unit"), one.group("raised"))
        if one.group("below"):
            unit = unit.times(_raised_unit(one.group("below"), one.group("deeper")), -1)
    except ValueError:
        return None
    return None if unit == ONE and one.group("unit").strip() else unit


def _raised_unit(unit: str, power: str | None) -> Unit:
    return read_unit(_spelled(unit) + (power or "").replace(" ", ""))


def _spelled(unit: str) -> str:
    plain = re.sub(r"\\mu\s*", "u", unit.replace(r"\Omega", "\u03a9").replace(r"\%", "%"))
    return re.sub(r"\\,|~", " ", plain).strip()


def _precision(number: str) -> tuple[float, int]:
    """The value of the last significant digit, and the number of such digits, without zeros at the end of an integer. 0 and 0 for ""."""
    if not number:
        return 0.0, 0
    mantissa, _, tail = number.partition("\\")
    power = re.search(r"\^\s*\{?\s*([-+]?)\s*(\d{1,3})", tail)
    digits = mantissa.strip()
    shown = digits if "." in digits or not digits.strip("0") else digits.rstrip("0")
    place = len(digits) - len(shown) - len(shown.partition(".")[2])
    place += int(power.group(1) + power.group(2)) if power else 0
    return float(10.0**place), len(shown.replace(".", "").lstrip("0")) or 1


def _near(one: Value, other: Value, left: float, right: float, *, about: bool) -> bool:
    largest, apart = max(abs(left), abs(right)), abs(left - right)
    if apart <= 1e-9 * largest:
        return True
    share = apart / largest
    if about and share <= _ABOUT:
        return True
    if any(
        _rounded(shown, value, apart, share, about=about) for shown, value in ((one, right), (other, left))
    ):
        return True
    return not (one.exact and other.exact) and share <= _ROUNDED


def _rounded(shown: Value, value: float, apart: float, share: float, *, about: bool) -> bool:
    """Whether the shown number is the value rounded to its digits. Whole values are rounded, as 1234 to 1200, only if `about`."""
    if not shown.lone:
        return False
    scale = abs(shown.factor) if abs(shown.factor * shown.plain - value) <= abs(shown.plain - value) else 1.0
    whole = shown.exact and shown.step >= 1 and abs(value / scale - round(value / scale)) < 1e-9
    if whole and not about:
        return False
    return apart <= 0.5001 * shown.step * scale and (shown.digits > 1 or about or share <= _LEAST_SURE)
