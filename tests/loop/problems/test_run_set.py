from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.errors import ConfigError, MalformedResponseError, PermanentModelError, TransientModelError
from qagen_dagster.loop.problems.outdated import expected_calls, told_calls
from qagen_dagster.loop.problems.plan import (
    ProblemOptions,
    SetPlan,
    keep_picture,
    picture_key,
    plan_set,
    see_picture,
    vision_fault,
)
from qagen_dagster.loop.problems.run_set import gather_bank, run_stages
from qagen_dagster.loop.problems.state_machine import FULL, Wishes
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.base import Model
from qagen_dagster.models.messages import Request
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.problems.result import ProblemEnd, Stage
from qagen_dagster.records.problems.submissions import Problem, VariantKind
from qagen_dagster.settings import Settings
from tests.support.models import Turn, call, told
from tests.support.problems.play import TERMINALS, ProblemPlay, classified, item, photo, typed

PROFILE = """\
roles:
  generator: {{provider: {generator}, model: g}}
  validator: {{provider: scripted, model: v}}
  deduplicator: {{provider: scripted, model: d}}
"""
BOUND = "".join(f"  {role.value}: {{provider: scripted, model: {role.value}}}\n" for role in TERMINALS)
SMALL = Wishes(
    stages=(Stage.CLASSIFY, Stage.SCAN, Stage.IDEA, Stage.VARIANT), variants=(VariantKind.NUMERICAL,)
)


@dataclass(frozen=True)
class Played(Workspace):
    """A workspace whose models play a piece."""

    plays: list[ProblemPlay] = field(default_factory=list[ProblemPlay])

    def model(self, spec: ModelSpec) -> Model:
        return self.plays[-1].fakes[Role(spec.model)]


@pytest.fixture
def workspace(tmp_path: Path) -> Played:
    profiles = tmp_path / "profiles"
    profiles.mkdir()
    (profiles / "trial.yaml").write_text(PROFILE.format(generator="scripted") + BOUND)
    (profiles / "bare.yaml").write_text(PROFILE.format(generator="scripted"))
    (profiles / "server.yaml").write_text(PROFILE.format(generator="openai"))
    settings = Settings(
        corpora=tmp_path / "corpora",
        assets=str(tmp_path / "assets"),
        profiles=profiles,
        profile="trial",
        document_workers=3,
    )
    return Played(settings, [ProblemPlay()])


def problems(count: int = 5) -> tuple[Problem, ...]:
    return tuple(typed(item(10 + n, 7), id=f"p{n}", index=n) for n in range(1, count + 1))


def planned(workspace: Workspace, of: Sequence[Problem] | None = None, **options: object) -> SetPlan:
    chosen = ProblemOptions(**options)  # pyright: ignore[reportArgumentType]
    return plan_set(workspace, "trial", of or problems(), SMALL, chosen)


def ids(plan: SetPlan) -> list[str]:
    return [one.id for one in plan.problems]


def follow(workspace: Played) -> ProblemPlay:
    """Let another cast go on."""
    workspace.plays.append(ProblemPlay())
    return workspace.plays[-1]


def test_stages_are_run_one_after_the_other_and_only_once(workspace: Played) -> None:
    plan = planned(workspace)
    seen: list[str] = []

    def note(done: int, total: int, said: str) -> None:
        seen.append(f"{done}/{total} {said}")

    for stage in FULL:
        outcome = run_stages(workspace, plan, ids(plan), (stage,), "r1", note)
        assert not outcome.failed
    assert len(seen) == len(FULL) * 5
    assert seen[4].startswith("5/5 p")
    bank = gather_bank(workspace, plan, "Trial")
    assert [one.id for one in bank.accepted] == ids(plan)
    assert all(set(one.variants) == {"numerical"} for one in bank.problems)
    again = follow(workspace)
    outcome = run_stages(workspace, plan, ids(plan), FULL, "r2")
    assert (outcome.reused, again.total()) == (ids(plan), 0)
    assert gather_bank(workspace, plan, "Trial") == bank


def test_a_stage_without_the_ones_before_it_does_nothing(workspace: Played) -> None:
    plan = planned(workspace)
    run_stages(workspace, plan, ids(plan), (Stage.VARIANT,), "r1")
    assert workspace.plays[-1].total() == 0
    assert {one.end for one in gather_bank(workspace, plan, "Trial").problems} == {ProblemEnd.UNFINISHED}


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (TransientModelError("the server is away"), "the server is away"),
        (MalformedResponseError("no choices"), "model_error: malformed: no choices"),
    ],
    ids=["away", "malformed"],
)
def test_one_that_fails_keeps_no_other_waiting(workspace: Played, error: Exception, said: str) -> None:
    plan = planned(workspace)
    script = workspace.plays[-1].scripts
    good = script[Role.IDEA]

    def gone(request: Request) -> Turn:
        if "$12\\," in told(request):
            raise error
        return call(TERMINALS[Role.IDEA], **good(request)[0])

    workspace.plays[-1].fakes[Role.IDEA].follow(gone)
    outcome = run_stages(workspace, plan, ids(plan), FULL, "r1")
    assert outcome.failed == {"p2": said}
    assert outcome.finished == ["p1", "p3", "p4", "p5"]
    follow(workspace)
    outcome = run_stages(workspace, plan, ids(plan), FULL, "r2")
    assert (outcome.finished, outcome.failed) == (["p2"], {})


