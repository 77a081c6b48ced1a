from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

import pytest

from qagen_dagster.cli.main import main
from qagen_dagster.loop.judges import judged_questions
from qagen_dagster.loop.review_decisions import append
from qagen_dagster.records.decisions import Action, Decision
from qagen_dagster.records.questions.published import PublishedQuestion
from tests.cli.conftest import Command
from tests.support import waterworks
from tests.support.reviewed import KEY, reviewed


def test_a_busy_port_of_the_review_page_is_one_line(qagen: Command) -> None:
    qagen.project.corpus(KEY.corpus, waterworks.corpus(), {})
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        ended = qagen("review", "--port", str(port))
    assert ended.code == 2
    assert ended.errors == [
        f"qagen: error: port {port} cannot be used (Address already in use): choose another with --port"
    ]


@pytest.mark.parametrize("words", [("review",), ("report", "--output", "page.html")], ids=["page", "file"])
def test_without_a_published_set_the_command_names_the_one_to_run(
    qagen: Command, words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    qagen.project.corpus(KEY.corpus, waterworks.corpus(), {})
    ended = qagen(*words)
    assert (ended.code, ended.errors) == (
        1,
        ["qagen: error: nothing is published yet: `qagen run` makes question sets"],
    )


def test_the_report_is_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = reviewed(tmp_path / "project").settings
    options = ["--corpora", str(settings.corpora), "--assets", settings.assets]
    with pytest.raises(SystemExit) as ended:
        main([*options, "report", "--output", str(tmp_path / "page.html")])
    assert ended.value.code == 0
    assert capsys.readouterr().err == f"8 questions: {tmp_path / 'page.html'}\n"
    assert "At which pressure does valve 1 of station-0.txt open?" in (tmp_path / "page.html").read_text()


def test_a_busy_port_of_the_ui_is_one_line(qagen: Command) -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        ended = qagen("ui", "--port", str(port))
    assert ended.code == 2
    assert ended.errors == [
        f"qagen: error: port {port} cannot be used (Address already in use): choose another with --port"
    ]


@pytest.mark.parametrize(
    ("missing", "command", "error"),
    [
        ("dagster_webserver", "ui", "qagen ui needs Dagster's UI: pip install 'qagen-dagster[ui]'"),
        ("mcp.server.mcpserver", "mcp", "qagen mcp needs the package mcp: pip install 'qagen-dagster[mcp]'"),
    ],
)
def test_without_its_extra_a_command_names_it_in_one_line(
    qagen: Command, monkeypatch: pytest.MonkeyPatch, missing: str, command: str, error: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)  # as if it were not installed
    ended = qagen(command)
    assert (ended.code, ended.errors) == (2, [f"qagen: error: {error}"])


def test_calibrate_proposes_a_threshold_and_names_the_questions_that_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    space = reviewed(tmp_path / "project", documents=5)
    options = ["--corpora", str(space.settings.corpora), "--assets", space.settings.assets]

    def calibrate(*words: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main([*options, "review", "calibrate", *words])
        assert ended.value.code == 0
        return capsys.readouterr().out

    assert (
        calibrate()
        == "Nothing to propose: that needs decisions on 5 accepted and 5 other questions of a set.\n"
    )
    questions = judged_questions(space.store, KEY)
    for key, one in questions.items():
        action = Action.ACCEPT if isinstance(one, PublishedQuestion) else Action.REJECT
        texts = {"document_id": one.document_id, "question": one.question, "answer": one.answer}
        append(space, Decision(set_key=KEY.key, question_id=key, reviewer="ida", action=action, **texts))
    (found,) = json.loads(calibrate("--corpus", KEY.corpus, "--json"))[KEY.key]
    assert (found["key"], found["present"], found["judged"], found["now"], found["right"]) == (
        "max_overlap",
        None,
        20,
        15,
        20,
    )
    assert len(found["changed"]) == 5
    first, *changed = calibrate().splitlines()
    assert first.startswith(f"{KEY.key}: max_overlap: None fits 15 of 20 decisions, 0.")
    assert {line.split()[0] for line in changed} == set(found["changed"])
