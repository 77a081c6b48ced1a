"""The language of a question, and how much of its wording is that of its evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from qagen_dagster.agents.questions.evidence.submission_check import EvidenceCheck
from qagen_dagster.agents.questions.prompt_values import QAContext
from qagen_dagster.records.questions.results import Candidate, RejectionReason
from qagen_dagster.records.questions.submissions import SubmitQA
from tests.support.documents import context_of, view_of

ENGLISH = "How often does the manual ask its readers to calibrate the probe of the station?"
SPANISH = "¿Con qué frecuencia hay que calibrar la sonda de la estación según su fabricante?"
SPANISH_TEXT = "\n".join(
    [
        "Manual de servicio de la sonda de conductividad de la estación meteorológica del puerto.",
        "La sonda debe calibrarse cada noventa días con una solución que el fabricante entrega en la caja.",
        "Nunca se debe abrir la celda, porque está llena de gas y no puede volver a cerrarse después.",
    ]
)
TABLE = "\n".join(f"| {name} | {number} | 0.{number} |" for number, name in enumerate("abcdefghij" * 5))


def candidate(context: QAContext, question: str, quote: str) -> Candidate:
    submitted = SubmitQA.model_validate(
        {"question": question, "answer": quote, "evidence": [{"quote": quote}]}
    )
    return EvidenceCheck(context).candidate_of(submitted)


def scenario(context: QAContext, **changed: Any) -> QAContext:
    return replace(context, scenario=context.scenario.model_copy(update=changed))


@pytest.mark.parametrize(
    ("text", "question", "language", "refused"),
    [
        (None, ENGLISH, None, False),
        (None, SPANISH, None, True),
        (SPANISH_TEXT, SPANISH, None, False),
        (SPANISH_TEXT, ENGLISH, None, True),
        (SPANISH_TEXT, ENGLISH, "en", False),
        (SPANISH_TEXT, SPANISH, "en", True),
        (TABLE, ENGLISH, None, False),
        (None, "¿Qué gas?", None, False),
    ],
    ids=[
        "same",
        "other",
        "both Spanish",
        "English of Spanish",
        "wanted",
        "not wanted",
        "no language",
        "too short",
    ],
)
def test_a_question_is_in_the_language_of_the_scenario_or_the_document(
    text: str | None, question: str, language: str | None, refused: bool
) -> None:
    context = scenario(context_of() if text is None else context_of(view_of(text)), language=language)
    found = candidate(context, question, context.view.lines[2])
    assert (found.gate is RejectionReason.IRRELEVANT) is refused
    assert ("must be in the language" in found.gate_detail) is refused


def test_the_agents_are_told_the_language_of_the_scenario() -> None:
    assert "language of the questions: en" in scenario(context_of(), language="en").document_card()
    assert "language" not in context_of().document_card()


@pytest.mark.parametrize(("most", "refused"), [(None, False), (0.9, False), (0.5, True)])
def test_the_wording_of_a_question_may_share_only_a_part_with_its_evidence(
    most: float | None, refused: bool
) -> None:
    context = scenario(context_of(), max_overlap=most)
    found = candidate(
        context, "When must a technician calibrate the probe, in days?", "Calibrate the probe every 90 days."
    )
    assert (found.gate is RejectionReason.IRRELEVANT) is refused
    if refused:
        assert found.gate_detail.startswith(
            "of the question's content words that are no names, 75% stand in the quotes, at most 50% may"
        )
