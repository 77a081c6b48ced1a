from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.grounding.grade import (
    combine,
    error_rates,
    grade_answer,
    grade_by_code_and_judge,
    grade_document,
    grade_question,
    letter,
    report,
)
from qagen_dagster.grounding.grade_by_code import tally
from qagen_dagster.grounding.judge import Judge
from qagen_dagster.records.grading import (
    AnswerGrade,
    Decided,
    ErrorRate,
    Grade,
    GradedAnswer,
    GroundingReport,
    JudgeVerdict,
    Method,
    SentenceGrade,
    SentenceStatus,
    SpanEvidence,
    Verdict,
)
from qagen_dagster.records.ids import Mode
from tests.grounding.judging import COPIED, FAILURES, FOREIGN, QUESTION, WRONG, judged, source, verdict

ANSWER = f"{COPIED} {FOREIGN}"


def answered(
    is_grounded: bool | None, confidence: float | None, issues: tuple[str, ...] = ()
) -> GradedAnswer:
    grading = AnswerGrade(is_grounded=is_grounded, confidence=confidence, method="semantic", issues=issues)
    return GradedAnswer(id="", question="Why?", answer="So.", grading=grading)


@pytest.mark.parametrize(
    ("confidence", "grade"),
    [
        (1, Grade.A),
        (0.9, Grade.A),
        (0.8999, Grade.B),
        (0.8, Grade.B),
        (0.79, Grade.C),
        (0.7, Grade.C),
        (0.69, Grade.D),
        (0.6, Grade.D),
        (0.59, Grade.F),
        (0, Grade.F),
        ((0.9 + 0.9 + 0.9) / 3, Grade.A),
        (sum([0.1] * 8), Grade.B),
    ],
)
def test_letters(confidence: float, grade: Grade) -> None:
    assert letter(confidence) is grade


@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize("method", Method)
def test_no_failure_of_a_judge_gets_out(method: Method, name: str) -> None:
    make, said = FAILURES[name]
    model = make()
    grade = grade_answer(QUESTION, ANSWER, source(), method, Judge(model))
    asked = method in (Method.LLM, Method.HYBRID)
    assert bool(grade.judge_failure) == asked == bool(model.requests)
    assert said in grade.judge_failure or not asked
    assert grade.is_grounded is (False if method is Method.KEYWORD else None)
    assert grade.method.startswith(method.value)
    assert AnswerGrade.model_validate_json(grade.model_dump_json()) == grade


@pytest.mark.parametrize("method", Method)
def test_each_method_tells_a_copied_answer_from_a_foreign_one(method: Method) -> None:
    good = grade_answer(QUESTION, COPIED, source(), method, judge=judged(verdict("SUPPORTED")))
    bad = grade_answer(QUESTION, WRONG, source(), method, judge=judged(verdict("NOT_SUPPORTED")))
    assert (good.is_grounded, good.confidence) == (True, 0.9 if method is Method.LLM else 1.0)
    assert bad.is_grounded is False
    assert bad.issues


@pytest.mark.parametrize("method", [method for method in Method if method is not Method.LLM])
def test_issues_name_the_score_and_the_sentence(method: Method) -> None:
    absent = "Penguins huddled together in 1977."
    grade = grade_answer(QUESTION, absent, source(), method)
    assert grade.issues[0].startswith("Low similarity (")
    assert f"): '{absent}'" in grade.issues[0]


@pytest.mark.parametrize("method", Method)
@pytest.mark.parametrize("text", ["", " \n\t\n"])
def test_a_document_without_text_measures_nothing(method: Method, text: str) -> None:
    grade = grade_answer(QUESTION, ANSWER, source(text), method, judge=judged())
    assert (grade.is_grounded, grade.confidence) == (None, None)
    assert {one.status for one in grade.sentences} == {SentenceStatus.NOT_MEASURED}
    assert "no text" in grade.method


@pytest.mark.parametrize("method", Method)
@pytest.mark.parametrize("answer", ["", " ", "...", "***"])
def test_an_answer_that_says_nothing_is_not_measured(method: Method, answer: str) -> None:
    grade = grade_answer(QUESTION, answer, source(), method, judge=judged())
    assert (grade.is_grounded, grade.confidence, grade.sentences) == (None, None, ())


def test_a_document_sums_up_what_was_measured() -> None:
    answers = [answered(True, 1.0), answered(False, 0.5), answered(None, None)]
    grades = grade_document("d1", "Title", answers)
    assert (grades.overall_confidence, grades.overall_grade) == (0.75, Grade.C)
    assert (grades.grounded, grades.ungrounded, grades.not_measured) == (1, 1, 1)
    assert grades.answers == tuple(answers)


