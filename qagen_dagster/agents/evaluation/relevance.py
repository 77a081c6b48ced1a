"""The agent that grades passages by how well they answer a question.

The scale and the wording of the grades are those of UMBRELA (Upadhyay et al., 2024), which agree with the graders of TREC. Several
passages are graded in one call.
"""

from collections.abc import Sequence

from pydantic import Field

from qagen_dagster.agents.evaluation.closed_book import outcome
from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.agents.runner import run_agent
from qagen_dagster.agents.spec import Terminal, without_tools
from qagen_dagster.errors import ToolError
from qagen_dagster.models.base import Model
from qagen_dagster.records.base import Record
from qagen_dagster.records.evaluation import Grade
from qagen_dagster.records.run import Outcome
from qagen_dagster.toolkit.excerpt import block, enclose, one_line

AT_ONCE = 10  # passages of one call
_MOST = 4_000  # characters of a question or a passage


class SubmittedGrades(Record):
    """Give the grades of all passages."""

    grades: tuple[Grade, ...] = Field(description="One grade for each passage, from 0 to 3, in their order.")


def prompt() -> Prompt:
    return load_prompt("evaluation/relevance")


def grade(model: Model, role: str, question: str, passages: Sequence[str]) -> Outcome[SubmittedGrades]:
    """The grades of `passages` in their order. The caller records the calls. Raises ModelError."""

    def check(result: Record) -> None:
        given = len(SubmittedGrades.model_validate(result).grades)
        if given != len(passages):
            raise ToolError(f"grades: there are {len(passages)} passages, and {given} grades.")

    terminal = Terminal("submit_grades", SubmittedGrades, check)
    spec = without_tools("relevance judge", role, prompt(), terminal, max_nudges=1)
    shown = [block([f"Passage {at}", enclose([one_line(one, _MOST)])]) for at, one in enumerate(passages, 1)]
    values = {"question": one_line(question, _MOST), "passages": block(shown)}
    return outcome(SubmittedGrades, run_agent(spec, model, {}, values))
