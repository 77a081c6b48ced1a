from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.errors import ConfigError, PermanentModelError, TransientModelError
from qagen_dagster.loop.exams.bank import gather, is_bank_current, is_part_current, keep_part, publish_bank
from qagen_dagster.loop.exams.plan import ExamOptions, PartPlan, plan_part
from qagen_dagster.loop.exams.run_part import part_plans, part_results, run_part
from qagen_dagster.loop.shared_budget import RunSpending
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.base import Model
from qagen_dagster.models.messages import Stop
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.base import Difficulty
from qagen_dagster.records.exams.bank import SlotEnd, SlotResult
from qagen_dagster.records.exams.submissions import ExamPart
from qagen_dagster.settings import Settings
from tests.support import cloze
from tests.support.exams.play import ExamPlay, idea, solved
from tests.support.models import answer, say, told

PART = ExamPart(exam="trial", schema_id="M1", difficulty=Difficulty.EASY)
EXAM = """\
name: Trial
candidate_profile: A schooled person.
difficulties: {easy: 1}
items: 3
"""
SCHEMAS = """\
## M1. Scaling
### Core thinking move
See the ratio.
### Contexts
- solids
### Wrong paths
- one
- two
- three
"""
PROFILE = """\
roles:
  generator: {provider: scripted, model: g}
  validator: {provider: scripted, model: v}
  deduplicator: {provider: scripted, model: d}
  designer: {provider: scripted, model: designer}
  implementer: {provider: scripted, model: implementer}
  verifier: {provider: scripted, model: verifier}
  style_judge: {provider: scripted, model: style_judge}
"""


@dataclass(frozen=True)
class Played(Workspace):
    """A workspace whose models play a piece."""

    plays: list[ExamPlay] = field(default_factory=list[ExamPlay])

    def model(self, spec: ModelSpec) -> Model:
        return self.plays[-1].fakes[spec.model]


Space = Callable[[ExamPlay], Played]


@pytest.fixture
def space(tmp_path: Path) -> Space:
    folder = tmp_path / "corpora" / "exams" / "trial"
    folder.mkdir(parents=True)
    (folder / "exam.yaml").write_text(EXAM)
    (folder / "schemas.md").write_text(SCHEMAS)
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "mine.yaml").write_text(PROFILE)
    (tmp_path / "profiles" / "dry_run.yaml").write_text(cloze.PROFILE.read_text())
    settings = Settings(
        corpora=tmp_path / "corpora",
        assets=str(tmp_path / "assets"),
        profile="mine",
        profiles=tmp_path / "profiles",
        document_workers=3,
    )
    return lambda play: Played(settings, [play])


def planned(space: Played, **options: object) -> PartPlan:
    return plan_part(space, PART, ExamOptions(**options))  # pyright: ignore[reportArgumentType]


def ends(space: Played, plan: PartPlan) -> list[tuple[int, str]]:
    return [(one.slot, one.end.value) for one in part_results(space, plan)]


def test_designs_come_first_and_know_each_other(space: Space) -> None:
    play = ExamPlay()
    here = space(play)
    plan = planned(here)
    outcome = run_part(here, plan, "run-1", design_only=True)
    assert outcome.finished == [1, 2, 3]
    assert {role for role, _, _ in play.log} == {"designer"}
    shown = [told(request) for request in play.fakes["designer"].requests]
    assert "(none yet)" in shown[0]
    assert "as in case i. Asked for: the ratio of volumes" in shown[2]
    assert "as in case ii." in shown[2]
    assert [one.plan is not None for one in part_plans(here, plan)] == [True] * 3
    assert part_results(here, plan) == ()
    assert run_part(here, plan, "run-2", design_only=True).reused == [1, 2, 3]

    notes: list[tuple[int, int, str]] = []
    done = run_part(here, plan, "run-3", lambda *said: notes.append(said))
    assert done.finished == [1, 2, 3]
    assert play.asked("designer") == 3, "designed once"
    assert ends(here, plan) == [(1, "accepted"), (2, "accepted"), (3, "accepted")]
    assert [note[:2] for note in notes] == [(1, 3), (2, 3), (3, 3)]
    assert {one.run_id for one in part_results(here, plan)} == {"run-3"}
    again = run_part(here, plan, "run-4")
    assert again.reused == [1, 2, 3]
    assert len(play.log) == 3 + 3 * 4


