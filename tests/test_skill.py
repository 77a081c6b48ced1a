"""SKILL.md, as an agent that follows it: every command parses, and the recipes run one after another."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import click
import pytest

from qagen_dagster.settings import PROJECT_ROOT
from tests.support.command_tree import whole_command
from tests.support.project import Project

TEXT = (PROJECT_ROOT / "qagen_dagster/SKILL.md").read_text()
COMMANDS, *RECIPES = (
    [shlex.split(line, comments=True)[1:] for line in block.splitlines() if line.startswith("qagen ")]
    for block in re.findall(r"```\n(.*?)```", TEXT, re.DOTALL)
)
KEY = "manuals/retrieval/textual"


def test_it_has_a_name_a_description_ten_commands_and_three_recipes() -> None:
    assert re.match(r"---\nname: qagen\ndescription: .{50,1000}\n---\n", TEXT)
    assert (len(COMMANDS), len(RECIPES)) == (10, 3)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_its_commands_parse(words: list[str]) -> None:
    command: click.Command = whole_command()
    while isinstance(command, click.Group):
        command, words = command.commands[words[0]], words[1:]
    command.make_context("qagen", list(words), resilient_parsing=False)


def test_its_recipes_run(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")

    def carry_out(recipe: list[list[str]]) -> list[str]:
        ended = [project.qagen(*words, QAGEN_PROFILE="embedded") for words in recipe]
        assert [(one.code, one.err) for one in ended if one.code] == []
        return [one.out for one in ended]

    carry_out(RECIPES[0][:1])
    documents = project.corpora / "manuals/documents"
    for file in (PROJECT_ROOT / "corpora/town_records/documents").glob("council*"):
        (documents / file.name).write_bytes(file.read_bytes())
    carry_out(RECIPES[0][1:])
    next(documents.glob("council*")).unlink()
    assert json.loads(carry_out(RECIPES[1])[-1])
    rows = [
        json.dumps({"id": one["id"], "answer": one["answer"]}) for one in project.published(KEY)["questions"]
    ]
    (project.root / "mine.jsonl").write_text("\n".join(rows))
    scored = json.loads(carry_out(RECIPES[2])[-1])
    assert rows
    assert scored