def test_a_model_that_is_gone_for_good_is_not_asked_by_all(workspace: Played) -> None:
    plan = planned(workspace, problems(20))

    def refused(_request: Request) -> Turn:
        raise PermanentModelError("bad key")

    workspace.plays[-1].fakes[Role.CLASSIFIER].follow(refused)
    outcome = run_stages(workspace, plan, ids(plan), FULL, "r1")
    assert len(outcome.failed) == 20
    assert sum("not tried" in said for said in outcome.failed.values()) >= 14


def test_a_budget_ends_the_work_and_a_later_run_goes_on(workspace: Played) -> None:
    plan = planned(workspace, max_calls=6)
    outcome = run_stages(workspace, plan, ids(plan), FULL, "r1")
    assert outcome.stopped
    assert workspace.plays[-1].total() <= 6 + 2, "who was under way may end"
    plan = planned(workspace)
    fresh = follow(workspace)
    outcome = run_stages(workspace, plan, ids(plan), FULL, "r2")
    assert not outcome.stopped
    assert len(gather_bank(workspace, plan, "Trial").accepted) == 5
    assert workspace.plays[0].total() + fresh.total() == 15


def test_a_rejected_problem_is_in_the_bank_as_such(workspace: Played) -> None:
    workspace.plays.append(ProblemPlay({Role.CLASSIFIER: [classified(question_type="riddle")]}))
    plan = planned(workspace, problems(1))
    run_stages(workspace, plan, ids(plan), FULL, "r1")
    (found,) = gather_bank(workspace, plan, "Trial").problems
    assert (found.end, [one.property for one in found.breaches]) == (ProblemEnd.REJECTED, [1])


def test_roles_fall_back_on_the_generator_unless_it_is_a_special_one(workspace: Played) -> None:
    with pytest.raises(ConfigError, match="profile bare binds no model to classifier, scanner, tikz, idea"):
        planned(workspace, profile="bare")
    plan = planned(workspace, profile="server")
    assert {spec.name for spec in plan.specs.values()} == {"openai:g"}


def test_names_that_cannot_be_used(workspace: Played) -> None:
    with pytest.raises(ConfigError, match="have the same id: p1"):
        planned(workspace, (*problems(1), *problems(1)))
    with pytest.raises(ConfigError, match="a problem set's name is unusable"):
        plan_set(workspace, "a/b", problems(1), SMALL)
    with pytest.raises(ConfigError, match="there is no problem 'x' in trial"):
        run_stages(workspace, planned(workspace), ["x"], FULL, "r1")


def test_a_picture_is_kept_by_its_content_and_seen(workspace: Played) -> None:
    picture = keep_picture(workspace.store, b"\x89PNG", "image/png")
    assert picture_key(picture).endswith(".png")
    assert see_picture(workspace.store, picture).data == b"\x89PNG"
    with pytest.raises(ValueError, match="image/webp is none of"):
        keep_picture(workspace.store, b"RIFF", "image/webp")


def test_who_would_have_to_see_and_cannot_is_named(workspace: Played) -> None:
    plan = planned(workspace)
    assert vision_fault(plan, photo()) == ""
    blind = {role: spec.model_copy(update={"images": False}) for role, spec in plan.specs.items()}
    plan = SetPlan(plan.name, plan.problems, plan.wishes, plan.profile_name, blind, plan.budget)
    assert vision_fault(plan, photo()).startswith("reading a picture needs a model that takes images")
    assert "bound to scanner" in vision_fault(plan, photo(classification=classified()))
    assert vision_fault(plan, typed(item())) == ""


@pytest.mark.parametrize("data", [b"", b'{"task', b"\xff\x00", b"[1]"])
def test_only_the_task_with_a_damaged_result_is_done_again(workspace: Played, data: bytes) -> None:
    plan = planned(workspace, problems(2))
    run_stages(workspace, plan, ids(plan), FULL, "r1")
    bank, keys = gather_bank(workspace, plan, "Trial"), workspace.store.list("problems/trial/tasks")
    (damaged,) = [key for key in keys if "/p1/variant-numerical" in key]
    workspace.store.write_bytes(damaged, data)
    again = follow(workspace)
    assert run_stages(workspace, plan, ids(plan), FULL, "r2").finished == ["p1"]
    assert (again.total(), workspace.store.list("problems/trial/tasks")) == (1, keys)
    assert workspace.store.get(f"{damaged}.damaged") == data
    assert [one.id for one in gather_bank(workspace, plan, "Trial").accepted] == [
        one.id for one in bank.accepted
    ]


@pytest.mark.parametrize(
    ("problem", "share", "expected"),
    [
        ("tex", None, {"classifier": 1, "idea": 1, "variant": 1}),
        ("tex", 1, {"classifier": 1, "idea": 1, "variant": 1, "solver": 2}),
        ("tex", 0, {"classifier": 1, "idea": 1, "variant": 1}),
        ("photo", 1, {"classifier": 1, "scanner": 1, "idea": 1, "variant": 1, "solver": 3}),
    ],
)
def test_the_expected_calls_count_those_of_the_solver(
    workspace: Played, problem: str, share: float | None, expected: dict[str, int]
) -> None:
    one = photo() if problem == "photo" else typed(item(3, 4))
    plan = planned(workspace, [one])
    if share is not None:
        solver = ModelSpec(provider="scripted", model="solver")
        plan = replace(plan, specs={**plan.specs, Role.SOLVER: solver}, solve=share)
    calls = expected_calls(workspace, plan)
    assert dict(calls) == expected
    assert f"about {sum(expected.values())} model calls" in told_calls(calls)
    if share is None:
        run_stages(workspace, plan, ids(plan), FULL, "r1")
        assert not expected_calls(workspace, plan)
