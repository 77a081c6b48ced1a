"""Checks what a result must keep of its source (givens, conditions, answer), and what it must change (method, scene).

A function that yields strings yields the faults that it finds. Some functions yield only the first fault.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from fractions import Fraction
from itertools import product

from qagen_dagster.latex import comparison, structure
from qagen_dagster.latex.amounts import ROMAN, Amount, amounts, without
from qagen_dagster.latex.answer_key import lettered_options, pairs_of
from qagen_dagster.latex.structure import options_of, question_of, solution_of, statement_of
from qagen_dagster.loop.problems import item_faults
from qagen_dagster.mathematics.equality import CLOSE, Quantity, close, equal, known_value, rounds_to, value_of
from qagen_dagster.mathematics.units import BASES, ONE, Unit
from qagen_dagster.mathematics.value_reading import known_unit
from qagen_dagster.records.data_files import read_table
from qagen_dagster.records.problems.submissions import Format

_SAME_METHOD = 0.92  # minimum similarity (0-1) of the formulas of two solutions that count as one method
_FEW_SIGNS = 3  # formulas with so few signs may be the same by chance
_OPERATIONS = frozenset(("\\frac", "\\times", "\\cdot", "\\sqrt", "/", "+", "-"))
_SAME_SCENE = 0.9  # minimum similarity (0-1) of the words of two statements that count as one scene
_STRUCTURAL = frozenset(Fraction(one) for one in ("0", "1", "2", "1/2"))
_MOST_LABEL = 12  # a whole number up to this may be the label of a part
_CALCULUS = re.compile(
    r"\\(?:int|iint|oint|dot|ddot|partial|lim|dv|odv|nabla)(?![A-Za-z])|\\[dt]?frac\s*\{\s*(?:\\mathrm\s*\{\s*)?d|\b(?:differentiat|integra|derivative)|"
    r"\\mathrm\s*\{\s*d\s*\}|(?<![A-Za-z])d[a-z]\s*/\s*d[a-z]|[A-Za-z]'\s*\(",
    re.IGNORECASE,
)
_CONDITIONS = [
    tuple(re.compile(row.get(name, row["stated"]), re.IGNORECASE) for name in ("stated", "kept"))
    for row in read_table(__package__, "conditions.toml")["conditions"]
]
_DISPLAY = re.compile(r"\\(?:begin|end)[ \t]*\{(?:equation|align|gather|displaymath|multline)\*?\}")
_FORMULA = re.compile(
    r"\$\$?([^$]{1,400})\$|\\\(((?:[^\\]|\\[^)]){1,400})\\\)|\\\[((?:[^\\]|\\[^\]]){1,400})\\\]"
)
_SIDE = re.compile(r"=|\\(?:approx|simeq|equiv|propto|quad|to)(?![A-Za-z])|[,;:&]")
_DROPPED = re.compile(
    r"\\(?:vec|hat|bar|dot|ddot|tilde|overrightarrow|mathbf|boldsymbol|bm|mathit|cdot|times)(?![A-Za-z])|_\s*(?:\{[^{}]{0,60}\}|\\[A-Za-z]+|\S)|[{}\s~*]"
)
_PIECE = re.compile(
    r"(?P<number>\d+(?:\.\d+)?|\.\d+)|(?P<more>\\(?:geq?|geqslant)(?![A-Za-z])|>)|(?P<less>\\(?:leq?|leqslant)(?![A-Za-z])|<)"
    r"|(?P<kept>\\(?:d?frac|sqrt|sin|cos|tan|log|ln|exp|int|sum|pm|mp)(?![A-Za-z]))|(?P<symbol>\\[A-Za-z]+|[^\W\d_])|(?P<other>\S)"
)
_SUBSCRIPT = r"\{?(?:\\(?:mathrm|text|rm)\s*\{?\s*)?"
_CONSTANT = re.compile(
    r"\s*(?P<symbol>g|G|c|h|e|k|R|\\hbar|\\sigma"
    rf"|(?:[gck]|\\(?:var)?epsilon|\\mu)_{_SUBSCRIPT}[0eB][\s}}]*|N_{_SUBSCRIPT}A[\s}}]*|m_{_SUBSCRIPT}[epn][\s}}]*)"
    r"\s*(?:=|\\approx(?![A-Za-z])|\\simeq(?![A-Za-z]))(?P<value>.+)",
    re.DOTALL,
)
_SENTENCE = re.compile(r"(?<=[.?!])(?=\s|$)|\n\s*\n")
_IN = re.compile(r"\b(?:in|number of)\s+(?:(?:units|multiples) of\s+)?(?=([^.,;?!]{1,80}))", re.IGNORECASE)
_TEN = re.compile(r"\$?\s*10\s*\^\s*(?:\{\s*(-?\d{1,2})\s*\}|(\d))")
_SPACES = re.compile(r"\\[,;:! ]|~")
_MOST_WORDS = 4  # maximum words of a unit: "metres per second squared"
_PART = re.compile(
    r"\bform\b|\\(?:sqrt|pi|times)(?![A-Za-z])|\bsquare (?:of|root)\b|\breciprocal\b|\bratio\b"
)
_ROUNDED = re.compile(r"\b(?:significant|nearest|round(?:ed)?)\b", re.IGNORECASE)
_ABOUT = re.compile(r"\\(?:approx|simeq|approxeq|sim)(?![A-Za-z])|\u2248|\babout\b|\bnearly\b")
_SIZE = re.compile(r"\b(?:magnitude|modulus|absolute|size)\b", re.IGNORECASE)
_CELSIUS = BASES.index("degC")
_OTHERS = BASES.index("K")  # from here on base units may replace each other: K and degC, currencies
_RATE = re.compile(  # behind a number: `3 m every second` may be 3 m/s
    r"\W*[A-Za-z]+(?:\W+[A-Za-z]+){0,4}?\W+(?:each|every|per|one|an?\s+(?:second|minute|hour|day|week|year))\b"
)


def givens_kept(source: str, converted: str, *, listed: bool) -> Iterator[str]:
    """Faults: a given of the source is lost or changed, or there is a new given. A given may have a unit of another scale.

    If the conversion is `listed`, its entries may have new amounts, and if only the source has lists, their amounts may be lost.
    """
    old = [amount for amount in amounts(question_of(source)) if _is_given(amount)]
    new = [amount for amount in amounts(statement_of(converted)) if _is_given(amount)]
    lost = without(old, new)
    asked = [
        amount
        for amount in amounts(question_of(converted))
        if amount.unit is not None and not _is_power_of_ten(amount.value)
    ]
    allowed = [*old, *amounts(solution_of(source))]
    constants = set(named_constants(question_of(source), solution_of(source), question_of(converted)))
    added = [one for one in without(asked, allowed) if one.value not in constants]
    if lost and (listed or not lettered_options(source)):
        yield f"the given {lost[0].text} of the source is not there"
    if added and not listed:
        yield f"{added[0].text} is not a given of the source"


def conditions_kept(source: str, converted: str) -> Iterator[str]:
    """Faults: the source states a condition in words, such as a smooth floor, and the conversion has no words for it."""
    if lettered_options(source) and not options_of(source):
        return  # the condition may belong to an entry that is left out
    asked, there = (
        comparison.without_pictures(question_of(source)),
        comparison.without_pictures(statement_of(converted)),
    )
    for stated, words in _CONDITIONS:
        found = stated.search(asked)
        if found and not words.search(there):
            yield f"the condition '{found.group()}' of the source is not there"


def _is_power_of_ten(value: Fraction) -> bool:
    return {*str(value.numerator), *str(value.denominator)} == {"0", "1"}


def _is_given(amount: Amount) -> bool:
    return amount.unit is not None or amount.value > _MOST_LABEL or amount.value.denominator != 1


def stale_givens(source: str, result: str) -> Iterator[str]:
    """Faults: the solution computes with a given of the source that the statement no longer has."""
    stated, (used, results) = (
        set(comparison.numbers_of(statement_of(result))),
        item_faults.computed_numbers(solution_of(result)),
    )
    before = Counter(comparison.numbers_of(solution_of(source)))
    asked = Counter(comparison.numbers_of(question_of(source)))
    for given in without(amounts(question_of(source)), list(amounts(statement_of(result)))):
        one = given.value
        structural = one in _STRUCTURAL or before[one] > asked[one] + 1
        if one in used and one not in stated | results and not structural:
            yield f"the solution computes with {float(one):.12g}, a given of the source that the statement does not have"
            return


def text_kept(source: str, scan: str) -> Iterator[str]:
    """Faults of a scan of TeX: an amount of the source is not in the scan, or the statement has one that the source does not have."""
    there, scanned = list(amounts(source)), list(amounts(scan))
    lost = [one for one in amounts(statement_of(source)) if _is_given(one) and not _is_there(one, scanned)]
    added = [one for one in amounts(statement_of(scan)) if _is_given(one) and not _is_there(one, there)]
    if lost:
        yield f"{lost[0].text} of the source is not in the scan"
    if added:
        yield f"{added[0].text} of the scan is not in the source"


def _is_there(amount: Amount, others: Sequence[Amount]) -> bool:
    """Whether a text has the amount or at least its number, because the unit may be written in words."""
    return any(amount.same(other) or amount.value == other.value for other in others)


def leaked_answer(source: str, result: str) -> Iterator[str]:
    """Faults: the question states the answer as an amount that the question of the source does not state."""
    found, asked = list(amounts(item_faults.final_formula(result))), question_of(result)
    if len(found) != 1 or not _is_given(found[0]):
        return
    for amount in without(amounts(asked), list(amounts(question_of(source)))):
        if amount.same(found[0]):
            yield f"the question gives the answer: {amount.text}"
            return


def same_method(solution: str, others: Sequence[str]) -> Iterator[str]:
    """Faults: a solution has nearly the same formulas as another solution, so that mainly its words differ."""
    mine = _formulas(solution)
    if not _OPERATIONS & {*mine}:
        return
    for other in others:
        theirs = _formulas(other)
        alike = SequenceMatcher(None, mine, theirs, autojunk=False).ratio()
        if min(len(mine), len(theirs)) > _FEW_SIGNS and alike >= _SAME_METHOD:
            yield "it has the formulas of a solution that is there already: use another method"
            return


def _formulas(solution: str) -> list[str]:
    """The signs of all formulas in order."""
    text = re.sub(
        r"\\boxed|\\displaystyle|\\(?:text|mathrm|rm)\s*\{[^{}]*(?:\{[^{}]*\})?[^{}]*\}",
        " ",
        comparison.without_layout(comparison.without_pictures(solution)),
    )
    return [
        sign
        for formula in re.findall(r"\$([^$]+)\$", text)
        for sign in re.findall(r"\\[A-Za-z]+|\d+(?:\.\d+)?|[^\s{}]", formula)
    ]


def same_scene(source: str, variant: str) -> Iterator[str]:
    """Faults: the statement has nearly the same words as the source, in the same order."""
    before, after = comparison.words_of(statement_of(source)), comparison.words_of(statement_of(variant))
    if before != after and SequenceMatcher(None, before, after, autojunk=False).ratio() >= _SAME_SCENE:
        yield "the scene is that of the source with a few words changed: tell another one"


def without_calculus(variant: str) -> Iterator[str]:
    """Faults: neither the statement nor the solution of a calculus variant has a derivative or an integral."""
    if not _CALCULUS.search(comparison.without_pictures(variant)):
        yield "there is no derivative and no integral: let a quantity vary, and use calculus"


def only_joined(sources: Sequence[str], variant: str) -> Iterator[str]:
    """Faults: the combined problem only joins its sources, because its boxed answers include the answer of each source."""
    boxes, answers = (
        comparison.boxed_answers(solution_of(variant)),
        [item_faults.answer_of(source) for source in sources],
    )
    known = [answer for answer in answers if answer is not None]
    kept = [any(comparison.same_answer(one, box) is True for box in boxes) for one in known]
    if len(known) == len(sources) and all(kept) and len(boxes) >= len(sources) > 1:
        yield "it has the answers of its sources one after the other: make one problem with one answer"


def named_constants(source: str, solution: str, variant: str) -> Iterator[Fraction]:
    r"""Values of constants, such as `$g = 9.8\,\mathrm{m\,s^{-2}}$`, that a variant states, and the source states only in its solution."""
    stated, worked = dict(_constants(source)), dict(_constants(solution))
    only_worked = set(comparison.numbers_of(solution)) - set(comparison.numbers_of(source))
    for symbol, value in dict(_constants(variant)).items():
        if symbol not in stated and (worked.get(symbol) == value or value in only_worked):
            yield value


def _constants(latex: str) -> Iterator[tuple[str, Fraction]]:
    """The symbols of constants with their values in formulas."""
    for formula in _FORMULA.finditer(comparison.without_layout(latex)):
        for side in re.split(r"[,;]", next(filter(None, formula.groups()))):
            found = _CONSTANT.fullmatch(side)
            values = comparison.numbers_of(f"${found.group('value')}$") if found else ()
            if found and len(values) == 1:
                yield re.sub(r"[\s{}]|\\(?:mathrm|text|rm)(?![A-Za-z])", "", found.group("symbol")), values[0]


def given_faults(source: str, variant: str) -> Iterator[str]:
    """Faults: a value whose unit has another scale or dimension than in the source, and a relation with another sign."""
    yield from _scales(source, variant)
    old, new = _relations(source), _relations(variant)
    lost = {tuple(map(_unsigned, one)): written for one, written in old.items() if one not in new}
    for pieces, written in new.items():
        turned = None if pieces in old else lost.get(tuple(map(_unsigned, pieces)))
        if turned is not None:
            yield f"a given relation has another sign: {turned} became {written}"
            return


def _scales(source: str, variant: str) -> Iterator[str]:
    before, after = list(amounts(source)), list(amounts(variant))
    for one, other in product(without(before, after), without(after, before)):
        if one.value != other.value or one.unit is None or other.unit is None:
            continue
        mine, theirs = one.unit.dimensions[:_OTHERS], other.unit.dimensions[:_OTHERS]
        rates = _RATE.match(one.behind) or _RATE.match(other.behind)
        if one.unit.comparable(other.unit) or (mine != theirs and not rates):
            yield f"the value {one.value} is in {one.unit.text} in the source; here it is in {other.unit.text}"
            return


def _relations(latex: str) -> dict[tuple[str, ...], str]:
    """The sides of formulas that contain a number and a sign between two terms, by their normalized symbols."""
    found: dict[tuple[str, ...], str] = {}
    for formula in _FORMULA.finditer(comparison.without_layout(_DISPLAY.sub("$$", latex))):
        for side in _SIDE.split(next(filter(None, formula.groups()))):
            pieces = tuple(_pieces(side))
            if any(piece[0].isdigit() for piece in pieces) and set(pieces[1:-1]) & set("+-<>"):
                found.setdefault(pieces, " ".join(side.split()))
    return found


def _unsigned(piece: str) -> str:
    return {"-": "+", ">": "<"}.get(piece, piece)


def _pieces(side: str) -> Iterator[str]:
    last = ""
    for piece in _PIECE.finditer(_DROPPED.sub(" ", ROMAN.sub(" ", side))):
        kind, text = piece.lastgroup, piece.group()
        shown = {"more": ">", "less": "<", "symbol": "x"}.get(kind or "", text)
        if kind == "number":
            shown = str(Fraction(text))
        if shown != "x" or last != "x":
            yield shown
        last = shown


def answer_kept(source: str, target: Format, converted: str) -> Iterator[str]:
    """Faults: the answer differs from the source's answer. Several right statements, pairs and truth values are not compared.

    If one text has several answers (a passage), one of them must be the answer of the other text.
    """
    old, new = item_faults.answer_of(source), item_faults.answer_of(converted)
    if (
        target in (Format.MCQ_MC, Format.MATCH, Format.ASSERTION_REASON)
        or old is None
        or not comparison.numbers_of(old)
        or len(pairs_of(old)) > 2  # a conversion of a matching may ask for one of its pairs
    ):
        return
    if new is None and known_value(old) is not None and target is not Format.INTEGER:
        yield rf"the answer {old} is not found in the solution: put it into \boxed"
        return
    olds = comparison.boxed_answers(structure.solution_of(source)) if lettered_options(source) else ()
    news = comparison.boxed_answers(structure.solution_of(converted)) if target is Format.PASSAGE else ()
    pairs = [(one, other) for one in olds or (old,) for other in news or (new,)]
    if not any(_keeps(source, target, converted, one, other) for one, other in pairs):
        yield f"the answer must stay {' or '.join(olds) or old}; here it is {', '.join(news) or new}"


def _keeps(source: str, target: Format, converted: str, old: str, new: str | None) -> bool:
    if new is None or (
        target is Format.INTEGER and not (item_faults.is_number(old) and item_faults.is_number(new))
    ):
        return True
    if target is Format.INTEGER:
        return _same_number(source, converted, old, new)
    return comparison.same_answer(old, new) is not False


def _same_number(source: str, converted: str, old: str, new: str) -> bool:
    """Whether the converted answer is the source's answer in the unit that is asked for. True if that cannot be decided."""
    mine, theirs = value_of(comparison.bare_answer(old)), value_of(comparison.bare_answer(new))
    asked = structure.question_of(converted)
    if len(_PART.findall(asked)) > len(_PART.findall(structure.question_of(source))):
        return True
    about = _ABOUT.search(structure.solution_of(source)) is not None
    if mine.unit != ONE and theirs.unit == ONE:
        counted = [unit for unit in _units_of(asked) if unit.comparable(mine.unit)]
        if counted:
            return any(_kept(mine, replace(theirs, unit=one), asked, about=about) for one in counted)
    if mine.unit == ONE or theirs.unit == ONE:
        same_unit = theirs.unit == ONE and _only_asks(structure.question_of(source), asked)
        return not same_unit or _kept(mine, theirs, asked, about=about)
    if not mine.unit.comparable(theirs.unit):
        return any(one.unit.dimensions[_CELSIUS] for one in (mine, theirs))
    return _kept(mine, theirs, asked, about=about)


