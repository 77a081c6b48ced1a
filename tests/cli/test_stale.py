"""`qagen stale` says what would run, why, and what it would cost; `qagen run` runs exactly that."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Command
from tests.support import waterworks

KEY = "water/facts/textual"


def test_what_is_out_of_date_and_why(qagen: Command) -> None:
    project = qagen.project
    folder = project.corpus(
        "water", waterworks.corpus(1), {f"{name}.txt": waterworks.notes(name) for name in ("ridge", "quay")}
    )
    never = qagen("stale", "--json").value
    assert [(one["product"], one["partition"], one["reasons"]) for one in never["tasks"]] == [
        ("documents", "water", ["its documents were never parsed"]),
        ("questions", KEY, ["its documents were never parsed"]),
        ("catalog", "", ["after documents water and 1 more"]),
    ]
    assert never["estimate"] is None
    assert never["not_estimated"] == [KEY]
    assert f"Not estimated: {KEY}. Their calls depend on files that are not parsed yet" in qagen("stale").out
    assert qagen("run").code == 0
    assert qagen("stale", "--json").value == {
        "tasks": [], "faults": [], "gone": [], "not_estimated": [], "problem_calls": {}, "estimate": None,
    }  # fmt: skip
    assert qagen("stale").out == "everything is up to date\n"
    (folder / "corpus.yaml").write_text(waterworks.corpus(2))
    changed = qagen("stale", "--json").value
    assert [(one["product"], one["reasons"]) for one in changed["tasks"]] == [
        ("questions", ["target_count: 1 → 2"]),
        ("catalog", [f"after questions {KEY}"]),
    ]
    assert changed["estimate"]["combinations"][0]["to_do"] == 2
    (folder / "corpus.yaml").write_text(waterworks.corpus(1))
    (folder / "documents/ridge.txt").unlink()
    (folder / "documents/mill.txt").write_text(waterworks.notes("mill"))
    (folder / "documents/quay.txt").write_text(waterworks.notes("quay", ["drain"]))
    shown = qagen("stale").out
    for line in ("new files (1): mill.txt", "changed files (1): quay.txt", "removed files (1): ridge.txt"):
        assert line in shown
    assert "Estimate for the question sets: " not in shown, "nobody knows what unread files take"
    assert f"Not estimated: {KEY}." in shown
    assert qagen("run").code == 0
    assert {one["source_document"] for one in project.published(KEY)["questions"]} == {
        "documents/mill.txt",
        "documents/quay.txt",
    }
    assert qagen("stale").out == "everything is up to date\n"


def test_run_brings_evaluations_and_indexes_that_exist_up_to_date(ran: Command) -> None:
    assert not (ran.project.assets / "evaluation").exists()
    assert ran("evaluate").code == 0
    assert ran("stale").out == "everything is up to date\n"
    document = ran.project.corpora / "water/documents/ridge.txt"
    document.write_text(waterworks.notes("ridge", ["drain"]))
    assert ran("run").code == 0
    assert ran("stale").out == "everything is up to date\n"
    assert ran("run").errors == ["everything is up to date"]


def test_a_profile_that_cannot_be_used_and_a_corpus_that_is_gone_are_told(ran: Command) -> None:
    folder = ran.project.corpora / "water"
    (folder / "corpus.yaml").write_text(
        waterworks.corpus(2).replace("target_count: 2", "target_count: 2, profile: nobody")
    )
    told = ran("stale", "--json")
    assert told.value["tasks"] == []
    assert told.errors[0].startswith(f"qagen: warning: questions {KEY}: there is no profile 'nobody'")
    assert ran("stale").out == "there is nothing to run\n"
    folder.rename(ran.project.root / "away")
    gone = ran("stale", "--json").value
    assert gone["gone"] == [f"{KEY}: the folder of its corpus is gone; the published set stays"]


def test_what_is_broken_is_named(qagen: Command) -> None:
    project = qagen.project
    project.corpus("water", "scenarios: 7\n", {})
    for name in ("exams/harbour/exam.yaml", "problems/harbour/problems.yaml"):
        path = project.corpora / name
        path.parent.mkdir(parents=True)
        path.write_text("no_such_key: 1\n")
    faults = qagen("stale", "--json").value["faults"]
    for name in ("corpus.yaml", "exam.yaml", "problems.yaml"):
        assert [line for line in faults if name in line], f"{name} is missing in {faults}"


def test_a_store_of_a_component_lists_only_what_the_component_makes(
    qagen: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    qagen.project.corpus("water", waterworks.corpus(1), {"quay.txt": waterworks.notes("quay")})
    monkeypatch.setenv("QAGEN_INCLUDE", "none")
    assert qagen("run").code == 0
    assert not (qagen.project.assets / "grounding").exists()
    assert qagen("stale").out == "everything is up to date\n"
    monkeypatch.delenv("QAGEN_INCLUDE")
    graded = qagen("stale", "--json").value["tasks"]
    assert (graded[0]["product"], graded[0]["reasons"]) == ("questions", ["its answers were never graded"])
