"""Compares the key of an item with the answer of a solver that sees only question and options; and compares two readings of a picture."""

from collections.abc import Iterator

from qagen_dagster.latex import comparison
from qagen_dagster.latex.answer_key import lettered_options, stated_answer
from qagen_dagster.latex.structure import code_of, options_of, question_of, solution_of, statement_of
from qagen_dagster.mathematics.equality import close, value_of
from qagen_dagster.records.blind import LETTERS, BlindSolution
from qagen_dagster.records.problems.submissions import ANSWER_MARK, DIAGRAM_MARK, ScanResult
from qagen_dagster.toolkit.excerpt import block

_END = "put it right"
_TOLERANCE = 0.021  # of a solver's answer, relative: rounded, or with g = 9.8 instead of g = 10


def asked(item: str) -> tuple[str, str]:
    """The question and the options as a solver is shown them, without comments and marks.

    The options of assertion-reason and match are the entries of a list in the question.
    """
    question = code_of(question_of(item)).replace(ANSWER_MARK, "").strip()
    texts = [code_of(option.text) for option in options_of(item)]
    if not texts and keys_of(item):
        texts = list(lettered_options(item).values())
    lettered = zip(LETTERS, texts, strict=False)
    return question, block(f"{letter}: {' '.join(text.split())}" for letter, text in lettered)


def unsolvable(item: str) -> str:
    """Why a solver cannot solve the item; empty if it can."""
    if any(line.strip().lower() == DIAGRAM_MARK for line in item.split("\n")):
        return "its figure is not drawn yet"
    return "" if keys_of(item) or stated_answer(item) else "the item has no answer that code finds"


def keys_of(item: str) -> tuple[str, ...]:
    """The letters of the right options, in order; empty for an item without options, or without a key."""
    marked = [LETTERS[place] for place, option in enumerate(options_of(item)[: len(LETTERS)]) if option.right]
    named = comparison.named_options(solution_of(item)) if options_of(item) or lettered_options(item) else ()
    return tuple(marked or (sorted(one.upper() for one in named[-1]) if named else ()))


def compared(item: str, blind: BlindSolution) -> tuple[str, str]:
    """Returns (outcome, fault). `outcome` describes the comparison. `fault` is empty unless the solver certainly did not reach the key."""
    keys, key = keys_of(item), stated_answer(item) or ""
    if keys:
        found = blind.disagreement(keys)
        same, key, reached = found is None, ", ".join(keys), found[1] if found is not None else ""
    else:
        same, reached = _same_values(item, blind.value), f"reached {blind.value}"
    if same is None:
        return f"undecided: code cannot compare {blind.value} with {key}", ""
    return ("key reached", "") if same else ("key not reached", blind.advice(key, reached, _END))


def read_differently(one: ScanResult, other: ScanResult) -> Iterator[str]:
    """Faults: two readings of a picture do not agree. A number of one statement (options included) is nowhere in the other reading, or
    their answers differ. It is no fault if both readings have a number at different places, or not equally often."""
    mine, theirs = (set(comparison.numbers_of(statement_of(read.latex))) for read in (one, other))
    shown, seen = (set(comparison.numbers_of(read.raw_diagram_description or "")) for read in (one, other))
    found = {"only this reading": mine - theirs - seen, "only the other one": theirs - mine - shown}
    others = [f"{where} has {comparison.listed(numbers)}" for where, numbers in found.items() if numbers]
    if others:
        yield f"another reading of the picture has other numbers: {', '.join(others)}; look at each of them again"
    boxes, keys = comparison.boxed_answers(solution_of(other.latex)), keys_of(other.latex)
    value = "; ".join(boxes) or stated_answer(other.latex)
    if value and bool(keys) is bool(keys_of(one.latex)):
        steps = solution_of(other.latex) or value
        submitted = {"reasoning": steps, "value": value, "right_options": keys, "chosen_option": None}
        yield from filter(None, compared(one.latex, BlindSolution.model_validate(submitted))[1:])


def differences(one: ScanResult, other: ScanResult) -> str:
    """The faults of `read_differently`, and the numbers that only the first reading has in its figure; empty if there are none."""
    drawn, seen = (set(comparison.numbers_of(read.raw_diagram_description or "")) for read in (one, other))
    strange = drawn - seen - set(comparison.numbers_of(statement_of(other.latex)))
    faults = list(read_differently(one, other))
    if strange and other.raw_diagram_description:
        faults.append(f"{comparison.listed(strange)} in the figure only in the first reading")
    return "; ".join(faults)


def _same_values(item: str, value: str) -> bool | None:
    """Whether the solver reached the answer of each part; None if code cannot decide."""
    if value.strip(" $.").lower() in ("none", ""):
        return False
    boxes = comparison.boxed_answers(solution_of(item))
    if len(boxes) < 2:
        return _same(stated_answer(item) or "", _stated(item, value))
    parts = value.split(";")
    found = [_same(box, part) for box, part in zip(boxes, parts, strict=False)]
    return False if False in found else None if None in found or len(parts) != len(boxes) else True


def _same(key: str, value: str) -> bool | None:
    """Whether two answers are the same, also if one is rounded or computed with a less exact constant."""
    plain = value.replace(r"\,", " ").strip()
    same = comparison.same_answer(key, plain)
    return (
        same
        if same is not False
        else close(value_of(comparison.bare_answer(key)), value_of(comparison.bare_answer(plain)), _TOLERANCE)
    )


def _stated(item: str, value: str) -> str:
    """The value as the item would state it: without a unit where a number is asked for."""
    solved = (
        f"\\item {statement_of(item)}\n\\begin{{solution}}\\boxed{{{value.strip(' $')}}}\\end{{solution}}"
    )
    return stated_answer(solved) or value
