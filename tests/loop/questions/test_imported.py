"""Questions of a log: answered by the first document that can, checked, published, and compared with the set."""

from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster.errors import ConfigError, StoreError
from qagen_dagster.ingest.parsing import parse_corpus
from qagen_dagster.loop.grading.grade_set import RunMark, grade_set
from qagen_dagster.loop.questions.imported import keep_log, measure, read_log
from qagen_dagster.loop.questions.plan import RunOptions, collect, plan, unfinished
from qagen_dagster.loop.questions.publication.publish import is_up_to_date, publish, why_outdated
from qagen_dagster.loop.questions.publication.published_set import read_published
from qagen_dagster.loop.questions.validated_set import validate_set
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.imported import Coverage, LoggedQuestion, QuestionLog
from qagen_dagster.records.questions.published import PublishedQuestion
from qagen_dagster.settings import Settings
from tests.support.shards import run_shard

KEY = Combination(corpus="pumps", scenario="facts", mode=Mode.TEXTUAL)
CORPUS = """\
name: Pumps
corpus_context: Manuals of pumps.
scenarios:
  facts: {name: Facts, description: Facts about pumps., modes: [textual], target_count: 1}
"""
TEXT = """# The {name} Pump: Operator's Manual

The {name} Pump lifts sea water into the basin at Selby Quay. Martha Kellogg designed the {name} Pump in March {year}.
The {name} Pump has 12 filters. An engineer must replace the filters because salt blocks them.

## Models

| Model | Weight (kg) | Voltage (V) |
|--------|---------|---------|
| {name} A | {weight} | 230 |
| {name} B | 62 | 400 |
"""
ASKED = {
    "When was the Harbour Pump designed?": "March 1987",
    "When was the River Pump designed?": "March 1991",
    "Why must an engineer replace the filters of the Harbour Pump?": "",
}
UNKNOWN = "Who is the mayor of Lisbon?"


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    folder = tmp_path / "corpora" / "pumps" / "documents"
    folder.mkdir(parents=True)
    (folder.parent / "corpus.yaml").write_text(CORPUS)
    (folder / "harbour.md").write_text(TEXT.format(name="Harbour", year=1987, weight=45))
    (folder / "river.md").write_text(TEXT.format(name="River", year=1991, weight=51))
    return Workspace(
        Settings(corpora=tmp_path / "corpora", assets=str(tmp_path / "assets"), profile="embedded")
    )


def make(space: Workspace, run_id: str = "run-1") -> dict[str, PublishedQuestion]:
    parse_corpus(space.corpus("pumps"), space.store, space.parsers(), space.settings)
    planned = plan(space, KEY, RunOptions())
    run_shard(space, planned, unfinished(space, planned), run_id)
    collect(space, planned, run_id=run_id, started="2026-01-01", ended="2026-01-02")
    validate_set(space, KEY, space.encode)
    grade_set(space, KEY, RunMark(run_id, run_id))
    publish(space, KEY, run_id)
    return {one.question: one for one in read_published(space.store, KEY)}


def log_of(space: Workspace, *questions: str, answers: dict[str, str] = {}) -> QuestionLog:  # noqa: B006
    asked = [LoggedQuestion(question=one, answer=answers.get(one, "")) for one in questions]
    return keep_log(space, KEY, asked, forget=False)


def outcomes(coverage: Coverage) -> dict[str, str]:
    return {one.question: one.outcome for one in coverage.questions}


def test_a_log_becomes_questions_of_the_set_without_moving_the_others(space: Workspace) -> None:
    before = make(space)
    fingerprint = plan(space, KEY, RunOptions()).fingerprint
    log = log_of(space, *ASKED, UNKNOWN, answers=ASKED)
    assert not is_up_to_date(space, KEY, RunOptions())
    after = make(space, "run-2")
    assert plan(space, KEY, RunOptions()).fingerprint == fingerprint
    assert before.items() <= after.items()
    added = {name: one for name, one in after.items() if name not in before}
    assert {one.origin for one in added.values()} == {"imported"}
    for question, answer in ASKED.items():
        if question in added and answer:
            assert added[question].answer == answer
            assert added[question].document_id == f"{question.split()[3].lower()}.md"
            assert added[question].evidence
            assert added[question].verdict is not None
    coverage = measure(space, KEY, log)
    assert outcomes(coverage)[UNKNOWN] == "unanswerable"
    (unknown,) = [one for one in coverage.questions if one.question == UNKNOWN]
    assert {one.document_id or unknown.document_id for one in unknown.passages} == {"harbour.md", "river.md"}
    assert sum(one == "published" for one in outcomes(coverage).values()) >= 2
    assert is_up_to_date(space, KEY, RunOptions())
    assert make(space, "run-3") == after


