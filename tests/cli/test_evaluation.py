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


def test_without_a_published_set_it_says_what_makes_one(qagen: Command) -> None:
    qagen.project.corpus("water", waterworks.corpus(2), {"ridge.txt": waterworks.notes("ridge")})
    early = qagen("evaluate", "--json")
    assert (early.code, len(early.errors)) == (1, 1)
    assert "no matching set is published: `qagen run`" in early.err


def test_evaluate_makes_what_is_missing_and_reports(ran: Command) -> None:
    project, qagen = ran.project, ran
    assert project.stored("search") == project.stored("evaluation") == {}
    first = qagen("evaluate", "--json")
    assert (first.code, first.err) == (0, "")
    (told,) = first.value["combinations"]
    assert told["combination"] == KEY
    assert told["closed_book"]["metrics"] == {"leaked": 0, "undecided": 0, "tried": 0}, "it never answers"
    leaked = qagen("evaluate", "--only", "closed_book").out.splitlines()
    assert leaked[-3].split()[-1] == "-"
    assert (told["closed_book"]["leaked_questions"], told["closed_book"]["questions"]) == ([], 2)
    assert told["retrieval"]["metrics"]["fused_document_recall_at_5"] == 1
    assert told["answers"]["metrics"]["exact_match"] == 1
    assert json.loads((project.assets / f"evaluation/{KEY}/answers.json").read_bytes())["run_id"]
    before = project.stored()
    again = qagen("evaluate", "--json")
    assert again.value == first.value
    assert project.stored() == before, "nothing is done twice"
    shown = qagen("evaluate", "--only", "retrieval")
    assert "document" in shown.out
    firsts = [line.split()[0] for line in shown.out.splitlines() if line.strip()]
    assert firsts[-3:] == ["water/", "facts/", "textual"], "each part of the key can be read"
    assert "leaked" not in shown.out


def test_labels_and_the_panel_are_made_if_they_are_named(ran: Command) -> None:
    project, qagen = ran.project, ran
    (labels,) = qagen("evaluate", "--only", "labels", "--profile", "embedded", "--json").value["combinations"]
    assert labels["labels"]["metrics"]["labelled"] == labels["labels"]["questions"] > 0
    found = qagen("panel", "--profile", "embedded", "--json")
    (panel,) = found.value["combinations"]
    assert (found.code, panel["panel"]["metrics"]["answerers"]) == (0, 9)
    assert "suspected" in qagen("panel", "--profile", "embedded").out
    shown = qagen("export", "--format", "beir", "--output", str(project.root / "out"))
    assert shown.code == 0
    rows = next((project.root / "out").rglob("test.tsv")).read_text().splitlines()[1:]
    assert {row.split("\t")[2] for row in rows} <= {"2", "3"}, "nobody but code has judged"


def test_force_makes_a_report_anew_and_keeps_the_old_one(ran: Command) -> None:
    project, qagen = ran.project, ran
    runs = [
        qagen("evaluate", "--only", "closed_book", "--force", "--json").value["combinations"][0][
            "closed_book"
        ]["run_id"]
        for _ in range(2)
    ]
    assert len(set(runs)) == 2
    kept = {name.split("/")[4] for name in project.stored("history") if name.endswith("closed_book.json")}
    assert kept == set(runs)
    assert project.stored("search") == {}, "no index is made that is not asked for"


def test_a_budget_leaves_the_rest_to_the_next_command(qagen: Command) -> None:
    project = qagen.project
    project.corpus("water", waterworks.corpus(6), {"ridge.txt": waterworks.notes("ridge")})
    assert qagen("run", "--json").code == 0
    words = ("evaluate", "--only", "closed_book", "--json")
    held = qagen(*words, "--max-calls", "1").value["combinations"][0]["closed_book"]
    assert held["questions"] == 6
    assert 3 <= held["failed"] == held["asked_again"] == held["metrics"]["undecided"], "three were under way"
    rest = qagen(*words).value["combinations"][0]["closed_book"]
    assert (rest["failed"], rest["metrics"]["undecided"]) == (0, 0)


def test_unusable_wishes_are_told_before_any_work(ran: Command) -> None:
    before = ran.project.stored()
    for words in (("--profile", "none"), ("--only", "luck"), ("--corpus", "wine")):
        ended = ran("evaluate", *words)
        assert (ended.code, len(ended.errors)) == (2, 1), words
    assert ran.project.stored() == before


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
    # The three questions are about one document, so nothing is proven.
    assert (
        "only bad 0, both 1, neither 0, left out 0; p = 1.0000 (exact, by document), 1.0000 by Holm"
        in shown.out
    )
    assert "correct: a difference of 0.1 needs" not in shown.out
    assert "correct: a difference of 0.1 needs" in qagen(*words, "--plan", "0.1").out
    assert "1.000 (0.44 to 1.00)" in shown.out
    assert "not measured" not in shown.out
    odd = write(root / "odd.jsonl", [{**good[0], "answer": "when it is pushed rather hard"}, *good[1:]])
    shown = qagen("score", "--answers", odd, "--set", KEY)
    assert "0.667 to 1.000; 1.000 (0.34 to 1.00) of the 2 measured" in " ".join(shown.out.split())
    assert "some questions were not measured" in shown.out


def test_an_evaluation_without_a_usable_reply_fails(ran: Command) -> None:
    with WireServer(lambda _seen, _number: Reply(text="I will read the")) as server:
        profile = PROFILE.format(url=server.url("openai_compatible"))
        ran.project.profile("remote", profile.replace("judge:", "answerer:"))
        ended = ran("evaluate", "--only", "closed_book", "--profile", "remote")
        assert ended.code == 1
        assert (
            "closed_book: no usable reply, so all questions are asked again: no_tool_call: I will"
            in ended.err
        )


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
    ended = qagen("score", "--answers", mine, "--set", KEY)
    assert (ended.code, ended.errors) == (1, ["qagen: error: mine: it answers no question of the sets"])
