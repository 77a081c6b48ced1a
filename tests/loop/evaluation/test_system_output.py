from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.evaluation.score import given_output, read_output
from qagen_dagster.records.scores import Passage

KNOWN = ("q-1", "q-2")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("no JSON", "not JSON"),
        ("[]", "not an object"),
        ('{"answer": "12 m"}', "`id`: Field required"),
        ('{"id": "q-9", "answer": "12 m"}', "no published question has the id 'q-9'"),
        ('{"id": "q-1", "answer": 12}', "`answer`: Input should be a valid string"),
        ('{"id": "q-1", "passages": [{"start_line": 3}]}', "`passages.0.document_id`: Field required"),
        ('{"id": "q-1", "passages": "a.txt"}', "`passages`: Input should be a valid tuple"),
        ('{"id": "q-1"}', "it has neither `answer` nor `passages`"),
    ],
    ids=["no JSON", "list", "no id", "unknown id", "number", "no document", "one passage", "empty"],
)
def test_a_row_that_cannot_be_used_is_named_by_its_line(tmp_path: Path, line: str, why: str) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(f'{{"id": "q-2", "answer": "x"}}\n\n{line}\n')
    found = read_output(path, KNOWN)
    assert (found.name, list(found.answers)) == ("mine", ["q-2"])
    (fault,) = found.faults
    assert fault.startswith(f"{path}:3: {why}"), fault


def test_rows_may_have_fields_of_their_own_and_passages_of_two_forms() -> None:
    passages = ["a.txt", {"document_id": "b.txt", "start_line": 2, "end_line": 4, "score": 0.7}]
    found = given_output("rows", [{"id": "q-1", "passages": passages, "seconds": 3}], KNOWN)
    assert found.faults == ()
    assert found.answers["q-1"].passages == (
        Passage(document_id="a.txt"),
        Passage(document_id="b.txt", start_line=2, end_line=4),
    )


def test_the_first_row_of_a_question_counts() -> None:
    found = given_output("rows", [{"id": "q-1", "answer": text} for text in "ab"], KNOWN)
    assert found.answers["q-1"].answer == "a"
    assert found.faults == ("rows:2: a row above has the id 'q-1', too",)


def test_a_file_that_is_not_there_is_an_error_of_usage(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_output(tmp_path / "none.jsonl", KNOWN)
