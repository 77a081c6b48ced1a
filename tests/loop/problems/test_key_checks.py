"""A solver that sees only the question: it keeps what is right, and refuses what is consistent and wrong."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.loop.problems.inputs import ProblemWork, task_fingerprint
from qagen_dagster.loop.problems.key_checks import asked, compared, differences, read_differently, unsolvable
from qagen_dagster.loop.problems.run_problem import Worked, work_problem
from qagen_dagster.loop.problems.state_machine import ProblemState, Wishes
from qagen_dagster.models.messages import Request
from qagen_dagster.records.blind import BlindSolution
from qagen_dagster.records.problems.result import NOT_SOLVED, ProblemEnd, Stage, TaskEnd
from qagen_dagster.records.problems.submissions import Format, Problem, ScanResult, VariantKind
from tests.support.models import FakeModel, Turn, call, told
from tests.support.problems.play import ProblemPlay, integer, item, mcq, photo, task_results, typed

WRONG = "The speed is $v = a + t$ in these units, which is $\\boxed{{{v}\\,\\mathrm{{m\\,s^{{-1}}}}}}$ at the end, as the law of motion says."
NUMBER = re.compile(r"\$(\d+)\\,")


def honest(request: Request) -> Turn:
    """Multiplies the acceleration by the time, as the question states them."""
    text = told(request)
    assert "boxed" not in text
    assert "\\ans" not in text
    a, t = (int(found) for found in NUMBER.findall(text.split("<question>")[1])[:2])
    options = dict(re.findall(r"^([A-H]): \$(\d+)", text, re.MULTILINE))
    right = [letter for letter, value in options.items() if int(value) == a * t]
    value = f"{a * t} m/s" if not options else str(a * t)
    chosen = right[0] if len(right) == 1 else None
    return call(
        "submit_solution",
        reasoning=f"v = a t = {a * t}",
        value=value,
        right_options=right,
        chosen_option=chosen,
    )


def run(
    root: Path, problem: Problem, wishes: Wishes, play: ProblemPlay | None = None, **fields: Any
) -> tuple[Worked, FakeModel]:
    solver = FakeModel(honest, "solver")
    work = solved_work(play or ProblemPlay(), problem, wishes, solver, **fields)
    return work_problem(work, task_results(root, problem), tuple(Stage)), solver


def solved_work(
    play: ProblemPlay, problem: Problem, wishes: Wishes, solver: FakeModel, **fields: Any
) -> ProblemWork:
    work = play.work(problem, wishes)
    fields |= {"models": {**work.models, Role.SOLVER: solver}}
    return ProblemWork(**{**vars(work), **fields})


SCAN = Wishes(stages=(Stage.SCAN,))


@pytest.mark.parametrize("tex", [item(3, 4), mcq(3, 4), integer(2, 9)])
def test_a_right_original_is_kept_and_says_who_solved_it(tmp_path: Path, tex: str) -> None:
    worked, solver = run(tmp_path, typed(tex), SCAN)
    (scan,) = worked.state.results
    assert (scan.end, worked.ended.end) == (TaskEnd.GIVEN, ProblemEnd.ACCEPTED)
    assert scan.solved == f"key reached ({solver.spec.name})"
    assert [one.role for one in scan.calls] == ["solver"]


@pytest.mark.parametrize(
    "tex",
    [
        item(3, 4).replace("3 \\cdot 4 = \\boxed{12", "\\boxed{7"),
        mcq(3, 4).replace("13\\,\\mathrm{m\\,s^{-1}}$", "13\\,\\mathrm{m\\,s^{-1}}$ \\ans").replace("$12\\,\\mathrm{m\\,s^{-1}}$ \\ans", "$12\\,\\mathrm{m\\,s^{-1}}$").replace("3 \\cdot 4 = \\boxed{12", "\\boxed{13"),
        integer(2, 9).replace("2 \\cdot 9 = \\boxed{18", "\\boxed{11"),
    ],
)  # fmt: skip
def test_a_consistent_original_with_a_wrong_key_is_rejected(tmp_path: Path, tex: str) -> None:
    unsolved = work_problem(
        ProblemPlay().work(typed(tex), SCAN), task_results(tmp_path / "a", typed(tex)), tuple(Stage)
    )
    assert unsolved.ended.end is ProblemEnd.ACCEPTED
    assert unsolved.state.results[0].solved == NOT_SOLVED
    worked, _ = run(tmp_path, typed(tex), SCAN)
    (scan,) = worked.state.results
    assert (worked.ended.end, [one.property for one in scan.breaches]) == (ProblemEnd.REJECTED, [16])


def test_a_wrong_variant_and_conversion_are_made_again_with_the_steps_of_the_solver(tmp_path: Path) -> None:
    wishes = Wishes(
        stages=(Stage.SCAN, Stage.VARIANT, Stage.CONVERT),
        variants=(VariantKind.NUMERICAL,),
        conversions=(Format.MCQ_SC,),
    )
    wrong = item(3, 7, steps=WRONG).replace("{21\\", "{10\\").replace("boxed{21", "boxed{10")
    play = ProblemPlay({Role.VARIANT: [{"latex": wrong}, {"latex": item(3, 7)}]})
    worked, _ = run(tmp_path, typed(item()), wishes, play)
    by_key = {one.task.key: one for one in worked.state.results}
    variant = by_key["variant-numerical-1"]
    assert (variant.end, [one.property for one in variant.repaired]) == (TaskEnd.DONE, [16])
    assert "v = a t = 21" in variant.repaired[0].detail
    assert variant.variant is not None
    assert "boxed{21" in variant.variant.latex
    assert by_key["convert-mcq_sc"].solved.startswith("key reached")
    assert sum(one.role == "solver" for one in variant.calls) == 2
    stubborn = ProblemPlay({Role.VARIANT: [{"latex": wrong}]})
    worked, _ = run(tmp_path / "again", typed(item()), wishes, stubborn)
    assert worked.state.results[1].end is TaskEnd.REJECTED


def test_a_share_of_the_items_is_solved(tmp_path: Path) -> None:
    asked_for = 0
    for number in range(40):
        problem = typed(item(2, 3 + number), id=f"p{number}")
        _, solver = run(tmp_path, problem, SCAN, solve=0.5)
        asked_for += len(solver.requests)
    assert 10 <= asked_for <= 30
    _, solver = run(tmp_path / "none", typed(item()), SCAN, solve=0)
    assert solver.requests == []


def test_a_fingerprint_changes_only_with_a_solver() -> None:
    play, problem = ProblemPlay(), typed(item())
    plain, (task,) = play.work(problem, SCAN), play.work(problem, SCAN).tasks
    with_solver = solved_work(play, problem, SCAN, FakeModel(honest, "solver"))
    off = solved_work(play, problem, SCAN, FakeModel(honest, "solver"), solve=0)
    state = ProblemState()
    assert task_fingerprint(task, plain, state) == task_fingerprint(task, off, state)
    assert task_fingerprint(task, plain, state) != task_fingerprint(task, with_solver, state)


def said(value: str, *right: str) -> BlindSolution:
    return BlindSolution(
        reasoning="r",
        value=value,
        right_options=right,  # pyright: ignore[reportArgumentType]
        chosen_option=right[0] if len(right) == 1 else None,  # pyright: ignore[reportArgumentType]
    )


def solved(statement: str, solution: str) -> str:
    return f"\\item {statement}\n\\begin{{solution}}\n{solution}\n\\end{{solution}}"


PARTS = solved(
    "A body falls from $20\\,\\mathrm{m}$. (a) How long? (b) How fast?",
    "$\\boxed{2\\,\\mathrm{s}}$ and $\\boxed{20\\,\\mathrm{m/s}}$",
)
LISTED = solved(
    "A: ice floats. R: ice is light.\\begin{enumerate}\\item Both true.\\item A true, R false.\\end{enumerate}",
    "The correct option is (B).",
)


@pytest.mark.parametrize(
    ("tex", "blind", "same"),
    [
        (item(3, 4), said("$12\\,\\mathrm{m\\,s^{-1}}$"), True),
        (item(3, 4), said("1200 cm/s"), True),
        (item(3, 4), said("12 m"), False),
        (item(3, 4), said("none"), False),
        (item(3, 4), said("12.6 m/s"), False),
        (item(5, 2), said("9.8 m/s"), True),
        (item(5, 2), said(r"\frac{99}{10} \, \text{m/s}"), True),
        (item(5, 2), said("9.5 m/s"), False),
        (integer(3, 4), said("12"), True),
        (integer(3, 4), said("12 m/s"), True),
        (mcq(3, 4), said("12", "A"), True),
        (mcq(3, 4), said("12", "B"), False),
        (mcq(3, 4), said("12", "A", "B"), False),
        (mcq(3, 4, right=2), said("12", "A", "B"), True),
        (mcq(3, 4, right=2), said("12", "A"), False),
        (PARTS, said("2 s; 20 m/s"), True),
        (PARTS, said("2 s; 10 m/s"), False),
        (LISTED, said("B", "B"), True),
        (LISTED, said("A", "A"), False),
    ],
)
def test_what_the_solver_reaches_is_compared_with_the_key(tex: str, blind: BlindSolution, same: bool) -> None:
    verdict, fault = compared(tex, blind)
    assert (fault == "") is same
    assert not same or verdict == "key reached"


def test_what_code_cannot_compare_is_said_and_kept() -> None:
    words = solved("Why does ice float?", "The answer is \\boxed{because it is less dense}")
    verdict, fault = compared(words, said("its density is lower"))
    assert (verdict.split(":")[0], fault) == ("undecided", "")
    assert unsolvable(solved("Why does ice float?", "It is light.")) != ""
    assert "drawn" in unsolvable(solved("See it.\n% DIAGRAM\nHow far?", "$\\boxed{3}$"))


def test_the_solver_sees_no_comment_and_no_mark() -> None:
    question, options = asked("\\item What? % it is B\n" + mcq(3, 4).removeprefix("\\item "))
    assert "it is B" not in question
    assert "ans" not in options
    assert options.startswith("A: $12")


def reader(latex: str) -> FakeModel:
    def respond(request: Request) -> Turn:
        if "<question>" in told(request):
            return honest(request)
        return call("submit_scan", latex=latex)

    return FakeModel(respond, "solver")


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (item(2, 5), ""),
        (item(2, 50), "only this reading has 5, only the other one has 50"),
        (item(3, 5), "only this reading has 2, only the other one has 3"),
        ("\\item What is it?", "only this reading has 2, 5"),
        (item(2, 5).replace("boxed{10", "boxed{7"), "reached 7"),
        (item(2, 5).replace("boxed{10", "boxed{10.0"), ""),
        (item(2, 5).replace("A cart", "The cart of $2\\,\\mathrm{kg}$"), ""),
    ],
)
@pytest.mark.parametrize("stubborn", [True, False])
def test_a_second_reading_of_a_picture_with_other_values_or_another_answer_sends_the_scan_back(
    tmp_path: Path, second: str, said: str, stubborn: bool
) -> None:
    problem, model = photo(), reader(second)
    play = ProblemPlay({Role.SCANNER: [{"latex": item(2, 5)}, {"latex": item(2, 5) if stubborn else second}]})
    work = solved_work(play, problem, SCAN, model)
    worked = work_problem(work, task_results(tmp_path, problem), tuple(Stage))
    (scan,) = worked.state.results
    assert [one.role for one in scan.calls][-1] == "solver"
    assert sum("<question>" not in told(one) for one in model.requests) == 1, "the picture is read again once"
    assert scan.read_twice.endswith(f"({model.spec.name})")
    if not said:
        assert (scan.end, worked.ended.end, play.asked(Role.SCANNER)) == (
            TaskEnd.DONE,
            ProblemEnd.ACCEPTED,
            1,
        )
    elif stubborn:
        assert (scan.end, worked.ended.end) == (TaskEnd.REJECTED, ProblemEnd.REJECTED)
        assert said in str(scan.breaches[0])
        assert scan.breaches[0].property == 16


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (mcq(2, 5), mcq(2, 5), True),
        (mcq(2, 5), mcq(2, 5, right=0).replace("$11\\,\\mathrm{m\\,s^{-1}}$", "$11\\,\\mathrm{m\\,s^{-1}}$ \\ans"), False),
        (mcq(2, 5), mcq(2, 5, right=0), True),
        (item(2, 5), item(2, 5).replace("10\\,\\mathrm{m", "1000\\,\\mathrm{cm"), True),
        (item(2, 5), item(2, 5).replace("$5\\,", "$5.0\\,"), True),
    ],
)  # fmt: skip
def test_answers_of_two_readings_are_compared_by_value(first: str, second: str, same: bool) -> None:
    assert bool(list(read_differently(ScanResult(latex=first), ScanResult(latex=second)))) is not same


def test_a_value_that_one_reading_has_in_its_figure_is_no_other_value() -> None:
    one = ScanResult(latex=item(2, 5), raw_diagram_description="A block of 7 kg.")
    other = ScanResult(latex=item(2, 5).replace("A cart", "A cart of $7\\,\\mathrm{kg}$"))
    assert not [*read_differently(one, other), *read_differently(other, one)]


def test_the_calls_of_a_second_reading_are_counted_also_without_a_scan(tmp_path: Path) -> None:
    unable = FakeModel(
        lambda one: (
            call("report_unable", reason="blurred")
            if "Not accepted" in told(one)
            else call("submit_scan", latex=item(2, 5))
        ),
        "scanner",
    )
    work = solved_work(ProblemPlay(), photo(), SCAN, reader(item(3, 5)))
    work = replace(work, models={**work.models, Role.SCANNER: unable})
    (scan,) = work_problem(work, task_results(tmp_path, photo()), tuple(Stage)).state.results
    assert (scan.end, [one.role for one in scan.calls]) == (
        TaskEnd.DECLINED,
        ["scanner", "scanner", "solver"],
    )


MARKED = item(2, 5).replace("\n\\begin{solution}", "\n% diagram\n\\begin{solution}")
DRAWN = Wishes(stages=(Stage.SCAN, Stage.DIAGRAM))


@pytest.mark.parametrize(("key", "end"), [("10", ProblemEnd.ACCEPTED), ("7", ProblemEnd.REJECTED)])
def test_an_item_with_a_figure_is_solved_when_its_figure_is_drawn(
    tmp_path: Path, key: str, end: ProblemEnd
) -> None:
    tex = MARKED if key == "10" else MARKED.replace("2 \\cdot 5 = ", "").replace("boxed{10", f"boxed{{{key}")
    worked, solver = run(tmp_path, typed(tex), DRAWN)
    scan, drawn = worked.state.results
    assert (scan.end, worked.ended.end) == (TaskEnd.GIVEN, end)
    assert "drawn" in scan.solved
    assert all("tikzpicture" in told(one) for one in solver.requests)
    assert [one.property for one in drawn.breaches] == ([] if key == "10" else [16])
    assert drawn.solved.startswith("key reached") is (key == "10")


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (
            "A resistor of 1 ohm and a cell of 36 V.",
            "A cell, 36 V; a resistor, 4 ohm.",
            "1 in the figure only in",
        ),
        ("A force of 80 N at 30 degrees.", "An arrow: 8.0 N, 30 degrees.", "80 in the figure only in"),
        ("A ramp that rises to 7 m.", "A ramp.", "7 in the figure only in"),
        ("A resistor of 4.0 ohm.", "R = 4 ohm, 36 V", ""),
        ("A block is pushed with 2 N.", "A block with an arrow.", ""),
        ("A resistor of 1 ohm.", None, ""),
    ],
)
def test_values_of_a_figure_are_compared_too(first: str, second: str | None, said: str) -> None:
    one, other = (ScanResult(latex=item(2, 5), raw_diagram_description=text) for text in (first, second))
    assert differences(one, other) == (f"{said} the first reading" if said else "")


def test_the_options_of_assertion_and_reason_are_shown_as_options() -> None:
    listed = "\\begin{enumerate}[label=(\\Alph*)]\n\\item Both are true.\n\\item A is true, R is false.\n\\end{enumerate}"
    text = "\\item Assertion (A): It falls. Reason (R): $g > 0$. Which is right?\n{}\n\\begin{{solution}}{}\\end{{solution}}"
    assert asked(text.format(listed, "A is true. The correct option is (A)."))[1].split("\n") == [
        "A: Both are true.",
        "B: A is true, R is false.",
    ]
    assert "true" not in asked(text.format(listed, "It is $\\boxed{3}$."))[1], (
        "parts of a question are no options"
    )


def test_without_a_solver_that_sees_a_picture_is_read_once(tmp_path: Path) -> None:
    worked = work_problem(ProblemPlay().work(photo(), SCAN), task_results(tmp_path, photo()), tuple(Stage))
    assert worked.state.results[0].read_twice == ""
    assert run(tmp_path, typed(item(3, 4)), SCAN)[0].state.results[0].read_twice == ""
