"""A FIFO, a device or an enormous file on the command line is one line instead of a hang."""

from __future__ import annotations

import os
from pathlib import Path

from tests.cli.conftest import Command


def told(qagen: Command, *words: str | Path) -> tuple[int, str]:
    ended = qagen(*map(str, words))
    assert len(ended.errors) == 1, ended.err
    return ended.code, ended.errors[0]


def test_what_is_no_regular_file_is_one_line(qagen: Command, tmp_path: Path) -> None:
    pipe, note = tmp_path / "pipe.tex", tmp_path / "note.md"
    os.mkfifo(pipe)
    note.write_text("The mast is nine metres high.\n")
    assert told(qagen, "grade", "--answers", pipe, "--documents", note, "--method", "keyword") == (
        2,
        f"qagen: error: {pipe}: cannot be read: it is not a regular file",
    )
    assert told(qagen, "classify", "-t", pipe)[1] == f"qagen: error: {pipe} is not a regular file"
    assert told(qagen, "scan", "-i", "/dev/zero")[1] == "qagen: error: /dev/zero is not a regular file"
    assert "is not a file" in told(qagen, "answer", pipe, "Who?", "--profile", "embedded")[1]
    asked = ("answer", note, "Who?", "--profile", "embedded", "--fulltext")
    assert told(qagen, *asked, pipe) == (2, f"qagen: error: {pipe} cannot be read: it is not a regular file")
    assert "not a regular file" in told(qagen, *asked, "/dev/zero")[1]


def test_an_enormous_file_is_refused_before_it_is_copied(qagen: Command, tmp_path: Path) -> None:
    for name in ("big.md", "big.pdf", "big.tex"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(40_000_000_000)
    (tmp_path / "note.md").write_text("The mast is nine metres high.\n")
    ask = ("Who?", "--profile", "embedded")
    assert "too_large" in told(qagen, "answer", tmp_path / "big.md", *ask)[1]
    assert (
        "too_large"
        in told(qagen, "answer", tmp_path / "note.md", *ask, "--fulltext", tmp_path / "big.pdf")[1]
    )
    assert "too_large" in told(qagen, "classify", "-t", tmp_path / "big.tex")[1]
