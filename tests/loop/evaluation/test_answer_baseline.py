from __future__ import annotations

from dataclasses import replace

import pytest

from qagen_dagster.errors import PermanentModelError, TransientModelError
from qagen_dagster.loop.evaluation.answer_baseline import measure_answers
from qagen_dagster.loop.evaluation.kinds import is_evaluated
from qagen_dagster.loop.grading.grade_set import RunMark
from qagen_dagster.loop.index import build_index
from qagen_dagster.models.base import Model
from qagen_dagster.models.budget import Allowance
from qagen_dagster.models.messages import Request
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.answer import QAError
from qagen_dagster.records.evaluation import AnswerReport, Kind
from qagen_dagster.records.questions.results import Evidence
from tests.loop.conftest import CORPUS, PROFILE, PlayedWorkspace, put_documents
from tests.loop.evaluation.evaluation_set import (
    FACTS,
    ExaminedWorkspace,
    examined,
    facts,
    opened,
    pair,
    put_published,
)
from tests.support.documents import MANUAL
from tests.support.models import FakeModel, Turn, call, told

SUPPORTED = call("submit_verdict", verdict="SUPPORTED", confidence=0.95, reason="it says so")
FALSE = "Forty keepers sold the probe to merchants from Peru."


def answering(answers: dict[str, Turn], name: str = "writer") -> FakeModel:
    """Answers by a word of the question; to others what the document says."""

    def respond(request: Request) -> Turn:
        said = told(request)
        question = next(one for one in FACTS if one in said)
        right = call("submit_document_answer", answer=FACTS[question][2], answerable=True, confidence=0.9)
        return next((turn for word, turn in answers.items() if word in question), right)

    return FakeModel(respond, name)


def submit(answer: str, *, answerable: bool = True) -> Turn:
    return call("submit_document_answer", answer=answer, answerable=answerable, confidence=0.4)


def measured(space: ExaminedWorkspace, run: str = "run-1", budget: Allowance | None = None) -> AnswerReport:
    return measure_answers(opened(space, RunMark(run, run), budget))


def test_answers_are_scored_and_graded(workspace: PlayedWorkspace) -> None:
    model = answering({"How often": submit("every 90 days"), "Who": submit(FALSE)})
    space = examined(workspace, writer=model)
    put_published(space, facts("a.txt"))
    report = measured(space)
    often, long, who = report.questions
    assert (often.given, often.exact, often.f1) == ("every 90 days", True, 1.0)
    assert (long.exact, long.f1) == (False, pytest.approx(2 * 2 / (2 + 11), abs=1e-3))
    assert long.grading is not None
    assert long.grading.is_grounded is True
    assert (who.f1, who.grading is not None and who.grading.is_grounded) == (0.0, False)
    assert report.metrics["exact_match"] == 0.3333
    assert report.metrics["token_f1"] == round((1 + 4 / 13) / 3, 4)
    assert report.metrics["ungrounded"] == 1
    assert (report.model, report.judge_model) == ("scripted:writer", "")
    assert [one.role for one in often.calls] == ["answerer"]
    first, last = often.cited_lines[0]
    assert first <= 4 <= last


def test_only_the_own_document_is_shown(workspace: PlayedWorkspace) -> None:
    put_documents(workspace, {"a.txt": MANUAL, "b.txt": "Geese fly south in autumn."})
    model = answering({})
    space = examined(workspace, writer=model)
    put_published(space, facts("a.txt", 1))
    build_index(space, "probes")
    measured(space)
    (request,) = model.requests
    assert "Geese" not in told(request)
    assert "Calibrate the probe" in told(request)


def test_an_answer_that_the_model_doubts_is_scored_but_not_graded(workspace: PlayedWorkspace) -> None:
    space = examined(
        workspace, writer=answering({"How often": submit("The excerpts do not say.", answerable=False)})
    )
    put_published(space, facts("a.txt", 1))
    report = measured(space)
    (one,) = report.questions
    assert (one.answerable, one.exact, one.f1, one.grading) == (False, False, 0.0, None)
    assert report.metrics["answered_share"] == 0
    assert "grounded_share" not in report.metrics


def test_a_document_without_text_is_no_wrong_answer(workspace: PlayedWorkspace) -> None:
    put_documents(workspace, {"a.txt": MANUAL, "b.txt": ""})
    space = examined(workspace, writer=answering({}))
    seen = Evidence(quote="a goose", start_line=None, end_line=None, visual="Figure 1")
    put_published(space, [*facts("a.txt", 1), pair("b.txt", "What is shown?", "a goose", seen)])
    report = measured(space)
    _, blank = report.questions
    assert (blank.error, blank.exact, blank.f1) == (QAError.NO_TEXT_AVAILABLE, None, None)
    assert (report.failed, report.unheard, report.metrics["failed"]) == (1, 0, 1)
    assert report.metrics["answered_share"] == 1


