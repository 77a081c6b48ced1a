from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command
from tests.support import waterworks
from tests.support.wire_server import Call, Fault, Reply, Seen, Step, WireServer

PROFILE = """\
roles:
  generator: {{provider: openai_compatible, model: asker, base_url: "{url}"}}
  validator: {{provider: openai_compatible, model: checker, base_url: "{url}"}}
  deduplicator: {{provider: openai_compatible, model: twin, base_url: "{url}"}}
  judge: {{provider: openai_compatible, model: assessor, base_url: "{url}"}}
"""
GOOD = "The intake valve of the ridge station opens at a pressure of {} bar."


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return path


def row(document: str, answer: str, **more: str) -> dict[str, str]:
    return {"document": document, "question": "At what pressure does it open?", "answer": answer, **more}


@pytest.fixture
def files(qagen: Command) -> Path:
    folder = qagen.project.root / "given"
    (folder / "old").mkdir(parents=True)
    (folder / "ridge.txt").write_text(waterworks.notes("ridge"))
    (folder / "old" / "quay.txt").write_text(waterworks.notes("quay"))
    (folder / "mill.pdf").write_bytes(waterworks.sheet("mill"))
    (folder / "broken.pdf").write_bytes(b"no PDF at all")
    write(
        folder / "rows.jsonl",
        {"id": "r1", "title": "Lamp", "content": "The lamp was lit in 1901."},
        "no JSON",
    )
    return folder


def graded(value: Any) -> dict[str, list[bool | None]]:
    return {
        one["document_id"]: [answer["grading"]["is_grounded"] for answer in one["answers"]]
        for one in value["documents"]
    }


def test_abstentions_are_counted_apart_and_repeated_ids_are_told(qagen: Command, files: Path) -> None:
    good = GOOD.format(waterworks.pressure("ridge", "intake"))
    rows = [row("ridge.txt", good, id="a"), row("ridge.txt", "I don't know.", id="b"), row("ridge.txt", "")]
    again = [row("ridge.txt", "Nobody knows.", id="a"), row("r1", "Not stated in the document.", id="a")]
    answers = write(files.parent / "answers.jsonl", *rows, *again)
    ended = qagen("grade", "--answers", str(answers), "--documents", str(files), "--json")
    assert (ended.code, ended.err.count("\n")) == (1, 2)
    assert f"{answers}:4: line 1 has the id 'a', too" in ended.err
    assert graded(ended.value) == {"ridge.txt": [True, None, None], "r1": [None]}
    assert (ended.value["abstained"], ended.value["grounded"], ended.value["not_measured"]) == (3, 1, 3)
    shown = qagen("grade", "--answers", str(answers), "--documents", str(files))
    assert "abstained: 3 answers, which are not measured" in shown.out


def test_documents_are_found_by_path_name_and_row(qagen: Command, files: Path) -> None:
    good = GOOD.format(waterworks.pressure("ridge", "intake"))
    answers = write(
        files.parent / "answers.jsonl",
        row("ridge.txt", good, id="one"),
        row("ridge", good),
        row("old/quay.txt", "Nobody was ever paid for the orchestra."),
        row("quay.txt", good.replace("ridge", "quay").replace("of 1", "of 2")),
        "",
        row("r1", "The lamp was lit in 1901."),
        row("mill.pdf", "The stations of the waterworks hold several valves."),
    )
    ended = qagen(
        "grade", "--answers", str(answers), "--documents", str(files), "--method", "keyword", "--json"
    )
    assert ended.code == 0, ended.err
    found = ended.value
    assert list(graded(found)) == ["ridge.txt", "old/quay.txt", "r1", "mill.pdf"]
    assert graded(found)["ridge.txt"] == [True, True]
    assert len(graded(found)["old/quay.txt"]) == 2
    assert found["documents"][0]["answers"][0]["id"] == "one"
    assert (found["failed_rows"], found["method"], found["judge_model"]) == ([], "keyword", "")
    assert found["grounded"] + found["ungrounded"] + found["not_measured"] == 6
    assert found["ungrounded_highlights"][0]["document_id"] == "old/quay.txt"
    assert found["documents"][2]["title"] == "Lamp"


def test_bad_rows_are_told_by_line_and_the_rest_goes_on(qagen: Command, files: Path) -> None:
    answers = write(
        files.parent / "answers.jsonl",
        "{broken",
        row("nowhere.txt", "x"),
        {"document": "ridge.txt", "question": "Why?"},
        {"document": "ridge.txt", "question": 3, "answer": "x"},
        row("broken.pdf", "x"),
        [1, 2],
        row("ridge.txt", "The intake valve of the ridge station opens."),
    )
    ended = qagen("grade", "--answers", str(answers), "--documents", str(files), "--method", "keyword")
    assert ended.code == 1
    told = [line for line in ended.errors if line.startswith("qagen: error: ")]
    assert [line.removeprefix(f"qagen: error: {answers}:").partition(":")[0] for line in told] == list(
        "123456"
    )
    for words, line in zip(
        (
            "not JSON",
            "no document 'nowhere.txt'",
            "no `answer`",
            "`question` is not text",
            "not_what_it_says",
            "not an object",
        ),
        told,
        strict=True,
    ):
        assert words in line
    assert "ridge.txt" in ended.out
    assert "done with 2 of 2 answers" in ended.err, "a row without a document is not counted"


