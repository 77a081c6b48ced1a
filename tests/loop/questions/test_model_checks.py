from __future__ import annotations

import pytest

from qagen_dagster.agents.questions.context import QAContext
from qagen_dagster.agents.questions.validator import rejection
from qagen_dagster.loop.questions import model_checks
from qagen_dagster.loop.questions.document_work import DocumentWork, QAModels
from qagen_dagster.loop.questions.limits import QALimits
from qagen_dagster.loop.questions.state import Validate
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.questions.results import Candidate, Evidence, RejectionReason
from tests.support.documents import context_of, visual_context
from tests.support.models import CRITERIA, FakeModel, call

LIMITS = QALimits(target_count=1, max_consecutive_failures=9, max_attempts=1)
PLACE = Evidence(quote="Calibrate the probe every 90 days.", start_line=4, end_line=4)
CHECKS = dict.fromkeys(CRITERIA, True)


@pytest.mark.parametrize(
    ("context", "asked", "reason"),
    [(context_of(), 1, RejectionReason.WRONG_ANSWER), (visual_context(), 2, None)],
    ids=["textual", "visual"],
)
def test_other_numbers_are_refused_by_code_where_the_text_has_them(
    context: QAContext, asked: int, reason: RejectionReason | None
) -> None:
    blind = call("submit_answer", answerable=True, answer="90 days", unambiguous=True, evidence=[])
    model = FakeModel([blind, call("submit_comparison", explanation="Read closely.", **CHECKS)])
    question = "How often must the CT-15 probe be calibrated?"
    candidate = Candidate(question=question, answer="60 days", evidence=(PLACE,), question_type="numeric")
    combination = Combination(corpus="manuals", scenario="facts", mode=context.mode)
    work = DocumentWork(combination, context, LIMITS, "manual.txt")
    judged = model_checks.validate(
        Validate(candidate=candidate, attempt=1), work, QAModels(model, model, model)
    )
    assert judged.verdict is not None
    fault = rejection(judged.verdict)
    assert (len(model.requests), fault and fault[0]) == (asked, reason)
