from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

import pytest

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.errors import MalformedResponseError, TransientModelError
from qagen_dagster.loop.problems.run_problem import Worked, work_problem
from qagen_dagster.loop.problems.run_set import failures, pipeline_result, record_of
from qagen_dagster.loop.problems.state_machine import FULL, Wishes
from qagen_dagster.models.messages import Image, Request, UserMessage
from qagen_dagster.records.problems.result import ProblemEnd, ProblemRecord, Stage, Task, TaskEnd, TaskResult
from qagen_dagster.records.problems.submissions import Format, Problem, ProblemInput, VariantKind
from tests.support.models import told
from tests.support.problems.play import (
    ALL,
    ALTERNATE,
    IDEAS,
    MERGED,
    STEPS,
    TIKZ,
    Arguments,
    ProblemPlay,
    classified,
    integer,
    item,
    mcq,
    photo,
    task_results,
    typed,
)


def run(
    play: ProblemPlay,
    root: Path,
    problem: Problem | None = None,
    wishes: Wishes = ALL,
    stages: Collection[Stage] = FULL,
) -> Worked:
    source = problem or photo()
    return work_problem(play.work(source, wishes), task_results(root, source), stages)


def record(worked: Worked, problem: Problem | None = None) -> ProblemRecord:
    return record_of(problem or photo(), worked, {})


def one(worked: Worked, stage: Stage) -> TaskResult:
    found = worked.state.first(stage)
    assert found is not None
    return found


def test_a_picture_becomes_a_problem_with_all_that_was_made_of_it(tmp_path: Path) -> None:
    play = ProblemPlay()
    worked = run(play, tmp_path)
    found = record(worked)
    assert found.end is ProblemEnd.ACCEPTED
    assert [task.task.key for task in found.tasks] == [
        "classify",
        "scan",
        "diagram",
        "idea",
        "alternate-1",
        "variant-numerical-1",
        "variant-context-1",
        "variant-conceptual-1",
        "variant-calculus-1",
        "convert-mcq_sc",
        "convert-integer",
    ]
    assert {task.end for task in found.tasks} == {TaskEnd.DONE}
    assert set(found.variants) == {"numerical", "context", "conceptual", "calculus"}
    assert set(found.conversions) == {"mcq_sc", "integer"}
    assert found.breaches == ()
    assert ProblemRecord.model_validate_json(found.model_dump_json()) == found
    whole = pipeline_result(found)
    assert whole is not None
    assert whole.latex == item()
    assert whole.tikz_code == TIKZ["tikz_code"]
    assert whole.variants["numerical"] == item(3, 7)
    for role in (Role.CLASSIFIER, Role.SCANNER, Role.TIKZ):
        assert pictures(play.fakes[role].requests[0]) == 1
    assert pictures(play.fakes[Role.IDEA].requests[0]) == 0
    assert "tikzpicture" in told(play.fakes[Role.VARIANT].requests[0]), "variants see the diagram"


def test_every_role_is_shown_what_it_works_on(tmp_path: Path) -> None:
    play, wishes = ProblemPlay(), ALL.model_copy(update={"alternates": 2, "variants_each": 2})
    run(play, tmp_path, wishes=wishes)
    shown = {role: [told(one) for one in fake.requests] for role, fake in play.fakes.items() if fake.requests}
    for role in (Role.CLASSIFIER, Role.SCANNER):
        assert "The problem is in the picture." in shown[role][0]
    assert "Kind: subjective\n" in shown[Role.SCANNER][0]
    assert "Kind of diagram, roughly: free_body" in shown[Role.TIKZ][0]
    assert "A cart on a line." in shown[Role.TIKZ][0]
    assert "A cart starts" in shown[Role.IDEA][0]
    for words in ("Alternate: 2", "Key concepts:\n- constant acc", "--- alternate 1 ---\nenergy\n\\begin"):
        assert words in shown[Role.ALTERNATE][-1]
    for kind in wishes.variants:
        assert any(f"Variant: {kind.value}\n" in one for one in shown[Role.VARIANT])
    assert "Number: 2\n" in shown[Role.VARIANT][1]
    assert "--- variant 1 ---\n\\item" in shown[Role.VARIANT][1]
    assert "From: subjective\nTo: mcq_sc\n" in shown[Role.CONVERTER][0]
    parts = (item(), item(3, 4, "swan"))
    several = Problem(id="m1", input=ProblemInput.COMBINED, source_path="-", parts=parts, style=" an\nexam ")
    run(play, tmp_path, several)
    assert f"--- problem 2 ---\n{parts[1]}" in told(play.fakes[Role.VARIANT].requests[-1])
    assert "Target style: an exam\n" in told(play.fakes[Role.VARIANT].requests[-1])


