"""Checks what a result must keep of its source (givens, methods, figures), and whether the values of an item agree and are possible.

A fault that the source also has is not a fault of the result.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from fractions import Fraction

from qagen_dagster.latex.amounts import Amount, amounts, without
from qagen_dagster.latex.comparison import (
    boxed_answers,
    numbers_of,
    same_answer,
    without_layout,
    without_pictures,
    words_of,
)
from qagen_dagster.latex.equalities import false_equalities, sides_of
from qagen_dagster.latex.keyed import lettered_options
from qagen_dagster.latex.question_faults import (
    equal_options,
    impossible_answer,
    impossible_values,
    option_faults,
    without_figure,
)
from qagen_dagster.latex.structure import (
    has_environment,
    options_of,
    plain_of,
    question_of,
    solution_of,
    statement_of,
    tikz_pictures,
)
from qagen_dagster.loop.problems.text_faults import answer_of, named_constants
from qagen_dagster.records.data_files import read_table

_SAME_METHOD = 0.92  # share of the formulas that two solutions have in common
_OPERATIONS = frozenset(("\\frac", "\\times", "\\cdot", "\\sqrt", "/", "+", "-"))
_SAME_SCENE = 0.9  # share of the words that two statements have in common
_STRUCTURAL = frozenset(Fraction(one) for one in ("0", "1", "2", "1/2"))
_MOST_LABEL = 12  # a whole number up to this may be the label of a part
_WHICH = re.compile(
    r"\bwhich\s+(?:one\s+)?of\s+(?:the\s+following|these|the\s+(?:options|statements)|the\s+\w+\s+below)",
    re.IGNORECASE,
)
_POWER = re.compile(r"(?:[\d.]+\s*(?:\\times|\\cdot)\s*10\s*)?\^\s*(?:\{[^{}]*\}|\d)")
_CALCULUS = re.compile(
    r"\\(?:int|iint|oint|dot|ddot|partial|lim|dv|odv|nabla)(?![A-Za-z])|\\[dt]?frac\s*\{\s*(?:\\mathrm\s*\{\s*)?d|\b(?:differentiat|integra|derivative)|"
    r"\\mathrm\s*\{\s*d\s*\}|(?<![A-Za-z])d[a-z]\s*/\s*d[a-z]|[A-Za-z]'\s*\(",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"node(?:\s|at(?=\s*\()|\[[^\]]{0,200}\]|\([^()]{0,80}\))*\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"
    r"|(?:\b[lviRCL]|label|xlabel|ylabel)[_^]?\s*=\s*\{?\s*(\$[^$]*\$)|pic\s*\[[^\]]*\"([^\"]*)\""
)
_CLAUSE = re.compile(r"[,.;]|\band\b|\bwhile\b")
_ARTICLE = re.compile(r"(?:\A|(?<=[.?!:;,]))\s*(?:A|An|I|In|At)\s(?=\s*[a-z])")
_COUNTED = re.compile(r"\d[\s$]*(?:\\[,;: ])*(?:\\(?:mathrm|text)\s*\{[^{}]*\}|[A-Z](?![A-Za-z_]))")
_NAME = re.compile(r"(?<![A-Za-z\\{])(?:[A-Z]|[a-z](?=\s*_))(?:\s*_\s*(?:\{\s*\w{1,3}\s*\}|\w))?(?![A-Za-z])")
_SCALE = re.compile(r"\bscale\s*=\s*(\d*\.?\d+)")
_OWN_SCALE = re.compile(
    r"\\begin\s*\{(?:axis|scope)|\b[xy]scale\b|\b[xy]\s*=\s*\{?\(?[\d.]|scale\s*=.*scale\s*=|resizebox|scalebox",
    re.DOTALL,
)
_COORDINATE = re.compile(r"(?<![+\w])\(\s*(-?\d*\.?\d+)\s*(?:cm)?\s*,\s*(-?\d*\.?\d+)\s*(?:cm)?\s*\)")
_PATH = re.compile(r"\\(?:draw|fill|filldraw|path|shade|clip|node|coordinate)(?![A-Za-z])")
_WIDEST, _HIGHEST = 20, 26  # cm
_CONDITIONS = [
    tuple(re.compile(row.get(name, row["stated"]), re.IGNORECASE) for name in ("stated", "kept"))
    for row in read_table(__package__, "conditions.toml")["conditions"]
]


def value_faults(item: str, source: str = "", *, drawn_later: bool = False) -> Iterator[str]:
    """Faults of the values of an item that its source does not have: equalities, impossible values, options, and a missing figure.

    If its figure is `drawn_later`, it may be missing.
    """
    known = set(_value_faults(source)) if source else set[str]()
    yield from (fault for fault in _value_faults(item) if fault not in known)
    if not drawn_later and not any(without_figure(question_of(source))):
        yield from without_figure(question_of(item))


def solution_faults(solution: str) -> Iterator[str]:
    """Faults of the values of a solution alone."""
    yield from false_equalities(solution)
    yield from impossible_values(solution)


def _value_faults(item: str) -> Iterator[str]:
    question = question_of(item)
    yield from solution_faults(solution_of(item))
    yield from impossible_values(question)
    options = {chr(ord("a") + place): option.text for place, option in enumerate(options_of(item))}
    right = frozenset(chr(ord("a") + place) for place, option in enumerate(options_of(item)) if option.right)
    yield from option_faults(question, options, right)
    yield from equal_options(options)
    yield from _misread(item)
    answer = _answer(item) if not options else ""
    if answer:
        yield from impossible_answer(question, answer)


def _misread(item: str) -> Iterator[str]:
    """Faults: the solution computes with a number that has nearly the digits of a given that it does not use, such as 8.0 for 80."""
    solution = solution_of(item)
    stated, (used, results) = list(amounts(question_of(item))), _computed(solution)
    known = (
        results
        | {value for one in stated for value in (one.value, one.base)}
        | {*numbers_of(statement_of(item))}
    )
    for one in stated:
        plain = one.unit is not None and one.base == one.value and one.value not in numbers_of(solution)
        alike = [number for number in used - known if plain and _alike(number, one.value)]
        if alike:
            yield f"the statement gives {one.text}, but the solution computes with {float(alike[0]):.12g}"
            return


def _computed(solution: str) -> tuple[set[Fraction], set[Fraction]]:
    """The numbers with which a solution computes, without exponents and powers of ten; and the numbers that stand alone on a side."""
    sides = sides_of(solution)
    texts = (_POWER.sub(" ", side.text) for side in sides if not side.lone)
    used = {Fraction(number) for text in texts for number in re.findall(r"\d+(?:\.\d+)?", text)}
    return used, {number for side in sides if side.lone for number in numbers_of(f"${side.text}$")}


def _alike(one: Fraction, other: Fraction) -> bool:
    """Whether two numbers have the same digits at other places, or in another order."""
    mine, theirs = (f"{float(each):.12g}".replace(".", "").strip("0") for each in (one, other))
    moved = mine == theirs and one > 2
    return moved or (len(mine) > 1 and mine != theirs and sorted(mine) == sorted(theirs))


def _answer(item: str) -> str:
    """The final answer as a formula, or as the text of an option; empty if there is none."""
    answer = answer_of(item) or ""
    return f"${answer}$" if "\\" in answer and "$" not in answer else answer


def figure_faults(drawing: str, text: str, source: str = "") -> Iterator[str]:
    """Faults: labels with amounts that the text lacks or has differently for the same name, unless the source has such labels."""
    if source and _strange_labels("\n".join(tikz_pictures(question_of(source))), question_of(source)):
        return
    strange = _strange_labels(drawing, text)
    if strange and any(amounts(text)):
        yield f"the figure says {', '.join(one.text for one in strange)}, which the statement does not say"
    shown, stated = _named(". ".join(_labels(drawing))), _named(without_pictures(text))
    for name in sorted(shown.keys() & stated.keys()):
        mine, theirs = shown[name], stated[name]
        kin = [one for one in theirs if _comparable(mine[0], one)]
        if kin and not any(one.same(other) for one in mine for other in kin):
            yield f"in the figure {name} has {mine[0].text}, in the statement {kin[0].text}"


def _named(text: str) -> dict[str, list[Amount]]:
    """The amounts with units by the name before them in their clause, such as `$R_1 = 2$ V` or `block B (3 kg)`, if it has exactly one."""
    found: dict[str, list[Amount]] = {}
    for amount in amounts(text):
        clause = _CLAUSE.split(_ARTICLE.sub(" ", _COUNTED.sub(" ", amount.before)))[-1]
        names = {re.sub(r"[{}\s]", "", name) for name in _NAME.findall(clause)}
        if amount.unit is not None and len(names) == 1:
            found.setdefault(names.pop(), []).append(amount)
    return found


def _comparable(one: Amount, other: Amount) -> bool:
    return one.unit is not None and other.unit is not None and one.unit.comparable(other.unit)


def too_large(drawing: str) -> Iterator[str]:
    """Faults: the coordinates of a drawing reach further than a page. Drawings with axes, scopes or units of their own are not judged."""
    if _OWN_SCALE.search(drawing):
        return
    scale = _SCALE.search(drawing)
    for place, side, most in ((1, "wide", _WIDEST), (2, "high", _HIGHEST)):
        reached = [float(found.group(place)) for found in _COORDINATE.finditer(drawing)]
        size = (max(reached) - min(reached)) * (float(scale.group(1)) if scale else 1) if reached else 0
        if size > most:
            yield f"the drawing is {size:.3g} cm {side}: at most {most} cm fit on a page"


def unended_path(drawing: str) -> Iterator[str]:
    """Faults: a path of a drawing begins before the one before it has ended with a semicolon, which no engine compiles."""
    plain, braced = plain_of(drawing), 1
    while braced:  # the innermost braces first
        plain, braced = re.subn(r"\{[^{}]*\}", " ", plain)
    for path in plain.split(";"):
        if len(_PATH.findall(path)) > 1:
            yield f"a path does not end with a semicolon: {' '.join(path.split())[:60]}"
            return


def _strange_labels(drawing: str, text: str) -> list[Amount]:
    stated = list(amounts(without_pictures(text)))
    found = [amount for label in _labels(drawing) for amount in amounts(label) if amount.unit is not None]
    return without(found, stated)


def _labels(drawing: str) -> list[str]:
    return [next(filter(None, found.groups()), "") for found in _LABEL.finditer(drawing)]


def givens_kept(source: str, converted: str, *, listed: bool) -> Iterator[str]:
    """Faults: a given of the source is lost or changed, or a new one is there. Units of another scale are the same given.

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
        return  # the condition may be that of an entry that is left out
    asked, there = without_pictures(question_of(source)), without_pictures(statement_of(converted))
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
    stated, (used, results) = set(numbers_of(statement_of(result))), _computed(solution_of(result))
    before = Counter(numbers_of(solution_of(source)))
    asked = Counter(numbers_of(question_of(source)))
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
    found, asked = list(amounts(_answer(result))), question_of(result)
    if len(found) != 1 or not _is_given(found[0]):
        return
    for amount in without(amounts(asked), list(amounts(question_of(source)))):
        if amount.same(found[0]):
            yield f"the question gives the answer: {amount.text}"
            return