def test_without_a_log_nothing_is_stored_and_no_record_has_the_field(space: Workspace) -> None:
    assert "origin" not in str([one.model_dump(mode="json") for one in make(space).values()])
    assert not list(space.store.list("imports"))


def test_an_answer_that_the_document_contradicts_is_refused_with_what_it_says(space: Workspace) -> None:
    question = "When was the Harbour Pump designed?"
    log = log_of(space, question, answers={question: "May 2003"})
    make(space)
    (found,) = measure(space, KEY, log).questions
    assert (found.outcome, found.document_id) == ("wrong_answer", "harbour.md")
    assert "1987" in found.detail


def test_gaps_are_what_the_documents_answer_and_the_set_does_not_ask(space: Workspace) -> None:
    question = "When was the River Pump designed?"
    log = log_of(space, question, UNKNOWN, answers={question: "May 2003"})
    before = make(space)
    coverage = measure(space, KEY, log)
    assert coverage.gaps == (("river.md", (question,)),)
    assert why_outdated(space, KEY, RunOptions()) == ("changed documents (1): river.md",)
    after = make(space, "run-2")
    (new,) = after.keys() - before.keys()
    assert after[new].document_id == "river.md"
    assert "1991" in f"{new} {after[new].answer}"  # the generator chose the sentence that people ask about
    again = measure(space, KEY, log_of(space))
    assert is_up_to_date(space, KEY, RunOptions()), again.gaps


def test_logs_add_up_and_can_be_forgotten(space: Workspace) -> None:
    log_of(space, "Why?", "When?")
    assert [one.question for one in log_of(space, "when?", "Who?").questions] == ["Why?", "when?", "Who?"]
    one = keep_log(space, KEY, [LoggedQuestion(question="Where?")], forget=True)
    assert [each.question for each in one.questions] == ["Where?"]
    with pytest.raises(StoreError, match="name a file"):
        keep_log(space, KEY, [], forget=True)


@pytest.mark.parametrize(
    ("name", "text", "read", "faults"),
    [
        ("a.jsonl", '{"question": "Why?", "answer": " so  it is", "user": 7}\n\n{"question": "Who?"}\n', [("Why?", "so it is"), ("Who?", "")], 0),
        ("a.csv", "\ufeffQuestion,Answer,n\nWhy?,,1\n\"Who, then?\",Ida,2\n", [("Why?", ""), ("Who, then?", "Ida")], 0),
        ("a.csv", "question\nWhy?\n\n \n", [("Why?", "")], 1),
        ("a.jsonl", '{"question": "Why?"}\n{"text": "x"}\nnonsense\n{"question": [7]}\n[1]\n', [("Why?", "")], 4),
        ("a.jsonl", '{" Question": "How many?", "answer": 5}\n{"question": "Which?", "answer": null}\n', [("How many?", "5"), ("Which?", "")], 0),
        ("a.csv", "nr;Question;Answer\n1;Who, then?;Ida\n2;\"So; why?\";\n", [("Who, then?", "Ida"), ("So; why?", "")], 0),
        ("a.csv", "question\nHow many, and why?\nWho?,,\n", [("Who?", "")], 1),
        ("a.csv", "a;question\r1;Who, or what, or why?\r", [("Who, or what, or why?", "")], 0),
        ("a.jsonl", '{"question": NaN}\n{"question": true}\n{"question": "Who?"}\n', [("Who?", "")], 2),
        ("a.TSV", "question\tanswer\nWho, then?\tIda; Bo\n", [("Who, then?", "Ida; Bo")], 0),
    ],
)  # fmt: skip
def test_logs_are_read(
    tmp_path: Path, name: str, text: str, read: list[tuple[str, str]], faults: int
) -> None:
    (tmp_path / name).write_text(text)
    found, bad = read_log(tmp_path / name)
    assert ([(one.question, one.answer) for one in found], len(bad)) == (read, faults)
    assert all(f"{name}:" in one for one in bad)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_spreadsheets_write_several_encodings(tmp_path: Path, encoding: str) -> None:
    text = "question,answer\r\nWhen does the café on the quay - the old one - open?,“at eight”\r\n"
    (tmp_path / "a.csv").write_bytes(text.encode(encoding))
    (found,) = read_log(tmp_path / "a.csv")[0]
    assert (found.question, found.answer) == tuple(text.splitlines()[1].split(","))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.jsonl", b""),
        ("a.csv", b"text\nx\n"),
        ("a.csv", b"\xff\xfe\x00"),
        ("a.csv", b'question\nWho?\n"Why?\nWhen?\n'),
        ("no.csv", None),
    ],
)
def test_a_log_without_questions_is_one_line(tmp_path: Path, name: str, data: bytes | None) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(ConfigError, match=name):
        read_log(tmp_path / name)


def test_a_row_without_a_question_says_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("query,user\nWhy?,ida\n")
    with pytest.raises(ConfigError, match="fields: query, user"):
        read_log(tmp_path / "a.csv")
