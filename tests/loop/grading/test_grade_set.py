from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from qagen_dagster.answering.answer_from_document import load_texts
from qagen_dagster.errors import MalformedResponseError, PermanentModelError, StoreError
from qagen_dagster.grounding import judge as grounding_judge
from qagen_dagster.grounding.source import Source
from qagen_dagster.loop.grading.grade_answers import AnswerToGrade, Grader, in_picture
from qagen_dagster.loop.grading.grade_set import RunMark, grade_set, grades_version, is_graded
from qagen_dagster.loop.grading.run_summary import described_outputs
from qagen_dagster.loop.questions.plan import RunOptions
from qagen_dagster.loop.questions.publication.publish import is_up_to_date, publish
from qagen_dagster.models.base import Model
from qagen_dagster.models.budget import Allowance
from qagen_dagster.models.messages import Stop
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.document import Document
from qagen_dagster.records.grading import Grade, GroundingReport, Method, SentenceStatus
from qagen_dagster.records.questions.results import (
    CandidateSet,
    GenerationResult,
    RejectedQA,
    RejectionReason,
    ValidatedSet,
)
from tests.loop.conftest import COMBINATION, CORPUS, PROFILE, PlayedWorkspace, put_documents, texts
from tests.loop.questions.publication.test_publish import make
from tests.support.models import FakeModel, Turn, answer, call, say, told

RUN = RunMark("run-1", "launch-1")
JUDGED = PROFILE.format(generator="writer") + "  judge: {provider: scripted, model: assessor}\n"
SUPPORTED = call("submit_verdict", verdict="SUPPORTED", confidence=0.95, reason="it says so")


@dataclass(frozen=True)
class JudgedWorkspace(PlayedWorkspace):
    """A workspace whose judge plays, too."""

    judges: list[Model] = field(default_factory=list[Model])

    def model(self, spec: ModelSpec) -> Model:
        return self.judges[-1] if self.judges and spec.model in ("assessor", "other") else super().model(spec)


def judged(workspace: PlayedWorkspace, judge: Model, method: str = "llm") -> JudgedWorkspace:
    """The workspace with a judge that is asked about every answer, or about those that fail without."""
    (workspace.settings.corpora / "probes" / "corpus.yaml").write_text(
        CORPUS.replace("    target_count: 2\n", f"    target_count: 2\n    grading: {{method: {method}}}\n")
    )
    assert workspace.settings.profiles is not None
    (workspace.settings.profiles / "mine.yaml").write_text(JUDGED)
    return JudgedWorkspace(workspace.settings, workspace.plays, [judge])


def grades(report: GroundingReport) -> list[bool | None]:
    return [answer.grading.is_grounded for one in report.documents for answer in one.answers]


def test_the_judge_of_a_long_document_sees_what_the_answer_quotes(
    workspace: PlayedWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grounding_judge, "BESIDE_QUOTES", 100)
    monkeypatch.setattr(grounding_judge, "SHORT", 0)
    space = judged(workspace, judge := FakeModel(lambda _: SUPPORTED))
    make(space)
    grade_set(space, COMBINATION, RUN)
    pairs = space.store.read(ValidatedSet.key(COMBINATION), ValidatedSet).questions
    assert len(pairs) == len(judge.requests) == 2
    for pair, asked in zip(pairs, judge.requests, strict=True):
        assert "passages that were quoted for it" in told(asked)
        assert all(one.quote in told(asked) for one in pair.evidence)


@pytest.mark.parametrize(("computation", "grounded"), [("product of 90; 3 = 270", True), ("", False)])
def test_an_answer_with_a_stored_computation_is_grounded(
    workspace: PlayedWorkspace, computation: str, grounded: bool
) -> None:
    make(workspace)
    key = ValidatedSet.key(COMBINATION)
    made = workspace.store.read(key, ValidatedSet)
    computed = {"question": "How many days pass in three calibration intervals?", "answer": "270 days"}
    pairs = tuple(one.model_copy(update=computed | {"computation": computation}) for one in made.questions)
    workspace.store.write(key, made.model_copy(update={"questions": pairs}))
    assert set(grades(grade_set(workspace, COMBINATION, RUN))) == {grounded}


