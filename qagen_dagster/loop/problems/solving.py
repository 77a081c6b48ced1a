"""Compares what a solver reaches, who sees only the question and the options, with the key of an item; and two readings of a picture."""

from collections import Counter

from qagen_dagster.latex import comparison
from qagen_dagster.latex.keyed import lettered_options, stated_answer
from qagen_dagster.latex.structure import code_of, options_of, question_of, solution_of, statement_of
from qagen_dagster.mathematics.values import close, value_of
from qagen_dagster.records.blind import LETTERS, BlindSolution
from qagen_dagster.records.problems.item import ANSWER_MARK, DIAGRAM_MARK, ScanResult
from qagen_dagster.toolkit.excerpt import block

_ABOUT = 0.021  # relative difference of rounded answers, and of those with g = 9.8 and g = 10
_END = "put it right"


def asked(item: str) -> tuple[str, str]:
    """The question and the options as a solver is shown them, without comments and marks.

    The options of assertion-reason and match are the entries of a list in the question.
    """
    question = code_of(question_of(item)).replace(ANSWER_MARK, "").strip()
    texts = [code_of(one.text) for one in options_of(item)]
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
    marked = [LETTERS[place] for place, one in enumerate(options_of(item)[: len(LETTERS)]) if one.right]
    named = comparison.named_options(solution_of(item)) if options_of(item) or lettered_options(item) else ()
    return tuple(marked or (sorted(one.upper() for one in named[-1]) if named else ()))


def compared(item: str, blind: BlindSolution) -> tuple[str, str]:
    """What came of the comparison, in words, and the fault if the solver did not reach the key. Beside a fault, the words do not count."""
    keys = keys_of(item)
    if keys:
        found = blind.disagreement(keys)
        return "key reached", blind.advice(", ".join(keys), found[1], _END) if found is not None else ""
    key, same = stated_answer(item) or "", _same_values(item, blind.value)
    if same is None:
        return f"undecided: code cannot compare {blind.value} with {key}", ""
    return "key reached", "" if same else blind.advice(key, f"reached {blind.value}", _END)


def differing_values(one: ScanResult, other: ScanResult) -> str:
    """The numbers that only one of two readings of a picture has: of the statements, options included, and of the first
    reading's figure. Empty if there are none."""
    mine, theirs = (Counter(comparison.numbers_of(statement_of(read.latex))) for read in (one, other))
    drawn, seen = (set(comparison.numbers_of(read.raw_diagram_description or "")) for read in (one, other))
    found = {
        "only in the first reading": (mine - theirs).elements(),
        "only in the second reading": (theirs - mine).elements(),
        "in the figure only in the first reading": drawn - seen - set(theirs)
        if other.raw_diagram_description
        else (),
    }
    told = {
        where: ", ".join(f"{float(one):.12g}" for one in sorted(numbers)) for where, numbers in found.items()
    }
    return "; ".join(f"{numbers} {where}" for where, numbers in told.items() if numbers)


def _same_values(item: str, value: str) -> bool | None:
    """Whether the solver reached the answer of each part; None: undecidable."""
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
        else close(value_of(comparison.bare_answer(key)), value_of(comparison.bare_answer(plain)), _ABOUT)
    )


def _stated(item: str, value: str) -> str:
    """The value as the item would state it: without a unit where a number is asked for."""
    solved = (
        f"\\item {statement_of(item)}\n\\begin{{solution}}\\boxed{{{value.strip(' $')}}}\\end{{solution}}"
    )
    return stated_answer(solved) or value
