from __future__ import annotations

import json

from tests.cli.conftest import Command
from tests.support import waterworks

KEY = "water/facts/textual"


def test_evaluate_makes_what_is_missing_and_reports(qagen: Command) -> None:
    project = qagen.project
    project.corpus("water", waterworks.corpus(2), {"ridge.txt": waterworks.notes("ridge")})
    early = qagen("evaluate", "--json")
    assert (early.code, len(early.errors)) == (1, 1)
    assert "no matching set is published: `qagen run`" in early.err
    assert qagen("run", "--json").code == 0
    assert project.stored("search") == project.stored("evaluation") == {}
    first = qagen("evaluate", "--json")
    assert (first.code, first.err) == (0, "")
    (told,) = first.value["combinations"]
    assert told["combination"] == KEY
    assert told["closed_book"]["metrics"]["leaked_share"] == 0
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


def test_force_makes_a_report_anew_and_keeps_the_old_one(qagen: Command) -> None:
    project = qagen.project
    project.corpus("water", waterworks.corpus(2), {"ridge.txt": waterworks.notes("ridge")})
    assert qagen("run", "--json").code == 0
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


def test_unusable_wishes_are_told_before_any_work(qagen: Command) -> None:
    qagen.project.corpus("water", waterworks.corpus(2), {"ridge.txt": waterworks.notes("ridge")})
    assert qagen("run", "--json").code == 0
    before = qagen.project.stored()
    for words in (("--profile", "none"), ("--only", "luck"), ("--corpus", "wine")):
        ended = qagen("evaluate", *words)
        assert (ended.code, len(ended.errors)) == (2, 1), words
    assert qagen.project.stored() == before
