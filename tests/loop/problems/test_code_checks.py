"""The correctness properties of the pipeline and of its outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from qagen_dagster.agents.problems import prompts, scan_prompt
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.problems.code_checks import (
    alternate_breaches,
    combined_breaches,
    conversion_breaches,
    diagram_breaches,
    idea_breaches,
    output_breaches,
    problem_prompt_hashes,
    scan_breaches,
    select_range,
    variant_breaches,
)
from qagen_dagster.loop.problems.faithfulness import answer_kept
from qagen_dagster.records.base import Difficulty
from qagen_dagster.records.problems.submissions import (
    AlternateResult,
    Breach,
    ClassificationResult,
    Format,
    IdeaResult,
    Problem,
    QuestionKind,
    VariantKind,
)
from qagen_dagster.store import Store
from tests.support.problems.play import STEPS, classified, integer, item, mcq, typed

ENOUGH = settings(max_examples=120, deadline=None)
SLOW = settings(max_examples=min(settings().max_examples, 120))  # 25, and 120 in `make test-long`
INDEX = st.integers(min_value=1, max_value=60)


def problems(count: int) -> tuple[Problem, ...]:
    return tuple(typed("x", id=f"p{index}", index=index) for index in range(1, count + 1))


@ENOUGH
@given(kind=st.sampled_from([one.value for one in QuestionKind]) | st.text(max_size=20))
def test_the_scanner_uses_the_prompt_of_the_kind(kind: str) -> None:
    """**Feature: physics-question-pipeline, Property 2: Scanner Prompt Selection**"""
    known = kind if kind in set(QuestionKind) else "mcq_sc"
    prompt = scan_prompt(kind)
    assert prompt.name == f"problem_scan_{known}"


@ENOUGH
@given(
    count=INDEX, start=st.integers(min_value=-2, max_value=70), end=st.integers(min_value=-2, max_value=70)
)
def test_a_range_holds_both_its_ends_and_nothing_outside(count: int, start: int, end: int) -> None:
    """**Feature: physics-question-pipeline, Property 13: CLI Range Filtering**"""
    wanted = [index for index in range(1, count + 1) if start <= index <= end]
    if start < 1 or not wanted:
        with pytest.raises(ConfigError):
            select_range(problems(count), (start, end))
        return
    chosen = [one.index for one in select_range(problems(count), (start, end))]
    assert chosen == wanted


def test_without_a_range_there_is_everything() -> None:
    assert len(select_range(problems(3), None)) == 3


@ENOUGH
@given(
    data=st.binary(max_size=200),
    other=st.binary(max_size=200),
    name=st.text("abcxyz", min_size=1, max_size=12),
)
def test_what_was_to_be_written_is_there(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, other: bytes, name: str
) -> None:
    """**Feature: physics-question-pipeline, Property 14: CLI Output Persistence**"""
    root = tmp_path_factory.mktemp("out")
    assert [one.property for one in output_breaches(name, data, None)] == [14]
    Store(root).write_bytes(name, data)
    found = Path(root, name).read_bytes()
    assert output_breaches(name, data, found) == ()
    assert bool(output_breaches(name, other, found)) is (other != data)


def test_every_role_and_kind_has_a_prompt_of_two_parts() -> None:
    """**Feature: physics-question-pipeline, Property 15: Prompt File Organization**"""
    found = prompts()
    assert len(found) == len({one.name for one in found}) == 7 + len(QuestionKind) + len(VariantKind)
    assert all(one.system.strip() and one.user.strip() for one in found)
    assert set(problem_prompt_hashes()) == {one.name for one in found}


GIVEN = st.integers(min_value=2, max_value=900)
WORD = st.text(alphabet="abcdefghijklmnoprstuvw", min_size=3, max_size=9)
LAYOUT = st.sampled_from(["", " ", "\n", "\\, ", "\\quad ", "% a remark\n", "~"])


def numbers(breaches: tuple[Breach, ...]) -> set[int]:
    return {breach.property for breach in breaches}


def alternate(answer: str, *, solution: str = "") -> AlternateResult:
    shown = solution or f"\\begin{{solution}}\nBy energy, $v = \\boxed{{{answer}}}$.\n\\end{{solution}}"
    return AlternateResult(solution=shown, method="energy", final_answer=answer)


def speed(value: int) -> str:
    return f"{value}\\,\\mathrm{{m\\,s^{{-1}}}}"


@ENOUGH
@given(
    kind=st.text(max_size=20) | st.sampled_from(QuestionKind),
    difficulty=st.text(max_size=12) | st.sampled_from(Difficulty),
)
def test_a_classification_has_a_kind_and_a_difficulty(kind: str, difficulty: str) -> None:
    """**Feature: physics-question-pipeline, Property 1: Classification Output Validity**"""
    said: dict[str, Any] = classified(question_type=kind, difficulty=difficulty)
    try:
        found = ClassificationResult.model_validate(said)
    except ValidationError:
        assert kind not in set(QuestionKind) or difficulty not in set(Difficulty)
    else:
        assert found.question_type in set(QuestionKind)
        assert found.difficulty in set(Difficulty)


@SLOW
@given(a=GIVEN, t=GIVEN, before=WORD, after=WORD, space=LAYOUT)
def test_a_scan_goes_from_item_to_the_end_of_its_solution(
    a: int, t: int, before: str, after: str, space: str
) -> None:
    """**Feature: physics-question-pipeline, Property 3: LaTeX Output Structure**"""
    good = item(a, t)
    assert scan_breaches(f"\n {good}\n", QuestionKind.SUBJECTIVE) == ()
    for bad in (
        f"{before} {good}",
        f"{good} {after}",
        good.replace("\\item", "\\itemize"),
        good.replace("\\end{solution}", ""),
        good.replace("\\begin{solution}", "\\begin{solution}{"),
        good.replace(good[good.index("The speed") : good.index("\n\\end")], space),
        f"{good}\n{good}",
    ):
        assert numbers(scan_breaches(bad, QuestionKind.SUBJECTIVE)) == {3}, bad


@SLOW
@given(a=GIVEN, t=GIVEN, kind=st.sampled_from(QuestionKind))
def test_only_mcq_has_tasks(a: int, t: int, kind: QuestionKind) -> None:
    """**Feature: physics-question-pipeline, Property 3: LaTeX Output Structure**"""
    assert (scan_breaches(mcq(a, t), kind) == ()) is kind.is_mcq
    assert (scan_breaches(item(a, t), kind) == ()) is not kind.is_mcq
    assert scan_breaches(mcq(a, t), kind, strict=False) == ()
    assert numbers(scan_breaches(mcq(a, t, right=0), QuestionKind.MCQ_SC)) == {3}


@ENOUGH
@given(has=st.booleans(), x=st.integers(2, 20), noise=WORD, said=st.none() | st.just("") | st.just(" \n"))
def test_a_diagram_is_drawn_where_there_is_one(has: bool, x: int, noise: str, said: str | None) -> None:
    """**Feature: physics-question-pipeline, Property 4: TikZ Generation Trigger**"""
    known = ClassificationResult.model_validate(classified(has_diagram=has))
    good = f"\\begin{{tikzpicture}}\n\\draw (0,0) -- ({x},1) node {{{noise}}};\n\\end{{tikzpicture}}"
    assert diagram_breaches(known, good) == ()
    for bad in (
        said,
        noise,
        good.replace("\\end{tikzpicture}", ""),
        "% " + good.replace("\n", " "),
        good.replace("\\draw", ""),
        good + "}",
    ):
        assert numbers(diagram_breaches(known, bad)) == ({4} if has else set()), bad


@ENOUGH
@given(
    concepts=st.lists(WORD | st.just(" "), max_size=3), techniques=st.lists(WORD | st.just(""), max_size=3)
)
def test_ideas_have_concepts_and_techniques(concepts: list[str], techniques: list[str]) -> None:
    """**Feature: physics-question-pipeline, Property 5: Idea Extraction Completeness**"""
    broken = idea_breaches(IdeaResult(concepts=tuple(concepts), techniques=tuple(techniques)))
    lacking = [
        name
        for name, said in (("concepts", concepts), ("techniques", techniques))
        if not "".join(said).strip()
    ]
    assert [one.detail for one in broken] == [f"{name} is empty" for name in lacking]
    assert numbers(broken) <= {5}


@SLOW
@given(a=GIVEN, t=GIVEN, off=st.integers(min_value=1, max_value=1000))
def test_an_alternate_solution_keeps_the_answer(a: int, t: int, off: int) -> None:
    """**Feature: physics-question-pipeline, Property 6: Alternate Solution Answer Preservation**"""
    original, right = item(a, t), a * t
    wrong = right + max(off, right // 50 + 1)
    assert alternate_breaches(original, alternate(speed(right))) == ()
    assert alternate_breaches(original, alternate(f"\\frac{{{right * 4}}}{{4}}\\,\\mathrm{{m/s}}")) == ()
    assert numbers(alternate_breaches(original, alternate(speed(wrong)))) == {6}
    only_said = alternate(speed(right), solution=alternate(speed(wrong)).solution)
    assert numbers(alternate_breaches(original, only_said)) == {6}
    nowhere = alternate(speed(right), solution="\\begin{solution}\nIt follows at once.\n\\end{solution}")
    assert numbers(alternate_breaches(original, nowhere)) == {6}


@pytest.mark.parametrize(("said", "broken"), [("(b)", set[int]()), ("(c)", {6}), ("(b) and (c)", {6})])
def test_an_alternate_solution_ends_at_the_same_option(said: str, broken: set[int]) -> None:
    original = mcq().replace("\\end{solution}", "The correct option is (b).\n\\end{solution}")
    text = (
        f"\\begin{{solution}}\n$v = \\boxed{{{speed(10)}}}$. The correct option is {said}.\n\\end{{solution}}"
    )
    assert numbers(alternate_breaches(original, alternate(speed(10), solution=text))) == broken


@SLOW
@given(a=GIVEN, t=GIVEN, b=GIVEN, word=WORD, space=LAYOUT)
def test_a_numerical_variant_changes_numbers_alone(a: int, t: int, b: int, word: str, space: str) -> None:
    """**Feature: physics-question-pipeline, Property 7: Numerical Variant Number Modification**"""
    source, variant = item(a, t), item(b, t)
    moved = variant.replace("rest with", f"rest {space}with")
    changed = sorted((a, t)) != sorted((b, t))
    assert (7 in numbers(variant_breaches(VariantKind.NUMERICAL, source, moved))) is not changed
    other = variant.replace("cart", f"cart {word}")
    assert 7 in numbers(variant_breaches(VariantKind.NUMERICAL, source, other))


@SLOW
@given(a=GIVEN, t=GIVEN, b=GIVEN, scene=st.sampled_from(["cart", "swan"]))
def test_a_context_variant_keeps_every_number(a: int, t: int, b: int, scene: str) -> None:
    """**Feature: physics-question-pipeline, Property 8: Context Variant Number Preservation**"""
    broken = variant_breaches(VariantKind.CONTEXT, item(a, t), item(b, t, scene))
    assert (8 in numbers(broken)) is (a != b or scene == "cart")
    assert numbers(broken) <= {8}


@SLOW
@given(
    a=GIVEN,
    t=GIVEN,
    kind=st.sampled_from([one for one in VariantKind if one is not VariantKind.MULTI]),
    cut=st.sampled_from(["environment", "empty", "word", "open"]),
)
def test_a_variant_has_a_whole_solution_of_its_own(a: int, t: int, kind: VariantKind, cut: str) -> None:
    """**Feature: physics-question-pipeline, Property 9: Variant Solution Completeness**"""
    source = item(a, t)
    scene = "cart" if kind is VariantKind.NUMERICAL else "swan"
    steps = STEPS.replace("a t", "\\int a\\,dt") if kind is VariantKind.CALCULUS else STEPS
    good = item(a if kind is VariantKind.CONTEXT else a + 1, t, scene, steps=steps)
    assert variant_breaches(kind, source, good) == ()
    head = good.split("\\begin{solution}")[0]
    bad = {
        "environment": head,
        "empty": f"{head}\\begin{{solution}}\n\\end{{solution}}",
        "word": f"{head}\\begin{{solution}}\nAs before.\n\\end{{solution}}",
        "open": good.replace("\\end{solution}", ""),
    }[cut]
    assert 9 in numbers(variant_breaches(kind, source, bad))
    if kind is not VariantKind.CONTEXT:
        assert 9 in numbers(
            variant_breaches(kind, source, head + source[source.index("\\begin{solution}") :])
        )


@SLOW
@given(a=GIVEN, t=GIVEN, b=GIVEN, word=WORD)
def test_a_combined_problem_is_one_problem(a: int, t: int, b: int, word: str) -> None:
    """**Feature: physics-question-pipeline, Property 10: Multi-Context Output Coherence**"""
    sources = (item(a, t), item(b, t, "swan"))
    one = (
        f"\\item A {word} speeds up at ${a}$ for ${t}$ seconds and then hits a raft. How fast do both drift?\n"
        f"\\begin{{solution}}\n$v = {a} \\cdot {t} / 2 = \\boxed{{{a * t / 2}}}$\n\\end{{solution}}"
    )
    assert combined_breaches(sources, one) == ()
    joined = sources[0].replace("\n\\begin", f" {sources[1][6:].splitlines()[0]}\n\\begin", 1)
    headed = one.replace("\\item A", "\\item Problem 1. A").replace("raft.", "raft.\n\nProblem 2.")
    for bad in ("\n".join(sources), joined, headed, sources[0], one.replace("\\begin{solution}", "")):
        assert numbers(combined_breaches(sources, bad)) == {10}, bad


FREE = [one for one in Format if not one.is_keyed]
CART = "A cart starts from rest with the acceleration $2\\,\\mathrm{m\\,s^{-2}}$ for $5\\,\\mathrm{s}$."


def listed(statement: str, entries: list[str], solution: str) -> str:
    rows = "\n".join(f"\\item {one}" for one in entries)
    return f"\\item {statement}\n\\begin{{enumerate}}[label=(\\Alph*)]\n{rows}\n\\end{{enumerate}}\n\\begin{{solution}}\n{solution}\n\\end{{solution}}"


TRUTHS = [
    "Both A and R are true and R explains A.", "Both A and R are true but R does not explain A.", "A is true but R is false.",
    "A is false but R is true.",
]  # fmt: skip
CLAIMS = f"{CART} Assertion (A): Its final speed is $10\\,\\mathrm{{m\\,s^{{-1}}}}$. Reason (R): Its speed is $at$."
LISTS = f"{CART} Match: A its speed, B its path, C its mean speed; 1 $25\\,\\mathrm{{m}}$, 2 $10\\,\\mathrm{{m\\,s^{{-1}}}}$, 3 $5\\,\\mathrm{{m\\,s^{{-1}}}}$."
SPEED = "$v = 2 \\cdot 5 = \\boxed{10\\,\\mathrm{m\\,s^{-1}}}$"
KEYED = {
    Format.ASSERTION_REASON: listed(CLAIMS, TRUTHS, "$2 \\cdot 5 = 10$. A is true. R is true. R explains A. The correct option is (A)."),
    Format.MATCH: listed(LISTS, ["A-2, B-1, C-3", "A-1, B-2, C-3"], "$2 \\cdot 5 = 10$, so A-2, B-1, C-3. The correct option is (A)."),
    Format.PASSAGE: listed(CART, ["What is its final speed?", "What is its path?"], f"1. {SPEED}. 2. $s = \\frac{{1}}{{2}} \\cdot 2 \\cdot 5^2 = \\boxed{{25\\,\\mathrm{{m}}}}$."),
}  # fmt: skip
LIES = {
    Format.ASSERTION_REASON: (("option is (A)", "option is (B)"), ("A is true", "A is false"), ("option is (A)", "option is (F)"), (r"5\,\mathrm{s}", r"6\,\mathrm{s}")),
    Format.MATCH: (("option is (A)", "option is (B)"), ("so A-2, B-1", "so A-1, B-2"), ("so A-2, B-1, C-3", "so it is easy"), ("= 10$", "= 12$")),
    Format.PASSAGE: (("\\boxed{25\\,\\mathrm{m}}", "25"), ("\\boxed{10\\,", "\\boxed{12\\,"), ("\\item What is its path?\n", "")),
}  # fmt: skip


@pytest.mark.parametrize("target", KEYED)
def test_a_conversion_to_a_format_with_lists_has_a_checkable_answer(target: Format) -> None:
    good = KEYED[target]
    assert conversion_breaches(item(2, 5), target, good) == ()
    assert conversion_breaches(good, Format.SUBJECTIVE, item(2, 5)) == ()
    assert conversion_breaches(good, Format.MCQ_SC, mcq(2, 5)) == ()
    for old, new in LIES[target]:
        assert good.replace(old, new) != good, old
        assert conversion_breaches(item(2, 5), target, good.replace(old, new)), (old, new)
    assert conversion_breaches(item(2, 5), target, item(2, 5))


@SLOW
@given(a=GIVEN, t=GIVEN, target=st.sampled_from(FREE), made=st.sampled_from(FREE))
def test_a_conversion_has_the_structure_of_its_format(a: int, t: int, target: Format, made: Format) -> None:
    """**Feature: physics-question-pipeline, Property 11: Format Conversion Structure**"""
    outputs = {
        Format.MCQ_SC: mcq(a, t),
        Format.MCQ_MC: mcq(a, t, right=2),
        Format.SUBJECTIVE: item(a, t),
        Format.INTEGER: integer(a, t),
    }
    broken = conversion_breaches(item(a, t), target, outputs[made])
    fits = {
        Format.MCQ_SC: {Format.MCQ_SC},
        Format.MCQ_MC: {Format.MCQ_MC, Format.MCQ_SC},
        Format.SUBJECTIVE: {Format.SUBJECTIVE, Format.INTEGER},
        Format.INTEGER: {Format.INTEGER},
    }[target]
    assert (broken == ()) is (made in fits), broken
    assert numbers(broken) <= {11}


def test_a_conversion_keeps_the_answer() -> None:
    *_, breach = conversion_breaches(item(2, 5), Format.MCQ_SC, mcq(3, 5))
    assert (breach.property, "the answer must stay" in breach.detail) == (11, True)
    assert conversion_breaches(mcq(2, 5), Format.SUBJECTIVE, item(2, 5)) == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("mass of $2", "mass of $-2"),
        ("$3\\,\\mathrm{m\\,s^{-1}}$", "$4 \\times 10^8\\,\\mathrm{m\\,s^{-1}}$"),
    ],
)
def test_an_impossible_value_in_the_statement_of_a_picture_is_refused(old: str, new: str) -> None:
    good = (
        "\\item A body with a mass of $2\\,\\mathrm{kg}$ moves at $3\\,\\mathrm{m\\,s^{-1}}$ as shown in the figure. What is its momentum?\n"
        "\\begin{solution}\nIt is the product $p = mv$, by definition.\n\\end{solution}"
    )
    assert scan_breaches(good, QuestionKind.SUBJECTIVE) == ()
    assert good.replace(old, new) != good
    assert scan_breaches(good.replace(old, new), QuestionKind.SUBJECTIVE)


@pytest.mark.parametrize("key", ["P-2, Q-1, R-3", "$P \\to 2$; $Q \\to 1$; $R \\to 3$"])
def test_one_pair_of_a_matching_may_become_the_conversion(key: str) -> None:
    source = mcq(7, 3).replace("$21\\,\\mathrm{m\\,s^{-1}}$ \\ans", f"{key} \\ans")
    assert key in source
    assert list(answer_kept(source, Format.MCQ_SC, mcq())) == []
    assert list(answer_kept(source.replace(key, "2 pairs"), Format.MCQ_SC, mcq())) != []


@pytest.mark.parametrize("alien", [r"\begin{document} A cart \end{document}", r"\usepackage{x} A cart"])
def test_an_item_is_no_document(alien: str) -> None:
    broken = scan_breaches(item().replace("A cart", alien), QuestionKind.SUBJECTIVE)
    assert [one.property for one in broken] == [3]
    assert "does not belong here" in broken[0].detail