@pytest.mark.parametrize("change", ["nothing", "document", "index", "options", "question"])
def test_what_decides_an_answer_is_asked_anew(workspace: PlayedWorkspace, change: str) -> None:
    space = examined(workspace, writer=answering({}))
    put_published(space, [*facts("a.txt", 1), *facts("b.txt", 1)])
    measured(space)
    again = answering({})
    space = examined(space, writer=again)
    config = space.settings.corpora / "probes" / "corpus.yaml"
    if change == "document":
        put_documents(space, {"a.txt": MANUAL, "b.txt": f"{MANUAL}\nCopy b."})
    elif change == "index":
        build_index(space, "probes")  # the same chunks and vectors: nothing else is answered
    elif change == "options":
        config.write_text(f"{CORPUS}answering: {{max_chunks: 3}}\n")
    elif change == "question":
        put_published(space, [*facts("a.txt", 1), *facts("b.txt", 2)])
    asked = {"nothing": 0, "document": 1, "index": 0, "options": 2, "question": 2}[change]
    assert is_evaluated(opened(space), Kind.ANSWERS) is (asked == 0)
    measured(space, "run-2")
    assert len(again.requests) == asked
    assert is_evaluated(opened(space), Kind.ANSWERS)


def test_the_budget_ends_answering_and_a_failing_model_is_asked_again(workspace: PlayedWorkspace) -> None:
    model = answering({"Who": TransientModelError("overloaded")})
    space = replace(
        examined(workspace, writer=model), settings=replace(workspace.settings, document_workers=1)
    )
    put_published(space, [*facts("a.txt"), *facts("b.txt")])
    report = measured(space, budget=Allowance(max_calls=3))
    assert [bool(one.failure) for one in report.questions] == [False, False, True, False, True, True]
    assert (report.failed, report.unheard) == (3, 3)
    assert "overloaded" in report.questions[2].failure
    assert "max_calls 3" in report.questions[5].failure
    assert report.questions[2].f1 is None
    again = measured(replace(space, players={"writer": answering({})}), "run-2")
    assert (again.failed, again.unheard) == (0, 0)


@pytest.mark.parametrize(
    "turn", [PermanentModelError("no credit"), call("submit_verdict", verdict="", confidence=1)]
)
def test_a_judge_that_was_not_heard_is_asked_again(workspace: PlayedWorkspace, turn: Turn) -> None:
    (workspace.settings.corpora / "probes" / "corpus.yaml").write_text(
        CORPUS.replace("    target_count: 2\n", "    target_count: 2\n    grading: {method: llm}\n")
    )
    assert workspace.settings.profiles is not None
    (workspace.settings.profiles / "mine.yaml").write_text(
        PROFILE.format(generator="writer") + "  judge: {provider: scripted, model: assessor}\n"
    )
    deaf = FakeModel(lambda _: turn, "assessor")
    model = answering({})
    space = examined(workspace, writer=model, assessor=deaf)
    put_published(space, facts("a.txt", 1))
    report = measured(space)
    (one,) = report.questions
    assert (one.failure, one.unheard, one.exact) == ("", True, False)
    assert one.grading is not None
    assert one.grading.is_grounded is None
    heard = examined(space, writer=model, assessor=FakeModel(lambda _: SUPPORTED, "assessor"))
    again = measured(heard, "run-2")
    assert (again.unheard, again.metrics["grounded_share"], again.judge_model) == (
        0,
        1.0,
        "scripted:assessor",
    )
    assert [one.role for one in again.questions[0].calls] == ["answerer", "judge"]


def test_the_answerer_is_as_warm_as_the_corpus_wants(workspace: PlayedWorkspace) -> None:
    config = workspace.settings.corpora / "probes" / "corpus.yaml"
    config.write_text(f"{CORPUS}answering: {{temperature: 0.25}}\n")
    asked: list[float | None] = []

    class Warm(ExaminedWorkspace):
        def model(self, spec: ModelSpec) -> Model:
            asked.append(spec.temperature)
            return super().model(spec)

    space = Warm(workspace.settings, {"writer": answering({})})
    put_published(space, facts("a.txt", 1))
    measured(space)
    assert asked == [0.25]
