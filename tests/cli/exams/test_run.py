"""`qagen exam run` on a bank that is there: it adds, it never takes, and a run that fails changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster.loop.exams.bank import publish_bank
from qagen_dagster.loop.exams.plan import PartPlan
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.exams.bank import SlotResult
from tests.cli.conftest import Command
from tests.support.exams.items import item, question
from tests.support.exams.mini import accepted, store_part, write_exam
from tests.support.exams.play import idea
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


@pytest.fixture
def bank(qagen: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """A published bank of four items, one in each part."""
    monkeypatch.setenv("QAGEN_PROFILE", "embedded")
    folder = write_exam(qagen.project.corpora)
    space = Workspace(qagen.project.settings(profile="embedded"))
    for part in PARTS:
        store_part(space, part, made)
    publish_bank(space, "mini", "run-0")
    assert qagen("exam", "run", "--exam", "mini").code == 0
    assert len(ids(qagen)) == len(PARTS)
    assert folder.is_dir()
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
