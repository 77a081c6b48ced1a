from __future__ import annotations

import json

from tests.cli.conftest import Command
from tests.support import waterworks

TEXTUAL = "water/facts/textual"


def test_the_last_command_is_told_and_kept(qagen: Command) -> None:
    project = qagen.project
    none = qagen("summary", "--latest")
    assert (none.code, len(none.errors)) == (1, 1)
    text = {"ridge.txt": waterworks.notes("ridge")}
    project.corpus("water", waterworks.corpus(2, "textual, visual"), text)
    project.corpus("rail", waterworks.corpus(2), {"lock.txt": waterworks.notes("lock")})
    assert qagen("run", "--corpus", "rail", "--json").code == 0
    rail = qagen("summary", "--json").value
    assert qagen("run", "--corpus", "water", "--json").code == 0
    found = qagen("summary", "--latest", "--json").value
    assert {one["combination"] for one in found["combinations"]} == {TEXTUAL, "water/facts/visual"}
    assert (found["generator_model"], found["judge_model"], found["provider"]) == (
        "scripted:cloze",
        "",
        "scripted",
    )
    (document,) = found["documents"]
    assert (document["id"], document["combination"], len(document["qa_details"])) == ("ridge.txt", TEXTUAL, 2)
    names = [f"{name}_count" for name in ("grounded", "ungrounded", "not_measured")]
    assert sum(found[name] for name in names) == sum(document[name] for name in names) == 2
    assert sum(found["decided"].values()) == 2
    assert {one["verdict"] for one in found["error_rates"]} == {"supported", "unsupported"}
    for one in document["qa_details"]:
        assert {"question", "answer", "is_grounded", "confidence", "method", "issues"} <= set(one)
        assert {"ungrounded_sentences", "llm_verdict"} <= set(one)
    assert len(found["ungrounded_highlights"]) == found["ungrounded_count"]
    kept = project.assets / "summaries" / found["run_id"] / "run_summary.json"
    assert json.loads(kept.read_bytes()) == found
    assert qagen("summary", "--run", rail["run_id"], "--json").value == rail
    (run_id,) = [one["run_id"] for one in rail["combinations"]]
    alone = qagen("summary", "--run", run_id, "--json").value
    assert alone["documents"] == rail["documents"]
    assert qagen("summary", "--run", "nobody").code == 1


def test_a_person_reads_grades_and_reasons(qagen: Command) -> None:
    qagen.project.corpus("water", waterworks.corpus(2), {"ridge.txt": waterworks.notes("ridge")})
    assert qagen("run", "--json").code == 0
    copy, folder = qagen.project.root / "copy.json", qagen.project.root / "out"
    ended = qagen("summary", "--output", str(copy), "--documents", str(folder))
    assert ended.code == 0, ended.err
    for words in (
        *TEXTUAL.split("/"),
        "ridge.txt",
        "scripted:cloze",
        "hybrid",
        "run_summary.json",
        "decided: ",
    ):
        assert words in ended.out
    assert json.loads(copy.read_bytes())["grading_method"] == "hybrid"
    described = json.loads((folder / TEXTUAL / "ridge.txt.json").read_bytes())
    assert list(described) == [
        "document", "qa_pairs", "question_generation", "answer_generation", "grading_summary",
    ]  # fmt: skip
    assert described["document"]["content"] == waterworks.notes("ridge").strip()
    assert set(described["document"]) == {"id", "title", "content"}
    assert {
        "is_grounded",
        "confidence",
        "method",
        "issues",
        "grounded_sentences",
        "ungrounded_sentences",
    } <= set(described["qa_pairs"][0]["grading"])
    assert described["question_generation"]["timestamp"]
    assert set(described["grading_summary"]) == {
        "overall_grade", "overall_confidence", "grading_method", "judge_model",
    }  # fmt: skip
    assert qagen("summary", "--latest", "--run", "x").code == 2