@pytest.mark.parametrize(("options", "shown"), [("", False), (" % diagram\n", True)])
def test_options_are_drawn_only_where_they_have_a_figure(options: str, shown: bool, tmp_path: Path) -> None:
    latex = mcq().replace("\\task ", f"\\task\n{options}") if options else mcq()
    play = ProblemPlay(
        {Role.CLASSIFIER: [classified(question_type="mcq_sc")], Role.SCANNER: [{"latex": latex}]}
    )
    run(play, tmp_path)
    asked = told(play.fakes[Role.TIKZ].requests[0])
    assert ("\\ans" in asked) is shown


BROKEN: list[tuple[int, Role, Stage, Arguments, Arguments]] = [
    (1, Role.CLASSIFIER, Stage.CLASSIFY, classified(question_type="essay"), classified()),
    (1, Role.CLASSIFIER, Stage.CLASSIFY, classified(difficulty="deadly"), classified()),
    (3, Role.SCANNER, Stage.SCAN, {"latex": item().replace("\\end{solution}", "")}, {"latex": item()}),
    (3, Role.SCANNER, Stage.SCAN, {"latex": "Given: " + item()}, {"latex": item()}),
    (3, Role.SCANNER, Stage.SCAN, {"latex": mcq()}, {"latex": item()}),
    (4, Role.TIKZ, Stage.DIAGRAM, {"tikz_code": "\\draw (0,0) -- (1,1);"}, TIKZ),
    (4, Role.TIKZ, Stage.DIAGRAM, {"tikz_code": "\\begin{tikzpicture}\\draw (0,0);"}, TIKZ),
    (5, Role.IDEA, Stage.IDEA, {"concepts": [], "techniques": ["x"]}, IDEAS),
    (5, Role.IDEA, Stage.IDEA, {"concepts": ["x"], "techniques": [" "]}, IDEAS),
    (6, Role.ALTERNATE, Stage.ALTERNATE, ALTERNATE | {"final_answer": "12\\,\\mathrm{m/s}"}, ALTERNATE),
    (
        6,
        Role.ALTERNATE,
        Stage.ALTERNATE,
        ALTERNATE | {"solution": ALTERNATE["solution"].replace("{10\\,", "{11\\,")},
        ALTERNATE,
    ),
]
VARIANTS: list[tuple[int, VariantKind, str, str]] = [
    (7, VariantKind.NUMERICAL, item(3, 4).replace("cart", "lorry"), item(3, 4)),
    (7, VariantKind.NUMERICAL, item(), item(3, 4)),
    (8, VariantKind.CONTEXT, item(2, 6, "swan"), item(scene="swan")),
    (8, VariantKind.CONTEXT, item(), item(scene="swan")),
    (9, VariantKind.NUMERICAL, item(3, 4).split("\\begin{solution}")[0], item(3, 4)),
    (9, VariantKind.CONCEPTUAL, item(3, 4, "swan", steps="So {v}."), item(3, 4, "swan")),
    (9, VariantKind.CALCULUS, item(), item(3, 4, "swan", steps=STEPS.replace("a t", "\\int a\\,dt"))),
]


@pytest.mark.parametrize(("number", "role", "stage", "bad", "good"), BROKEN)
def test_a_breach_is_repaired_once_and_the_second_rejects(
    number: int, role: Role, stage: Stage, bad: Arguments, good: Arguments, tmp_path: Path
) -> None:
    play = ProblemPlay({role: [bad, good]})
    result = one(run(play, tmp_path / "once"), stage)
    assert (result.end, {breach.property for breach in result.repaired}) == (TaskEnd.DONE, {number})
    assert f"property {number}: " in told(play.fakes[role].requests[1])
    play = ProblemPlay({role: [bad]})
    worked = run(play, tmp_path / "twice")
    result = one(worked, stage)
    assert (result.end, {breach.property for breach in result.breaches}) == (TaskEnd.REJECTED, {number})
    assert play.asked(role) == 2, "told once, and not asked a third time"
    lost = stage in (Stage.CLASSIFY, Stage.SCAN, Stage.DIAGRAM)
    found = record(worked)
    assert found.end is (ProblemEnd.REJECTED if lost else ProblemEnd.ACCEPTED)
    assert any(f"property {number}" in line for line in failures(found))


