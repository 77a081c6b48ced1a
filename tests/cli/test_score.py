from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command
from tests.support import waterworks
from tests.support.once import once
from tests.support.project import Project
from tests.support.wire_server import Call, Reply, Seen, Step, WireServer

KEY = "water/facts/textual"
PROFILE = """\
roles:
  generator: {{provider: openai_compatible, model: asker, base_url: "{url}"}}
  validator: {{provider: openai_compatible, model: checker, base_url: "{url}"}}
  deduplicator: {{provider: openai_compatible, model: matcher, base_url: "{url}"}}
  judge: {{provider: openai_compatible, model: assessor, base_url: "{url}"}}
"""


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a published set."""
    return Project(once(tmp_path_factory, "scored", _publish)).assets


def _publish(folder: Path) -> None:
    project = Project.make(folder)
    project.corpus("water", waterworks.corpus(3), {"ridge.txt": waterworks.notes("ridge")})
    assert project.qagen("run", "--json").code == 0


@pytest.fixture
def questions(qagen: Command, published: Path) -> list[dict[str, Any]]:
    shutil.copytree(published, qagen.project.assets)
    return qagen.project.published(KEY)["questions"]


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return str(path)


def test_a_system_is_scored_and_compared(qagen: Command, questions: list[dict[str, Any]]) -> None:
    root = qagen.project.root
    good = [{"id": one["id"], "answer": one["answer"], "passages": ["ridge.txt"]} for one in questions]
    mine = write(root / "mine.jsonl", good)
    bad = write(root / "bad.jsonl", [{**one, "answer": "unknown"} for one in good[:2]] + good[2:])
    page = root / "scores.md"
    words = ("score", "--answers", mine, "--set", KEY, "--against", bad, "--output", str(page))
    ended = qagen(*words, "--json")
    assert (ended.code, ended.err) == (0, "")
    first, second = ended.value["systems"]
    assert (first["system"], first["overall"]["measures"]["correct"]["value"]) == ("mine", 1)
    assert second["overall"]["counts"] == {"right": 1, "wrong": 0, "unanswered": 2, "undecided": 0}
    assert first["overall"]["measures"]["document_mrr"]["value"] == 1
    assert ended.value["comparisons"][0]["only_first"] == [one["id"] for one in questions[:2]]
    assert page.read_text().startswith("# Scores: mine and bad\n")
    shown = qagen(*words)
    assert "correct: only mine 2, only bad 0, both 1, neither 0; p = 0.5000" in shown.out
    assert "1.000 (0.44 to 1.00)" in shown.out


def test_undecided_answers_and_unusable_rows_are_told(
    qagen: Command, questions: list[dict[str, Any]]
) -> None:
    rows = [{"id": one["id"], "answer": "when it is pushed rather hard"} for one in questions]
    mine = write(qagen.project.root / "mine.jsonl", [*rows, {"id": "q-none", "answer": "5 bar"}])
    ended = qagen("score", "--answers", mine, "--set", KEY)
    assert ended.code == 1
    assert ended.errors == [
        "qagen: warning: mine: 3 answers are undecided: code cannot decide, and the profile has no judge",
        f"qagen: error: {mine}:4: no published question has the id 'q-none'",
    ]


def test_the_judge_is_paid_once_and_held_to_the_budget(
    qagen: Command, questions: list[dict[str, Any]]
) -> None:
    rows = [{"id": one["id"], "answer": "when it is pushed rather hard"} for one in questions]
    mine = write(qagen.project.root / "mine.jsonl", rows)

    def judge(_seen: Seen, _number: int) -> Step:
        return Reply(calls=(Call("submit_mark", {"right": False, "explanation": "no pressure is named"}),))

    with WireServer(judge) as server:
        qagen.project.profile("remote", PROFILE.format(url=server.url("openai_compatible")))
        words = ("score", "--answers", mine, "--set", KEY, "--profile", "remote", "--json")
        held = qagen(*words, "--max-calls", "0").value["systems"][0]
        assert (held["overall"]["counts"]["undecided"], len(server.requests)) == (3, 0)
        for _ in range(2):
            counts = qagen(*words).value["systems"][0]["overall"]["counts"]
            assert counts == {"right": 0, "wrong": 3, "unanswered": 0, "undecided": 0}
        assert len(server.requests) == 3


def test_unusable_wishes_are_told(qagen: Command, questions: list[dict[str, Any]]) -> None:
    mine = write(qagen.project.root / "mine.jsonl", [])
    for words, code in (
        (("--answers", mine, "--set", "water"), 2),
        (("--answers", f"{mine}x", "--set", KEY), 2),
        (("--answers", mine, "--set", "wine/facts/textual"), 1),
        (("--answers", mine, "--set", KEY, "--output", str(qagen.project.root)), 2),
    ):
        ended = qagen("score", *words)
        assert (ended.code, len(ended.errors)) == (code, 1), (words, ended.err)
    assert qagen("score", "--answers", mine, "--set", KEY).code == 1, "nothing was scored"
