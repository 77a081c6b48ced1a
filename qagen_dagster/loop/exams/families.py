"""Groups the items of a bank into families: items from one template or one idea, with other numbers or in another scene."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations

from qagen_dagster.loop.exams.duplicates import ALIKE, LONG, SAME_WORDS, overlap
from qagen_dagster.records.exams.bank import ExamItem
from qagen_dagster.records.ids import normalise

_WORD = re.compile(r"[a-z]{2,}")
_LEAST_OPERATIONS = 2  # of a form that says something about the family


def families(items: Sequence[ExamItem]) -> dict[str, str]:
    """By id of an item the id of the first item of its family.

    Two items of a schema are of one family if their ideas are the same, if their stems have nearly the same words,
    or if their checkable forms differ only in names and numbers (after a short computation the words must be alike, too).
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
    alike = overlap(one[1], other[1])
    same_form = one[2] == other[2] and one[3] >= _LEAST_OPERATIONS
    return alike >= SAME_WORDS or (same_form and (one[3] >= LONG or alike >= ALIKE))


def _template(item: ExamItem) -> tuple[str, int]:
    """The checkable form with its names in the order in which they occur and without numbers, and its number of operations."""
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