def test_a_document_without_a_measured_answer_has_no_grade() -> None:
    grades = grade_document("d1", "", [answered(None, None)])
    assert (grades.overall_confidence, grades.overall_grade, grades.not_measured) == (None, None, 1)


@pytest.mark.parametrize(
    ("measured", "missing", "grade"), [(1, 6, None), (3, 4, None), (3, 3, Grade.A), (4, 3, Grade.A)]
)
def test_few_measured_answers_give_no_grade(measured: int, missing: int, grade: Grade | None) -> None:
    answers = [answered(True, 1.0)] * measured + [answered(None, None)] * missing
    document = grade_document("d1", "", answers)
    whole = report([document], corpus="c", method=Method.HYBRID)
    assert [(one.overall_grade, one.overall_confidence) for one in (document, whole)] == [(grade, 1.0)] * 2


def test_a_report_counts_answers_not_documents() -> None:
    first = grade_document("d1", "One", [answered(True, 1.0)] * 3)
    second = grade_document("d2", "Two", [answered(False, 0.2, ("Low similarity (0.20): 'So.'",))])
    third = grade_document("d3", "Three", [answered(None, None, ("Not measured",))])
    whole = report(
        [first, second, third],
        corpus="c",
        method=Method.HYBRID,
        scenario="s",
        mode=Mode.TEXTUAL,
        run_id="r",
        generator_model="g",
        judge_model="j",
    )
    assert (whole.overall_confidence, whole.overall_grade) == (pytest.approx(0.8), Grade.B)
    assert (whole.grounded, whole.ungrounded, whole.not_measured) == (3, 1, 1)
    (highlight,) = whole.ungrounded_highlights
    assert (highlight.document_id, highlight.confidence) == ("d2", 0.2)
    assert highlight.reasons == ("Low similarity (0.20): 'So.'",)


def test_grades_say_how_many_answers_were_decided_and_by_whom() -> None:
    verdict = JudgeVerdict(verdict=Verdict.SUPPORTED, confidence=0.9, reason="line 3")
    judged = AnswerGrade(is_grounded=True, confidence=0.9, method="hybrid", llm_verdict=verdict)
    by_judge = GradedAnswer(id="", question="Why?", answer="So.", grading=judged)
    document = grade_document("d1", "", [answered(True, 1.0), answered(None, None), by_judge])
    assert document.decided == Decided(code=1, judge=1, nobody=1)
    whole = report([document, document], corpus="c", method=Method.HYBRID)
    assert whole.decided == Decided(code=2, judge=2, nobody=2)
    assert Decided(code=2, judge=2, nobody=2).share == pytest.approx(2 / 3)
    assert whole.error_rates == error_rates()
    assert report([document], corpus="c", method=Method.LLM).error_rates == ()


def test_a_report_of_an_earlier_version_is_read() -> None:
    data = report(
        [grade_document("d", "", [answered(True, 1.0)])], corpus="c", method=Method.HYBRID
    ).model_dump()
    for part in (data, *data["documents"]):
        del part["decided"]
    del data["error_rates"]
    old = GroundingReport.model_validate(data)
    assert (old.decided, old.error_rates, old.documents[0].decided) == (None, (), None)


def test_an_empty_report_has_no_grade() -> None:
    whole = report([], corpus="c", method=Method.KEYWORD)
    assert (whole.overall_grade, whole.overall_confidence, whole.ungrounded_highlights) == (None, None, ())


@given(st.lists(st.sampled_from(SentenceStatus), max_size=8), st.floats(0, 1))
def test_sentences_add_up(statuses: list[SentenceStatus], boost: float) -> None:
    grade = tally([SentenceGrade(sentence="S.", status=one) for one in statuses], "m", boost=boost)
    bad = len(grade.ungrounded_sentences)
    measured = bad + len(grade.grounded_sentences)
    undecided = len(statuses) - measured
    decided = bad > 0 or (measured > 0 and not undecided)
    assert (grade.is_grounded is not None) == (grade.confidence is not None) == decided
    assert len(grade.issues) == bad + undecided
    if decided:
        assert grade.confidence == min(1.0, 1 - bad / measured + boost)
        assert grade.is_grounded is (bad == 0)


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=6))
def test_no_mean_is_poisoned(confidences: list[float | None]) -> None:
    answers = [answered(None if one is None else one >= 0.7, one) for one in confidences]
    whole = report([grade_document("d", "", answers)], corpus="c", method=Method.SEMANTIC)
    measured = [one for one in confidences if one is not None]
    assert whole.not_measured == len(confidences) - len(measured)
    if measured:
        assert whole.overall_confidence is not None
        assert min(measured) - 1e-9 <= whole.overall_confidence <= max(measured) + 1e-9
    else:
        assert whole.overall_confidence is None


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
    grade = grade_by_code_and_judge(QUESTION, COPIED, source(), judged())
    assert (grade.is_grounded, grade.method) == (True, "hybrid (semantic only -- all passed)")
    assert grade.llm_verdict is None
    assert not grade.judge_failure


