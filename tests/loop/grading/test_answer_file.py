"""The lines of a file of answers have a limit of size."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from qagen_dagster.loop.grading.answer_file import MOST_BYTES, lines, read_object


def test_a_line_of_exactly_the_limit_is_read_and_a_longer_one_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    long = b'{"a": "%s"}' % (b"x" * (MOST_BYTES - 9))
    file.write_bytes(b"\n".join([long, long + b" ", json.dumps({"b": 1}).encode()]))
    first, second, third = lines(file)
    assert (first[0], second[0], third[0]) == (1, 2, 3)
    assert read_object(first[1])["a"]
    with pytest.raises(ValueError, match="longer than 16,000,000 bytes"):
        read_object(second[1])
    assert read_object(third[1]) == {"b": 1}
