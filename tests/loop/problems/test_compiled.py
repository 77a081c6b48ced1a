"""What a TeX engine says of LaTeX that a task made: told to the model once, and with what the diagram needs."""

from __future__ import annotations

from pathlib import Path

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.loop.problems.inputs import Compiler
from qagen_dagster.loop.problems.run_problem import work_problem
from qagen_dagster.loop.problems.state_machine import FULL, Wishes
from qagen_dagster.records.problems.result import Compiled, CompileOutcome, ProblemEnd, Stage, TaskEnd
from qagen_dagster.records.problems.submissions import Format, VariantKind
from tests.support.models import told
from tests.support.problems.play import TIKZ, ProblemPlay, photo, task_results


def compiling(outcomes: list[CompileOutcome], seen: list[str]) -> Compiler:
    def compiled(latex: str, _preamble: str, _libraries: tuple[str, ...]) -> Compiled:
        seen.append(latex)
        return Compiled(
            outcome=outcomes[min(len(seen), len(outcomes)) - 1], message="! Undefined control sequence."
        )

    return Compiler("fake", compiled)


def test_a_variant_is_compiled_with_the_libraries_of_the_diagram(tmp_path: Path) -> None:
    seen: list[tuple[str, ...]] = []

    def compiled(_latex: str, _preamble: str, libraries: tuple[str, ...]) -> Compiled:
        seen.append(libraries)
        return Compiled(outcome=CompileOutcome.COMPILED)

    drawn = TIKZ | {"libraries": ["shapes.geometric"]}
    problem, wishes = (
        photo(),
        Wishes(alternates=1, variants=(VariantKind.NUMERICAL,), conversions=(Format.MCQ_SC,)),
    )
    work = ProblemPlay({Role.TIKZ: [drawn]}).work(problem, wishes, Compiler("fake", compiled))
    assert work_problem(work, task_results(tmp_path, problem), FULL).ended.end is ProblemEnd.ACCEPTED
    assert seen == [(), *[("shapes.geometric",)] * 4]


def test_what_the_engine_says_goes_back_once(tmp_path: Path) -> None:
    wishes = Wishes(stages=(Stage.SCAN,))
    for outcomes, asked, end in (
        ([CompileOutcome.FAILED, CompileOutcome.COMPILED], 2, CompileOutcome.COMPILED),
        ([CompileOutcome.FAILED], 2, CompileOutcome.FAILED),
        ([CompileOutcome.COMPILED], 1, CompileOutcome.COMPILED),
    ):
        play, seen = ProblemPlay(), list[str]()
        problem = photo(id=f"p{len(outcomes)}{end.value}")
        work = play.work(problem, wishes, compiling(outcomes, seen))
        worked = work_problem(work, task_results(tmp_path, problem), FULL)
        result = worked.state.first(Stage.SCAN)
        assert result is not None
        assert result.end is TaskEnd.DONE
        assert (play.asked(Role.SCANNER), result.compiled and result.compiled.outcome) == (asked, end)
        assert bool(result.warnings) == (end is CompileOutcome.FAILED)
        if asked == 2:
            assert "! Undefined control sequence." in told(play.fakes[Role.SCANNER].requests[1])