def _kept(mine: Quantity, theirs: Quantity, asked: str, *, about: bool) -> bool:
    """Whether both values are equal, or one value is the other rounded as the question asks."""
    turned = tuple(one and (one[1:] if one.startswith("-") else f"-{one}") for one in theirs.numbers)
    signs = [theirs, replace(theirs, numbers=turned)]
    rounded = [replace(one, last_place=_step(one, asked)) for one in signs]
    loose = replace(mine, last_place=Fraction(1)) if about and _whole(mine) is not None else mine
    return any(
        equal(mine, rounded_value)
        or rounds_to(mine, rounded_value)
        or rounds_to(rounded_value, loose)
        or close(mine, rounded_value, CLOSE)
        for rounded_value in rounded[: 2 if _SIZE.search(asked) else 1]
    )


def _step(shown: Quantity, asked: str) -> Fraction | None:
    """The value of the last digit of a number; for an integer, if the question asks for rounding, of its last non-zero digit."""
    whole = _whole(shown)
    if whole is None:
        return shown.last_place
    digits = str(abs(whole))
    zeros = len(digits) - len(digits.rstrip("0")) if whole and _ROUNDED.search(asked) else 0
    return Fraction(10**zeros)


def _whole(quantity: Quantity) -> int | None:
    number = Fraction(quantity.numbers[0] or "1/2")
    return int(number) if number.denominator == 1 else None


