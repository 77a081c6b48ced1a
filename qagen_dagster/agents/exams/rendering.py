"""Renders the exam, the schema and the item as text for the agents."""

from __future__ import annotations

from dataclasses import dataclass

from qagen_dagster.records.base import Difficulty
from qagen_dagster.records.exams.config import ExamConfig
from qagen_dagster.records.exams.item import (
    LETTERS,
    ExamQuestion,
    ExamSchema,
    IdeaPlan,
    sample_of,
)
from qagen_dagster.toolkit.excerpt import OwnText, block

_NONE = "(none)"


@dataclass(frozen=True)
class ExamContext:
    """One slot of a part. `item` is its number in the part, from 1."""

    config: ExamConfig
    schema: ExamSchema
    difficulty: Difficulty
    item: int
    seed: int

    @property
    def account(self) -> str:
        """The name under which its calls are recorded."""
        return f"{self.schema.id}-{self.difficulty.value}-{self.item:04d}"

    def sample(self, number: int) -> int:
        """A sample number that differs between seeds, items and attempts."""
        return sample_of(self.seed, self.item, number)

    def exam(self) -> dict[str, str]:
        """The exam as every role is shown it."""
        return {"exam": self.config.name, "candidate": self.config.candidate_profile.strip()}

    def style(self) -> dict[str, str]:
        return {"style_notes": "\n".join(f"- {note}" for note in self.config.style_notes) or _NONE}

    def target(self) -> dict[str, str]:
        """The names of the schema and the difficulty."""
        return {
            "schema_id": self.schema.id,
            "schema_title": self.schema.title,
            "difficulty": self.difficulty.value,
            "meaning": OwnText(self.config.difficulties[self.difficulty].meaning),
        }


def bullets(lines: tuple[str, ...]) -> str:
    return block(f"- {line}" for line in lines) or _NONE


def words_of(plan: IdeaPlan) -> dict[str, tuple[str, ...]]:
    """The fields of a plan, without the schema's id."""
    return {
        "idea_summary": (plan.idea_summary,),
        "function_or_object_type": (plan.function_or_object_type,),
        "constraints_used": plan.constraints_used,
        "what_is_asked": (plan.what_is_asked,),
        "intended_wrong_paths": plan.intended_wrong_paths,
        "difficulty_rationale": (plan.difficulty_rationale,),
        "mcq_viability": (plan.mcq_viability,),
    }


def shown_plan(plan: IdeaPlan) -> str:
    """The idea as the implementer is shown it."""
    rows = [f"schema_id: {plan.schema_id}"]
    for name, said in words_of(plan).items():
        listed = name in ("constraints_used", "intended_wrong_paths")
        rows += [f"{name}:", bullets(said)] if listed else [f"{name}: {said[0]}"]
    return block(rows)


def shown_options(question: ExamQuestion) -> str:
    """`A: ...`, one line each, in order."""
    return block(
        f"{letter}: {' '.join(question.options[letter].split())}"
        for letter in LETTERS
        if letter in question.options
    )


def shown_question(question: ExamQuestion) -> dict[str, str]:
    """Only the stem and the options."""
    return {"stem": question.stem, "options": shown_options(question)}