def test_more_items_leave_those_there_are_alone(space: Space) -> None:
    play = ExamPlay()
    here = space(play)
    run_part(here, planned(here), "run-1")
    more = planned(here, items=5)
    outcome = run_part(here, more, "run-2")
    assert (outcome.reused, outcome.finished) == ([1, 2, 3], [4, 5])


def test_a_run_of_another_seed_works_only_the_slots_that_are_missing(space: Space) -> None:
    play = ExamPlay()
    here = space(play)
    first = planned(here)
    run_part(here, first, "run-1")
    keep_part(here, first, "run-1", "")
    more = planned(here, items=5, seed=1)
    asked = play.asked("designer")
    outcome = run_part(here, more, "run-2")
    assert (outcome.reused, outcome.finished) == ([1, 2, 3], [4, 5])
    assert play.asked("designer") == asked + 2
    assert "as in case iii." in told(play.fakes["designer"].requests[-1]), "designs know those that stay"
    assert [one.slot for one in part_results(here, more)] == [1, 2, 3, 4, 5]
    assert run_part(here, planned(here, seed=1, replace=True), "run-3").finished == [1, 2, 3]


def test_another_seed_or_model_is_other_work(space: Space) -> None:
    here = space(ExamPlay())
    plans = [planned(here), planned(here, seed=1), planned(here, models={"designer": "implementer"})]
    plans.append(planned(here, max_implementer_retries=5))
    assert len({plan.fingerprint for plan in plans}) == 3, "limits go on with the same journals"
    assert len({plan.configuration for plan in plans}) == 4


def test_a_designer_that_fails_costs_its_slot_alone(space: Space) -> None:
    def design(slot: int, _number: int) -> object:
        return answer(say("no"), Stop.REFUSAL) if slot == 2 else idea(slot)

    here = space(ExamPlay(design=design))  # pyright: ignore[reportArgumentType]
    plan = planned(here)
    outcome = run_part(here, plan, "run-1")
    assert (outcome.finished, outcome.failed) == ([1, 3], {2: "model_error: refused: no"})
    assert ends(here, plan) == [(1, "accepted"), (3, "accepted")]


def test_a_failing_model_is_reported_and_the_next_run_goes_on(space: Space) -> None:
    def implement(slot: int, attempt: int) -> object:
        if slot == 2:
            raise TransientModelError("503")
        return ExamPlay().implement(slot, attempt)

    here = space(ExamPlay(implement=implement))  # pyright: ignore[reportArgumentType]
    plan = planned(here)
    outcome = run_part(here, plan, "run-1")
    assert (outcome.finished, outcome.failed) == ([1, 3], {2: "503"})
    assert ends(here, plan) == [(1, "accepted"), (3, "accepted")]
    here.plays.append(ExamPlay())
    assert run_part(here, plan, "run-2").finished == [2]
    assert here.plays[-1].asked("designer") == 0


def test_after_failures_for_good_the_rest_is_not_tried(space: Space) -> None:
    def before(_role: str) -> None:
        raise PermanentModelError("401")

    here = space(ExamPlay(before=before))
    outcome = run_part(here, planned(here, items=6), "run-1")
    assert list(outcome.failed) == [1, 2, 3, 4, 5, 6]
    assert list(outcome.failed.values())[:3] == ["401"] * 3
    assert all("not tried" in said for said in list(outcome.failed.values())[3:])


