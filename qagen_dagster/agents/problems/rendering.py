"""Renders problems, ideas and earlier outputs as text for the roles."""

from __future__ import annotations

import re
from collections.abc import Sequence

from qagen_dagster.records.problems.item import IdeaResult
from qagen_dagster.toolkit.excerpt import block, fence

NONE = "(none)"


def shown(text: str) -> str:
    """The text, or a placeholder when it is empty."""
    return text.strip() or NONE


def material(name: str, text: str, *, pictured: bool = False) -> str:
    """The text between tags; without text, a line that says where the problem is."""
    if not text.strip() and pictured:
        return f"The {name} is in the picture."
    return fence(name, shown(text))


def input_word(*, pictured: bool) -> str:
    return "image" if pictured else "tex"


def shown_ideas(ideas: IdeaResult | None) -> str:
    """The ideas, one field after another."""
    if ideas is None:
        return NONE
    fields = {
        "Key concepts": ideas.concepts,
        "Techniques used": ideas.techniques,
        "Formulas": ideas.formulas,
        "What a student stumbles over": ideas.difficulty_factors,
    }
    rows = ([f"{name}:", *(f"- {one}" for one in said)] for name, said in fields.items() if said)
    return block(line for row in rows for line in row) or NONE


def numbered(name: str, items: Sequence[str]) -> str:
    """The items, each after a line with its number, which an item cannot imitate."""
    imitation = re.compile(rf"---(?=\s*{name}\s+\d)", re.IGNORECASE)
    texts = (imitation.sub(r"\\---", item.strip()) for item in items)
    rows = (f"--- {name} {number} ---\n{item}" for number, item in enumerate(texts, 1))
    return "\n\n".join(rows) or NONE
