"""The roles that work on physics problems, as agents: what each submits, and how prompts show what they work on. Callers check what they submit."""

import re
from collections.abc import Sequence
from typing import Any

from qagen_dagster.agents.problems.task import Asking, Assignment, Reply, ask
from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.configuration.profiles import Role
from qagen_dagster.models.base import Model
from qagen_dagster.records.blind import BlindSolution
from qagen_dagster.records.problems.item import (
    AlternateResult,
    ClassificationResult,
    ConversionResult,
    IdeaResult,
    PageResult,
    QuestionKind,
    ScanResult,
    TikzResult,
    VariantKind,
    VariantResult,
)
from qagen_dagster.records.problems.result import Stage
from qagen_dagster.toolkit.excerpt import block, fence

FIND = Assignment(Role.CLASSIFIER, "submit_problems", PageResult, 13)
SOLVE = Assignment(Role.SOLVER, "submit_solution", BlindSolution, 16)
ASSIGNMENTS: dict[Stage, Assignment[Any]] = {
    Stage.CLASSIFY: Assignment(Role.CLASSIFIER, "submit_classification", ClassificationResult, 1),
    Stage.SCAN: Assignment(Role.SCANNER, "submit_scan", ScanResult, 3),
    Stage.DIAGRAM: Assignment(Role.TIKZ, "submit_tikz", TikzResult, 4),
    Stage.IDEA: Assignment(Role.IDEA, "submit_ideas", IdeaResult, 5),
    Stage.ALTERNATE: Assignment(Role.ALTERNATE, "submit_alternate", AlternateResult, 6),
    Stage.VARIANT: Assignment(Role.VARIANT, "submit_variant", VariantResult, 9),
    Stage.CONVERT: Assignment(Role.CONVERTER, "submit_conversion", ConversionResult, 11),
}
FALLBACK = QuestionKind.MCQ_SC  # unknown kinds use the scanner's prompt of this kind
_NONE = "(none)"
_PROMPTS = {
    Role.CLASSIFIER: "classify",
    Role.TIKZ: "tikz",
    Role.IDEA: "idea",
    Role.ALTERNATE: "alternate",
    Role.CONVERTER: "convert",
    Role.SOLVER: "solve",
}  # the scanner and the variant writer have a prompt for each kind


def find_prompt() -> Prompt:
    """The prompt that asks for the places of the problems on a page."""
    return load_prompt("problems/find")


def prompts() -> tuple[Prompt, ...]:
    """The prompt of every role and kind. Raises ConfigError, which names a file that lacks a part."""
    return (
        find_prompt(),
        role_prompt(Role.CLASSIFIER),
        *(scan_prompt(kind.value) for kind in QuestionKind),
        *(role_prompt(role) for role in (Role.TIKZ, Role.IDEA, Role.ALTERNATE)),
        *(variant_prompt(kind) for kind in VariantKind),
        role_prompt(Role.CONVERTER),
        role_prompt(Role.SOLVER),
    )


def role_prompt(role: Role) -> Prompt:
    """The prompt of a role that has only one."""
    return load_prompt(f"problems/{_PROMPTS[role]}")


def scan_prompt(kind: str) -> Prompt:
    """The scanner's prompt for a kind of question; for an unknown kind, the prompt for single-correct multiple choice."""
    known = kind if kind in {one.value for one in QuestionKind} else FALLBACK.value
    return load_prompt(f"problems/scan_{known}")


def variant_prompt(kind: VariantKind) -> Prompt:
    """The prompt for a kind of variant."""
    return load_prompt(f"problems/variant_{kind.value}")


def solve_blind(
    model: Model, account: str, question: str, options: str, prompt: Prompt | None = None, sample: int = 0
) -> Reply[BlindSolution]:
    """Solve a problem from its question and options alone; `prompt` replaces the shipped one. Raises ModelError."""
    values = {"question": shown(question), "options": shown(options)}
    asking = Asking[BlindSolution](model, account, sample=sample)
    return ask(SOLVE, prompt or role_prompt(Role.SOLVER), asking, values)


def shown(text: str) -> str:
    """The text, or a placeholder when it is empty."""
    return text.strip() or _NONE


def material(name: str, text: str, *, pictured: bool = False) -> str:
    """The text between tags; without text, a line that says where the problem is."""
    if not text.strip() and pictured:
        return f"The {name} is in the picture."
    return fence(name, shown(text))


def shown_ideas(ideas: IdeaResult | None) -> str:
    """The ideas, one field after another."""
    if ideas is None:
        return _NONE
    fields = {
        "Key concepts": ideas.concepts,
        "Techniques used": ideas.techniques,
        "Formulas": ideas.formulas,
        "What a student stumbles over": ideas.difficulty_factors,
    }
    rows = ([f"{name}:", *(f"- {one}" for one in said)] for name, said in fields.items() if said)
    return block(line for row in rows for line in row) or _NONE


def numbered(name: str, items: Sequence[str]) -> str:
    """The items, each after a line with its number, which an item cannot imitate."""
    imitation = re.compile(rf"---(?=\s*{name}\s+\d)", re.IGNORECASE)
    texts = (imitation.sub(r"\\---", item.strip()) for item in items)
    rows = (f"--- {name} {number} ---\n{item}" for number, item in enumerate(texts, 1))
    return "\n\n".join(rows) or _NONE
