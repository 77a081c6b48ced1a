"""`qagen exam run` on a bank that is there: it adds, it never takes, and a run that fails changes nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from qagen_dagster.loop.exams.bank import publish_bank
from qagen_dagster.loop.exams.plan import PartPlan
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.exams.bank import PartSet, SlotResult
from qagen_dagster.records.exams.submissions import ExamPart
from qagen_dagster.settings import PROJECT_ROOT
from tests.cli.conftest import Command
from tests.support.exams.items import item, question
from tests.support.exams.mini import accepted, store_part, write_exam
from tests.support.exams.play import idea
from tests.support.graph import GraphRun
from tests.support.once import once
from tests.support.project import Project
from tests.support.wire_server import Call, Fault, Reply, Seen, Step, WireServer

PARTS = {
    "mini/M1/easy": "Apples?",
    "mini/M1/hard": "Boats?",
    "mini/P2/easy": "Clouds?",
    "mini/P2/hard": "Drums?",
}
ROLES = ("generator", "validator", "deduplicator", "designer", "implementer", "verifier", "style_judge")
PROFILE = "roles:\n" + "".join(
    f"  {role}: {{{{provider: openai_compatible, model: {role}, base_url: '{{url}}'}}}}\n" for role in ROLES
)


def made(plan: PartPlan, slot: int) -> SlotResult:
    one = item(question(PARTS[plan.part.key]), plan.part.schema_id, plan.part.difficulty)
    return accepted(plan, slot, one)


@pytest.fixture(scope="session")
def banked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a project with a published bank of four items, one in each part. Tests copy it."""
    return once(tmp_path_factory, "banked", _bank)


def _bank(folder: Path) -> None:
    project = Project.make(folder)
    write_exam(project.corpora)
    space = Workspace(project.settings(profile="embedded"))
    for part in PARTS:
        store_part(space, part, made)
    publish_bank(space, "mini", "run-0")
    assert project.qagen("exam", "run", "--exam", "mini", QAGEN_PROFILE="embedded").code == 0