@pytest.mark.parametrize(("number", "kind", "bad", "good"), VARIANTS)
def test_a_variant_that_breaks_its_property(
    number: int, kind: VariantKind, bad: str, good: str, tmp_path: Path
) -> None:
    wishes = Wishes(stages=(Stage.SCAN, Stage.VARIANT), variants=(kind,))
    problem = typed(item())
    play = ProblemPlay({Role.VARIANT: [{"latex": bad}, {"latex": good}]})
    result = one(run(play, tmp_path / "once", problem, wishes), Stage.VARIANT)
    assert result.end is TaskEnd.DONE, result.detail
    assert number in {breach.property for breach in result.repaired}
    play = ProblemPlay({Role.VARIANT: [{"latex": bad}]})
    result = one(run(play, tmp_path / "twice", problem, wishes), Stage.VARIANT)
    assert result.end is TaskEnd.REJECTED
    assert number in {breach.property for breach in result.breaches}
    assert play.asked(Role.VARIANT) == 2


JOINED = item().replace(
    "\n\\begin{solution}", " " + item(3, 4, "swan")[6:].split("\n")[0] + "\n\\begin{solution}"
)


@pytest.mark.parametrize("bad", [item() + "\n\n" + item(3, 4, "swan"), JOINED, item()])
def test_fragments_joined_together_are_no_new_problem(bad: str, tmp_path: Path) -> None:
    problem = Problem(
        id="m1",
        input=ProblemInput.COMBINED,
        source_path="-",
        parts=(item(), item(3, 4, "swan")),
        style="exam",
    )
    wishes = Wishes(variants=(VariantKind.MULTI,))
    play = ProblemPlay({Role.VARIANT: [{"latex": bad}, MERGED]})
    result = one(run(play, tmp_path / "once", problem, wishes), Stage.VARIANT)
    assert result.end is TaskEnd.DONE, result.detail
    assert {breach.property for breach in result.repaired} == {10}
    play = ProblemPlay({Role.VARIANT: [{"latex": bad}]})
    result = one(run(play, tmp_path / "twice", problem, wishes), Stage.VARIANT)
    assert (result.end, {breach.property for breach in result.breaches}) == (TaskEnd.REJECTED, {10})


@pytest.mark.parametrize(
    ("target", "bad", "good"),
    [
        (Format.MCQ_SC, item(), mcq()),
        (Format.MCQ_SC, mcq(right=2), mcq()),
        (Format.MCQ_MC, mcq(right=0), mcq(right=2)),
        (Format.INTEGER, mcq(), item().replace("?", "? Give an integer.")),
        (Format.INTEGER, item(), item().replace("?", "? Give an integer.")),
        (Format.MCQ_SC, mcq(3, 4), mcq()),
    ],
)
def test_a_conversion_with_another_structure(target: Format, bad: str, good: str, tmp_path: Path) -> None:
    wishes = Wishes(stages=(Stage.SCAN, Stage.CONVERT), conversions=(target,))
    play = ProblemPlay({Role.CONVERTER: [{"latex": bad}, {"latex": good}]})
    result = one(run(play, tmp_path / "once", typed(item()), wishes), Stage.CONVERT)
    assert (result.end, {breach.property for breach in result.repaired}) == (TaskEnd.DONE, {11}), (
        result.detail
    )
    play = ProblemPlay({Role.CONVERTER: [{"latex": bad}]})
    result = one(run(play, tmp_path / "twice", typed(item()), wishes), Stage.CONVERT)
    assert (result.end, {breach.property for breach in result.breaches}) == (TaskEnd.REJECTED, {11})


