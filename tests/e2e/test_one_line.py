"""Rows whose text is one line, through the command: as good as with line breaks, and exported as the file has them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.support.project import Project

PLACES = ("Kelso", "Oban", "Wick")
PARTS = ("pump", "crane", "slipway", "chapel", "winch", "mill", "quay", "tower")
CORPUS = """\
name: Harbours
corpus_context: Notes on harbours.
scenarios:
  agent: {name: A, description: Facts., modes: [textual], target_count: 4}
  batch: {name: B, description: Facts., modes: [textual], strategy: batch, batch: {mix: {factual: 4}}}
"""


def sentences(place: str) -> list[str]:
    """Sentences of which no two name the same thing."""
    return [
        f"The {part} at {place} was built in {1700 + 31 * number + len(place)} for the keeper {place}son and took {number + 3} "
        f"{'summers' if number % 2 else 'winters'} of {part}works."
        for number, part in enumerate(PARTS)
    ]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = Project.make(tmp_path_factory.mktemp("one-line") / "project")
    for corpus, between in (("whole", " "), ("lines", "\n")):
        rows = [{"id": place, "title": place, "content": between.join(sentences(place))} for place in PLACES]
        made.corpus(corpus, CORPUS, {"rows.jsonl": "\n".join(map(json.dumps, rows))})
    ended = made.qagen("run")
    assert ended.code == 0, ended.err
    return made


@pytest.mark.parametrize("scenario", ["agent", "batch"])
def test_one_line_gives_what_lines_give(project: Project, scenario: str) -> None:
    whole, lines = (project.published(f"{one}/{scenario}/textual")["questions"] for one in ("whole", "lines"))
    assert (
        Counter(one["row"] for one in whole)
        == Counter(one["row"] for one in lines)
        == dict.fromkeys(PLACES, 4)
    )
    places = [
        (one["row"], quote["start_line"], quote["end_line"]) for one in whole for quote in one["evidence"]
    ]
    assert len(set(places)) == len(places)
    assert all(first == last for _, first, last in places)
    assert {one["hops"] for one in whole} == {1}


@pytest.mark.parametrize("scenario", ["agent", "batch"])
def test_offsets_of_the_export_are_those_of_the_file(project: Project, scenario: str, tmp_path: Path) -> None:
    combination = ("--corpus", "whole", "--scenario", scenario)
    assert project.qagen("export", *combination, "--format", "squad", "--output", str(tmp_path)).code == 0
    (file,) = tmp_path.rglob("squad.json")
    texts = [" ".join(sentences(place)) for place in PLACES]
    paragraphs = [one for article in json.loads(file.read_text())["data"] for one in article["paragraphs"]]
    assert sum(len(one["qas"]) for one in paragraphs) == 12
    for one in paragraphs:
        assert any(one["context"] in text for text in texts)
        for answer in (answer for question in one["qas"] for answer in question["answers"]):
            assert one["context"][answer["answer_start"] :].startswith(answer["text"])
