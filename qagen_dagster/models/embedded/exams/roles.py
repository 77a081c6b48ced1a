"""The four exam roles of the embedded models: what each reads from a prompt and submits."""

from __future__ import annotations

import re
from typing import Any

from qagen_dagster.mathematics.values import Quantity, value_of
from qagen_dagster.models.embedded.conversation import Action, Conversation
from qagen_dagster.models.embedded.draw import Draw
from qagen_dagster.models.embedded.exams.catalogue import family_of, question_of
from qagen_dagster.models.embedded.exams.family import Draft, Family
from qagen_dagster.models.embedded.exams.solver.mathematics import Solved, solve
from qagen_dagster.records.exams.item import LETTERS, read_sample

_SCHEMA = re.compile(r"^Schema: (\w+)", re.MULTILINE)
_DIFFICULTY = re.compile(r"^Difficulty: (\w+)", re.MULTILINE)
_STEM = re.compile(r"<stem>\n(.*?)\n</stem>", re.DOTALL)
_OPTIONS = re.compile(r"<options>\n(.*?)\n</options>", re.DOTALL)
_OPTION = re.compile(r"^([A-H]): (.*)$", re.MULTILINE)
_NEAR = 1e-9


def design(conversation: Conversation) -> list[Action]:
    """Submit the idea of the family that the implementer will use."""
    family = _family(conversation)
    if family is None:
        return []
    plan = {
        "schema_id": family.schema,
        "idea_summary": family.summary,
        "function_or_object_type": family.carrier,
        "constraints_used": list(family.constraints),
        "what_is_asked": family.asked,
        "intended_wrong_paths": list(family.paths),
        "difficulty_rationale": family.rationale,
        "mcq_viability": "Each wrong path is walked with the same numbers and ends at a definite value of the same kind as the key.",
    }
    return [Action("submit_idea", plan)]


def implement(conversation: Conversation) -> list[Action]:
    """Submit a question of the family, with numbers from the request's sample."""
    family = _family(conversation)
    if family is None:
        return []
    seed, slot, attempt = read_sample(conversation.sample)
    made, wrong = question_of(family, seed, slot, attempt)
    return [Action("submit_question", _package(made, wrong, Draw(f"order/{seed}/{slot}/{attempt}")))]


def verify(conversation: Conversation) -> list[Action]:
    """Solve the stem by methods of its own and judge only by that result."""
    stem, options = _STEM.search(conversation.prompt), _OPTIONS.search(conversation.prompt)
    texts = dict(_OPTION.findall(options.group(1))) if options else {}
    solved = solve(stem.group(1)) if stem else None
    right = [letter for letter, text in texts.items() if solved and _is(text, solved)]
    if "submit_verdict" in conversation.tools:
        return [_verdict(solved, right)]
    return [_solution(solved, right)]


def judge_style(conversation: Conversation) -> list[Action]:
    """Score only what can be counted: length, numbers, options."""
    stem, options = _STEM.search(conversation.prompt), _OPTIONS.search(conversation.prompt)
    words = len(stem.group(1).split()) if stem else 0
    texts = [text for _, text in _OPTION.findall(options.group(1))] if options else []
    return [Action("submit_style", _style(words, texts, stem.group(1) if stem else ""))]


def _family(conversation: Conversation) -> Family | None:
    schema, difficulty = _SCHEMA.search(conversation.prompt), _DIFFICULTY.search(conversation.prompt)
    if schema is None or difficulty is None:
        return None
    return family_of(schema.group(1), difficulty.group(1))


def _package(made: Draft, wrong: list[tuple[str, str]], draw: Draw) -> dict[str, Any]:
    """Options in the order of their values, as exam papers print them; values with symbols in random order."""
    options = [(made.key, ""), *wrong]
    values = {text: value_of(text) for text, _ in options}
    if any("g" in value.exact for value in values.values()):
        draw.shuffle(options)
    else:
        options.sort(key=lambda one: float(values[one[0]].numbers[0] or 0))
    lettered = dict(zip(LETTERS, options, strict=False))
    key = next(letter for letter, (text, _) in lettered.items() if text == made.key)
    return {
        "question": {
            "stem": made.stem,
            "options": {letter: text for letter, (text, _) in lettered.items()},
            "correct_option": key,
        },
        "solution": {"reasoning": made.reasoning, "key_insight": made.insight},
        "distractor_map": {letter: path for letter, (_, path) in lettered.items() if letter != key},
        "check": {
            "givens": {name: str(value) for name, value in made.givens.items()},
            "expression": made.expression,
            "unit": made.unit,
        },
    }


def _is(text: str, solved: Solved) -> bool:
    try:
        value = value_of(text)
    except ValueError:
        return False
    number = _number(value)
    wanted = (
        solved.value * (_number(value_of(f"${solved.symbol}$")) or 1.0) if solved.symbol else solved.value
    )
    return number is not None and abs(number - wanted) <= _NEAR * max(1.0, abs(wanted))


def _number(value: Quantity) -> float | None:
    first = value.numbers[0]
    return None if first is None else float(first)


def _solution(solved: Solved | None, right: list[str]) -> Action:
    value, chosen = "", right[0] if len(right) == 1 else None
    why = "embedded:exam-verifier has no method for this stem, so it can call no option right."
    if solved is not None:
        value = f"{solved.value:.10g}{solved.symbol}"
        why = f"embedded:exam-verifier, from the stem alone: {solved.how}. That gives {value}."
    said = {"chosen_option": chosen, "right_options": right, "value": value, "reasoning": why}
    return Action("submit_solution", said)


def _verdict(solved: Solved | None, right: list[str]) -> Action:
    if solved is not None and len(right) == 1:
        return Action("submit_verdict", {"verdict": "PASS", "confidence": "medium"})
    why = "no method is known for this stem"
    if solved is not None:
        why = f"{len(right)} options have the value {solved.value:.10g}"
    verdict = {
        "verdict": "FAIL",
        "failure_type": "several_right_options" if right else "no_right_option",
        "reasons": [f"embedded:exam-verifier: {why}."],
        "severity": "fixable_with_regeneration",
        "regen_instructions": "Give exactly one option the value that the stem determines.",
    }
    return Action("submit_verdict", verdict)


def _style(words: int, texts: list[str], stem: str) -> dict[str, Any]:
    """Nine for each criterion that is met, six for each that is not."""
    long = words > 110 or words < 5
    numbers = [len(digits.strip("0")) for digits in re.findall(r"\d+", stem + " ".join(texts))]
    messy = any(size > 4 for size in numbers)
    scores = {
        "authenticity": 6 if long else 9,
        "one_idea": 6 if stem.count("?") > 1 else 8,
        "no_calculator": 6 if messy else 9,
        "elegance": 8,
        "distractors": 8 if 4 <= len(texts) <= 8 else 6,
        "plausibility": 8,
    }
    if min(scores.values()) >= 7:
        return {
            "verdict": "PASS",
            "scores": scores,
            "failure_type": "",
            "regen_instructions": "",
            "severity": None,
        }
    return {
        "verdict": "FAIL",
        "scores": scores,
        "failure_type": "wordy" if long else "calculator",
        "regen_instructions": "Shorten the stem, ask one thing, choose numbers of fewer digits.",
        "severity": "fixable_with_regeneration",
    }