@pytest.fixture
def bank(qagen: Command, banked: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command in a copy of `banked`."""
    monkeypatch.setenv("QAGEN_PROFILE", "embedded")
    shutil.rmtree(qagen.project.root)
    shutil.copytree(banked, qagen.project.root)
    assert len(ids(qagen)) == len(PARTS)
    return qagen


def ids(qagen: Command) -> list[str]:
    return (Path(qagen.project.assets) / "exams/mini/accepted.jsonl").read_text().splitlines()


def kept(qagen: Command) -> dict[str, bytes]:
    """The bank: its files, its exports and its sets."""
    stored = qagen.project.stored("exams/mini")
    return {
        name: data
        for name, (data, _) in stored.items()
        if "/results/" not in name and "/journals/" not in name
    }


def test_a_smaller_goal_takes_nothing_and_replace_does(bank: Command) -> None:
    before = kept(bank)
    found = bank("exam", "run", "--items", "2")
    assert (found.code, kept(bank) == before) == (0, True), found.err
    assert "everything is up to date" in found.err
    found = bank("exam", "run", "--items", "2", "--seed", "5", "--w-hard", "0")
    assert (found.code, kept(bank) == before) == (0, True), found.err
    assert "--replace makes them anew" in found.err
    found = bank("exam", "run", "--items", "2", "--replace")
    assert found.code == 0, found.err
    assert len(ids(bank)) == 2
    before = kept(bank)
    assert bank("exam", "run", "--items", "2", "--replace").code == 0
    assert kept(bank) == before


@pytest.mark.parametrize("words", [("--items", "8"), ("--items", "2", "--replace")])
def test_a_run_that_fails_changes_nothing(bank: Command, words: tuple[str, ...]) -> None:
    before = kept(bank)

    def designs_only(seen: Seen, _number: int) -> Step:
        designer = seen.body["model"] == "designer"
        return Reply(calls=(Call("submit_idea", idea()),)) if designer else Fault(401)

    with WireServer(designs_only) as server:
        bank.project.profile("broken", PROFILE.format(url=server.url("openai_compatible")))
        found = bank("exam", "run", "--profile", "broken", *words)
    assert found.code == 1
    assert "401" in found.err
    assert kept(bank) == before


def test_items_of_a_schema_that_is_removed_stay_until_they_are_replaced(bank: Command) -> None:
    write_again = bank.project.corpora / "exams" / "mini" / "schemas.md"
    write_again.write_text(write_again.read_text().partition("## P2")[0])
    before = ids(bank)
    assert bank("exam", "run", "--items", "2").code == 0
    assert ids(bank) == before
    assert "P2 " in bank("exam", "status").out
    assert bank("exam", "run", "--items", "2", "--replace").code == 0
    assert ids(bank) == [one for one in before if '"schema_id":"M1"' in one]


@pytest.fixture
def esat(qagen: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The shipped exam, of which the embedded models make items."""
    monkeypatch.setenv("QAGEN_PROFILE", "embedded")
    shutil.copytree(PROJECT_ROOT / "corpora/exams/esat", qagen.project.corpora / "exams/esat")
    return qagen


def esat_ids(qagen: Command) -> list[str]:
    return (Path(qagen.project.assets) / "exams/esat/accepted.jsonl").read_text().splitlines()


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param([("--schema", "M1,P2", "--items", "8")], marks=pytest.mark.long),
        pytest.param(
            [
                ("--schema", "M1", "--items", "3", "--seed", "7"),
                ("--schema", "M1,P2", "--items", "8", "--seed", "9"),
            ],
            marks=pytest.mark.long,
        ),
        [
            ("--schema", "M1", "--items", "4", "--w-easy", "0", "--max-implementer-retries", "0"),
            ("--items", "1"),
        ],
    ],
)
def test_what_a_command_asked_for_is_not_out_of_date(esat: Command, runs: list[tuple[str, ...]]) -> None:
    for words in runs:
        assert esat("exam", "run", "--exam", "esat", *words).code == 0
    before = esat_ids(esat)
    with GraphRun(esat.project, profile="embedded") as graph:
        assert graph.settle() == []
        assert graph.nightly().tasks == []
        assert esat("stale").out.count("exam") == 0
        part = "esat/M1/medium"
        graph.materialize(part, "idea_plans", "exam_items")  # as a backfill does
        graph.materialize("esat", "item_bank")
        assert set(before) <= set(esat_ids(esat))
        assert [one for one in graph.settle() if "exam" in str(one)] == []
    assert set(before) <= set(esat_ids(esat))


def test_a_changed_exam_makes_as_many_items_again(esat: Command) -> None:
    assert esat("exam", "run", "--exam", "esat", "--schema", "M1", "--items", "4").code == 0
    before = esat_ids(esat)
    path = esat.project.corpora / "exams/esat/exam.yaml"
    path.write_text(path.read_text().replace("seed: 0", "seed: 11"))
    with GraphRun(esat.project, profile="embedded") as graph:
        assert graph.settle() != []
        assert graph.settle() == []
    assert len(esat_ids(esat)) >= len(before) - 1
    assert esat_ids(esat) != before


def test_free_models_do_not_replace_what_paid_ones_made(bank: Command) -> None:
    store = Workspace(bank.project.settings()).store
    for part in PARTS:
        key = ExamPart.from_key(part).set_key()
        found = store.read(key, PartSet)
        paid = dict.fromkeys(found.models, "openai:gpt-5")
        store.write(key, found.model_copy(update={"models": paid, "fingerprint": "of other models"}))
    before = ids(bank)
    with GraphRun(bank.project, profile="embedded") as graph:
        assert [one for one in graph.settle() if "exam_part" in str(one)] == []
    assert ids(bank) == before
