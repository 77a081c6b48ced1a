from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.grounding.methods import hybrid
from qagen_dagster.grounding.methods.llm import Judge
from qagen_dagster.grounding.tally import tally
from qagen_dagster.records.grading import JudgeVerdict, SentenceGrade, SentenceStatus, SpanEvidence, Verdict
from tests.grounding.methods.judging import (
    COPIED,
    FAILURES,
    FOREIGN,
    QUESTION,
    WRONG,
    judged,
    source,
    verdict,
)

ANSWER = f"{COPIED} {FOREIGN}"
SPAN = SpanEvidence(quote="It opened in May 1931.", start_line=3, end_line=3)
FIRST = tally(
    [
        SentenceGrade(sentence="Good.", status=SentenceStatus.SUPPORTED, score=0.9, evidence=SPAN),
        SentenceGrade(sentence="Said.", status=SentenceStatus.GENERIC),
        SentenceGrade(
            sentence="Lost.", status=SentenceStatus.NOT_FOUND, score=0.32, reason="nothing like it"
        ),
        SentenceGrade(
            sentence="Wrong.",
            status=SentenceStatus.CONTRADICTED,
            score=0.8,
            evidence=SPAN,
            reason="1932, the document has 1931",
        ),
    ],
    "semantic",
)


def of(said: Verdict, confidence: float) -> JudgeVerdict:
    return JudgeVerdict(verdict=said, confidence=confidence, reason="line 3")


def test_a_grounded_answer_needs_no_judge() -> None:
    grade = hybrid.grade(QUESTION, COPIED, source(), judged())
    assert (grade.is_grounded, grade.method) == (True, "hybrid (semantic only -- all passed)")
    assert grade.llm_verdict is None
    assert not grade.judge_failure


def test_the_judge_overrides() -> None:
    grade = hybrid.grade(QUESTION, ANSWER, source(), judged(verdict("SUPPORTED", 0.85)))
    assert grade.method == "hybrid (semantic + LLM override)"
    assert (grade.is_grounded, grade.confidence) == (True, 0.85)
    assert grade.grounded_sentences == (COPIED, FOREIGN)
    assert grade.issues == ()
    assert len(grade.calls) == 1


def test_the_judge_confirms() -> None:
    answer = f"{COPIED} {WRONG}"
    alone = hybrid.grade(QUESTION, answer, source(), None)
    grade = hybrid.grade(QUESTION, answer, source(), judged(verdict("NOT_SUPPORTED", 0.95, "no penguins")))
    assert grade.method == "hybrid (semantic + LLM confirmed)"
    assert (grade.is_grounded, grade.confidence) == (False, alone.confidence)
    assert grade.sentences == alone.sentences
    assert grade.ungrounded_sentences == (WRONG,)
    assert grade.issues == (*alone.issues, "Judge: NOT_SUPPORTED (0.95): no penguins")
    low = hybrid.grade(QUESTION, answer, source(), judged(verdict("NOT_SUPPORTED", 0.1)))
    assert low.confidence == 0.1


def test_the_judge_decides_what_code_leaves_undecided() -> None:
    no, yes = (judged(verdict(said, 0.9, "no penguins")) for said in ("NOT_SUPPORTED", "SUPPORTED"))
    refused = hybrid.grade(QUESTION, ANSWER, source(), no)
    assert (refused.is_grounded, refused.confidence, refused.decided_by) == (False, 0.1, "judge")
    assert [one.status for one in refused.sentences] == [SentenceStatus.SUPPORTED, SentenceStatus.NOT_FOUND]
    assert refused.issues == ("Judge: NOT_SUPPORTED (0.90): no penguins",)
    assert hybrid.grade(QUESTION, ANSWER, source(), yes).is_grounded is True


def test_a_hesitant_judge_overrides_nothing() -> None:
    grade = hybrid.grade(QUESTION, ANSWER, source(), judged(verdict("SUPPORTED", 0.69)))
    assert grade.method == "hybrid (semantic + LLM unsure)"
    assert grade.is_grounded is False
    assert grade.ungrounded_sentences == (FOREIGN,)


@pytest.mark.parametrize(
    ("sentence", "grounded", "said"), [(FOREIGN, None, "Undecided"), (WRONG, False, "Contradicted")]
)
def test_without_a_judge_the_first_result_stands(sentence: str, grounded: bool | None, said: str) -> None:
    grade = hybrid.grade(QUESTION, f"{COPIED} {sentence}", source(), None)
    assert grade.method == "hybrid (semantic only -- no judge)"
    assert grade.judge_failure
    assert grade.is_grounded is grounded
    assert any(said in issue and sentence in issue for issue in grade.issues)


@pytest.mark.parametrize("name", FAILURES)
def test_with_a_failing_judge_the_first_result_stands(name: str) -> None:
    make, said = FAILURES[name]
    alone = hybrid.grade(QUESTION, ANSWER, source(), None)
    grade = hybrid.grade(QUESTION, ANSWER, source(), Judge(make()))
    assert grade.method == "hybrid (semantic only -- judge failed)"
    assert said in grade.judge_failure
    assert (grade.sentences, grade.confidence, grade.is_grounded) == (
        alone.sentences,
        alone.confidence,
        alone.is_grounded,
    )


def test_nothing_to_grade_is_said_and_not_sent() -> None:
    grade = hybrid.grade(QUESTION, "", source(), judged())
    assert (grade.is_grounded, grade.method) == (None, "hybrid (semantic only -- nothing to grade)")


def test_an_overridden_contradiction_keeps_a_note() -> None:
    grade = hybrid.combine(FIRST, of(Verdict.SUPPORTED, 0.7))
    assert not grade.ungrounded_sentences
    lost, wrong = grade.sentences[2:]
    assert (lost.status, lost.reason, lost.score) == (SentenceStatus.SUPPORTED, "", 0.32)
    assert wrong.status is SentenceStatus.SUPPORTED
    assert "1932, the document has 1931" in wrong.reason
    assert wrong.evidence == SPAN
    assert grade.issues == ("Overridden: Contradicted (0.80): 'Wrong.' - 1932, the document has 1931",)


def test_a_confirmed_answer_keeps_every_issue() -> None:
    grade = hybrid.combine(FIRST, of(Verdict.NOT_SUPPORTED, 0.9))
    assert grade.issues == (
        "Low similarity (0.32): 'Lost.' - nothing like it",
        "Contradicted (0.80): 'Wrong.' - 1932, the document has 1931",
        "Judge: NOT_SUPPORTED (0.90): line 3",
    )


STATUSES = st.lists(st.sampled_from(SentenceStatus), min_size=1, max_size=5)


@given(STATUSES, st.sampled_from(Verdict), st.floats(0, 1))
def test_every_verdict_on_every_first_result(
    statuses: list[SentenceStatus], said: Verdict, confidence: float
) -> None:
    first = tally(
        [SentenceGrade(sentence=f"S{n}.", status=one) for n, one in enumerate(statuses)], "semantic"
    )
    grade = hybrid.combine(first, of(said, confidence))
    assert len(grade.sentences) == len(statuses)
    assert grade.is_grounded is (said is Verdict.SUPPORTED and confidence >= 0.7)
    assert grade.confidence is not None
    if grade.is_grounded:
        assert not grade.ungrounded_sentences
        assert grade.confidence == confidence
    elif first.confidence is not None:
        assert grade.sentences == first.sentences
        assert grade.confidence == min(first.confidence, confidence)
    assert SentenceStatus.NOT_MEASURED not in {one.status for one in grade.sentences} or not grade.is_grounded