def test_tex_that_is_an_item_is_taken_as_it_stands(tmp_path: Path) -> None:
    play = ProblemPlay({Role.CLASSIFIER: [classified(has_diagram=False)]})
    worked = run(play, tmp_path, typed(item()), Wishes())
    assert (one(worked, Stage.SCAN).end, play.asked(Role.SCANNER)) == (TaskEnd.GIVEN, 0)
    assert (one(worked, Stage.DIAGRAM).end, play.asked(Role.TIKZ)) == (TaskEnd.SKIPPED, 0)
    assert record(worked, typed(item())).latex == item()


def test_a_diagram_that_is_there_is_not_drawn_again(tmp_path: Path) -> None:
    tex = item().replace("\n\\begin{solution}", f"\n{TIKZ['tikz_code']}\n\\begin{{solution}}")
    play = ProblemPlay()
    worked = run(play, tmp_path, typed(tex), Wishes())
    assert (one(worked, Stage.DIAGRAM).end, play.asked(Role.TIKZ)) == (TaskEnd.GIVEN, 0)
    assert record(worked, typed(tex)).tikz is not None


def test_who_says_that_it_cannot_be_done_is_believed(tmp_path: Path) -> None:
    play = ProblemPlay({Role.ALTERNATE: [{"reason": "There is only\none way."}]})
    worked = run(play, tmp_path)
    assert one(worked, Stage.ALTERNATE).end is TaskEnd.DECLINED
    assert worked.ended.end is ProblemEnd.ACCEPTED
    assert failures(record(worked)) == ("p1: alternate-1: declined: There is only one way.",)
    play = ProblemPlay({Role.TIKZ: [{"reason": "The figure is not there."}]})
    found = record(run(play, tmp_path / "drawn"))
    assert (found.end, [breach.property for breach in found.breaches]) == (ProblemEnd.REJECTED, [4])


def test_where_no_number_is_nobody_is_asked_for_another_one(tmp_path: Path) -> None:
    worded = mcq().replace("$", "").split("\\begin{tasks}")[0]
    worded = re.sub(r"\d+", "some", worded)
    worded += "\\begin{tasks}(1)\n\\task it grows \\ans\n\\task it shrinks\n\\end{tasks}\n"
    worded += "\\begin{solution}\nA steady push means a steady gain of speed, so it grows.\n\\end{solution}"
    play = ProblemPlay()
    wishes = Wishes(stages=(Stage.SCAN, Stage.VARIANT), variants=(VariantKind.NUMERICAL,))
    worked = run(play, tmp_path, typed(worded), wishes)
    found = one(worked, Stage.VARIANT)
    assert (found.end, found.calls) == (TaskEnd.DECLINED, ())
    assert found.detail == "there is no number in it that could be another one"
    assert (play.total(), worked.ended.end) == (0, ProblemEnd.ACCEPTED)


def test_a_model_without_eyes_is_not_asked(tmp_path: Path) -> None:
    play = ProblemPlay(images=False)
    worked = run(play, tmp_path)
    result = one(worked, Stage.CLASSIFY)
    assert result.end is TaskEnd.DECLINED
    assert result.detail == (
        "reading a picture needs a model that takes images; scripted:classifier, bound to classifier, does not"
    )
    assert (play.total(), worked.ended.end) == (0, ProblemEnd.FAILED)


def test_empty_replies_leave_the_task_unfinished(tmp_path: Path) -> None:
    play = ProblemPlay({Role.CLASSIFIER: [{"reason": ""}]})
    with pytest.raises(MalformedResponseError, match="3 times the same: report_unable was not run: reason"):
        run(play, tmp_path)


def test_what_a_person_said_is_not_asked(tmp_path: Path) -> None:
    wishes = Wishes(stages=(Stage.SCAN,))
    play = ProblemPlay({Role.SCANNER: [{"latex": mcq()}]})
    worked = run(play, tmp_path, photo(kind="mcq_sc"), wishes)
    assert one(worked, Stage.SCAN).prompt == "problem_scan_mcq_sc"
    assert play.asked(Role.CLASSIFIER) == 0


