"""Finds items of a bank that ask the same: with the same stem, or with the same computation on the same numbers in other words.

Items from the same template with different numbers are not duplicates. The author of the exam decides which variants it has.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from qagen_dagster.records.exams.bank import ExamItem
from qagen_dagster.records.exams.submissions import CheckableForm, QuestionPackage

SAME_WORDS = 0.85  # minimum share of common words of two duplicates whose stems have the same numbers
ALIKE = 0.3  # minimum share of common words of two duplicates with the same short computation
LONG = 4  # minimum operations of a computation that alone shows two items to be duplicates
_SUMS, _PRODUCTS = (ast.Add, ast.Sub), (ast.Mult, ast.Div)
_WORD = re.compile(r"[a-z]{2,}")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SIGN = re.compile(r"(?<![\^{])[-+<>]")  # signs of formulas, but not of exponents
_SPACING = re.compile(r"\\[,;:! ]|\\(?:left|right|displaystyle|quad|text|mathrm|rm)\b|[{}$~]")


@dataclass(frozen=True)
class _Comparable:
    """The properties of an item that are compared."""

    stem: str
    words: Counter[str]
    order: tuple[str, ...]  # numbers in order with the signs between them, because a sum is not a difference
    numbers: Counter[str]  # numbers in any order
    computation: str
    operations: int

    @property
    def traits(self) -> tuple[str, ...]:
        """Keys for finding duplicates. `_same` is called only for items with a trait in common, because others never are duplicates."""
        numbers = " ".join(sorted(self.numbers.elements()))
        computed = (f"computation {self.computation}",) if self.computation else ()
        return (f"stem {self.stem}", f"numbers {numbers}", *computed)


def find_duplicates(items: Sequence[ExamItem]) -> dict[str, tuple[str, str]]:
    """The ids of duplicates, each with the id of the earlier item that it repeats and the reason."""
    found: dict[str, tuple[str, str]] = {}
    kept: list[tuple[str, _Comparable]] = []
    places: dict[str, list[int]] = defaultdict(list)  # places of the kept items with each trait
    for item in items:
        compared = _comparable(item.question_package)
        near = sorted({place for trait in compared.traits for place in places[trait]})
        hit = next(((kept[one][0], why) for one in near if (why := _same(kept[one][1], compared))), None)
        if hit is not None:
            found[item.id] = hit
            continue
        for trait in compared.traits:
            places[trait].append(len(kept))
        kept.append((item.id, compared))
    return found


def _same(first: _Comparable, second: _Comparable) -> str:
    if first.stem == second.stem:
        return "the stems are the same"
    if first.order == second.order and overlap(first.words, second.words) >= SAME_WORDS:
        return "the stems have the same numbers and nearly the same words"
    if first.computation and first.computation == second.computation:
        alike = first.numbers == second.numbers and overlap(first.words, second.words) >= ALIKE
        if alike or min(first.operations, second.operations) >= LONG:
            return "the answer is the same computation on the same numbers"
    return ""


def _comparable(package: QuestionPackage) -> _Comparable:
    plain = " ".join(_SPACING.sub(" ", package.question.stem).lower().split())
    words = Counter(_WORD.findall(plain))
    order = (*_NUMBER.findall(plain), *_SIGN.findall(" ".join(package.question.stem.split("$")[1::2])))
    computation, operations = _computation(package.check) if package.check else ("", 0)
    stem = re.sub(r"[^\w+\-*/^=<>.]", "", plain)
    return _Comparable(stem, words, order, Counter(order), computation, operations)


def overlap(first: Counter[str], second: Counter[str]) -> float:
    """The share of common words of two texts."""
    union = (first | second).total()
    return (first & second).total() / union if union else 0.0


def _computation(check: CheckableForm) -> tuple[str, int]:
    """The form in a canonical order, with its givens inserted and without names of symbols; and its number of operations."""
    try:
        givens = {name: ast.parse(value.strip(), mode="eval").body for name, value in check.givens.items()}
        tree = ast.parse(check.expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return "", 0
    free = {name for name, value in check.givens.items() if value.strip() == name}
    inner = {name: _written(value, {}, free) for name, value in givens.items() if name not in free}
    operations = sum(isinstance(node, (ast.BinOp, ast.Call)) for node in ast.walk(tree))
    return f"{_written(tree, inner, free)} {check.unit}".strip(), operations


def _written(node: ast.expr, givens: Mapping[str, str], free: set[str]) -> str:
    if isinstance(node, ast.Name):
        return givens.get(node.id, "?" if node.id in free else node.id)
    for chain in (_SUMS, _PRODUCTS):
        if isinstance(node, ast.BinOp) and isinstance(node.op, chain):
            parts = sorted(
                ("-" if inverse else "+") + _written(part, givens, free)
                for part, inverse in _operands(node, chain, False)
            )
            return f"({chain[0].__name__} {' '.join(parts)})"
    if isinstance(node, ast.BinOp):
        left, right = _written(node.left, givens, free), _written(node.right, givens, free)
        return f"({type(node.op).__name__} {left} {right})"
    if isinstance(node, ast.UnaryOp):
        return f"({type(node.op).__name__} {_written(node.operand, givens, free)})"
    if isinstance(node, ast.Call):
        return f"({ast.unparse(node.func)} {' '.join(_written(one, givens, free) for one in node.args)})"
    if isinstance(node, ast.Subscript):
        return f"{_written(node.value, givens, free)}[{ast.unparse(node.slice)}]"
    if isinstance(node, ast.Tuple):
        return f"({' '.join(_written(one, givens, free) for one in node.elts)})"
    return ast.unparse(node)


def _operands(
    node: ast.expr, chain: tuple[type[ast.operator], type[ast.operator]], inverse: bool
) -> Iterator[tuple[ast.expr, bool]]:
    """The operands of a chain of sums or of products. Each comes with whether it is subtracted, or is a divisor."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, chain):
        yield from _operands(node.left, chain, inverse)
        yield from _operands(node.right, chain, inverse ^ isinstance(node.op, chain[1]))
    else:
        yield node, inverse
