"""Models that play the four roles of exam items. Every reply is a function of the request, so a piece goes on after an interruption."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qagen_dagster.agents.exams import ExamContext
from qagen_dagster.configuration.profiles import Role
from qagen_dagster.loop.exams.plan import Examiner, ItemWork
from qagen_dagster.loop.exams.state_machine import ExamEvent, ExamJournal, ItemLimits
from qagen_dagster.loop.journal import JournalFile
from qagen_dagster.models.base import Model
from qagen_dagster.models.messages import Request
from qagen_dagster.records.base import Difficulty
from qagen_dagster.records.exams.bank import Examination
from qagen_dagster.records.exams.config import ExamConfig, StyleThresholds
from qagen_dagster.records.exams.submissions import ExamPart, ExamSchema, QuestionPackage, read_sample
from qagen_dagster.store import Store
from tests.support.models import FakeModel, Turn, call

PART = ExamPart(exam="trial", schema_id="M1", difficulty=Difficulty.EASY)
SCHEMA = ExamSchema(
    id="M1",
    title="Scaling",
    core_move="See the ratio.",
    contexts=("solids",),
    wrong_paths=("one", "two", "three"),
    text="## M1. Scaling\n\n### Core thinking move\nSee the ratio.",
    line=1,
)
CONFIG = ExamConfig(name="Trial", candidate_profile="A schooled person.", style_notes=("Short.",))
WORDS = ("wrong power", "inverse ratio", "difference taken", "part for whole")
PASSING = {
    "authenticity": 8,
    "one_idea": 8,
    "no_calculator": 9,
    "elegance": 8,
    "distractors": 8,
    "plausibility": 8,
}
WEAK = PASSING | {"elegance": 6}


def idea(slot: int = 1, **fields: Any) -> dict[str, Any]:
    """Arguments of submit_idea; every slot has its own."""
    usual: dict[str, Any] = {
        "schema_id": "M1",
        "idea_summary": f"Only the ratio matters, as in case {'i' * slot}.",
        "function_or_object_type": "similar solids",
        "constraints_used": ["same shape"],
        "what_is_asked": "the ratio of volumes",
        "intended_wrong_paths": ["linear", "square", "inverse"],
        "difficulty_rationale": "one step",
        "mcq_viability": "each path has its own value",
    }
    return usual | fields


def made(a: int, b: int, **fields: Any) -> dict[str, Any]:
    """Arguments of submit_question: what is a times b, with the key B."""
    usual: dict[str, Any] = {
        "question": {
            "stem": f"A solid is enlarged so that ${a}$ becomes ${a * b}$. What is the product of ${a}$ and ${b}$?",
            "options": {
                "A": f"${a * b - 1}$",
                "B": f"${a * b}$",
                "C": f"${a * b + 1}$",
                "D": f"${a * b + 2}$",
            },
            "correct_option": "B",
        },
        "solution": {
            "reasoning": f"SECRETSOLUTION: ${a} \\times {b} = {a * b}$",
            "key_insight": "It is a product.",
        },
        "distractor_map": {
            letter: f"the {word} leads here" for letter, word in zip("ACD", WORDS, strict=False)
        },
        "check": {"givens": {"a": str(a), "b": str(b)}, "expression": "a*b"},
    }
    return usual | fields


def solved(letter: str | None = "B", *right: str) -> dict[str, Any]:
    chosen = right or ((letter,) if letter else ())
    return {"reasoning": "seen", "value": "x", "right_options": list(chosen), "chosen_option": letter}


def styled(scores: dict[str, int] | None = None, **fields: Any) -> dict[str, Any]:
    return {"verdict": "PASS", "scores": scores or PASSING} | fields


Script = Callable[[int, int], dict[str, Any] | Turn]  # slot and number (designs from 0, attempts from 1)
PASS: dict[str, Any] = {"verdict": "PASS", "confidence": "high"}


@dataclass
class ExamPlay:
    """The models of one piece. `before(role)` may raise; `log` tells who was asked, for which slot and try."""

    design: Script = lambda slot, _number: idea(slot)
    implement: Script = lambda slot, attempt: made(slot + 2, attempt + 2)
    solve: Script = lambda _slot, _attempt: solved()
    verify: Script = lambda _slot, _attempt: PASS
    style: Script = lambda _slot, _attempt: styled()
    before: Callable[[str], None] = lambda _role: None
    log: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])
    fakes: dict[str, FakeModel] = field(default_factory=dict[str, FakeModel])

    def __post_init__(self) -> None:
        self._guard = threading.Lock()
        for role in ("designer", "implementer", "verifier", "style_judge"):
            self.fakes[role] = FakeModel(lambda request, role=role: self._reply(role, request), role)

    @property
    def models(self) -> dict[Role, Model]:
        return {Role(name): fake for name, fake in self.fakes.items()}

    def asked(self, role: str) -> int:
        return sum(one == role for one, _, _ in self.log)

    def _reply(self, role: str, request: Request) -> Turn:
        tool = request.tools[0].name
        _, slot, number = read_sample(request.sample)
        scripts = {
            "submit_idea": self.design,
            "submit_question": self.implement,
            "submit_solution": self.solve,
            "submit_verdict": self.verify,
            "submit_style": self.style,
        }
        with self._guard:
            self.before(role)
            self.log.append((role, slot, number % 100))
        found = scripts[tool](slot, number % 100)
        return call(tool, **found) if isinstance(found, dict) else found


def content(_package: QuestionPackage) -> Examination:
    """An examiner that finds nothing."""
    return Examination()


def item_limits(designs: int = 2, retries: int = 2) -> ItemLimits:
    return ItemLimits(
        max_designer_retries=designs, max_implementer_retries=retries, thresholds=StyleThresholds()
    )


def work(
    play: ExamPlay, slot: int = 1, limits: ItemLimits | None = None, examine: Examiner = content
) -> ItemWork:
    context = ExamContext(CONFIG, SCHEMA, PART.difficulty, slot, seed=7)
    return ItemWork(PART, slot, context, limits or item_limits(), play.models, examine)


def journal(root: Path, slot: int = 1) -> JournalFile[ExamEvent]:
    return JournalFile(Store(root), f"journals/{slot}.json", "work", ExamJournal)
