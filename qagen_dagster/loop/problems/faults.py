r"""Finds the faults of one text, in words that a model can act on: items, options, solutions, drawings, copies."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from qagen_dagster.latex.content import (
    bare_answer,
    final_answer,
    named_options,
    numbers_of,
    same_answer,
    same_numbers,
    same_words,
    without_pictures,
    words_of,
)
from qagen_dagster.latex.structure import (
    environments,
    item_faults,
    options_of,
    plain_of,
    solution_of,
)
from qagen_dagster.mathematics.reading import read_value
from qagen_dagster.mathematics.units import ONE
from qagen_dagster.mathematics.values import equal, value_of

LEAST_WORDS = 8  # of a solution without a relation
_STEP = re.compile(r"=|[<>]|\\(?:implies|Rightarrow|therefore|approx|propto|leq?|geq?|to)(?![A-Za-z])")
_DOCUMENT = re.compile(r"\\(?:documentclass|usepackage)(?![A-Za-z])|\\(?:begin|end)[ \t]*\{document\}")
_BOXED = re.compile(r"\\(?:boxed|fbox)(?![A-Za-z])")
_OWN_LETTER = re.compile(r"\(?[A-Ha-h]\)")
_LABELLED = re.compile(r"\\task[*!]?\s*(?:\(\d{1,2}\))?\s*\[|\\begin\s*\{tasks\}\s*\[")
_DRAWS = re.compile(
    r"\\(?:draw|node|path|fill|filldraw|shade|shadedraw|foreach|addplot|pic|matrix|graph|diagram|datavisualization)(?![A-Za-z])"
)


def whole_item(latex: str) -> list[str]:
    """The faults of `item_faults`, a solution that contains only layout, and commands of a whole document."""
    faults = [*item_faults(latex), *own_document(latex)]
    solution = solution_of(latex)
    if solution and not words_of(solution) and not numbers_of(solution):
        faults.append("its solution says nothing")
    return faults


def own_document(latex: str) -> Iterator[str]:
    """Commands that belong in a document, not in an item."""
    found = _DOCUMENT.search(plain_of(latex))
    if found:
        yield f"{found.group()} does not belong here: no preamble and no document environment"


def right_ones(latex: str, *, one: bool) -> Iterator[str]:
    """A number of right options other than one."""
    options = options_of(latex)
    right = sum(option.right for option in options)
    if len(options) < 2:
        yield "the tasks environment needs at least two options"
    elif one and right != 1:
        yield rf"exactly one option ends with \ans, not {right}"
    elif not one and not right:
        yield r"no option ends with \ans"


def unlike_options(latex: str) -> Iterator[str]:
    """Options that occur twice."""
    texts = [option.text for option in options_of(latex)]
    twice = next((text for text in texts if text and texts.count(text) > 1), None)
    if twice is not None:
        yield f"two options are {twice}"


def other_key(latex: str) -> Iterator[str]:
    """Right options that are not those which the solution names by letter, or puts into its box."""
    options, solution = options_of(latex), solution_of(latex)
    right = [option.text for option in options if option.right]
    lettered = len(environments(latex, "tasks")) == 1 and not _LABELLED.search(latex)
    lettered = lettered and not any(_OWN_LETTER.match(option.text) for option in options)
    named = [one for one in named_options(solution) if right and lettered]
    marked = frozenset(chr(ord("a") + place) for place, option in enumerate(options) if option.right)
    wrong = next((one for one in named if not one <= marked or (len(one) > 1 and one != marked)), None)
    if wrong is not None:
        yield rf"the solution names option {_letters(wrong)} as right, but \ans marks option {_letters(marked)}"
    boxed = final_answer(solution) if _BOXED.search(without_pictures(solution)) else None
    if len(right) == 1 and boxed is not None and not named_options(f"\\boxed{{{boxed}}}"):
        others = [option.text for option in options if not option.right]
        if differs(right[0], boxed) or (
            not exactly(right[0], boxed) and any(exactly(one, boxed) for one in others)
        ):
            yield f"the right option says {right[0]}, but the solution ends at {boxed}"


def differs(option: str, boxed: str) -> bool:
    """Whether two answers are different for sure. A unit that only one of them has may stand beside the box."""
    try:
        one, other = (value_of(bare_answer(text)) for text in (option, boxed))
    except ValueError:
        return same_answer(option, boxed) is False
    if (one.unit == ONE) != (other.unit == ONE):
        return one.numbers != other.numbers
    return same_answer(option, boxed) is False


def exactly(option: str, boxed: str) -> bool:
    """Whether two answers are one value without rounding, or the same words."""
    try:
        return equal(value_of(bare_answer(option)), value_of(bare_answer(boxed)))
    except ValueError:
        return same_answer(option, boxed) is True


def _letters(letters: Collection[str]) -> str:
    return ", ".join(f"({one})" for one in sorted(letters))


def stepless(solution: str) -> Iterator[str]:
    """A solution that only names its answer."""
    text = without_pictures(solution)
    if not _STEP.search(text) and len(text.split()) < LEAST_WORDS:
        yield "the solution shows no steps"


def undrawn(picture: str) -> bool:
    """Whether a picture draws nothing, comments aside."""
    return not _DRAWS.search(plain_of(picture))


def repeated(text: str, earlier: Sequence[str]) -> Iterator[str]:
    """A text that is the same as an earlier one."""
    for number, one in enumerate(earlier, 1):
        if same_words(text, one) and same_numbers(text, one):
            yield f"it is number {number} once more: make another one"
            return


def is_value(answer: str) -> bool:
    """Whether an answer is one value and not a sentence."""
    try:
        value_of(answer)
    except ValueError:
        return False
    return True


def is_number(answer: str) -> bool:
    """Whether an answer is one value without symbols."""
    try:
        return not read_value(answer).symbols
    except ValueError:
        return False
