r"""GIFT: Moodle's text format, which many other programs read. Texts are HTML; formulas are between \( \).

Readers of GIFT disagree about its escapes, above all the backslash. So GIFT's special characters are written as numeric
HTML characters, and `\#` is the only escape used.
"""

from __future__ import annotations

from itertools import groupby

from qagen_dagster.publishing.exams.feedback import feedback, is_key, letters, solution
from qagen_dagster.publishing.markup import with_fences
from qagen_dagster.records.exams.bank import ExamItem, ItemBank

_SPECIAL = {ord(char): f"&\\#{ord(char)};" for char in "\\~={}:#%[]"}


class Gift:
    """One text file."""

    name = "gift"

    def export(self, bank: ItemBank) -> dict[str, bytes]:
        blocks: list[str] = []
        for schema, items in groupby(bank.items, key=lambda item: (item.schema_id, item.schema_title)):
            steps = (" ".join(bank.name.split()), " ".join(schema))
            blocks.append("$CATEGORY: $course$/top/" + "/".join(step.replace("/", "//") for step in steps))
            blocks += [_question(item) for item in items]
        return {"gift.txt": "".join(f"{block}\n\n" for block in blocks).encode()}


def _question(item: ExamItem) -> str:
    options = [
        f"{'=' if is_key(item, letter) else '~'}{_html(item.question.options[letter])}"
        f"#{_html(feedback(item, letter))}"
        for letter in letters(item)
    ]
    lines = (
        f"::{item.id}::[html]{_html(item.question.stem)} {{",
        *options,
        f"####{_html(solution(item))}",
        "}",
    )
    return "\n".join(lines)


def _html(text: str) -> str:
    """One line without anything that GIFT reads."""
    flat = " ".join(with_fences(text.strip()).split())
    return flat.translate(_SPECIAL)