def test_every_accepted_answer_is_graded_once(workspace: PlayedWorkspace) -> None:
    space = judged(workspace, judge := FakeModel(lambda _: SUPPORTED))
    make(space)
    first = grade_set(space, COMBINATION, RUN)
    assert grades(first) == [True, True]
    assert (first.overall_grade, first.overall_confidence) == (Grade.A, 0.95)
    assert (first.method, first.judge_model) == (Method.LLM, "scripted:assessor")
    assert (first.run_id, first.launch, first.generator_model) == ("run-1", "launch-1", "scripted:writer")
    assert [one.title for one in first.documents] == ["a.txt"]
    asked = len(judge.requests)
    again = grade_set(space, COMBINATION, RunMark("run-2", "launch-2"))
    assert len(judge.requests) == asked == 2
    assert grades_version(again) == grades_version(first)
    for run in ("run-1", "run-2"):
        kept = space.store.read(COMBINATION.history_key(run, "grounding.json"), GroundingReport)
        assert (kept.run_id, kept.documents) == (run, first.documents)
    assert space.store.read(GroundingReport.key(COMBINATION), GroundingReport) == again


@pytest.mark.parametrize("change", ["document", "method", "judge"])
def test_what_decides_grades_makes_them_anew(workspace: PlayedWorkspace, change: str) -> None:
    space = judged(workspace, FakeModel(lambda _: SUPPORTED))
    make(space)
    first = grade_set(space, COMBINATION, RUN)
    if change == "document":
        put_documents(space, {name: f"{text} More." for name, text in texts(3).items()})
    elif change == "method":
        space = judged(workspace, FakeModel(lambda _: SUPPORTED), "keyword")
    else:
        assert space.settings.profiles is not None
        (space.settings.profiles / "mine.yaml").write_text(JUDGED.replace("assessor", "other"))
    assert not is_graded(space, COMBINATION)
    assert grade_set(space, COMBINATION, RUN).fingerprint != first.fingerprint
    assert is_graded(space, COMBINATION)


def test_a_combination_is_up_to_date_when_it_is_graded(workspace: PlayedWorkspace) -> None:
    make(workspace)
    publish(workspace, COMBINATION, "run-1")
    assert not is_up_to_date(workspace, COMBINATION, RunOptions())
    grade_set(workspace, COMBINATION, RUN)
    assert not is_up_to_date(workspace, COMBINATION, RunOptions())  # the set has no grades yet
    publish(workspace, COMBINATION, "run-1")
    assert is_up_to_date(workspace, COMBINATION, RunOptions())


@pytest.mark.parametrize(
    ("turn", "waits"),
    [
        (PermanentModelError("no credit on this account"), True),
        (call("submit_verdict", verdict="PERHAPS", confidence=1), False),
    ],
)
@pytest.mark.parametrize("method", ["llm", "hybrid"])
def test_a_judge_that_fails_leaves_the_rest_and_is_asked_again_only_if_it_was_not_heard(
    workspace: PlayedWorkspace, turn: Turn, waits: bool, method: str
) -> None:
    space = judged(workspace, FakeModel(lambda _: turn), method)
    make(space)
    put_documents(
        space, {"a.txt": "Geese fly south in autumn. They come back in spring."}
    )  # proves no answer
    found = grade_set(space, COMBINATION, RUN)
    gradings = [answer.grading for one in found.documents for answer in one.answers]
    assert [bool(one.judge_failure) for one in gradings] == [True, True]
    assert grades(found) == [None, None]
    assert (found.not_measured, found.overall_grade) == (2, None)
    assert bool(found.undecided) == waits
    assert is_graded(space, COMBINATION) == (not found.undecided)


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        (MalformedResponseError("no choices"), "malformed: no choices"),
        (say("I will read the"), "no_tool_call: I will read the"),
        (call("submit_verdict"), "faulty_calls: "),
        (call("submit_verdict", verdict="", confidence=1), "faulty_calls: "),
        (answer(say("I would rather not."), Stop.REFUSAL), "refused: I would rather not."),
    ],
)
def test_a_judge_without_a_usable_reply_fails_the_run_and_is_asked_again(
    workspace: PlayedWorkspace, turn: Turn, said: str
) -> None:
    space = judged(workspace, FakeModel(lambda _: turn))
    make(space)
    with pytest.raises(MalformedResponseError, match=rf"a\.txt: model_error: {said}"):
        grade_set(space, COMBINATION, RUN)
    assert space.store.read(GroundingReport.key(COMBINATION), GroundingReport).undecided == 2
    assert not is_graded(space, COMBINATION)
    space.judges.append(FakeModel(lambda _: SUPPORTED))
    assert grades(grade_set(space, COMBINATION, RunMark("run-2", "launch-2"))) == [True, True]


