"""The seven problem roles of the embedded models: what each reads from a prompt, and what it submits or reports."""

import re
from collections.abc import Callable

from qagen_dagster.latex.structure import code_of, environments, item_faults, tikz_pictures
from qagen_dagster.models.embedded.conversation import Action, Conversation
from qagen_dagster.models.embedded.problems.classify import classify, ideas_of
from qagen_dagster.models.embedded.problems.convert import convert
from qagen_dagster.models.embedded.problems.reading import UnableError, label_of, part_of
from qagen_dagster.models.embedded.problems.vary import vary
from qagen_dagster.records.problems.item import Format

_NO_EYES = "embedded models cannot see pictures: bind {role} to a model with images"
_ITEM = re.compile(r"\\item(?![A-Za-z@])")
_VARIANTS = {
    "context": "embedded:problem-variant cannot invent another scene: bind variant to a language model",
    "conceptual": "embedded:problem-variant cannot change the physics: bind variant to a language model",
    "calculus": "embedded:problem-variant cannot make what was constant vary: bind variant to a language model",
    "multi": "embedded:problem-variant cannot join problems into one: bind variant to a language model",
}


def _role(answer: Callable[[str], Action]) -> Callable[[Conversation], list[Action]]:
    """One answer to one prompt: a submission, or a reason in one line. A rejected submission is not tried again."""

    def decide(conversation: Conversation) -> list[Action]:
        refused = [exchange.text for exchange in conversation.exchanges if exchange.is_error]
        if refused:
            return [_unable(f"embedded has no other answer; refused was: {refused[-1]}")]
        try:
            return [answer(conversation.prompt)]
        except UnableError as error:
            return [_unable(str(error))]

    return decide


@_role
def classify_tex(prompt: str) -> Action:
    """Kind, topic and difficulty of TeX, by rules."""
    if label_of(prompt, "Input") == "image":
        raise UnableError(_NO_EYES.format(role="classifier"))
    return Action("submit_classification", classify(part_of(prompt, "problem")).model_dump(mode="json"))


@_role
def scan(prompt: str) -> Action:
    """An item without the comments around it; adding missing parts needs a language model."""
    if label_of(prompt, "Input") == "image":
        raise UnableError(_NO_EYES.format(role="scanner"))
    text = part_of(prompt, "problem")
    begun, solutions = _ITEM.search(code_of(text)), environments(text, "solution")
    end = solutions[0][1] if solutions else len(text)
    item = text[begun.start() : end] if begun else text
    if faults := item_faults(item):
        raise UnableError(f"embedded:problem-scanner cannot mend the item: {faults[0]}")
    return Action("submit_scan", {"latex": item, "has_diagram": bool(tikz_pictures(item))})


@_role
def draw(prompt: str) -> Action:
    """Always unable: it cannot draw."""
    raise UnableError("embedded:problem-tikz cannot draw: bind tikz to a language model")


@_role
def find_ideas(prompt: str) -> Action:
    """Concepts and techniques, by lists of terms."""
    ideas = ideas_of(part_of(prompt, "problem"), part_of(prompt, "solution"))
    if ideas is None:
        raise UnableError("embedded:problem-ideas knows none of the terms of this problem")
    return Action("submit_ideas", ideas.model_dump(mode="json"))


@_role
def make_variant(prompt: str) -> Action:
    """Other numbers, if everything that depends on them can be recomputed."""
    kind = label_of(prompt, "Variant")
    if kind != "numerical":
        raise UnableError(_VARIANTS.get(kind, _VARIANTS["context"]))
    number = label_of(prompt, "Number")
    latex, changes = vary(
        part_of(prompt, "item"), int(number) if number.isdecimal() else 1, part_of(prompt, "earlier")
    )
    return Action("submit_variant", {"latex": latex, "changes": f"embedded:problem-variant: {changes}"})


@_role
def convert_format(prompt: str) -> Action:
    """Another format of the same numerical answer."""
    target = label_of(prompt, "To")
    if target not in set(Format):
        raise UnableError(f"embedded:problem-converter knows no format {target!r}")
    latex, answer = convert(part_of(prompt, "item"), Format(target))
    return Action("submit_conversion", {"latex": latex, "final_answer": answer})


@_role
def solve_otherwise(prompt: str) -> Action:
    """Always unable: it cannot find another solution."""
    raise UnableError(
        "embedded:problem-alternate cannot think of another way: bind alternate to a language model"
    )


def _unable(reason: str) -> Action:
    return Action("report_unable", {"reason": " ".join(reason.split())[:500]})
