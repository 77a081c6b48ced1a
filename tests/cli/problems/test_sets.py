"""`qagen process --set`: a problem set of the corpora on the asset graph, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command, Play
from tests.support.problems.files import picture, write_set
from tests.support.problems.play import classified

MORE = """\
  - {file: photo.png, kind: subjective}
variants: [numerical]
combine: [[problems-01, problems-02], [problems-01, photo]]
"""


@pytest.fixture
def play(play: Play, qagen: Command) -> Play:
    """The same, beside a set to work."""
    (write_set(qagen.project.corpora, items=2, more=MORE) / "sources" / "photo.png").write_bytes(picture())
    return play


def test_a_set_is_worked_once_and_its_bank_written(qagen: Command, play: Play, tmp_path: Path) -> None:
    board = play()
    out = tmp_path / "out"
    first = qagen("process", "--set", "motion", "-o", str(out))
    assert first.code == 0, first.err
    assert first.out.startswith(
        "motion: 5 of 5 problems accepted, see "
    )  # two items, a picture, two combinations
    calls, made = len(board.received), (out / "bank.json").read_bytes()
    assert made == (Path(qagen.project.assets) / "problems" / "motion" / "bank.json").read_bytes()
    assert (out / "tex" / "main.tex").is_file()
    again = qagen("process", "--set", "motion", "--json")
    assert (again.code, again.value["failures"], len(board.received)) == (0, [], calls)
    assert [one["id"] for one in again.value["problems"]] == [
        "problems-01", "problems-02", "photo", "multi-1", "multi-2",
    ]  # fmt: skip
    assert json.loads(made)["name"] == "motion"


def test_a_combination_with_a_rejected_part_is_told(qagen: Command, play: Play) -> None:
    board = play(submit_scan={"latex": "\\item no solution"})
    found = qagen("process", "--set", "motion")
    assert found.code == 1
    assert "qagen: error: photo: scan: rejected: property 3: " in found.err
    assert "qagen: error: multi-2: there is no finished item of photo" in found.errors
    assert found.out.startswith("motion: 3 of 4 problems accepted, see ")
    assert len([one for one in board.received if "Variant: multi" in one.user]) == 1


def test_a_variant_that_nobody_can_make_is_a_warning(qagen: Command, play: Play) -> None:
    play(submit_variant={"reason": "It has no number."})
    found = qagen("process", "--set", "motion", "--json")
    said = [
        f"{one}: variant-numerical-1: declined: It has no number."
        for one in ("problems-01", "problems-02", "photo")
    ]
    assert found.value["warnings"] == said
    assert f"qagen: warning: problems-01 and 2 more: {said[0].partition(': ')[2]}" in found.err
    # A combination is a variant and nothing else: without it there is no problem.
    assert [one.partition(":")[0] for one in found.value["failures"]] == ["multi-1", "multi-2"]
    assert (found.code, found.value["ok"]) == (1, False)


def test_an_unsure_classification_of_a_set_is_told(qagen: Command, play: Play) -> None:
    play(submit_classification=classified(confidence=0.3))
    found = qagen("process", "--set", "motion")
    assert found.code == 0, found.err
    assert (
        "qagen: warning: problems-01 and 2 more: the classification is unsure (confidence 0.3)" in found.err
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--set", "nowhere"), "there is no problem set 'nowhere'"),
        (("--set", "motion", "--variants", "context"), "--set takes files and tasks from problems.yaml"),
        (("--set", "motion", "-t", "x.tex"), "--set takes files and tasks from problems.yaml"),
        (("--set", "motion", "--profile", "gone"), "gone"),
    ],
)
def test_a_set_that_cannot_be_worked_is_one_line(
    qagen: Command, play: Play, words: tuple[str, ...], said: str
) -> None:
    board = play()
    found = qagen("process", *words)
    assert (found.code, len(found.errors), board.received) == (2, 1, []), found.err
    assert said in found.err