def test_nothing_graded_is_a_failure(qagen: Command, files: Path) -> None:
    empty = write(files.parent / "answers.jsonl")
    ended = qagen("grade", "--answers", str(empty), "--documents", str(files))
    assert (ended.code, f"qagen: error: {empty}: no answer was graded" in ended.err) == (1, True)
    for words in (("nowhere.jsonl", str(files)), (str(empty), "nowhere")):
        ended = qagen("grade", "--answers", words[0], "--documents", words[1])
        assert (ended.code, len([one for one in ended.errors if "qagen: error" in one])) == (2, 1)
    assert (
        qagen("grade", "--answers", str(empty), "--documents", str(files), "--output", "no/x.json").code == 2
    )


def test_the_report_is_written_whole_beside_the_table(qagen: Command, files: Path) -> None:
    answers = write(files.parent / "answers.jsonl", row("r1", "The lamp was lit in 1901."))
    output = files.parent / "report.json"
    ended = qagen(
        "grade", "--answers", str(answers), "--documents", str(files / "rows.jsonl"), "--output", str(output)
    )
    assert ended.code == 0, ended.err
    assert "has no judge" in ended.err
    assert graded(json.loads(output.read_bytes())) == {"r1": [True]}
    assert sorted(path.name for path in files.parent.iterdir() if path.name.startswith(".")) == []


def test_few_measured_answers_get_no_letter(qagen: Command, files: Path) -> None:
    vague = [row("r1", f"The keeper liked {what}.") for what in ("the sea", "a walk", "the wind")]
    answers = write(files.parent / "answers.jsonl", row("r1", "The lamp was lit in 1901."), *vague)
    words = ("grade", "--answers", str(answers), "--documents", str(files), "--method", "semantic")
    found = qagen(*words, "--json").value
    assert (found["grounded"], found["not_measured"]) == (1, 3)
    assert (found["overall_grade"], found["documents"][0]["overall_grade"]) == (None, None)
    shown = " ".join(qagen(*words).out.split())
    assert "r1 - 1 of 4 1 0 3" in shown
    assert shown.count("measured") > 2


def test_a_judge_must_be_bound_for_its_method(qagen: Command, files: Path) -> None:
    answers = write(files.parent / "answers.jsonl", row("r1", "The lamp was lit in 1901."))
    ended = qagen("grade", "--answers", str(answers), "--documents", str(files), "--method", "llm")
    assert ended.code == 2
    assert "needs a judge" in ended.errors[-1]


def test_a_verdict_is_paid_once_and_the_budget_ends_judging(qagen: Command, files: Path) -> None:
    def judge(seen: Seen, number: int) -> Step:
        del seen, number
        return Reply(
            calls=(Call("submit_verdict", {"verdict": "SUPPORTED", "confidence": 0.9, "reason": "said"}),)
        )

    answers = write(
        files.parent / "answers.jsonl", *(row("ridge.txt", f"Valve {n} is shut.") for n in range(6))
    )
    words = ("grade", "--answers", str(answers), "--documents", str(files), "--method", "llm", "--json")
    with WireServer(judge) as server:
        qagen.project.profile("remote", PROFILE.format(url=server.url("openai_compatible")))
        some = qagen(*words, "--profile", "remote", "--max-calls", "2")
        paid = len(server.requests)
        rest = qagen(*words, "--profile", "remote")
        again = qagen(*words, "--profile", "remote")
        total = len(server.requests)
    assert 2 <= paid < 6  # threads that are under way together may each begin a call
    assert some.value["grounded"] == paid
    assert some.value["not_measured"] == 6 - paid
    assert "max_calls 2" in some.err
    assert graded(rest.value)["ridge.txt"] == [True] * 6
    assert graded(again.value) == graded(rest.value)
    assert total == 6


def test_a_judge_that_refuses_leaves_answers_not_measured(qagen: Command, files: Path) -> None:
    answers = write(files.parent / "answers.jsonl", row("ridge.txt", "The valve is shut."))
    with WireServer(lambda _seen, _number: Fault(401, {"error": {"message": "no credit"}})) as server:
        qagen.project.profile("remote", PROFILE.format(url=server.url("openai_compatible")))
        ended = qagen(
            "grade", "--answers", str(answers), "--documents", str(files),
            "--method", "llm", "--profile", "remote", "--json",
        )  # fmt: skip
    assert ended.code == 0
    assert ended.value["not_measured"] == 1
    assert "no credit" in ended.err


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


def test_a_person_reads_grades_and_reasons(ran: Command) -> None:
    copy, folder = ran.project.root / "copy.json", ran.project.root / "out"
    ended = ran("summary", "--output", str(copy), "--documents", str(folder))
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
    assert set(described["document"]) == {"id", "row", "title", "content"}
    assert all(pair["supporting_evidence"] for pair in described["qa_pairs"])
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
    assert ran("summary", "--latest", "--run", "x").code == 2
