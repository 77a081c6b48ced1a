"""Conversions between formats whose answer is one number: integer, open question, options with computed wrong values.

A wrong option is the value of the solution's own expression with one slip in it, or a simple multiple of the answer.
"""

import re
from collections.abc import Iterator
from fractions import Fraction

from qagen_dagster.latex.comparison import final_answer, numbers_of, same_answer
from qagen_dagster.latex.structure import environments, options_of, solution_of, statement_of
from qagen_dagster.models.embedded import Draw
from qagen_dagster.models.embedded.problems import reading
from qagen_dagster.records.problems.submissions import ANSWER_MARK, Format

_ASKS = re.compile(
    r"\s*(?:Give|State|Round|Write|Express)\s+(?:your|the)\s+(?:numerical\s+)?(?:answer|value)\b[^.?!]*[.?!]",
    re.IGNORECASE,
)
_CHOICE = re.compile(
    r"\s*(?:The\s+)?(?:correct|right)\s+(?:options?|answers?|choices?)\s+(?:is|are)\s+\(?[a-hA-H]\)?(?:[^.\n]{0,30})\.?",
    re.IGNORECASE,
)
_OF_THESE = re.compile(r"\b(?:which|following|these|options?)\b", re.IGNORECASE)
_PLAIN = (2, Fraction(1, 2), 4, Fraction(1, 4), 3, Fraction(3, 2))
_LETTERS = "abcdefgh"


def convert(item: str, target: Format) -> tuple[str, str]:
    """The item in the target format, and its answer. Raises UnableError with the reason."""
    if target.is_keyed:
        raise reading.UnableError(
            f"embedded:problem-converter makes no {target.value}: bind converter to a language model"
        )
    answer, number = _answer(item)
    question = _question(item)
    solution = _solved(item, answer)
    if target is Format.SUBJECTIVE:
        return _item(question, "", solution), answer
    if target is Format.INTEGER:
        return _item(f"{question} {_asked_for(answer, number)}", "", solution), answer
    if target is Format.MCQ_SC:
        options, right = _values(item, answer, number)
        return _item(
            question, _tasks(options, {right}), f"{solution} The correct option is ({_LETTERS[right]})."
        ), answer
    options, rights = _statements(item, answer, number)
    letters = " and ".join(f"({_LETTERS[right]})" for right in sorted(rights))
    asked = f"{question} Which of these statements about the result are right?"
    return _item(asked, _tasks(options, rights, 1), f"{solution} The correct options are {letters}."), letters


def _answer(item: str) -> tuple[str, reading.Numeral]:
    """The answer as LaTeX, and the numeral in it."""
    rights = [option.text for option in options_of(item) if option.right]
    if len(rights) > 1:
        raise reading.UnableError("several of its options are right, so that it has no one numerical answer")
    answer = (rights[0] if rights else final_answer(solution_of(item)) or "").strip().strip("$").strip()
    found = reading.numerals_of(answer) if "$" not in answer else ()
    if (
        len(found) != 1
        or not found[0].value
        or reading.side_value(answer) is None
        or answer[: found[0].start].strip()
    ):
        raise reading.UnableError("its answer is not one number")
    concluded = final_answer(solution_of(item))
    if rights and concluded is not None and same_answer(answer, concluded) is False:
        raise reading.UnableError(f"its right option says {answer}, but its solution ends at {concluded}")
    return answer, found[0]


def _question(item: str) -> str:
    """The statement without options and without instructions for the answer."""
    statement = statement_of(item)
    tasks = environments(statement, "tasks")
    if tasks:
        if statement[tasks[-1][1] :].strip():
            raise reading.UnableError("its question goes on behind the options")
        statement = statement[: tasks[0][0]]
        if _OF_THESE.search(statement):
            raise reading.UnableError("its question makes no sense without its options")
    if environments(statement, "enumerate"):
        raise reading.UnableError("it asks several things or lists its parts, so that it has no one answer")
    return _ASKS.sub("", statement).strip()


def _solved(item: str, answer: str) -> str:
    solution = _CHOICE.sub("", solution_of(item)).strip()
    if not numbers_of(solution):
        raise reading.UnableError("its solution does not compute the answer")
    if r"\boxed" not in solution:
        solution += f" The result is $\\boxed{{{answer}}}$."
    return solution


def _asked_for(answer: str, number: reading.Numeral) -> str:
    unit = answer[number.end :].lstrip().removeprefix(r"\,").strip()
    counted = f" in ${unit}$" if unit else ""
    if number.value.denominator == 1 and "times" not in number.text:
        return f"Give your answer{counted} as an integer."
    return f"Give the numerical value of your answer{counted}."


