"""Finds the faults of a text, and what a variant or a conversion should have kept. The words of a fault tell a model what to do.

A function that yields strings yields one for each fault.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

from qagen_dagster.latex import comparison, structure
from qagen_dagster.latex.amounts import ROMAN, amounts, without
from qagen_dagster.latex.keyed import lettered_options, pairs_of
from qagen_dagster.mathematics.units import BASES, ONE, Unit
from qagen_dagster.mathematics.value_reading import known_unit, read_value
from qagen_dagster.mathematics.values import CLOSE, Quantity, close, equal, known_value, rounds_to, value_of
from qagen_dagster.records.problems.submissions import Format

LEAST_WORDS = 8  # minimum words of a solution that contains no relation
_STEP = re.compile(r"=|[<>]|\\(?:implies|Rightarrow|therefore|approx|propto|leq?|geq?|to)(?![A-Za-z])")
_DOCUMENT = re.compile(r"\\(?:documentclass|usepackage)(?![A-Za-z])|\\(?:begin|end)[ \t]*\{document\}")
_BOXED = re.compile(r"\\(?:boxed|fbox)(?![A-Za-z])")
_OWN_LETTER = re.compile(r"\(?[A-Ha-h]\)")
_LABELLED = re.compile(r"\\task[*!]?\s*(?:\(\d{1,2}\))?\s*\[|\\begin\s*\{tasks\}\s*\[")
_DRAWS = re.compile(
    r"\\(?:draw|node|path|fill|filldraw|shade|shadedraw|foreach|addplot|pic|matrix|graph|diagram|datavisualization)(?![A-Za-z])"
)
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
_ASKS_NUMBER = re.compile(r"\b(?:integers?|numerical(?:ly)?|numbers?|nearest|digits?)\b", re.IGNORECASE)
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


def whole_item(latex: str) -> list[str]:
    """The faults that `item_faults` finds, and these: a solution of only layout, and commands of a whole document."""
    faults = [*structure.item_faults(latex), *own_document(latex)]
    solution = structure.solution_of(latex)
    if solution and not comparison.words_of(solution) and not comparison.numbers_of(solution):
        faults.append("its solution says nothing")
    return faults


def own_document(latex: str) -> Iterator[str]:
    """Faults: commands that belong in a document, not in an item."""
    found = _DOCUMENT.search(structure.plain_of(latex))
    if found:
        yield f"{found.group()} does not belong here: no preamble and no document environment"


def right_ones(latex: str, *, one: bool) -> Iterator[str]:
    """Faults: fewer than two options, and a wrong number of right options. Exactly one must be right if `one`, else at least one."""
    options = structure.options_of(latex)
    right = sum(option.right for option in options)
    if len(options) < 2:
        yield "the tasks environment needs at least two options"
    elif one and right != 1:
        yield rf"exactly one option ends with \ans, not {right}"
    elif not one and not right:
        yield r"no option ends with \ans"


def unlike_options(latex: str) -> Iterator[str]:
    """Faults: options that occur twice."""
    texts = [option.text for option in structure.options_of(latex)]
    twice = next((text for text in texts if text and texts.count(text) > 1), None)
    if twice is not None:
        yield f"two options are {twice}"


def other_key(latex: str) -> Iterator[str]:
    """Faults: the solution names other letters, or has another answer in its box, than the options that are marked right."""
    options, solution = structure.options_of(latex), structure.solution_of(latex)
    right = [option.text for option in options if option.right]
    lettered = len(structure.environments(latex, "tasks")) == 1 and not _LABELLED.search(latex)
    lettered = lettered and not any(_OWN_LETTER.match(option.text) for option in options)
    named = [one for one in comparison.named_options(solution) if right and lettered]
    marked = frozenset(chr(ord("a") + place) for place, option in enumerate(options) if option.right)
    wrong = next((one for one in named if not one <= marked or (len(one) > 1 and one != marked)), None)
    if wrong is not None:
        yield rf"the solution names option {_letters(wrong)} as right, but \ans marks option {_letters(marked)}"
    boxed = (
        comparison.final_answer(solution) if _BOXED.search(comparison.without_pictures(solution)) else None
    )
    if len(right) == 1 and boxed is not None and not comparison.named_options(f"\\boxed{{{boxed}}}"):
        others = [option.text for option in options if not option.right]
        if differs(right[0], boxed) or (
            not exactly(right[0], boxed) and any(exactly(other, boxed) for other in others)
        ):
            yield f"the right option says {right[0]}, but the solution ends at {boxed}"


def differs(option: str, boxed: str) -> bool:
    """Whether two answers certainly differ. If only one of them has a unit, only the numbers are compared."""
    one, other = (known_value(comparison.bare_answer(text)) for text in (option, boxed))
    if one and other and (one.unit == ONE) != (other.unit == ONE):
        return one.numbers != other.numbers
    return comparison.same_answer(option, boxed) is False


def exactly(option: str, boxed: str) -> bool:
    """Whether two answers are the same value without rounding, or the same words."""
    one, other = (known_value(comparison.bare_answer(text)) for text in (option, boxed))
    return equal(one, other) if one and other else comparison.same_answer(option, boxed) is True


def _letters(letters: Collection[str]) -> str:
    return ", ".join(f"({letter})" for letter in sorted(letters))


def stepless(solution: str) -> Iterator[str]:
    """Faults: a solution that only names its answer."""
    text = comparison.without_pictures(solution)
    if not _STEP.search(text) and len(text.split()) < LEAST_WORDS:
        yield "the solution shows no steps"


def undrawn(picture: str) -> bool:
    """Whether a picture draws nothing. Comments do not count."""
    return not _DRAWS.search(structure.plain_of(picture))


def repeated(text: str, earlier: Sequence[str]) -> Iterator[str]:
    """Faults: the text is the same as an earlier one."""
    for number, earlier_text in enumerate(earlier, 1):
        if comparison.same_words(text, earlier_text) and comparison.same_numbers(text, earlier_text):
            yield f"it is number {number} once more: make another one"
            return


def is_number(answer: str) -> bool:
    """Whether an answer is a single value without symbols."""
    try:
        return not read_value(answer).symbols
    except ValueError:
        return False


def named_constants(source: str, solution: str, variant: str) -> Iterator[Fraction]:
    r"""Values of constants, such as `$g = 9.8\,\mathrm{m\,s^{-2}}$`, that the text of a variant states.

    Of its source, only the solution states these values, and not the text.
    """
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


def answer_of(item: str) -> str | None:
    """The final answer of an item as LaTeX: its only right option, or if it has no right option, the answer of its solution.

    Returns None if there are several right options, or no answer is found.
    """
    right = [option.text for option in structure.options_of(item) if option.right]
    if len(right) == 1:
        return right[0]
    return None if right else comparison.final_answer(structure.solution_of(item))


def asks_number(converted: str) -> Iterator[str]:
    """Faults: the conversion does not ask for a number, or does not end with a number."""
    if not _ASKS_NUMBER.search(structure.statement_of(converted)):
        yield 'the statement must ask for a numerical answer, such as "Give your answer in m as an integer."'
    answer = answer_of(converted)
    if (
        answer is None
        or not comparison.numbers_of(answer)
        or (known_value(answer) is not None and not is_number(answer))
    ):
        yield r"the solution must end at a number in \boxed{...}"


def answer_kept(source: str, target: Format, converted: str) -> Iterator[str]:
    """Faults: the answer differs from that of the source. Several right statements, pairs and truth values are not compared.

    If one text has several answers (a passage), one of them must be that of the other text.
    """
    old, new = answer_of(source), answer_of(converted)
    if (
        target in (Format.MCQ_MC, Format.MATCH, Format.ASSERTION_REASON)
        or old is None
        or not comparison.numbers_of(old)
        or len(pairs_of(old)) > 2  # one pair of a matching becomes the conversion
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
    if new is None or (target is Format.INTEGER and not (is_number(old) and is_number(new))):
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
    """The value of the last digit of a number. If the question asks for a rounded integer, that of its last non-zero digit."""
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
        if not (sentence.rstrip().endswith("?") or _ASKS_NUMBER.search(sentence)):
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
