"""Finds items of a bank that are alike: duplicates, which ask the same, and families, which vary one template or one idea.

Duplicates have the same stem, the same numbers in nearly the same words, or the same computation on the same numbers. Items of a family
have other numbers or another context. They are not duplicates: the author of the exam decides which variants the exam has.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from qagen_dagster.records.exams.bank import ExamItem
from qagen_dagster.records.exams.submissions import CheckableForm, QuestionPackage
from qagen_dagster.records.ids import normalise

_SAME_WORDS = 0.85  # minimum share of common words of two duplicates whose stems have the same numbers
_ALIKE = 0.3  # minimum share of common words of two duplicates with the same short computation
_LONG = 4  # minimum operations of a computation that alone shows two items to be duplicates
_SUMS, _PRODUCTS = (ast.Add, ast.Sub), (ast.Mult, ast.Div)
_WORD = re.compile(r"[a-z]{2,}")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SIGN = re.compile(r"(?<![\^{])[-+<>]")  # signs of formulas, but not of exponents
_SPACING = re.compile(r"\\[,;:! ]|\\(?:left|right|displaystyle|quad|text|mathrm|rm)\b|[{}$~]")
_LEAST_OPERATIONS = 2  # minimum operations of a form that can show two items to be of one family


@dataclass(frozen=True)
class _Comparable:
    """The properties of an item that are compared."""

    stem: str
    words: Counter[str]
    order: tuple[str, ...]  # numbers in order, then signs in order, because a sum is not a difference
    numbers: Counter[str]  # the same numbers and signs in any order
    computation: str
    operations: int

    @property
    def traits(self) -> tuple[str, ...]:
        """Keys for finding duplicates. `_same` is called only for items that share a trait, because other items cannot be duplicates."""
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
    if first.order == second.order and _overlap(first.words, second.words) >= _SAME_WORDS:
        return "the stems have the same numbers and nearly the same words"
    if first.computation and first.computation == second.computation:
        alike = first.numbers == second.numbers and _overlap(first.words, second.words) >= _ALIKE
        if alike or min(first.operations, second.operations) >= _LONG:
            return "the answer is the same computation on the same numbers"
    return ""


def _comparable(package: QuestionPackage) -> _Comparable:
    plain = " ".join(_SPACING.sub(" ", package.question.stem).lower().split())
    words = Counter(_WORD.findall(plain))
    order = (*_NUMBER.findall(plain), *_SIGN.findall(" ".join(package.question.stem.split("$")[1::2])))
    computation, operations = _computation(package.check) if package.check else ("", 0)
    stem = re.sub(r"[^\w+\-*/^=<>.]", "", plain)
    return _Comparable(stem, words, order, Counter(order), computation, operations)


def _overlap(first: Counter[str], second: Counter[str]) -> float:
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
    """The operands of a chain of sums or of products, each with True if it is subtracted or a divisor."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, chain):
        yield from _operands(node.left, chain, inverse)
        yield from _operands(node.right, chain, inverse ^ isinstance(node.op, chain[1]))
    else:
        yield node, inverse


def families(items: Sequence[ExamItem]) -> dict[str, str]:
    """For each item id, the id of one item of its family, which is the same for the whole family.

    Two items of a schema are of one family if their ideas are the same, if their stems have nearly the same words, or if their
    checkable forms differ only in names and numbers. If these forms are short, the words must also be alike.
    """
    first: dict[str, str] = {item.id: item.id for item in items}

    def root(key: str) -> str:
        while first[key] != key:
            key = first[key]
        return key

    by_schema: dict[str, list[tuple[ExamItem, Counter[str], str, int]]] = defaultdict(list)
    for item in items:
        words = Counter(_WORD.findall(item.question.stem.lower()))
        by_schema[item.schema_id].append((item, words, *_template(item)))
    for group in by_schema.values():
        for one, other in combinations(group, 2):
            if root(one[0].id) != root(other[0].id) and _related(one, other):
                first[root(other[0].id)] = root(one[0].id)
    return {item.id: root(item.id) for item in items}


def _related(
    one: tuple[ExamItem, Counter[str], str, int], other: tuple[ExamItem, Counter[str], str, int]
) -> bool:
    ideas = {normalise(each.idea_plan.idea_summary) for each in (one[0], other[0])}
    if len(ideas) == 1:
        return True
    alike = _overlap(one[1], other[1])
    same_form = one[2] == other[2] and one[3] >= _LEAST_OPERATIONS
    return alike >= _SAME_WORDS or (same_form and (one[3] >= _LONG or alike >= _ALIKE))


def _template(item: ExamItem) -> tuple[str, int]:
    """The checkable form with x0, x1, ... in place of the names of its givens, and its number of operations."""
    check = item.question_package.check
    try:
        tree = ast.parse(check.expression.strip() if check else "", mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return "", 0
    names: dict[str, str] = {}
    operations = 0
    for node in ast.walk(tree):
        operations += isinstance(node, (ast.BinOp, ast.Call))
        if isinstance(node, ast.Name) and check and node.id in check.givens:
            node.id = names.setdefault(node.id, f"x{len(names)}")
    return ast.unparse(tree), operations
