"""Finds the faults of an item by itself: its form, options, key, values and figure. The words of a fault tell a model what to do.

A function that yields strings yields the faults that it finds. Some functions yield only the first fault.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction

from qagen_dagster.latex import comparison, question_faults, structure
from qagen_dagster.latex.amounts import Amount, amounts, without
from qagen_dagster.latex.comparison import numbers_of, without_pictures
from qagen_dagster.latex.equalities import false_equalities, sides_of
from qagen_dagster.mathematics.equality import equal, known_value
from qagen_dagster.mathematics.units import ONE
from qagen_dagster.mathematics.value_reading import read_value

LEAST_WORDS = 8  # minimum words of a solution that contains no relation
_STEP = re.compile(r"=|[<>]|\\(?:implies|Rightarrow|therefore|approx|propto|leq?|geq?|to)(?![A-Za-z])")
_DOCUMENT = re.compile(r"\\(?:documentclass|usepackage)(?![A-Za-z])|\\(?:begin|end)[ \t]*\{document\}")
_BOXED = re.compile(r"\\(?:boxed|fbox)(?![A-Za-z])")
_OWN_LETTER = re.compile(r"\(?[A-Ha-h]\)")
_LABELLED = re.compile(r"\\task[*!]?\s*(?:\(\d{1,2}\))?\s*\[|\\begin\s*\{tasks\}\s*\[")
_DRAWS = re.compile(
    r"\\(?:draw|node|path|fill|filldraw|shade|shadedraw|foreach|addplot|pic|matrix|graph|diagram|datavisualization)(?![A-Za-z])"
)
ASKS_NUMBER = re.compile(r"\b(?:integers?|numerical(?:ly)?|numbers?|nearest|digits?)\b", re.IGNORECASE)
_WHICH = re.compile(
    r"\bwhich\s+(?:one\s+)?of\s+(?:the\s+following|these|the\s+(?:options|statements)|the\s+\w+\s+below)",
    re.IGNORECASE,
)
_POWER = re.compile(r"(?:[\d.]+\s*(?:\\times|\\cdot)\s*10\s*)?\^\s*(?:\{[^{}]*\}|\d)")
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
_WIDEST, _HIGHEST = 20, 26  # maximum size of a drawing in cm, so that it fits on a page


def whole_item(latex: str) -> list[str]:
    """The faults that `structure.item_faults` finds, commands that belong in a document, and a solution with neither words nor numbers."""
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
    """Faults: fewer than two options, or a wrong number of right options. Exactly one must be right if `one`, else at least one."""
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
    if not ASKS_NUMBER.search(structure.statement_of(converted)):
        yield 'the statement must ask for a numerical answer, such as "Give your answer in m as an integer."'
    answer = answer_of(converted)
    if (
        answer is None
        or not comparison.numbers_of(answer)
        or (known_value(answer) is not None and not is_number(answer))
    ):
        yield r"the solution must end at a number in \boxed{...}"


def value_faults(item: str, source: str = "", *, drawn_later: bool = False) -> Iterator[str]:
    """Faults that are in an item, but not in its source: false equalities, impossible values, faulty options, and a missing figure.

    With `drawn_later`, the figure may be missing.
    """
    known = set(_value_faults(source)) if source else set[str]()
    yield from (fault for fault in _value_faults(item) if fault not in known)
    if not drawn_later and not any(question_faults.without_figure(structure.question_of(source))):
        yield from question_faults.without_figure(structure.question_of(item))


def solution_faults(solution: str) -> Iterator[str]:
    """Faults of the values of a solution alone."""
    yield from false_equalities(solution)
    yield from question_faults.impossible_values(solution)


def _value_faults(item: str) -> Iterator[str]:
    question = structure.question_of(item)
    yield from solution_faults(structure.solution_of(item))
    yield from question_faults.impossible_values(question)
    options = {chr(ord("a") + place): option.text for place, option in enumerate(structure.options_of(item))}
    right = frozenset(
        chr(ord("a") + place) for place, option in enumerate(structure.options_of(item)) if option.right
    )
    yield from question_faults.option_faults(question, options, right)
    yield from question_faults.equal_options(options)
    yield from _misread(item)
    answer = final_formula(item) if not options else ""
    if answer:
        yield from question_faults.impossible_answer(question, answer)


def _misread(item: str) -> Iterator[str]:
    """Faults: the solution computes with a number that has nearly the digits of a given that it does not use, such as 8.0 for 80."""
    solution = structure.solution_of(item)
    stated, (used, results) = list(amounts(structure.question_of(item))), computed_numbers(solution)
    known = (
        results
        | {value for one in stated for value in (one.value, one.base)}
        | {*numbers_of(structure.statement_of(item))}
    )
    for one in stated:
        plain = one.unit is not None and one.base == one.value and one.value not in numbers_of(solution)
        alike = [number for number in used - known if plain and _alike(number, one.value)]
        if alike:
            yield f"the statement gives {one.text}, but the solution computes with {float(alike[0]):.12g}"
            return


def computed_numbers(solution: str) -> tuple[set[Fraction], set[Fraction]]:
    """The numbers with which a solution computes, without exponents and powers of ten; and the numbers that are a side of a relation."""
    sides = sides_of(solution)
    texts = (_POWER.sub(" ", side.text) for side in sides if not side.lone)
    used = {Fraction(number) for text in texts for number in re.findall(r"\d+(?:\.\d+)?", text)}
    return used, {number for side in sides if side.lone for number in numbers_of(f"${side.text}$")}


def _alike(one: Fraction, other: Fraction) -> bool:
    """Whether two numbers have the same digits at other places, or in another order."""
    mine, theirs = (f"{float(each):.12g}".replace(".", "").strip("0") for each in (one, other))
    moved = mine == theirs and one > 2
    return moved or (len(mine) > 1 and mine != theirs and sorted(mine) == sorted(theirs))


def final_formula(item: str) -> str:
    """The final answer as a formula, or as the text of an option; empty if there is none."""
    answer = answer_of(item) or ""
    return f"${answer}$" if "\\" in answer and "$" not in answer else answer


def figure_faults(drawing: str, text: str, source: str = "") -> Iterator[str]:
    """Faults: a label has an amount that the text lacks or states differently. No fault if the source has such a label, too."""
    if source and _strange_labels(
        "\n".join(structure.tikz_pictures(structure.question_of(source))), structure.question_of(source)
    ):
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
    """The amounts with units, by the only name before them in their clause, such as `$R_1 = 2$ V` or `block B (3 kg)`."""
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
    """Faults: a path of a drawing begins before the previous path has ended with a semicolon, which no engine compiles."""
    plain, braced = structure.plain_of(drawing), 1
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


def which_of_nothing(converted: str) -> Iterator[str]:
    """Faults: the question asks to choose, but has no options."""
    found = _WHICH.search(structure.question_of(converted))
    if (
        found
        and not structure.has_environment(structure.statement_of(converted), "tasks")
        and r"\item" not in structure.statement_of(converted)
    ):
        yield f"it asks '{found.group()}', but there are no options: ask for the value itself"
