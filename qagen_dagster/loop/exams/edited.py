"""Edits of exam items by reviewers: the fields of an item, and the edited item, whose key is proven again."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from pydantic import ValidationError

from qagen_dagster.agents.exams import shown_question
from qagen_dagster.configuration.exams import find_exam
from qagen_dagster.latex.amounts import Amount, amounts
from qagen_dagster.loop.editing import refuse, solver_answer
from qagen_dagster.loop.exams.code_checks import examine
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.blind import BlindSolution
from qagen_dagster.records.exams.bank import Examination, ExamItem, ProofStatus
from qagen_dagster.records.exams.submissions import CheckableForm, QuestionPackage

_STEM, _KEY, _OPTION, _PATH = "Stem", "Right option", "Option ", "Mistake behind "
_INSIGHT, _STEPS = "Key insight", "Solution"
_GIVENS, _FORM, _UNIT = "Givens of the checkable form, one a line", "Checkable form", "Unit of its value"
_UNSOLVED = BlindSolution(
    reasoning="Nobody solved the edited item.", value="", right_options=(), chosen_option=None
)


def fields_of(package: QuestionPackage) -> dict[str, str]:
    """The texts of an item that a reviewer can edit, by their names."""
    question, check = package.question, package.check
    letters = sorted(question.options)
    return {
        _STEM: question.stem,
        **{_OPTION + letter: question.options[letter] for letter in letters},
        _KEY: question.correct_option,
        _INSIGHT: package.solution.key_insight,
        _STEPS: package.solution.reasoning,
        **{_PATH + letter: package.distractor_map.get(letter, "") for letter in letters},
        _GIVENS: "" if check is None else "".join(f"{name} = {one}\n" for name, one in check.givens.items()),
        _FORM: "" if check is None else check.expression,
        _UNIT: "" if check is None else check.unit,
    }


def edited_item(space: Workspace, item: ExamItem, fields: Mapping[str, str]) -> ExamItem:
    """The item with other texts. Numbers that change in the stem change in the givens of the form, too, and the key is the option that has
    the value of the form.

    Raises ConfigError if code finds a fault that the item did not have, if the key was proven and is no longer, or if the solver of the
    profile reaches another answer. A profile without a solver is asked nothing.
    """
    before = item.question_package
    told = fields_of(before) | {name: text.strip() for name, text in fields.items()}
    package = _package(told, before)
    found = examine(package)
    matching = found.proof.matching
    same_key = package.question.correct_option == before.question.correct_option
    if found.proof.status is ProofStatus.REFUTED and len(matching) == 1 and same_key:
        package = _package(told | {_KEY: matching[0]}, before)
        found = examine(package)
    refuse(_faults(found, examine(before), item))
    update: dict[str, object] = {"question_package": package, "proof": found.proof}
    if package.question != before.question:
        update["blind_solution"] = _solved(space, item, package) or _UNSOLVED
    return item.model_copy(update=update)


def _faults(found: Examination, before: Examination, item: ExamItem) -> list[str]:
    known = {(one.name, one.detail) for one in before.faults}
    faults = [f"{one.name}: {one.detail}" for one in found.faults if (one.name, one.detail) not in known]
    lost = item.proof.status is ProofStatus.PROVEN is not found.proof.status
    return faults or ([f"the form no longer proves the key: {found.proof.detail}"] if lost else [])


def _solved(space: Workspace, item: ExamItem, package: QuestionPackage) -> BlindSolution | None:
    profile = find_exam(space.settings.corpora, item.exam).config.profile or space.settings.profile
    shown = shown_question(package.question)
    blind = solver_answer(space, profile, item.id, shown["stem"], shown["options"])
    key = package.question.correct_option
    disagreement = None if blind is None else blind.disagreement((key,))
    refuse([] if disagreement is None else [f"the key is {key}, but the solver {disagreement[1]}"])
    return blind


def _package(fields: Mapping[str, str], before: QuestionPackage) -> QuestionPackage:
    options = _lettered(fields, _OPTION)
    paths = {one: text for one, text in _lettered(fields, _PATH).items() if one != fields[_KEY]}
    try:
        return QuestionPackage.model_validate({
            "question": {"stem": fields[_STEM], "options": options, "correct_option": fields[_KEY]},
            "solution": {"reasoning": fields[_STEPS], "key_insight": fields[_INSIGHT]},
            "distractor_map": paths,
            "check": _check(fields, before) if fields[_FORM] else None,
        })  # fmt: skip
    except ValidationError as error:
        refuse([f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()])
        raise


def _lettered(fields: Mapping[str, str], kind: str) -> dict[str, str]:
    """The fields of a kind that are not empty, by the letter of their option."""
    return {name.removeprefix(kind): text for name, text in fields.items() if text and name.startswith(kind)}


def _check(fields: Mapping[str, str], before: QuestionPackage) -> CheckableForm:
    rows = (line.partition("=") for line in fields[_GIVENS].splitlines() if line.strip())
    givens = {name.strip(): value.strip() for name, _, value in rows}
    if before.check is not None and givens == dict(before.check.givens):
        givens |= _moved(givens, before.question.stem, fields[_STEM])
    return CheckableForm(givens=givens, expression=fields[_FORM], unit=fields[_UNIT])


def _moved(givens: Mapping[str, str], before: str, after: str) -> dict[str, str]:
    """The givens whose numbers changed in the stem, with the new numbers. A given that may be one of several numbers stays."""
    old, new = tuple(amounts(before)), tuple(amounts(after))
    pairs = set(zip(old, new, strict=False)) if len(old) == len(new) else set[tuple[Amount, Amount]]()
    found: dict[str, str] = {}
    for name, text in givens.items():
        try:
            value = Fraction(text.replace(" ", ""))
        except ValueError:
            continue  # a symbol, a root or a multiple of pi
        scales = {other.value / one.value for one, other in pairs if value and value in (one.value, one.base)}
        if len(scales) == 1 and scales != {1}:
            found[name] = str(value * scales.pop())
    return found