def test_a_damaged_text_is_not_graded_or_shown(workspace: PlayedWorkspace) -> None:
    make(workspace)
    report = grade_set(workspace, COMBINATION, RUN)
    assert list(described_outputs(workspace.store, [report]))
    workspace.store.write_bytes(Document.text_key("probes", "a.txt"), b"another text")
    said = r"a\.txt/text\.txt is damaged"
    with pytest.raises(StoreError, match=said):
        list(described_outputs(workspace.store, [report]))
    for key in workspace.store.list("grades"):
        workspace.store.remove(key)
    with pytest.raises(StoreError, match=said):
        grade_set(workspace, COMBINATION, RUN)
    with pytest.raises(StoreError, match=said):
        load_texts(workspace.store, "probes", "a.txt")


def test_the_budget_ends_judging_and_the_next_run_goes_on(workspace: PlayedWorkspace) -> None:
    space = judged(workspace, judge := FakeModel(lambda _: SUPPORTED))
    space = replace(space, settings=replace(space.settings, document_workers=1))
    make(space)
    first = grade_set(space, COMBINATION, RUN, Allowance(max_calls=1))
    assert grades(first) == [True, None]
    assert first.undecided == 1
    assert "max_calls 1" in first.documents[0].answers[1].grading.judge_failure
    assert len(judge.requests) == 1
    second = grade_set(space, COMBINATION, RunMark("run-2", "launch-2"), Allowance(max_calls=5))
    assert (grades(second), second.undecided) == ([True, True], 0)


def test_answers_kept_though_ungrounded_are_graded_and_marked(workspace: PlayedWorkspace) -> None:
    make(workspace)
    made = workspace.store.read(CandidateSet.key(COMBINATION), CandidateSet)
    (key,) = [one.result_key for one in made.documents if one.document_id == "b.txt"]
    assert key is not None
    result = workspace.store.read(key, GenerationResult)
    kept = RejectedQA(
        question="Who painted the probe?",
        answer="Queen Wilhelmina painted it in Paris.",
        rejection_reason=RejectionReason.UNGROUNDED,
        rejection_detail="no attempt rests on the document",
        document_id="b.txt",
        attempt_number=3,
    )
    workspace.store.write(key, result.model_copy(update={"rejected": (*result.rejected, kept)}))
    found = grade_set(workspace, COMBINATION, RUN)
    (one,) = [one for one in found.documents if one.document_id == "b.txt"]
    (answer,) = one.answers
    assert answer.marked == "ungrounded: no attempt rests on the document"
    assert answer.grading.is_grounded is False
    assert [
        (one.document_id, one.question)
        for one in found.ungrounded_highlights
        if one.question == kept.question
    ] == [("b.txt", "Who painted the probe?")]


def test_what_only_a_picture_shows_is_not_measured() -> None:
    source = Source("The gauge was read each morning. The keeper wrote it down.")
    grader = Grader(Method.SEMANTIC)
    asked = AnswerToGrade("q-1", "How high is the bar of May?", "It is 42 metres high.", picture="Figure 1")
    found = grader.grade(source, "a.txt", asked)
    assert (found.grading.is_grounded, found.grading.confidence) == (None, None)
    assert {one.status for one in found.grading.sentences} == {SentenceStatus.NOT_MEASURED}
    assert "Figure 1" in found.grading.issues[0]
    assert in_picture(found)
    said = grader.grade(source, "a.txt", replace(asked, answer="The gauge was read each morning."))
    assert said.grading.is_grounded
    assert not in_picture(said)
    alone = grader.grade(source, "a.txt", replace(asked, picture=""))
    assert alone.grading.is_grounded is False
    assert not in_picture(alone)