def which_of_nothing(converted: str) -> Iterator[str]:
    """Faults: the question asks to choose, but has no options."""
    found = _WHICH.search(question_of(converted))
    if (
        found
        and not has_environment(statement_of(converted), "tasks")
        and r"\item" not in statement_of(converted)
    ):
        yield f"it asks '{found.group()}', but there are no options: ask for the value itself"


def same_method(solution: str, others: Sequence[str]) -> Iterator[str]:
    """Faults: the formulas of a solution are those of another one, so that only its words differ."""
    mine = _formulas(solution)
    if not _OPERATIONS & {*mine}:
        return
    for other in others:
        theirs = _formulas(other)
        alike = SequenceMatcher(None, mine, theirs, autojunk=False).ratio()
        if min(len(mine), len(theirs)) > 3 and alike >= _SAME_METHOD:
            yield "it has the formulas of a solution that is there already: use another method"
            return


def _formulas(solution: str) -> list[str]:
    """The signs of all formulas in order."""
    text = re.sub(
        r"\\boxed|\\displaystyle|\\(?:text|mathrm|rm)\s*\{[^{}]*(?:\{[^{}]*\})?[^{}]*\}",
        " ",
        without_layout(without_pictures(solution)),
    )
    return [
        sign
        for formula in re.findall(r"\$([^$]+)\$", text)
        for sign in re.findall(r"\\[A-Za-z]+|\d+(?:\.\d+)?|[^\s{}]", formula)
    ]


def same_scene(source: str, variant: str) -> Iterator[str]:
    """Faults: nearly all words of the statement are those of the source, in the same order."""
    before, after = words_of(statement_of(source)), words_of(statement_of(variant))
    if before != after and SequenceMatcher(None, before, after, autojunk=False).ratio() >= _SAME_SCENE:
        yield "the scene is that of the source with a few words changed: tell another one"


def without_calculus(variant: str) -> Iterator[str]:
    """Faults: neither the statement nor the solution of a calculus variant has a derivative or an integral."""
    if not _CALCULUS.search(without_pictures(variant)):
        yield "there is no derivative and no integral: let a quantity vary, and use calculus"


def only_joined(sources: Sequence[str], variant: str) -> Iterator[str]:
    """Faults: the combined problem answers each of its sources by itself."""
    boxes, answers = boxed_answers(solution_of(variant)), [answer_of(source) for source in sources]
    known = [answer for answer in answers if answer is not None]
    kept = [any(same_answer(one, box) is True for box in boxes) for one in known]
    if len(known) == len(sources) and all(kept) and len(boxes) >= len(sources) > 1:
        yield "it has the answers of its sources one after the other: make one problem with one answer"
