"""Items of a part that are worked to their end: what is recorded, what is told to whom, and what ends an item."""

from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster.errors import (
    BudgetExhaustedError,
    ContextOverflowError,
    MalformedResponseError,
    TransientModelError,
)
from qagen_dagster.loop.exams import code_checks
from qagen_dagster.loop.exams.run_part import Worked, slot_result, work_item
from qagen_dagster.loop.exams.state_machine import Ended, ItemLimits
from qagen_dagster.models.messages import Stop
from qagen_dagster.records.exams.bank import SlotEnd, SlotResult, Stage, item_id
from qagen_dagster.records.exams.submissions import Severity
from tests.support.exams.play import (
    PASS,
    WEAK,
    ExamPlay,
    idea,
    item_limits,
    journal,
    made,
    solved,
    styled,
    work,
)
from tests.support.models import Turn, answer, call, say, told


def run(play: ExamPlay, root: Path, limits: ItemLimits | None = None, ideas: tuple[str, ...] = ()) -> Worked:
    return work_item(work(play, limits=limits), journal(root), ideas)


def result(play: ExamPlay, worked: Worked) -> SlotResult:
    return slot_result(work(play), worked, "f")


def test_an_accepted_item_carries_all_that_led_to_it(tmp_path: Path) -> None:
    play = ExamPlay()
    worked = work_item(work(play, examine=code_checks.examine), journal(tmp_path), ())
    found = result(play, worked)
    item = found.item
    assert found.end is SlotEnd.ACCEPTED
    assert item is not None
    assert item.id == item_id("M1", item.difficulty, item.question)
    assert item.id.startswith("M1-easy-")
    assert (item.attempts, item.idea_plan.model_dump(mode="json")) == (1, idea())
    assert item.question_package.model_dump(mode="json") == made(3, 3) | {
        "check": {"givens": {"a": "3", "b": "3"}, "expression": "a*b", "unit": ""}
    }
    assert item.blind_solution.chosen_option == "B"
    assert item.proof.status.value == "proven"
    assert item.models == {
        role: f"scripted:{role}" for role in ("designer", "implementer", "verifier", "style_judge")
    }
    assert [(one.stage.value, one.attempt, one.ok) for one in found.log] == [
        (stage, 1, True)
        for stage in ("designer", "implementer", "gates", "blind_solution", "verifier", "style_judge")
    ]
    assert "SECRETSOLUTION" in found.log[1].raw_text
    assert found.log[2].detail == "proof: proven"
    assert len(found.calls) == 5
    assert SlotResult.model_validate_json(found.model_dump_json()) == found


@pytest.mark.parametrize("attempt", [1, 2])
def test_an_idea_that_the_implementer_cannot_make_ends_the_item_with_its_reason(
    tmp_path: Path, attempt: int
) -> None:
    unable = call("report_unable", reason="Two options are always right:\nthe ratio has two signs.")
    play = ExamPlay(
        implement=lambda _slot, number: unable if number == attempt else made(3, 4),
        solve=lambda _slot, _number: solved("C"),
    )
    worked = run(play, tmp_path)
    found = result(play, worked).rejected
    assert found is not None
    assert (found.stage, found.failure_type, found.severity) == ("implementer", "unable", Severity.STRUCTURAL)
    assert "always right: the ratio has two signs." in found.reasons[0]
    assert play.asked("implementer") == attempt