def test_the_judge_overrides() -> None:
    grade = grade_by_code_and_judge(QUESTION, ANSWER, source(), judged(verdict("SUPPORTED", 0.85)))
    assert grade.method == "hybrid (semantic + LLM override)"
    assert (grade.is_grounded, grade.confidence) == (True, 0.85)
    assert grade.grounded_sentences == (COPIED, FOREIGN)
    assert grade.issues == ()
    assert len(grade.calls) == 1


def test_the_judge_confirms() -> None:
    answer = f"{COPIED} {WRONG}"
    alone = grade_by_code_and_judge(QUESTION, answer, source(), None)
    grade = grade_by_code_and_judge(
        QUESTION, answer, source(), judged(verdict("NOT_SUPPORTED", 0.95, "no penguins"))
    )
    assert grade.method == "hybrid (semantic + LLM confirmed)"
    assert (grade.is_grounded, grade.confidence) == (False, alone.confidence)
    assert grade.sentences == alone.sentences
    assert grade.ungrounded_sentences == (WRONG,)
    assert grade.issues == (*alone.issues, "Judge: NOT_SUPPORTED (0.95): no penguins")
    low = grade_by_code_and_judge(QUESTION, answer, source(), judged(verdict("NOT_SUPPORTED", 0.1)))
    assert low.confidence == 0.1


def test_the_judge_decides_what_code_leaves_undecided() -> None:
    no, yes = (judged(verdict(said, 0.9, "no penguins")) for said in ("NOT_SUPPORTED", "SUPPORTED"))
    refused = grade_by_code_and_judge(QUESTION, ANSWER, source(), no)
    assert (refused.is_grounded, refused.confidence, refused.decided_by) == (False, 0.1, "judge")
    assert [one.status for one in refused.sentences] == [SentenceStatus.SUPPORTED, SentenceStatus.NOT_FOUND]
    assert refused.issues == ("Judge: NOT_SUPPORTED (0.90): no penguins",)
    assert grade_by_code_and_judge(QUESTION, ANSWER, source(), yes).is_grounded is True


def test_a_hesitant_judge_overrides_nothing() -> None:
    grade = grade_by_code_and_judge(QUESTION, ANSWER, source(), judged(verdict("SUPPORTED", 0.69)))
    assert grade.method == "hybrid (semantic + LLM unsure)"
    assert grade.is_grounded is False
    assert grade.ungrounded_sentences == (FOREIGN,)


@pytest.mark.parametrize(
    ("sentence", "grounded", "said"), [(FOREIGN, None, "Undecided"), (WRONG, False, "Contradicted")]
)
def test_without_a_judge_the_first_result_stands(sentence: str, grounded: bool | None, said: str) -> None:
    grade = grade_by_code_and_judge(QUESTION, f"{COPIED} {sentence}", source(), None)
    assert grade.method == "hybrid (semantic only -- no judge)"
    assert grade.judge_failure
    assert grade.is_grounded is grounded
    assert any(said in issue and sentence in issue for issue in grade.issues)


@pytest.mark.parametrize("name", FAILURES)
def test_with_a_failing_judge_the_first_result_stands(name: str) -> None:
    make, said = FAILURES[name]
    alone = grade_by_code_and_judge(QUESTION, ANSWER, source(), None)
    grade = grade_by_code_and_judge(QUESTION, ANSWER, source(), Judge(make()))
    assert grade.method == "hybrid (semantic only -- judge failed)"
    assert said in grade.judge_failure
    assert (grade.sentences, grade.confidence, grade.is_grounded) == (
        alone.sentences,
        alone.confidence,
        alone.is_grounded,
    )


def test_nothing_to_grade_is_said_and_not_sent() -> None:
    grade = grade_by_code_and_judge(QUESTION, "", source(), judged())
    assert (grade.is_grounded, grade.method) == (None, "hybrid (semantic only -- nothing to grade)")


def test_an_overridden_contradiction_keeps_a_note() -> None:
    grade = combine(FIRST, of(Verdict.SUPPORTED, 0.7))
    assert not grade.ungrounded_sentences
    lost, wrong = grade.sentences[2:]
    assert (lost.status, lost.reason, lost.score) == (SentenceStatus.SUPPORTED, "", 0.32)
    assert wrong.status is SentenceStatus.SUPPORTED
    assert "1932, the document has 1931" in wrong.reason
    assert wrong.evidence == SPAN
    assert grade.issues == ("Overridden: Contradicted (0.80): 'Wrong.' - 1932, the document has 1931",)


