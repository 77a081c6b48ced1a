"""The variant writer makes a new problem from a given one, or one problem from several. Each kind has its prompt."""

from __future__ import annotations

from collections.abc import Sequence

from qagen_dagster.agents.problems.rendering import numbered, shown, shown_ideas
from qagen_dagster.agents.problems.task import Asking, Said, ask
from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.records.problems.item import IdeaResult, VariantKind, VariantResult

ROLE = "variant"


def prompt_for(kind: VariantKind) -> Prompt:
    return load_prompt(f"problems/variant_{kind.value}")


def vary(
    asking: Asking[VariantResult],
    kind: VariantKind,
    number: int,
    item: str,
    ideas: IdeaResult | None,
    earlier: Sequence[str],
) -> Said[VariantResult]:
    """A variant of `item` that differs from the `earlier` ones of its kind. Raises ModelError."""
    values = {
        "variant": kind.value,
        "number": str(number),
        "item": shown(item),
        "ideas": shown_ideas(ideas),
        "earlier": numbered("variant", earlier),
    }
    return ask(ROLE, prompt_for(kind), "submit_variant", VariantResult, asking, values)


def combine(
    asking: Asking[VariantResult], number: int, items: Sequence[str], style: str, earlier: Sequence[str]
) -> Said[VariantResult]:
    """One problem made from several. Raises ModelError."""
    values = {
        "number": str(number),
        "items": numbered("problem", items),
        "style": " ".join(style.split()) or "not named",
        "earlier": numbered("variant", earlier),
    }
    return ask(ROLE, prompt_for(VariantKind.MULTI), "submit_variant", VariantResult, asking, values)