def test_the_implementer_is_told_what_failed_and_who_caught_it(tmp_path: Path) -> None:
    fails = {"verdict": "FAIL", "failure_type": "ambiguity", "reasons": ["Which length is meant?"]}
    fails |= {"severity": "fixable_with_regeneration", "regen_instructions": "Name the length."}
    play = ExamPlay(
        verify=lambda _slot, attempt: fails if attempt == 1 else PASS,
        style=lambda _slot, attempt: (
            styled(WEAK, regen_instructions="Be shorter.") if attempt < 3 else styled()
        ),
    )
    worked = run(play, tmp_path)
    assert worked.step == Ended()
    first, second, third = [told(request) for request in play.fakes["implementer"].requests]
    assert "NEW implementation of the SAME idea plan" not in first
    for text in ("NEW implementation", "Which length is meant?", "Name the length.", "Caught by: verifier"):
        assert text in second
    assert "correct_option: B" in second
    assert "$9$" in second
    assert "Caught by: style_judge" in third
    assert "Be shorter." in third
    assert "elegance" in third
    user = play.fakes["implementer"].requests[1].messages[0].content[0]
    assert getattr(user, "text", "").startswith("This is attempt 2"), "in front of the user message"
    systems = {request.system for request in play.fakes["implementer"].requests}
    assert len(systems) == 1, "the same system prompt"


def test_who_caught_what_is_in_the_record(tmp_path: Path) -> None:
    play = ExamPlay(solve=lambda _slot, _attempt: solved("C"))
    found = result(play, run(play, tmp_path))
    assert found.end is SlotEnd.REJECTED
    assert found.rejected is not None
    assert (found.rejected.stage, found.rejected.failure_type) == ("blind_solution", "key_not_reached")
    assert found.rejected.attempts == 3
    assert [one.ok for one in found.log if one.stage is Stage.BLIND_SOLUTION] == [False] * 3
    assert play.asked("verifier") == 3, "no verdict is bought on a question whose key was not reached"


USELESS: dict[str, Turn] = {
    "words": say("I will read the"),
    "refusal": answer(say("I would rather not."), Stop.REFUSAL),
    "form": call("submit_idea", idea="a"),
    "unknown tool": call("open_valve"),
    "malformed": MalformedResponseError("no choices"),
    "too long": ContextOverflowError("8k"),
}


@pytest.mark.parametrize("station", ["design", "implement", "solve", "verify", "style"])
@pytest.mark.parametrize("kind", USELESS)
def test_an_item_without_a_usable_reply_is_unfinished_and_asked_again(
    kind: str, station: str, tmp_path: Path
) -> None:
    play = ExamPlay(**{station: lambda _slot, _number: USELESS[kind]})  # pyright: ignore[reportArgumentType]
    for _ in range(3):
        before = len(play.log)
        with pytest.raises(MalformedResponseError, match=r"^model_error: "):
            run(play, tmp_path)
        assert before < len(play.log) <= before + 30
    assert run(ExamPlay(), tmp_path).step == Ended()


def test_one_usable_reply_makes_a_failed_item_final(tmp_path: Path) -> None:
    play = ExamPlay(solve=lambda _slot, attempt: solved("C") if attempt == 2 else USELESS["words"])
    assert run(play, tmp_path).over
    assert run(play, tmp_path).step != Ended()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"idea_summary": "Twice 4 is the point."}, "holds '4'"),
        ({"constraints_used": ["area", "v=u"]}, "holds 'v=u'"),
        ({"schema_id": "M2"}, "schema_id must be M1"),
    ],
)
def test_a_plan_with_numbers_or_of_another_schema_is_sent_back(
    fields: dict[str, object], said: str, tmp_path: Path
) -> None:
    play = ExamPlay(design=lambda slot, _number: idea(slot, **fields))
    run(play, tmp_path, item_limits(designs=0))
    assert said in told(play.fakes["designer"].requests[1])


def test_yaml_in_a_fence_is_as_good_as_the_tool(tmp_path: Path) -> None:
    text = """Here:
```yaml
question:
  stem: What is $\\frac{1}{2}$ of $6$?
  options:
    A: 2
    B: $3$
    C: 4
    D: 5
  correct_option: b
solution:
  reasoning: Half.
  key_insight: Halve it.
distractor_map: {A: takes a third of it, C: adds one to it, D: takes one from it}
check: null
```"""
    play = ExamPlay(implement=lambda _slot, _attempt: say(text))
    found = result(play, run(play, tmp_path))
    assert found.item is not None
    assert found.item.question.options == {"A": "2", "B": "$3$", "C": "4", "D": "5"}
    assert text in found.log[1].raw_text
    assert play.asked("implementer") == 1


