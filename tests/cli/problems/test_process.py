"""`qagen process --set`: a problem set of the corpora on the asset graph, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from qagen_dagster.configuration.problems import find_problem_set
from qagen_dagster.loop.problems.bank import keep_sources, plan_problem_set, publish_problem_bank
from qagen_dagster.loop.problems.plan import ProblemOptions
from qagen_dagster.loop.problems.run_set import run_stages
from qagen_dagster.loop.problems.state_machine import FULL
from qagen_dagster.loop.workspace import Workspace
from tests.cli.conftest import Command, Play
from tests.support.problems.board import PROFILE
from tests.support.problems.files import YAML, picture, write_set
from tests.support.problems.play import classified
from tests.support.project import Ended
from tests.support.wire_server import Fault, WireServer

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


def test_a_bank_is_added_to_and_only_replaced_when_told(qagen: Command, play: Play, tmp_path: Path) -> None:
    board = play()
    folder = qagen.project.corpora / "problems" / "motion"
    (folder / "problems.yaml").write_text(YAML.format(more="variants: [numerical]\nvariants_each: 2\n"))
    bank = Path(qagen.project.assets) / "problems" / "motion"
    out = tmp_path / "out"

    def kept() -> dict[str, bytes]:
        paths = [*bank.glob("*.json*"), *(bank / "exports").rglob("*"), *out.rglob("*")]
        return {str(one): one.read_bytes() for one in paths if one.is_file() and one.name != "sources.json"}

    def run(yaml: str, *words: str) -> Ended:
        (folder / "problems.yaml").write_text(yaml)
        return qagen("process", "--set", "motion", "-o", str(out), *words)

    less = YAML.format(more="variants: [numerical]\nseed: 5\n").replace("tex}", "tex, range: [1, 1]}")
    whole = YAML.format(more="variants: [numerical]\nvariants_each: 2\n")
    assert run(whole).code == 0
    before, calls = kept(), len(board.received)
    found = run(less)
    assert (found.code, kept() == before, len(board.received)) == (0, True, calls), found.err

    source = folder / "sources" / "problems.tex"
    text = source.read_text()
    source.write_text(text.replace("2\\,", "9\\,"))
    found = run(whole)
    assert (found.code, kept() == before, len(board.received)) == (0, True, calls), found.err
    assert "problems-01: its source has changed, and the bank keeps the earlier problem" in found.err
    source.write_text(text)

    board.replies = {"submit_variant": {"latex": "nothing"}}
    found = run(less.replace("[numerical]", "[numerical, context]"))
    assert (found.code, kept() == before) == (1, False), (
        "a variant that is not there is told, the others stay"
    )
    assert json.loads((bank / "bank.json").read_bytes())["problems"][0]["variants"].keys() == {
        "numerical", "numerical-2",
    }  # fmt: skip
    before = kept()
    with WireServer(then=Fault(401)) as server:
        qagen.project.profile("gone", PROFILE.format(url=server.url("openai_compatible")))
        for words in ((), ("--replace",)):
            found = run(less.replace("[numerical]", "[calculus]"), "--profile", "gone", *words)
            assert (found.code, kept() == before) == (1, True), found.err

    board.replies = {}
    assert run(less, "--replace").code == 0
    (one,) = json.loads((bank / "bank.json").read_bytes())["problems"]
    assert (one["id"], list(one["variants"])) == ("problems-01", ["numerical"])


def test_a_damaged_bank_is_made_again_from_its_history(qagen: Command, play: Play, tmp_path: Path) -> None:
    board = play()
    folder = qagen.project.corpora / "problems" / "motion"
    bank = Path(qagen.project.assets) / "problems" / "motion" / "bank.json"
    words = ("process", "--set", "motion", "-o", str(tmp_path / "out"))
    whole = YAML.format(more="variants: [numerical]\n")
    (folder / "problems.yaml").write_text(whole)
    assert qagen(*words).code == 0
    before, calls = bank.read_bytes(), len(board.received)
    bank.write_bytes(before[:99])
    (folder / "problems.yaml").write_text(whole.replace("tex}", "tex, range: [1, 1]}"))
    found = qagen(*words)
    assert (found.code, bank.read_bytes() == before, len(board.received)) == (0, True, calls), found.err
    assert Path(f"{bank}.damaged").read_bytes() == before[:99]
    assert f"{bank} is not a valid ProblemBank" in " ".join(found.err.split())


def test_replace_is_for_sets(qagen: Command, play: Play, tmp_path: Path) -> None:
    play()
    found = qagen("process", "-t", "x.tex", "-o", str(tmp_path / "out"), "--replace")
    assert (found.code, found.errors) == (
        2, ["qagen: error: --replace is for the bank of a problem set (--set)"],
    )  # fmt: skip


def test_a_bank_is_stale_when_the_configuration_or_a_tex_file_changes(qagen: Command, play: Play) -> None:
    play()
    folder = qagen.project.corpora / "problems" / "motion"
    (folder / "problems.yaml").write_text(YAML.format(more="variants: [numerical]\n"))
    assert qagen("process", "--set", "motion").code == 0

    def stale() -> list[str]:
        tasks = qagen("stale", "--json").value["tasks"]
        assert [one["product"] for one in tasks] in ([], ["problems", "catalog"])
        return tasks[0]["reasons"] if tasks else []

    assert stale() == []
    profile = qagen.project.profiles / "remote.yaml"
    text = profile.read_text()
    profile.write_text(text.replace("model: ", "max_output_tokens: 4000, model: "))
    assert stale() == ["outdated problems (2): problems-01, problems-02"]
    profile.write_text(text)
    assert stale() == []
    source = folder / "sources" / "problems.tex"
    source.write_text(source.read_text().replace("2\\,", "9\\,"))
    assert stale() == ["its source files changed"]
    assert qagen("process", "--set", "motion", "--replace").code == 0
    assert stale() == []


def test_what_a_command_made_stays_when_less_is_wanted(
    qagen: Command, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    play()
    folder = qagen.project.corpora / "problems" / "motion"
    whole = YAML.format(more="variants: [numerical]\nvariants_each: 2\n")
    less = YAML.format(more="variants: [numerical]\n").replace("tex}", "tex, range: [1, 1]}")
    (folder / "problems.yaml").write_text(whole)
    assert qagen("process", "--set", "motion", "--profile", "remote").code == 0
    (folder / "problems.yaml").write_text(less)
    for profile in ("remote", "embedded", "dry_run"):
        monkeypatch.setenv("QAGEN_PROFILE", profile)
        assert qagen("stale", "--json").value["tasks"] == [], profile
    remote = qagen.project.profiles / "remote.yaml"
    remote.write_text(remote.read_text().replace("model: ", "max_output_tokens: 4000, model: "))
    assert qagen("stale", "--json").value["tasks"][0]["product"] == "problems"
    space = Workspace(qagen.project.settings(profile="dry_run"))
    found = find_problem_set(space.settings.corpora, "motion")
    keep_sources(space, found)
    plan = plan_problem_set(space, found, ProblemOptions(refresh=True))
    run_stages(space, plan, [one.id for one in plan.problems], FULL, "refresh")
    bank = publish_problem_bank(space, plan, "refresh").bank
    assert {one.id: list(one.variants) for one in bank.problems} == {
        "problems-01": ["numerical", "numerical-2"],
        "problems-02": ["numerical", "numerical-2"],
    }
    assert qagen("stale", "--json").value["tasks"] == []
