"""The feedback on an option that a candidate chose. It is the same in all formats that have feedback."""

from __future__ import annotations

from qagen_dagster.records.exams.bank import ExamItem
from qagen_dagster.records.exams.item import Letter


def letters(item: ExamItem) -> list[Letter]:
    """The letters of the options, in order."""
    return sorted(item.question.options)


def is_key(item: ExamItem, letter: Letter) -> bool:
    return letter == item.question.correct_option


def feedback(item: ExamItem, letter: Letter) -> str:
    """For a wrong option, the mistake that leads to it; for the key, what makes the solution short."""
    package = item.question_package
    return package.solution.key_insight if is_key(item, letter) else package.distractor_map.get(letter, "")


def solution(item: ExamItem) -> str:
    """The solution as text for people."""
    found = item.question_package.solution
    return f"{found.key_insight}\n\n{found.reasoning}"