def test_a_budget_that_ends_is_an_outcome_and_the_next_run_goes_on(space: Space) -> None:
    play = ExamPlay()
    here = space(play)
    plan = planned(here, max_calls=4)
    notes: list[str] = []
    run_part(here, planned(here, max_calls=0), "run-0", lambda *said: notes.append(said[2]), design_only=True)
    assert notes == [f"trial/M1/easy {slot}: budget exhausted" for slot in (1, 2, 3)]
    outcome = run_part(here, plan, "run-1")
    assert outcome.finished == []
    assert outcome.stopped == [1, 2, 3]
    results = part_results(here, plan)
    assert {one.end for one in results} == {SlotEnd.BUDGET_EXHAUSTED}
    assert "the run's max_calls 4" in results[0].end_detail
    assert 4 <= sum(len(one.calls) for one in results) <= 6, "each worker may have one call under way"
    later = planned(here)
    assert run_part(here, later, "run-2").finished == [1, 2, 3]
    assert ends(here, later) == [(1, "accepted"), (2, "accepted"), (3, "accepted")]
    assert len(play.log) == 15, "nothing was asked twice"


def test_other_processes_of_a_run_see_what_a_part_has_paid(space: Space) -> None:
    here = space(ExamPlay())
    plan = planned(here, max_calls=9)
    run_part(here, plan, "run-1", spending_id="launch", design_only=True)
    folders = ("exams/trial/M1/easy", "exams/trial/M1/hard", "water/facts/textual")
    books = [RunSpending(here.store, f"spending/launch/{folder}") for folder in folders]
    assert [[spent.calls for spent in book.totals()] for book in books] == [[3, 3], [3, 0], [3, 0]]


def test_options_are_checked(space: Space) -> None:
    here = space(ExamPlay())
    for options, said in (
        ({"seed": -1}, "the seed must be 0 to"),
        ({"items": 100_000}, "number of items 1 to"),
        ({"items": 0}, "number of items 1 to"),
        ({"max_designer_retries": -1}, "the number of retries must be 0 or more"),
        ({"schema_prefixes": ("P",)}, "no selected schema of exam trial"),
        ({"weights": {Difficulty.EASY: 0}}, "no selected difficulty of exam trial"),
        ({"models": {"judge": "x"}}, "there is no exam role 'judge'"),
        ({"models": {"verifier": "implementer"}}, "implementer and verifier are the same model"),
        ({"profile": "nowhere"}, "there is no profile"),
        ({"profile": "dry_run"}, "binds no model to designer, implementer, verifier, style_judge"),
    ):
        with pytest.raises(ConfigError, match=said):
            planned(here, **options)
    with pytest.raises(ConfigError, match="there is no schema 'M9'"):
        plan_part(here, PART.model_copy(update={"schema_id": "M9"}), ExamOptions())
    with pytest.raises(ConfigError, match="has no part trial/M1/hard"):
        plan_part(here, PART.model_copy(update={"difficulty": Difficulty.HARD}), ExamOptions())
    other = planned(here, models={"verifier": "openai:gpt-x", "designer": "d2"})
    assert [spec.name for spec in other.specs.values()] == [
        "scripted:d2",
        "scripted:implementer",
        "openai:gpt-x",
        "scripted:style_judge",
    ]


def test_another_model_of_the_same_provider_is_at_the_same_address(space: Space) -> None:
    here = space(ExamPlay())
    assert here.settings.profiles is not None
    mine = here.settings.profiles / "mine.yaml"
    mine.write_text(
        PROFILE.replace(
            "verifier: {provider: scripted, model: verifier}",
            "verifier: {provider: openai_compatible, model: v1, base_url: 'http://127.0.0.1:9/v1'}",
        )
    )
    for name in ("v2", "openai_compatible:v2"):
        verifier = planned(here, models={"verifier": name}).specs[Role.VERIFIER]
        assert (verifier.name, verifier.base_url) == ("openai_compatible:v2", "http://127.0.0.1:9/v1")


