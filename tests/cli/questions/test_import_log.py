"""`qagen questions import`: from a log to questions of the set and its gaps."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Command
from tests.loop.questions.test_imported import ASKED, CORPUS, TEXT, UNKNOWN

KNOWN, OTHER = list(ASKED)[:2]
NEAR = "Who paid for the filters of the Harbour Pump?"


@pytest.fixture
def pumps(qagen: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("QAGEN_PROFILE", "embedded")
    documents = {
        "harbour.md": TEXT.format(name="Harbour", year=1987, weight=45),
        "river.md": TEXT.format(name="River", year=1991, weight=51),
    }
    qagen.project.corpus("pumps", CORPUS, documents)
    rows = [
        {"question": KNOWN},
        {"question": OTHER, "answer": "May 2003"},
        {"question": UNKNOWN},
        {"question": NEAR},
        {"text": "x"},
    ]
    (qagen.project.root / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return qagen


def test_a_log_is_published_and_what_is_missing_is_told(pumps: Command) -> None:
    log = str(pumps.project.root / "log.jsonl")
    kept = pumps("questions", "import", log, "--corpus", "pumps", "--no-run")
    assert (kept.code, kept.out) == (0, "4 imported questions are kept for pumps/facts/textual\n")
    assert "log.jsonl:5: it has no text in `question` (fields: text)" in kept.err
    assert pumps("estimate", "--corpus", "pumps").code == 0
    ended = pumps("questions", "import", log, "--corpus", "pumps")
    assert ended.code == 0, ended.err
    assert "4 imported questions: " in ended.out
    assert f"unanswerable: {NEAR}\n  nearest: harbour.md:" in ended.out
    assert "nearest: " not in ended.out.split(UNKNOWN)[1].split("\n\n")[0], "no passage shares a word with it"
    assert f"wrong_answer: {OTHER}" in ended.out
    gap = f"subjects in the log: 4; in the documents, not in the set: 1\n  river.md: {OTHER}\n"
    assert gap in ended.out
    assert pumps("run", "--corpus", "pumps").code == 0
    again = pumps("questions", "import", "--corpus", "pumps", "--json")
    found = json.loads(again.out)
    assert {one["question"] for one in found["questions"]} == {KNOWN, OTHER, UNKNOWN, NEAR}
    listed = json.loads(pumps("questions", "--corpus", "pumps", "--json").out)
    assert any(one["question"] == KNOWN and one["outcome"] == "accepted" for one in listed)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("no.jsonl", "--corpus", "pumps"), "no.jsonl"),
        (("--corpus", "pumps"), "name a file"),
        (("log.jsonl", "--corpus", "rivers"), "rivers"),
    ],
)
def test_what_cannot_be_imported_is_one_line(pumps: Command, words: tuple[str, ...], message: str) -> None:
    ended = pumps("questions", "import", *words)
    assert ended.code != 0
    assert message in ended.err
    assert ended.err.count("\n") == 1
