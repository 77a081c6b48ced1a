"""What the validator judges, in the words of its forms and prompts."""

from __future__ import annotations

from typing import Any

import pytest

from qagen_dagster.agents.questions.validator import rejection
from qagen_dagster.records.document import Section
from qagen_dagster.records.questions.results import RejectionReason
from tests.agents.questions.test_validator import HOP, SECRET_QUOTE, blind, compare, run, verdict_of
from tests.support.documents import context_of, view_of
from tests.support.models import told


@pytest.mark.parametrize("said", [{"answerable": False, "answer": ""}, {}], ids=["no answer", "an answer"])
def test_a_false_premise_is_a_finding_of_its_own(said: dict[str, Any]) -> None:
    denied = blind(premise_holds=False, note="It was never shortened.", **said)
    found, model = run(
        denied, compare(matches=False, premise_holds=False, explanation="It was never shortened.")
    )
    fault = rejection(verdict_of(found))
    assert fault is not None
    assert fault[0] is RejectionReason.FALSE_PREMISE
    assert "It was never shortened." in fault[1]
    assert (not said and "takes for granted what the document denies" in told(model.requests[1])) or said


def test_the_verdict_on_the_evidence_comes_first_and_explanations_last() -> None:
    """The form names as many criteria as the prompt, in its order."""
    _, model = run(blind(), compare())
    form = model.requests[1].tools[0].parameters["properties"]["comparisons"]["items"]["properties"]
    *criteria, number, explanation = form
    assert (criteria[0], number, explanation, len(criteria)) == ("supported", "number", "explanation", 7)
    said = [form[name]["description"].split()[1].strip(".,:") for name in criteria]
    assert said == [str(n) for n in range(1, 8)]
    prompt = model.requests[1].system
    assert "seven criteria" in prompt
    assert [f"{n}. {name}: " in prompt for n, name in enumerate(criteria, 1)] == [True] * 7
    (answer,) = (tool for tool in model.requests[0].tools if tool.name == "submit_answers")
    assert list(answer.parameters["properties"]["answers"]["items"]["properties"])[-1] == "note"


def test_the_type_has_one_condition() -> None:
    """Its own rule decides, and nothing is said of single sentences beside it."""
    _, model = run(blind(), compare(of_type=True), rule=HOP)
    rule = told(model.requests[1]).partition("Types of questions:")[2].partition("Pair 1")[0]
    assert HOP in rule
    assert "one sentence" not in rule


def test_quotes_are_shown_with_their_section() -> None:
    view = view_of(sections=(Section(title="Care of the cable", level=1, start_line=5),))
    seen = told(run(blind(), compare(), context=context_of(view))[1].requests[1])
    assert f'[1] line 7, in "Care of the cable": {SECRET_QUOTE}' in seen