@pytest.mark.parametrize(
    ("loose", "kind"),
    [
        ("A cart gains 2 m/s each second for 5 s. How fast?", "subjective"),
        ("How fast after 5 s at 2? (a) 10 (b) 9 (c) 8", "mcq_sc"),
        ("\\item How fast after 5 s at 2? \\begin{tasks} \\task 10, 9 or 8 \\end{tasks}", "mcq_sc"),
    ],
)
def test_loose_tex_is_made_an_item_by_the_prompt_of_what_it_looks_like(
    loose: str, kind: str, tmp_path: Path
) -> None:
    play = ProblemPlay()
    result = one(run(play, tmp_path, typed(loose), Wishes(stages=(Stage.SCAN,))), Stage.SCAN)
    assert (result.end, result.prompt) == (TaskEnd.DONE, f"problem_scan_{kind}")
    assert f"Kind: {kind}" in told(play.fakes[Role.SCANNER].requests[0])
    assert loose in told(play.fakes[Role.SCANNER].requests[0])


def test_an_item_that_asks_for_an_integer_is_not_converted_to_one(tmp_path: Path) -> None:
    wishes = Wishes(stages=(Stage.SCAN, Stage.CONVERT), conversions=(Format.INTEGER, Format.SUBJECTIVE))
    play = ProblemPlay()
    found = run(play, tmp_path, typed(integer()), wishes)
    kept, opened = (task for task in record(found).tasks if task.task.stage is Stage.CONVERT)
    assert (kept.end, kept.detail) == (TaskEnd.SKIPPED, "it is integer already")
    assert (opened.end, play.asked(Role.CONVERTER)) == (TaskEnd.DONE, 1)
    assert "From: integer" in told(play.fakes[Role.CONVERTER].requests[0])


def test_what_was_done_is_not_done_again(tmp_path: Path) -> None:
    first = ProblemPlay()
    before = record(run(first, tmp_path))
    again = ProblemPlay()
    worked = run(again, tmp_path)
    assert (again.total(), worked.asked, record(worked)) == (0, 0, before)


def test_a_killed_problem_goes_on_where_it_stopped(tmp_path: Path) -> None:
    whole = record(run(ProblemPlay(), tmp_path / "whole"))
    for last in range(1, 12):
        play = ProblemPlay()
        left = [last - 1]
        for fake in play.fakes.values():
            fake.dies(left)
        root = tmp_path / f"killed-{last}"
        with pytest.raises(TransientModelError):
            run(play, root)
        known = work_problem(play.work(photo(), ALL), task_results(root, photo()), ())
        assert record(known).end is ProblemEnd.UNFINISHED
        fresh = ProblemPlay()
        found = record(run(fresh, root))
        assert fresh.total() == 11 - (last - 1)
        timeless = {"timestamp": "", "tasks": ()}
        assert found.model_copy(update=timeless) == whole.model_copy(update=timeless)


def test_branches_are_worked_apart_and_found_together(tmp_path: Path) -> None:
    for stage in FULL:
        run(ProblemPlay(), tmp_path, stages=(stage,))
    play = ProblemPlay()
    worked = run(play, tmp_path)
    assert (play.total(), worked.ended.end) == (0, ProblemEnd.ACCEPTED)


def test_another_model_makes_anew_only_what_hangs_on_it(tmp_path: Path) -> None:
    run(ProblemPlay(), tmp_path)
    play = ProblemPlay()
    play.fakes[Role.CONVERTER].warm(0.5)
    run(play, tmp_path)
    assert (play.total(), play.asked(Role.CONVERTER)) == (2, 2)


def test_the_second_variant_is_told_of_the_first(tmp_path: Path) -> None:
    wishes = Wishes(stages=(Stage.SCAN, Stage.VARIANT), variants=(VariantKind.NUMERICAL,), variants_each=3)
    play = ProblemPlay()
    worked = run(play, tmp_path, typed(item()), wishes)
    found = record(worked, typed(item()))
    assert list(found.variants) == ["numerical", "numerical-2", "numerical-3"]
    assert len(set(found.variants.values())) == 3
    assert item(3, 7) in told(play.fakes[Role.VARIANT].requests[1])


def test_a_task_has_a_key_that_is_a_name() -> None:
    assert Task(stage=Stage.CONVERT, target=Format.INTEGER).key == "convert-integer"
    assert Task(stage=Stage.VARIANT, variant=VariantKind.MULTI, number=2).key == "variant-multi-2"


def pictures(request: Request) -> int:
    """How many pictures the first message holds."""
    first = request.messages[0]
    return sum(isinstance(part, Image) for part in first.content) if isinstance(first, UserMessage) else 0