def _units_of(asked: str) -> Iterator[Unit]:
    """The units in which a text asks for the answer: `in cm`, `in units of $10^{-3}$ m`, `number of seconds`."""
    for sentence in _SENTENCE.split(_SPACES.sub(" ", asked)):
        if not (sentence.rstrip().endswith("?") or item_faults.ASKS_NUMBER.search(sentence)):
            continue
        for found in _IN.finditer(sentence):
            unit = _unit_of_answer(found.group(1))
            if unit is not None:
                yield unit


def _unit_of_answer(text: str) -> Unit | None:
    """The unit at the beginning of a text, multiplied by the power of ten before it."""
    power = _TEN.match(text)
    words = text[power.end() if power else 0 :].strip(" $").split()
    for count in range(min(_MOST_WORDS, len(words)), 0, -1):
        unit = known_unit(" ".join(words[:count]).strip("$"))
        if unit is not None:
            scale = Fraction(10) ** int(power.group(1) or power.group(2)) if power else 1
            return replace(unit, factor=unit.factor * scale)
    return None


def _only_asks(source: str, asked: str) -> bool:
    """Whether `asked` is the question of the source with one additional sentence that has no unit, number or formula."""
    *before, last = [one for one in _SENTENCE.split(asked) if one.strip()] or [""]
    plain = not ("$" in last or "\\" in last or _IN.search(last) or comparison.numbers_of(last))
    return plain and comparison.same_words("".join(before), source)
