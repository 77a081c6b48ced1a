"""How problems, ideas and earlier outputs are shown to the roles. Rendering only."""

from __future__ import annotations

from collections.abc import Sequence

from qagen_dagster.records.problem import IdeaResult

NONE = "(none)"
SEE_PICTURE = "(see the picture)"


def shown(text: str, *, pictured: bool = False) -> str:
    """The text, or what stands for it."""
    return text.strip() or (SEE_PICTURE if pictured else NONE)


def input_word(*, pictured: bool) -> str:
    return "image" if pictured else "tex"


def shown_ideas(ideas: IdeaResult | None) -> str:
    """Field by field."""
    if ideas is None:
        return NONE
    fields = {
        "Key concepts": ideas.concepts,
        "Techniques used": ideas.techniques,
        "Formulas": ideas.formulas,
        "Difficulty": ideas.difficulty_factors,
    }
    return "\n".join(f"{name}: {'; '.join(said)}" for name, said in fields.items() if said) or NONE


def numbered(name: str, items: Sequence[str]) -> str:
    """The items under lines that number them."""
    rows = (f"--- {name} {number} ---\n{item.strip()}" for number, item in enumerate(items, 1))
    return "\n\n".join(rows) or NONE
