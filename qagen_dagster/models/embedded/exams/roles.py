"""The four exam roles of the embedded models: what each role reads from a prompt and what it submits. This module also gives each slot its
question, and counts the different questions that a cell (a schema at a difficulty) can give."""

import re
from functools import lru_cache
from typing import Any

from qagen_dagster.mathematics.equality import Quantity, equal, known_value, value_of
from qagen_dagster.models.embedded import Draw
from qagen_dagster.models.embedded.conversation import Action, Conversation
from qagen_dagster.models.embedded.exams.family import FAMILIES, Draft, Family
from qagen_dagster.models.embedded.exams.stems import Solved, solve
from qagen_dagster.records.exams.submissions import LETTERS, read_sample

OPTIONS = LETTERS[:5]  # of every question
_TRIES_OF_A_SETTING = 200
_TRIES = 6 * _TRIES_OF_A_SETTING  # the tries in the last setting accept computations of earlier slots
_LOOKED_BACK = 100  # slots after this avoid no earlier slot: most families have no more different numbers


def family_of(schema: str, difficulty: str) -> Family | None:
    """The family of a schema and difficulty, or None."""
    return next((one for one in FAMILIES if (one.schema, one.difficulty) == (schema, difficulty)), None)


def question_of(family: Family, seed: int, slot: int, attempt: int) -> tuple[Draft, list[tuple[str, str]]]:
    """The question of a slot (from 1), and its four wrong options with their paths; all values differ.

    The setting follows from seed and slot, so that neighbouring slots differ in more than numbers. Another attempt
    draws other numbers in the same setting. A computation of an earlier slot is avoided as long as this setting or the
    next settings have other computations. Raises ValueError if no numbers fit; this happens for none of `FAMILIES`.
    """
    draw = Draw(f"{family.schema}/{family.difficulty}/{seed}/{slot}/{attempt}")
    setting = (seed + slot) % family.contexts
    earlier = range(1, slot if slot <= _LOOKED_BACK else 1)  # none if there are too many
    taken = {_first(family, seed, one) for one in (*earlier, *([slot] if attempt > 1 else ()))}
    for tried in range(_TRIES):
        draft = family.make(draw, (setting + tried // _TRIES_OF_A_SETTING) % family.contexts)
        if draft is None or (tried < _TRIES - _TRIES_OF_A_SETTING and _computation(draft) in taken):
            continue
        wrong = _distinct(draft, family.paths)
        if len(wrong) >= len(OPTIONS) - 1:
            return draft, wrong[: len(OPTIONS) - 1]
    raise ValueError(f"no numbers fit {family.schema} {family.difficulty}")


@lru_cache(maxsize=4_096)
def _first(family: Family, seed: int, slot: int) -> tuple[str, ...]:
    """The computation of the first attempt at a slot."""
    return _computation(question_of(family, seed, slot, 1)[0])


def _computation(made: Draft) -> tuple[str, ...]:
    return (made.expression, *(f"{name}={value}" for name, value in sorted(made.givens.items())))


@lru_cache(maxsize=128)
def different_items(schema: str, difficulty: str) -> int:
    """The number of different items that a cell can give, counted up to _LOOKED_BACK; 0 if the cell has no family."""
    family, found, fruitless = family_of(schema, difficulty), set[tuple[str, ...]](), 0
    draw = Draw(f"count/{schema}/{difficulty}")
    while family is not None and len(found) < _LOOKED_BACK and fruitless < 10 * _LOOKED_BACK:
        draft = family.make(draw, draw.randrange(family.contexts), texts=False)
        known = len(found)
        found |= set() if draft is None else {_computation(draft)}
        fruitless = 0 if len(found) > known else fruitless + 1
    return len(found)


def _distinct(made: Draft, paths: tuple[str, ...]) -> list[tuple[str, str]]:
    """The wrong options with their paths, one for each value; none if a path leads to the value of the key."""
    key, taken = value_of(made.key), list[Quantity]()
    kept: list[tuple[str, str]] = []
    for text, path in zip(made.wrong, paths, strict=False):
        if text is None:
            continue
        value = value_of(text)
        if equal(value, key):
            return []
        if not any(equal(value, other) for other in taken):
            taken.append(value)
            kept.append((text, path))
    return kept


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
        "idea_summary": family.row["summary"],
        "function_or_object_type": family.row["carrier"],
        "constraints_used": family.row["constraints"],
        "what_is_asked": family.row["asked"],
        "intended_wrong_paths": list(family.paths),
        "difficulty_rationale": family.row["rationale"],
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
    return [Action("submit_question", _package(made, wrong, _letter(family, seed, slot)))]


def verify(conversation: Conversation) -> list[Action]:
    """Solve the stem by the methods of `stems.py`, and judge the options only by that result."""
    stem, options = _STEM.search(conversation.prompt), _OPTIONS.search(conversation.prompt)
    texts = dict(_OPTION.findall(options.group(1))) if options else {}
    solved = solve(stem.group(1)) if stem else None
    right = [letter for letter, text in texts.items() if solved and _is(text, solved)]
    if "submit_verdict" in conversation.tools:
        return [_verdict(solved, right)]
    return [_solution(solved, right)]


def judge_style(conversation: Conversation) -> list[Action]:
    """Score only what can be counted: words, question marks, digits, options."""
    stem, options = _STEM.search(conversation.prompt), _OPTIONS.search(conversation.prompt)
    words = len(stem.group(1).split()) if stem else 0
    texts = [text for _, text in _OPTION.findall(options.group(1))] if options else []
    return [Action("submit_style", _style(words, texts, stem.group(1) if stem else ""))]


def _family(conversation: Conversation) -> Family | None:
    schema, difficulty = _SCHEMA.search(conversation.prompt), _DIFFICULTY.search(conversation.prompt)
    if schema is None or difficulty is None:
        return None
    return family_of(schema.group(1), difficulty.group(1))


def _letter(family: Family, seed: int, slot: int) -> str:
    """The letter of the key. Slots 1 to 5 of a cell have all five letters, as have slots 6 to 10, and so on. If the cells are in the order
    that follows from the seed, the first slots of five neighbouring cells have all five letters, too."""
    cells, letters = list(FAMILIES), list(OPTIONS)
    Draw(f"cells/{seed}").shuffle(cells)
    turn, place = divmod(slot - 1, len(OPTIONS))
    Draw(f"letters/{family.schema}/{family.difficulty}/{seed}/{turn}").shuffle(letters)
    first = letters.index(OPTIONS[(cells.index(family) + turn) % len(OPTIONS)])
    return letters[(first + place) % len(OPTIONS)]


def _package(made: Draft, wrong: list[tuple[str, str]], key: str) -> dict[str, Any]:
    """The question with its right option at the letter `key`, and the wrong options in an order that depends only on the stem."""
    Draw(f"order/{made.stem}").shuffle(wrong)
    wrong.insert(OPTIONS.index(key), (made.key, ""))
    lettered = dict(zip(OPTIONS, wrong, strict=True))
    return {
        "question": {
            "stem": made.stem,
            "options": {letter: text for letter, (text, _) in lettered.items()},
            "correct_option": key,
        },
        "solution": {"reasoning": made.reasoning, "key_insight": made.insight},
        "distractor_map": {letter: path for letter, (_, path) in lettered.items() if letter != key},
        "check": {"givens": made.givens, "expression": made.expression, "unit": made.unit},
    }


def _is(text: str, solved: Solved) -> bool:
    value = known_value(text)
    number = _number(value) if value else None
    scale = (_number(value_of(f"${solved.symbol}$")) or 1.0) if solved.symbol else 1.0
    wanted = solved.value * scale
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
    arguments = {"chosen_option": chosen, "right_options": right, "value": value, "reasoning": why}
    return Action("submit_solution", arguments)


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
    """The scores: eight or nine for a criterion that is met or not counted, six for a criterion that is not met."""
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
        blank = {"failure_type": "", "regen_instructions": "", "severity": None}
        return {"verdict": "PASS", "scores": scores, **blank}
    return {
        "verdict": "FAIL",
        "scores": scores,
        "failure_type": "wordy" if long else "calculator",
        "regen_instructions": "Shorten the stem, ask one thing, choose numbers of fewer digits.",
        "severity": "fixable_with_regeneration",
    }