def test_a_design_that_is_made_up_for_knows_those_after_it(space: Space) -> None:
    def design(slot: int, _number: int) -> object:
        if slot == 2:
            raise TransientModelError("503")
        return idea(slot)

    here = space(ExamPlay(design=design))  # pyright: ignore[reportArgumentType]
    assert list(run_part(here, planned(here), "run-1", design_only=True).failed) == [2]
    here.plays.append(ExamPlay())
    assert run_part(here, planned(here), "run-2", design_only=True).finished == [2]
    (request,) = here.plays[-1].fakes["designer"].requests
    for case in ("as in case i.", "as in case iii."):
        assert case in told(request)


def test_slots_draw_apart(space: Space) -> None:
    play = ExamPlay(solve=lambda _slot, attempt: solved("B" if attempt > 1 else "A"))
    here = space(play)
    run_part(here, planned(here, seed=5), "run-1")
    samples = [request.sample for fake in play.fakes.values() for request in fake.requests]
    assert len(set(samples)) == len(samples) - 0


@pytest.mark.parametrize("data", [b"", b'{"slot', b"\xff\x00", b"[1]"])
def test_a_damaged_result_is_made_again_from_its_journal(space: Space, data: bytes) -> None:
    play = ExamPlay()
    here = space(play)
    plan = planned(here)
    run_part(here, plan, "run-1")
    keep_part(here, plan, "run-1", "then")
    asked, before = len(play.log), here.store.read(plan.result_key(2), SlotResult)
    assert is_part_current(here, planned(here))
    here.store.write_bytes(plan.result_key(2), data)
    assert not is_part_current(here, planned(here))
    assert run_part(here, planned(here), "run-2").finished == [2]
    assert len(play.log) == asked
    assert here.store.get(f"{plan.result_key(2)}.damaged") == data
    after = here.store.read(plan.result_key(2), SlotResult)
    assert after.model_copy(update={"run_id": "run-1", "finished": before.finished}) == before
    here.store.write_bytes(plan.part.set_key(), data)
    assert not is_part_current(here, planned(here))
    keep_part(here, planned(here), "run-2", "then")
    assert is_part_current(here, planned(here))
    assert here.store.get(f"{plan.part.set_key()}.damaged") == data


def test_the_designer_of_a_damaged_journal_is_asked_what_it_was_asked_before(space: Space) -> None:
    play = ExamPlay()
    here = space(play)
    plan = planned(here)
    run_part(here, plan, "run-1")
    asked = list(play.fakes["designer"].requests)
    (key,) = here.store.list("exams/trial/journals/M1/easy/0002")
    here.store.write_bytes(key, b"{")
    again = ExamPlay()
    here.plays.append(again)
    assert run_part(here, plan, "run-2", design_only=True).finished == [2]
    assert again.fakes["designer"].requests == asked[1:2], "so the ledger replays the response"
    assert here.store.get(f"{key}.damaged") == b"{"


def test_a_part_that_needs_no_run_is_one_when_its_set_is_damaged(space: Space) -> None:
    here = space(ExamPlay())
    plan = replace(planned(here), slots=0)
    assert (plan.slots, is_part_current(here, plan)) == (0, True)
    here.store.write_bytes(plan.part.set_key(), b"{")
    assert not is_part_current(here, plan)
    assert not is_bank_current(here, "trial")
    assert gather(here, "trial").results == ()
    keep_part(here, plan, "run-1", "then")
    assert is_part_current(here, plan)


def test_the_items_of_a_part_whose_set_is_damaged_stay_in_the_bank(space: Space) -> None:
    here = space(ExamPlay())
    plan = planned(here)
    run_part(here, plan, "run-1")
    keep_part(here, plan, "run-1", "then")
    items = publish_bank(here, "trial", "run-1").bank.items
    assert len(items) == 3
    here.store.write_bytes(plan.part.set_key(), b"{")
    assert not is_part_current(here, planned(here))
    assert publish_bank(here, "trial", "run-2").bank.items == items
