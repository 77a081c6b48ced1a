"""Claims that nobody made: plausible, about a short text, without a number or name that the text lacks."""

from __future__ import annotations

import pytest

from qagen_dagster.grounding.grade import grade_answer
from qagen_dagster.grounding.grade_by_code import grade_by_code
from qagen_dagster.grounding.judge import Judge
from qagen_dagster.records.grading import Method
from tests.grounding.judging import judge, source, verdict

TEXT = (
    "The swimming pool of Harlow was built by the parish in 1954. Its water comes from a spring above the old mill. "
    "Children under six swim free of charge, and pensioners pay half. Two lifeguards watch the basin from May to September. "
    "The wooden changing rooms were painted blue by pupils of the village school. Dogs must stay outside the fence. "
    "Last summer the kiosk sold more ice cream than ever before."
)
INVENTED = (
    "The spring above the old mill is poisoned.",
    "Pensioners swim free of charge, and children pay half.",
    "The lifeguards fell asleep at the basin.",
    "The changing rooms were burnt down by pupils of the village school.",
    "Dogs may swim in the basin.",
    "The parish sold the swimming pool to the old mill.",
    "The kiosk belongs to the lifeguards.",
    "Children under six must stay outside the fence.",
    "The water of the swimming pool makes pensioners ill.",
    "The village school was painted blue by pensioners.",
    "Ice cream is free for pupils in summer.",
    "The wooden fence was built by children.",
    "Only pensioners watch the basin from May to September.",
    "The old mill was closed because of the dogs.",
    "Harlow has the largest swimming pool of the parish.",
    "Swimming is forbidden in the spring above the old mill.",
)


@pytest.mark.parametrize("claim", INVENTED)
@pytest.mark.parametrize("method", [method for method in Method if method is not Method.LLM])
def test_an_invented_claim_is_never_supported_without_a_judge(claim: str, method: Method) -> None:
    for answer in (claim, claim.lower(), f"The text says that {claim[0].lower()}{claim[1:]}"):
        found = grade_answer("What is said about the pool?", answer, source(TEXT), method)
        assert found.is_grounded is not True
        assert grade_by_code(answer, source(TEXT)).is_grounded is not True


@pytest.mark.parametrize("claim", INVENTED)
@pytest.mark.parametrize("method", [Method.HYBRID, Method.LLM])
def test_the_judge_is_asked_about_each_of_them(claim: str, method: Method) -> None:
    model = judge(verdict("NOT_SUPPORTED", 0.9))
    found = grade_answer("What is said about the pool?", claim, source(TEXT), method, judge=Judge(model))
    assert len(model.requests) == 1
    assert (found.is_grounded, found.decided_by) == (False, "judge")


@pytest.mark.parametrize("sentence", TEXT.split(". "))
def test_what_the_text_says_is_supported(sentence: str) -> None:
    assert grade_by_code(sentence.rstrip(".") + ".", source(TEXT)).is_grounded is True
