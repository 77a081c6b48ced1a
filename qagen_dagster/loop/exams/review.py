"""Edits of exam items by reviewers: the fields of an item, and the edited item, whose key is proven again."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from pydantic import ValidationError

from qagen_dagster.agents.exams import shown_question
from qagen_dagster.configuration.exams import find_exam
from qagen_dagster.latex.amounts import amounts
from qagen_dagster.loop.exams.code_checks import examine
from qagen_dagster.loop.review_decisions import refuse, solver_answer
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.blind import BlindSolution
from qagen_dagster.records.exams.bank import ExamItem, ProofStatus
from qagen_dagster.records.exams.submissions import QuestionPackage

_STEM, _KEY, _GIVEN = "question.stem", "question.correct_option", "check.givens."
_UNSOLVED = BlindSolution(reasoning="Nobody solved it.", value="", right_options=(), chosen_option=None)


def fields_of(package: QuestionPackage) -> dict[str, str]:
    """The texts of an item that a reviewer can edit, by their places, such as `question.options.A`."""
    values = package.model_dump(mode="json")
    values["check"] = values["check"] or {"expression": "", "unit": ""}
    values["distractor_map"] = dict.fromkeys(sorted(package.question.options), "") | values["distractor_map"]
    return dict(_flat(values))


def edited_item(space: Workspace, item: ExamItem, fields: Mapping[str, str]) -> ExamItem:
    """The item with other texts. Unless the reviewer edits givens, the givens of the form follow the numbers of the stem. If then only
    another option has the value of the form, this option becomes the key, unless the reviewer edits the key.

    Raises ConfigError if code finds a fault that the item did not have, if the key was proven and is no longer, or if the question
    changed and the solver of the profile reaches another answer. A profile without a solver is asked nothing.
    """
    before = item.question_package
    texts = fields_of(before) | {name: text.strip() for name, text in fields.items()}
    if all(texts.get(name) == text for name, text in fields_of(before).items() if name.startswith(_GIVEN)):
        texts |= _moved(texts, before.question.stem)
    package, key = _package(texts), before.question.correct_option
    found, known = examine(package), examine(before)
    matching = found.proof.matching
    if found.proof.status is ProofStatus.REFUTED and len(matching) == 1 and texts[_KEY] == key:
        package = _package(texts | {_KEY: matching[0]})
        found, key = examine(package), matching[0]
    refuse([f"{fault.name}: {fault.detail}" for fault in found.faults if fault not in known.faults])
    if known.proof.status is ProofStatus.PROVEN is not found.proof.status:
        refuse([f"the form no longer proves the key: {found.proof.detail}"])
    update: dict[str, object] = {"question_package": package, "proof": found.proof}
    if package.question != before.question:
        profile = find_exam(space.settings.corpora, item.exam).config.profile or space.settings.profile
        shown = shown_question(package.question)
        blind = solver_answer(space, profile, item.id, shown["stem"], shown["options"])
        disagreement = None if blind is None else blind.disagreement((package.question.correct_option,))
        refuse([] if disagreement is None else [f"the key is {key}, but the solver {disagreement[1]}"])
        update["blind_solution"] = blind or _UNSOLVED
    return item.model_copy(update=update)


def _flat(value: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, str]]:
    for name, part in value.items():
        if isinstance(part, dict):
            yield from _flat(part, f"{place}{name}.")  # pyright: ignore[reportUnknownArgumentType]
        else:
            yield f"{place}{name}", str(part)


def _package(fields: Mapping[str, str]) -> QuestionPackage:
    """The package of the non-empty fields, without the key's mistake, and without a form that has no expression. Raises ConfigError."""
    nested: dict[str, Any] = {"distractor_map": {}}
    for place, text in fields.items():
        *outer, name = place.split(".")
        inside = nested
        for group in outer:
            inside = inside.setdefault(group, {})
        if text:
            inside[name] = text
    nested["distractor_map"].pop(fields[_KEY], None)
    if not fields["check.expression"]:
        del nested["check"]
    try:
        return QuestionPackage.model_validate(nested)
    except ValidationError as error:
        refuse([f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()])
        raise


def _moved(fields: Mapping[str, str], before: str) -> dict[str, str]:
    """The givens whose numbers changed in the stem, with the new numbers. A given that may be one of several numbers stays."""
    old, new = tuple(amounts(before)), tuple(amounts(fields[_STEM]))
    pairs = {*zip(old, new, strict=True)} if len(old) == len(new) else ()
    found: dict[str, str] = {}
    for name, text in fields.items():
        try:
            value = Fraction(text.replace(" ", "")) if name.startswith(_GIVEN) else Fraction(0)
        except ValueError:
            continue  # a symbol, a root or a multiple of pi
        scales = {other.value / one.value for one, other in pairs if value and value in (one.value, one.base)}
        if len(scales) == 1 and scales != {1}:
            found[name] = str(value * scales.pop())
    return found