def _wrong(item: str, number: reading.Numeral) -> list[Fraction]:
    """Three different wrong values: first from slips in the last computed expression, then plain multiples of the answer."""
    found: list[Fraction] = []
    spans = environments(item, "solution")
    chains = (
        [chain for chain in reading.chains_of(item, *spans[0]) if len(chain.numeric) > 1] if spans else []
    )
    slips = _slips(chains[-1].numeric[0].text) if chains else iter(())
    for value in (*slips, *(number.value * factor for factor in _PLAIN)):
        short = _short(value, number)
        near = short and Fraction(1, 1000) <= short / number.value <= 1000
        if near and all(abs(short - taken) > abs(taken) / 50 for taken in (number.value, *found)):
            found.append(short)
    if len(found) < 3:
        raise reading.UnableError("too few different wrong values can be computed from its solution")
    return found[:3]


def _slips(expression: str) -> Iterator[Fraction]:
    """Values of the expression with one slip: a forgotten square or root, a missing half, an inverted ratio."""
    changed = [
        expression.replace("^2", "", 1).replace("^{2}", "", 1),
        re.sub(r"\\sqrt\s*(?=\{)", "", expression, count=1),
        re.sub(r"\\frac\s*\{1\}\s*\{2\}\s*(?:\\cdot|\\times)?", "", expression, count=1),
        re.sub(r"(?<![\d.])2\s*(?:\\cdot|\\times)", "", expression, count=1),
        re.sub(r"\\frac\s*(\{[^{}]*\})\s*(\{[^{}]*\})", r"\\frac\2\1", expression, count=1),
        re.sub(r"\+", "-", expression, count=1),
        re.sub(r"(?<=[\d})])\s*-(?=\s*[\d\\{(])", "+", expression, count=1),
    ]
    for slipped in changed:
        value = reading.side_value(slipped) if slipped != expression else None
        if value is not None and value.numbers[0] is not None and Fraction(value.numbers[0]) > 0:
            yield Fraction(value.numbers[0])


def _short(value: Fraction, model: reading.Numeral) -> Fraction:
    """The value, rounded to the decimal places of the answer, or to more until it has two significant digits."""
    ten = model.value / reading.numeral_value(model.text.split("\\")[0].strip())
    mantissa = value / ten
    places = model.places
    while places < 6 and mantissa and abs(mantissa) * 10**places < 10:
        places += 1
    return round(mantissa, places) * ten


def _values(item: str, answer: str, number: reading.Numeral) -> tuple[list[str], int]:
    """Four values in ascending order, and the index of the right value."""
    values = sorted({number.value, *_wrong(item, number)})
    texts = [f"${_with(answer, number, value)}$" for value in values]
    return texts, values.index(number.value)


def _statements(item: str, answer: str, number: reading.Numeral) -> tuple[list[str], set[int]]:
    """Four statements: the right value, a wrong value and two bounds. Returns them shuffled, with the indices of the right ones."""
    low, *rest = sorted(_wrong(item, number))
    high = rest[-1]
    statements = [(f"It is ${answer}$.", True), (f"It is ${_with(answer, number, rest[0])}$.", False)]
    bounds = [(f"than ${_with(answer, number, bound)}$.", number.value > bound) for bound in (low, high)]
    statements += [(f"It is greater {text}", more) for text, more in bounds]
    if not any(more for _, more in bounds):
        statements[2] = (f"It is less {bounds[0][0]}", True)
    Draw(f"statements/{item}").shuffle(statements)
    return [text for text, _ in statements], {place for place, (_, right) in enumerate(statements) if right}


def _with(answer: str, number: reading.Numeral, value: Fraction) -> str:
    if value == number.value:
        return answer
    text = reading.written_like(value, number.text) if "\\" in number.text else reading.decimal_text(value)
    return answer[: number.start] + text + answer[number.end :]


def _tasks(options: list[str], rights: set[int], columns: int = 2) -> str:
    lines = [
        f"\\task {text}{' ' + ANSWER_MARK if place in rights else ''}" for place, text in enumerate(options)
    ]
    return "\n".join([f"\\begin{{tasks}}({columns})", *lines, "\\end{tasks}\n"])


def _item(statement: str, tasks: str, solution: str) -> str:
    return f"\\item {statement}\n{tasks}\\begin{{solution}}\n{solution}\n\\end{{solution}}"
