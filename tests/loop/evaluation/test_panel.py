"""What a panel of answerers says about questions, and which of them a scenario then leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster.loop.evaluation.kinds import is_evaluated
from qagen_dagster.loop.evaluation.panel import answerers, ask_panel, confirmed, rated
from qagen_dagster.loop.index import build_index
from qagen_dagster.loop.questions.publication.publish import publish
from qagen_dagster.loop.questions.publication.published_set import read_published
from qagen_dagster.models.base import Model
from qagen_dagster.models.messages import AssistantMessage, Request
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.corpus_options import Drop, Publish, ScenarioConfig
from qagen_dagster.records.evaluation import Kind, PanelAnswer, PanelQuestion
from qagen_dagster.records.questions.results import Evidence
from tests.loop.conftest import COMBINATION, CORPUS, PlayedWorkspace, put_documents
from tests.loop.evaluation.evaluation_set import ExaminedWorkspace, opened, pair, put_published
from tests.support.models import FakeModel, call, say, told

LINES = {
    "Who built the mill at Arden?": ("Ida Holm", "Ida Holm built the mill at Arden."),
    "When did the bridge at Selby open?": ("1874", "The bridge at Selby opened in 1874."),
    "How long is the canal of Marle?": ("37 km", "The canal of Marle is 37 km long."),
    "When was the tower of Brill finished?": ("1622", "The tower of Brill was finished in 1622."),
}
WRONG = "When did the bridge at Selby open?"


def answer(given: str, right: bool | None, *, name: str = "", reads: bool = True) -> PanelAnswer:
    return PanelAnswer(answerer=name, given=given, right=right, reads=reads)


def asked(number: int, *answers: PanelAnswer) -> PanelQuestion:
    return PanelQuestion(
        question_id=f"q-{number}", document_id="d", question=f"{number}?", answer="a", answers=answers
    )


RIGHT, WEAK = [answer("a", True)] * 3, [answer("b", False), answer("a", True)]
GOOD = [asked(at, *RIGHT, WEAK[at % 2]) for at in range(4)]


@pytest.mark.parametrize(
    ("strong", "suspected", "suspicion"),
    [
        (("Selby", "Selby", "Selby"), True, 1.0),
        (("the Selby", "selby", "Selby"), True, 1.0),
        (("Selby", "Selby", "Brill"), False, 0.6667),
        (("Selby", "Selby", ""), False, 0.6667),
        (("", "", ""), False, 0.0),
    ],
)
def test_a_key_is_suspected_if_all_strong_answerers_agree_on_another_answer(
    strong: tuple[str, ...], suspected: bool, suspicion: float
) -> None:
    found = rated([*GOOD, asked(9, *(answer(given, False) for given in strong), answer("a", True))])[-1]
    assert (found.suspected, found.suspicion) == (suspected, suspicion)
    assert found.other.lower().removeprefix("the ") == ("selby" if suspicion else "")


def test_undecided_answers_count_half_and_accuse_nobody() -> None:
    found = rated([*GOOD, asked(9, *[answer("Selby", None)] * 4)])[-1]
    assert (found.share_right, found.suspicion, found.difficulty) == (0.5, 0, None)


TEXT = "Ida Holm built the mill at Arden. It burned in 1874. The bridge at Selby opened in 1901."


@pytest.mark.parametrize(
    ("question", "key", "other", "suspected"),
    [
        ("When did the bridge at Selby open?", "1874", "1901", True),
        ("When did the bridge at Selby open?", "1901", "1874", False),
        ("Who built the mill at Arden?", "Selby", "Ida Holm", True),
        ("Who built the mill at Arden?", "Ida Holm", "the bridge at Selby", False),
        ("Who sold the mill at Arden?", "Bo Lund", "Per Falk", False),
    ],
)
def test_answerers_that_are_often_wrong_need_the_document_to_accuse(
    question: str, key: str, other: str, suspected: bool
) -> None:
    doubted = asked(9, *[answer(other, False)] * 4).model_copy(
        update={"question": question, "answer": key, "other": other, "suspected": True}
    )
    good, wrong = asked(1, *RIGHT), asked(2, *[answer("b", False)] * 3)
    assert confirmed([good, wrong, doubted], lambda _: TEXT)[-1].suspected == suspected
    assert confirmed([good, doubted], lambda _: TEXT)[-1].suspected


def test_eight_answerers_have_a_two_parameter_model() -> None:
    table = [[column <= row for column in range(8)] for row in (0, 2, 4, 6)]
    found = rated([asked(at, *(answer("a", right) for right in row)) for at, row in enumerate(table)])
    difficulties = [one.difficulty or 0.0 for one in found]
    assert difficulties == sorted(difficulties, reverse=True), "more answerers are right from row to row"
    assert all(one.slope is not None and one.slope > 0 for one in found)
    assert all(one.discrimination is not None and one.discrimination > 0 for one in found)


@pytest.mark.parametrize(
    ("guesses", "leaked"), [((), None), ((None,), None), ((False, True), True), ((False, None), False)]
)
def test_a_question_is_leaked_if_it_is_answered_without_documents(
    guesses: tuple[bool | None, ...], leaked: bool | None
) -> None:
    blind = [answer("a" if right else "b", right, reads=False) for right in guesses]
    found = rated([asked(0, *RIGHT, *blind)])[0]
    assert (found.leaked, found.share_right) == (leaked, 1)


class Panel(ExaminedWorkspace):
    """A workspace with the embedded models and those of a test."""

    def model(self, spec: ModelSpec) -> Model:
        return (
            self.players[spec.model]
            if spec.model in self.players
            else super(ExaminedWorkspace, self).model(spec)
        )


@pytest.fixture
def published(workspace: PlayedWorkspace) -> PlayedWorkspace:
    text = "\n\n".join(line for _, line in LINES.values())
    put_documents(workspace, {"town.txt": text, "geese.txt": "Geese fly south in autumn."})
    (workspace.settings.profiles or Path()).joinpath("mine.yaml").write_text(
        "roles:\n  generator: {provider: embedded, model: rules}\n  validator: {provider: embedded, model: reader}\n"
        "  deduplicator: {provider: embedded, model: matcher}\n  answerer: {provider: embedded, model: reader}\n"
    )
    build_index(workspace, "probes")
    pairs = [
        pair(
            "town.txt", question, "1901" if question == WRONG else right,
            Evidence(quote=line, start_line=2 * at + 1, end_line=2 * at + 1),
        )
        for at, (question, (right, line)) in enumerate(LINES.items())
    ]  # fmt: skip
    put_published(workspace, pairs)
    return workspace


def test_the_embedded_panel_suspects_a_wrong_key_and_the_scenario_drops_it(
    published: PlayedWorkspace,
) -> None:
    report = ask_panel(opened(published))
    assert {one.question: one.other for one in report.questions if one.suspected} == {WRONG: "1874"}
    assert len(answerers(opened(published))) == report.metrics["answerers"] == 9
    assert "leaked_share" not in report.metrics, "the embedded reader never tries without documents"
    assert is_evaluated(opened(published), Kind.PANEL)
    publish(published, COMBINATION, "run-1")
    assert len(read_published(published.store, COMBINATION)) == 4
    dropping = CORPUS.replace("target_count: 2", "target_count: 2\n    publish: {drop: [suspected]}")
    (published.settings.corpora / "probes" / "corpus.yaml").write_text(dropping)
    space = PlayedWorkspace(published.settings)
    publish(space, COMBINATION, "run-2")
    kept = read_published(space.store, COMBINATION)
    assert WRONG not in {one.question for one in kept}
    assert len(kept) == 3
    assert len(ask_panel(opened(space)).questions) == 4, "a question that was left out can come back"
    card = (space.store.get("published/probes/service/textual/README.md") or b"").decode()
    assert "| panel: suspected_share | 0.25 |" in card


def test_models_of_the_profile_join_the_panel_and_tell_what_is_leaked(published: PlayedWorkspace) -> None:
    def play(request: Request) -> AssistantMessage:
        if "submit_document_answer" in {tool.name for tool in request.tools}:
            return call("submit_document_answer", answer="37 km", answerable=True, confidence=1.0)
        knows = "canal" in told(request)
        return call("submit_closed_book_answer", answer="37 km" if knows else "unknown", confidence=0.5)

    with_oracle = "roles:\n  generator: {provider: scripted, model: oracle}\n  validator: {provider: embedded, model: reader}\n"
    (published.settings.profiles or Path()).joinpath("mine.yaml").write_text(
        with_oracle + "  deduplicator: {provider: embedded, model: matcher}\n"
    )
    space = Panel(published.settings, {"oracle": FakeModel(play, "oracle", plays_closed_book=True)})
    report = ask_panel(opened(space))
    assert report.metrics["answerers"] == 12
    assert {one.question: one.leaked for one in report.questions} == {
        question: "canal" in question for question in LINES
    }


@pytest.mark.parametrize(
    ("reply", "failure"),
    [
        (say("Error: upstream connect error"), "no_tool_call: Error: upstream"),
        (
            call("submit_document_answer", answer=" ", answerable=True, confidence=1.0),
            "faulty_calls: 3 times",
        ),
    ],
)
def test_a_question_without_usable_replies_is_asked_again_and_not_counted(
    published: PlayedWorkspace, reply: AssistantMessage, failure: str
) -> None:
    models = (
        "generator: {provider: scripted, model: oracle}\n  validator: {provider: embedded, model: reader}"
    )
    profile = f"roles:\n  {models}\n  deduplicator: {{provider: embedded, model: matcher}}\n"
    (published.settings.profiles or Path()).joinpath("mine.yaml").write_text(profile)
    talks = FakeModel(lambda _: reply, "oracle", plays_closed_book=True)
    report = ask_panel(opened(Panel(published.settings, {"oracle": talks})))
    assert report.unheard == len(report.questions) > 0
    assert all(failure in one.failure for one in report.questions)


@pytest.mark.parametrize(
    ("given", "only", "drop"),
    [
        ("reviewed", Publish.REVIEWED, ()),
        ({"drop": ["leaked", "suspected"]}, Publish.ALL, (Drop.LEAKED, Drop.SUSPECTED)),
        ({"only": "reviewed", "drop": ["leaked"]}, Publish.REVIEWED, (Drop.LEAKED,)),
    ],
)
def test_what_is_published_is_a_word_or_two_options(
    given: object, only: Publish, drop: tuple[Drop, ...]
) -> None:
    found = ScenarioConfig.model_validate({"name": "n", "description": "d", "publish": given}).publish
    assert (found.only, found.drop) == (only, drop)
