"""The roles that work on physics problems, as agents. Their callers check what they submit (`task.py`)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from qagen_dagster.agents.problems.task import Asking, Reply, ask
from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.configuration.profiles import Role
from qagen_dagster.records.blind import BlindSolution
from qagen_dagster.records.problems.item import (
    AlternateResult,
    ClassificationResult,
    ConversionResult,
    DiagramKind,
    Format,
    IdeaResult,
    PageResult,
    QuestionKind,
    ScanResult,
    TikzResult,
    VariantKind,
    VariantResult,
)
from qagen_dagster.toolkit.excerpt import block, fence

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


def find_places(asking: Asking[PageResult]) -> Reply[PageResult]:
    """Ask the classifier for the places of the problems on a page, which is the picture. Raises ModelError."""
    return ask(Role.CLASSIFIER, find_prompt(), "submit_problems", PageResult, asking, {})


def classify(asking: Asking[ClassificationResult], text: str) -> Reply[ClassificationResult]:
    """Classify a problem from its picture or from `text`. Raises ModelError."""
    pictured = bool(asking.pictures)
    values = {"input": input_word(pictured=pictured), "problem": material("problem", text, pictured=pictured)}
    prompt = role_prompt(Role.CLASSIFIER)
    return ask(Role.CLASSIFIER, prompt, "submit_classification", ClassificationResult, asking, values)


def scan(
    asking: Asking[ScanResult],
    prompt: Prompt,
    kind: str,
    text: str,
    *,
    has_diagram: bool | None,
    role: Role = Role.SCANNER,
) -> Reply[ScanResult]:
    """Transcribe a problem from its picture, or make an item from plain `text`. Raises ModelError."""
    pictured = bool(asking.pictures)
    values = {
        "input": input_word(pictured=pictured),
        "kind": kind,
        "has_diagram": {True: "yes", False: "no", None: "not known"}[has_diagram],
        "problem": material("problem", text, pictured=pictured),
    }
    return ask(role, prompt, "submit_scan", ScanResult, asking, values)


def draw(
    asking: Asking[TikzResult], kind: DiagramKind, problem: str, description: str | None
) -> Reply[TikzResult]:
    """Draw from a picture, a description, or both. Raises ModelError."""
    values = {
        "diagram": kind.value if kind is not DiagramKind.NONE else "not known",
        "problem": material("problem", problem),
        "description": material("description", description or "", pictured=bool(asking.pictures)),
    }
    return ask(Role.TIKZ, role_prompt(Role.TIKZ), "submit_tikz", TikzResult, asking, values)


def extract_ideas(asking: Asking[IdeaResult], problem: str, solution: str) -> Reply[IdeaResult]:
    """Ask for the concepts, formulas and techniques of a problem. Raises ModelError."""
    values = {"problem": shown(problem), "solution": shown(solution)}
    return ask(Role.IDEA, role_prompt(Role.IDEA), "submit_ideas", IdeaResult, asking, values)


def solve_again(
    asking: Asking[AlternateResult],
    number: int,
    problem: str,
    solution: str,
    ideas: IdeaResult | None,
    earlier: Sequence[AlternateResult],
) -> Reply[AlternateResult]:
    """Solve the problem in a way that differs from the given solution and from `earlier`. Raises ModelError."""
    values = {
        "number": str(number),
        "problem": shown(problem),
        "solution": shown(solution),
        "ideas": shown_ideas(ideas),
        "earlier": numbered("alternate", [f"{one.method}\n{one.solution}" for one in earlier]),
    }
    return ask(
        Role.ALTERNATE, role_prompt(Role.ALTERNATE), "submit_alternate", AlternateResult, asking, values
    )


def vary(
    asking: Asking[VariantResult],
    kind: VariantKind,
    number: int,
    item: str,
    ideas: IdeaResult | None,
    earlier: Sequence[str],
) -> Reply[VariantResult]:
    """A variant of `item` that differs from the `earlier` ones of its kind. Raises ModelError."""
    values = {
        "variant": kind.value,
        "number": str(number),
        "item": shown(item),
        "ideas": shown_ideas(ideas),
        "earlier": numbered("variant", earlier),
    }
    return ask(Role.VARIANT, variant_prompt(kind), "submit_variant", VariantResult, asking, values)


def combine(
    asking: Asking[VariantResult], number: int, items: Sequence[str], style: str, earlier: Sequence[str]
) -> Reply[VariantResult]:
    """One problem made from several. Raises ModelError."""
    values = {
        "number": str(number),
        "items": numbered("problem", items),
        "style": " ".join(style.split()) or "not named",
        "earlier": numbered("variant", earlier),
    }
    prompt = variant_prompt(VariantKind.MULTI)
    return ask(Role.VARIANT, prompt, "submit_variant", VariantResult, asking, values)


def convert(
    asking: Asking[ConversionResult], item: str, source: Format, target: Format
) -> Reply[ConversionResult]:
    """Convert `item`. Raises ModelError."""
    values = {"source_format": source.value, "target_format": target.value, "item": shown(item)}
    return ask(
        Role.CONVERTER, role_prompt(Role.CONVERTER), "submit_conversion", ConversionResult, asking, values
    )


def solve_blind(asking: Asking[BlindSolution], question: str, options: str) -> Reply[BlindSolution]:
    """Solve a problem from its question and options alone. Raises ModelError."""
    values = {"question": shown(question), "options": shown(options)}
    return ask(Role.SOLVER, role_prompt(Role.SOLVER), "submit_solution", BlindSolution, asking, values)


def shown(text: str) -> str:
    """The text, or a placeholder when it is empty."""
    return text.strip() or _NONE


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