def test_ideas_there_are_already_are_told(tmp_path: Path) -> None:
    play = ExamPlay()
    run(play, tmp_path, ideas=("Only the cube matters.",))
    assert "- Only the cube matters." in told(play.fakes["designer"].requests[0])


class Killed(Exception):
    """Stands for the end of the process."""


def long_way(**more: object) -> ExamPlay:
    """Every kind of step, some twice."""
    return ExamPlay(
        design=lambda slot, number: say("hm") if number == 0 else idea(slot),
        solve=lambda _slot, attempt: solved("B" if attempt > 1 else "A"),
        style=lambda _slot, attempt: styled(WEAK if attempt == 2 else None),
        **more,  # pyright: ignore[reportArgumentType]
    )


def test_killed_at_any_step_it_goes_on_there_and_pays_nothing_twice(tmp_path: Path) -> None:
    whole = long_way()
    expected = run(whole, tmp_path / "whole")
    assert expected.step == Ended()
    total = len(whole.log)
    assert total == 2 + 1 + 3 + 3 + 2 + 2  # one nudge of the designer; implementer, blind, verdict, style
    for calls in range(total):
        left = [calls]

        def before(_role: str, left: list[int] = left) -> None:
            if not left[0]:
                raise Killed
            left[0] -= 1

        killed = long_way(before=before)
        root = tmp_path / str(calls)
        with pytest.raises(Killed):
            run(killed, root)
        again = long_way()
        found = run(again, root)
        assert found.state == expected.state
        # The ledger holds what a step had paid before it was killed; the journal what was finished.
        assert [one for one in (*killed.log, *again.log) if one != ("designer", 1, 0)] == [
            one for one in whole.log if one != ("designer", 1, 0)
        ]
        done = run(ExamPlay(before=_never), root)
        assert done.state == expected.state


def _never(_role: str) -> None:
    raise AssertionError("a finished item asks nobody")


@pytest.mark.parametrize(
    "error",
    [TransientModelError("503"), MalformedResponseError("no choices"), BudgetExhaustedError("max_calls 3")],
)
def test_a_model_that_cannot_be_had_decides_nothing(error: Exception, tmp_path: Path) -> None:
    def before(role: str) -> None:
        if role == "verifier":
            raise error

    play = ExamPlay(before=before)
    if isinstance(error, BudgetExhaustedError):
        worked = run(play, tmp_path)
        assert (worked.over, worked.stopped) == (False, "max_calls 3")
        assert result(play, worked).end is SlotEnd.BUDGET_EXHAUSTED
    else:
        with pytest.raises(type(error), match=str(error)):
            run(play, tmp_path)
    later = ExamPlay()
    assert run(later, tmp_path).step == Ended()
    assert later.asked("implementer") == 0


def test_other_limits_go_on_with_the_same_journal(tmp_path: Path) -> None:
    play = ExamPlay(style=lambda _slot, attempt: styled(WEAK if attempt < 4 else None))
    assert run(play, tmp_path).over
    assert run(play, tmp_path).step != Ended()
    more = run(play, tmp_path, item_limits(retries=3))
    assert more.step == Ended()
    assert play.asked("implementer") == 4
    fewer = run(play, tmp_path, item_limits(retries=0))
    assert fewer.over
    assert fewer.step != Ended()
    assert len(fewer.state.attempts) == 1


def test_a_hostile_form_ends_the_item_at_once(tmp_path: Path) -> None:
    hostile = made(3, 4, check={"givens": {"a": "3"}, "expression": "__import__('os').system('true')"})
    play = ExamPlay(implement=lambda _slot, _attempt: hostile)
    worked = work_item(work(play, examine=code_checks.examine), journal(tmp_path), ())
    assert isinstance(worked.step, Ended)
    assert worked.step.finding is not None
    assert worked.step.finding.severity is Severity.STRUCTURAL
    assert worked.step.finding.stage is Stage.GATES
    assert play.asked("implementer") == 1
    assert play.asked("verifier") == 0