def test_a_confirmed_answer_keeps_every_issue() -> None:
    grade = combine(FIRST, of(Verdict.NOT_SUPPORTED, 0.9))
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
    grade = combine(first, of(said, confidence))
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


PAGE = Path(__file__).parents[2] / "docs" / "grading.md"


def row(one: ErrorRate) -> str:
    return (
        f"| {one.documents} | {one.verdict} | {one.decided:,} of {one.answers:,} ({one.decided / one.answers:.1%}) | "
        f"{one.precision:.3f} ({one.low:.2f} to {one.high:.2f}) |"
    )


def test_each_verdict_has_a_figure_for_short_and_for_long_documents() -> None:
    found = [(one.documents, one.verdict) for one in error_rates()]
    assert found == [
        ("short", "supported"),
        ("short", "unsupported"),
        ("long", "supported"),
        ("long", "unsupported"),
    ]


@pytest.mark.parametrize("one", error_rates(), ids=lambda one: f"{one.documents} {one.verdict}")
def test_figures_are_possible_and_the_page_has_them(one: ErrorRate) -> None:
    assert one.right <= one.decided <= one.answers
    assert one.low <= one.precision <= one.high
    assert row(one) in PAGE.read_text(encoding="utf-8")


TEXT = """Report of the Orrin Bay ferry
In 1992 the Skua replaced the Plover. She carries 140 passengers and needs 2.5 m of water; the Plover took 60.
The harbour master called the old landing place "a bank of mud with a bell on it"."""


def graded(question: str, **more: bool) -> AnswerGrade:
    return grade_question(question, source(TEXT), metadata="ferries/orrin.txt Ada Quell", **more)


@pytest.mark.parametrize(
    "question",
    [
        "How did the Skua differ from the Plover in what she needed to land?",
        "What follows from the harbour master's judgement about the old landing place before 1992?",
        "Counting both, how many passengers could the Skua and the Plover carry in Orrin Bay?",
        'What did the harbour master call "a bank of mud"?',
        "In the report of Ada Quell, which of the two ferries took 60 passengers?",
        "How many of the ferries in Orrin Bay carry 100 passengers or more?",
        "Which ferry of Orrin Bay carries more than 90 passengers?",
        "Which of the ferries carries between 50 and 80 passengers?",
    ],
)
def test_questions_may_use_words_of_their_own(question: str) -> None:
    found = graded(question)
    assert (found.is_grounded, found.confidence, found.issues) == (True, 1.0, ())


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("When did the Gannet replace the Plover?", "Gannet"),
        ("Why did the Skua replace the Plover in 1997?", "1997"),
        ("Why can the Skua carry 180 passengers?", "180"),
        ("Why can the Skua carry 180 passengers more?", "180"),
        ('Who called the landing place "a heap of stones"?', '"a heap of stones"'),
    ],
)
def test_what_the_document_does_not_name_is_told(question: str, missing: str) -> None:
    found = graded(question)
    assert found.is_grounded is False
    assert found.confidence is not None
    assert found.confidence <= 0.5
    assert found.issues[0].startswith("the document does not have ")
    assert missing in found.issues[0]


def test_a_supposition_may_bring_numbers_but_no_names() -> None:
    question = "If the Skua carried 180 passengers, how many more than the Plover would she take?"
    assert graded(question).is_grounded is False
    assert graded(question, hypothetical=True).is_grounded is True
    assert (
        graded("If the Gannet carried 180 passengers, would she land?", hypothetical=True).is_grounded
        is False
    )


def test_another_subject_is_noticed_without_names() -> None:
    found = graded("how does photosynthesis convert sunlight into chemical energy")
    assert (found.is_grounded, found.issues) == (False, ("few of its words are in the document",))


@given(st.text(max_size=200))
def test_odd_questions_get_a_grade(question: str) -> None:
    found = graded(question)
    assert found.confidence is not None
    assert 0 <= found.confidence <= 1
    assert found.is_grounded == (found.confidence == 1.0)


@pytest.mark.parametrize(
    ("text", "grounded"),
    [("The quartz tube was baked at 600\u00b0C.", True), ("The quartz tube was baked at 600 K.", False)],
)
def test_a_question_may_name_the_scale_whose_sign_the_document_has(text: str, grounded: bool) -> None:
    assert (
        grade_question("To how many degrees Celsius was the quartz tube baked?", source(text)).is_grounded
        is grounded
    )
