r"""Outputs that look right at first sight: comments that draw, units in another case, boxes that contradict the key."""

from __future__ import annotations

import pytest

from qagen_dagster.loop.problems.properties import (
    alternate_breaches,
    combined_breaches,
    conversion_breaches,
    diagram_breaches,
    scan_breaches,
    variant_breaches,
)
from qagen_dagster.records.problems.item import (
    AlternateResult,
    Breach,
    Format,
    QuestionKind,
    VariantKind,
)
from tests.support.problems.play import MERGED, item, mcq

ANSWER = r"10\,\mathrm{m\,s^{-1}}"
NUMERICAL, CONTEXT, CONCEPTUAL = VariantKind.NUMERICAL, VariantKind.CONTEXT, VariantKind.CONCEPTUAL


def made(statement: str, solution: str) -> str:
    return f"\\item {statement}\n{solved(solution)}"


def solved(body: str) -> str:
    return f"\\begin{{solution}}\n{body}\n\\end{{solution}}"


def told(breaches: tuple[Breach, ...]) -> list[tuple[int, str]]:
    return [(one.property, one.detail) for one in breaches]


def only(breaches: tuple[Breach, ...], number: int, words: str) -> bool:
    """Whether there is one breach, of that property, that says these words."""
    ((found, detail),) = told(breaches)
    return found == number and words in detail


def another(solution: str, answer: str = ANSWER) -> AlternateResult:
    return AlternateResult(solution=solution, method="energy", final_answer=answer)


@pytest.mark.parametrize(
    ("solution", "said"),
    [
        (solved(rf"$\boxed{{{ANSWER}}}$"), "no steps"),
        (solved(rf"$v = \boxed{{{ANSWER}}}$") * 2, "one solution environment"),
        (item().partition("\n")[2], "the original solution, word for word"),
        (item().partition("\n")[2].replace("The speed", "The ~ speed % as before\n"), "word for word"),
        (solved(rf"\usepackage{{x}} $v = \boxed{{{ANSWER}}}$"), r"\usepackage does not belong here"),
        (solved(rf"$v^2 = 2 a s$, so $v = \boxed{{{ANSWER}}}$"), "number 2 once more"),
    ],
)
def test_an_alternate_is_another_whole_solution(solution: str, said: str) -> None:
    earlier = (
        solved(rf"By hand $v = \boxed{{{ANSWER}}}$"),
        solved(rf"$v^2 = 2 a s$ so $v = \boxed{{{ANSWER}}}$."),
    )
    assert only(alternate_breaches(item(), another(solution), earlier), 6, said)


def test_an_empty_alternate_of_a_question_without_a_number_is_none() -> None:
    source = made("Why does it fall?", "Because gravity pulls on it all of the time, always.")
    assert only(alternate_breaches(source, another(solved(""), "")), 6, "no steps")


@pytest.mark.parametrize(
    ("source", "variant", "said"),
    [
        ("A lamp of 5 mW glows", "A lamp of 6 MW glows", "'mW' became 'MW'"),
        ("Masses $M = 5$ and $m = 3$", "Masses $m = 6$ and $M = 3$", "'M' became 'm'"),
        (r"A lamp of \SI{5}{\milli\watt}", r"A lamp of \SI{6}{\mega\watt}", "'mW' became 'MW'"),
    ],
)
def test_a_unit_and_a_symbol_are_more_than_their_letters(source: str, variant: str, said: str) -> None:
    before, after = made(source, r"$E = 5 \cdot 3 = 15$"), made(variant, r"$E = 6 \cdot 3 = 18$")
    assert only(variant_breaches(NUMERICAL, before, after), 7, said)


def test_the_numbers_of_the_question_change_and_not_those_of_wrong_options_alone() -> None:
    variant = mcq().replace("$11", "$19").replace(r"2 \cdot 5", r"2 \cdot 5.0 + 0")
    assert only(variant_breaches(NUMERICAL, mcq(), variant), 7, "no number of the question differs")
    bare = r"How many? \begin{tasks}(2)\task 1 \ans\task %s\end{tasks}"
    assert not variant_breaches(NUMERICAL, made(bare % 2, "$n = 1$"), made(bare % 3, "$n = 1.0 + 0$"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (r"\boxed{21", r"\boxed{99", "the right option says"),
        ("\\task $24", "$24", "the source has 4 options, the variant has 3"),
        ("$22", "$23", "two options are"),
    ],
)
def test_options_of_a_variant_agree_with_its_source_and_its_solution(old: str, new: str, said: str) -> None:
    assert variant_breaches(NUMERICAL, mcq(), mcq(3, 7)) == ()
    assert only(variant_breaches(NUMERICAL, mcq(), mcq(3, 7).replace(old, new)), 9, said)


def test_values_may_stand_in_the_figure_alone() -> None:
    shown = r"\begin{tikzpicture}\draw (0,0) node {$%d$ N};\end{tikzpicture} How large is $F$ after $3$ s?"
    source = made(shown % 5, "$F = 5 = 5$")
    assert variant_breaches(NUMERICAL, source, made(shown % 7, "$F = 7 = 7$")) == ()
    again = made((shown % 5).replace(" How", "\nHow"), "$F = 7 = 7$")
    assert only(variant_breaches(NUMERICAL, source, again), 7, "no number of the question differs")


@pytest.mark.parametrize(
    "bare", ["$10$", "10 % since a = b", r"10 \begin{tikzpicture}[x=2cm]\end{tikzpicture}"]
)
def test_a_solution_that_only_names_its_answer_shows_no_steps(bare: str) -> None:
    assert only(variant_breaches(CONCEPTUAL, item(), made("A pebble falls?", bare)), 9, "no steps")


def test_a_solution_with_other_layout_is_not_worked_out_anew() -> None:
    variant = item(scene="swan").replace(r"= \boxed", r"=~\;\boxed")
    assert only(variant_breaches(CONCEPTUAL, item(), variant), 9, "the solution is the source's")


@pytest.mark.parametrize(("kind", "number"), [(NUMERICAL, 7), (CONTEXT, 8), (CONCEPTUAL, 9)])
def test_a_variant_is_none_of_the_earlier_ones(kind: VariantKind, number: int) -> None:
    variant = item(2 if kind is CONTEXT else 3, 5, "cart" if kind is NUMERICAL else "swan")
    assert variant_breaches(kind, item(), variant, (item(7, 9, "swan"),)) == ()
    layout = variant.replace("How", "\n How").replace("What", "~What")
    assert only(variant_breaches(kind, item(), layout, (variant,)), number, "number 1 once more")


def test_a_combined_problem_is_none_of_the_earlier_ones_and_says_which_option_is_right() -> None:
    sources, merged = (item(), item(3, 4, "swan")), MERGED["latex"]
    assert combined_breaches(sources, merged) == ()
    assert only(combined_breaches(sources, merged, (merged,)), 10, "number 1 once more")
    tasks = "\n\\begin{tasks}\\task $6$\\task $7$\\end{tasks}\n\\begin{solution}"
    with_options = merged.replace("\n\\begin{solution}", tasks)
    assert only(combined_breaches(sources, with_options), 10, r"no option ends with \ans")


@pytest.mark.parametrize(
    "drawn",
    [
        "\\begin{tikzpicture}\n% \\draw (0,0) -- (1,1);\n\\end{tikzpicture}",
        "\\begin{tikzpicture}\n\\coordinate (A) at (0,0);\n\\end{tikzpicture}",
    ],
)
def test_a_comment_and_a_place_draw_nothing(drawn: str) -> None:
    assert only(diagram_breaches(None, drawn), 4, "draws nothing")


def test_a_diagram_is_no_document() -> None:
    picture = "\\begin{tikzpicture}\n\\graph { a -> b };\n\\end{tikzpicture}"
    assert diagram_breaches(None, picture) == ()
    whole = f"\\documentclass{{standalone}}\n\\begin{{document}}\n{picture}\n\\end{{document}}"
    assert only(diagram_breaches(None, whole), 4, r"\documentclass does not belong here")


@pytest.mark.parametrize("alien", [r"\begin{document} A cart \end{document}", r"\usepackage{x} A cart"])
def test_an_item_is_no_document(alien: str) -> None:
    broken = scan_breaches(item().replace("A cart", alien), QuestionKind.SUBJECTIVE)
    assert only(broken, 3, "does not belong here")


@pytest.mark.parametrize(
    ("target", "converted", "said"),
    [
        (Format.SUBJECTIVE, mcq().replace("{tasks}", "\n{tasks}"), "subjective has no tasks environment"),
        (Format.MCQ_SC, mcq().replace(r"\boxed{10", r"\boxed{12"), "the right option says"),
        (Format.MCQ_SC, mcq().replace("$12", "$11"), "two options are"),
        (Format.SUBJECTIVE, made("How fast is the cart?", "By the law of speed."), "is not found in the solution"),
        (Format.INTEGER, made("How fast? Give an integer.", r"$v = \boxed{2 x^2}$"), r"a number in \boxed"),
    ],
)  # fmt: skip
def test_a_conversion_hides_no_options_and_loses_no_answer(target: Format, converted: str, said: str) -> None:
    assert only(conversion_breaches(item(), target, converted), 11, said)


TWO_BOXES = """\\begin{solution}
First the tension is $T = \\boxed{%s\\,\\mathrm{N}}$, then, by the same law, $T = \\boxed{%s\\,\\mathrm{N}}$.
\\end{solution}"""


@pytest.mark.parametrize(
    ("boxes", "answer", "broken"),
    [
        (("6", "11"), "11\\,\\mathrm{N}", 0),
        (("6", "11"), "6\\,\\mathrm{N}, 11\\,\\mathrm{N}", 0),
        (("6", "11"), "$6.0\\,\\mathrm{N}$,\\ $11.0\\,\\mathrm{N}$", 0),
        (("7", "11"), "11\\,\\mathrm{N}", 1),
        (("6", "12"), "6\\,\\mathrm{N}; 12\\,\\mathrm{N}", 3),
    ],
)
def test_each_answer_of_several_is_reached(boxes: tuple[str, str], answer: str, broken: int) -> None:
    source = (
        "\\item A ball swings. How large is the tension before the peg, how large after it?\n"
        + TWO_BOXES % ("6", "11")
    )
    solution = (TWO_BOXES % boxes).replace("by the same law", "in the turning frame")
    found = alternate_breaches(source, AlternateResult(solution=solution, method="m", final_answer=answer))
    assert [one.property for one in found] == [6] * broken, found


QUIZ = r"""\item A current of ${a}\,\mathrm{{A}}$ splits evenly into two branches. What is the current in each?
\begin{{tasks}}(2)
{options}
\end{{tasks}}
\begin{{solution}}
$I = {a} / 2$. {end}
\end{{solution}}"""
CURRENTS = (r"$2.5\,\mathrm{A}$", r"$2\,\mathrm{A}$", r"$8\,\mathrm{A}$", "zero, as no current flows")


def quiz(right: str, end: str, options: tuple[str, ...] = CURRENTS) -> str:
    """An item whose marked options are `right`, such as `ac`."""
    rows = [
        rf"\task {text}" + (r" \ans" if letter in right else "")
        for letter, text in zip("abcdefgh", options, strict=False)
    ]
    return QUIZ.format(a=4, options="\n".join(rows), end=end)


@pytest.mark.parametrize(
    ("right", "end", "said"),
    [
        ("a", r"$\boxed{2\,\mathrm{A}}$", "the solution ends at"),
        ("a", r"$\boxed{2}\,\mathrm{A}$", "the solution ends at"),
        ("a", r"$\boxed{2000\,\mathrm{mA}}$", "the solution ends at"),
        ("c", r"\boxed{\text{zero, as no current flows}}", "the solution ends at"),
        ("a", "The correct option is (b).", "names option (b) as right, but \\ans marks option (a)"),
        ("a", r"Hence $\boxed{\text{(B)}}$.", "names option (b)"),
        ("a", r"Hence \boxed{B}", "names option (b)"),
        ("a", r"The answer is \textbf{(b)} $2\,\mathrm{A}$.", "names option (b)"),
        ("a", "Answer: B.", "names option (b)"),
        ("a", "So option (B) is the correct one. Option (a) forgets the split.", "names option (b)"),
        ("ac", "The correct options are (a), (c) and (d).", "names option (a), (c), (d)"),
        ("acd", "The correct options are (a) and (c).", "marks option (a), (c), (d)"),
        ("a", "The correct option is (f).", "names option (f)"),
    ],
)
def test_the_mark_the_letter_and_the_box_agree(right: str, end: str, said: str) -> None:
    kind = QuestionKind.MCQ_SC if len(right) == 1 else QuestionKind.MCQ_MC
    broken = quiz(right, end)
    assert only(scan_breaches(broken, kind), 3, said)
    assert only(scan_breaches(broken, None), 3, said), "also where nobody said which kind it is"
    assert any(said in one.detail for one in variant_breaches(CONCEPTUAL, quiz("b", ""), broken))
    target = Format.MCQ_SC if len(right) == 1 else Format.MCQ_MC
    assert any(said in one.detail for one in conversion_breaches(quiz("b", ""), target, broken))
    assert any(said in one.detail for one in combined_breaches([], broken))
    whole = quiz(right, "")
    other = another(solved(f"Half of it: $I = I_0 / 2$. {end}"), "2")
    assert any(said in one.detail for one in alternate_breaches(whole, other))


@pytest.mark.parametrize(
    ("right", "end"),
    [
        ("b", r"$\boxed{2\,\mathrm{A}}$"),
        ("b", r"$\boxed{2}\,\mathrm{A}$"),
        ("b", r"$\boxed{I = 2\,\mathrm{A}}$, option (b)."),
        ("b", r"$\boxed{0.002\,\mathrm{kA}}$"),
        ("b", r"\boxed{\textbf{(b)}~2\,\mathrm{A}}"),
        ("b", "The correct option is (b). Option (a) is wrong, option (c) is the sum."),
        ("b", "The incorrect options are (a), (c) and (d)."),
        ("b", "The right answer is B, because both branches are alike."),
        ("b", "The answer is a current of two ampere."),
        ("b", "The answer is $A = 2$ in the units of (a)."),
        ("b", "Options (a) and (c) are not correct."),
        ("d", "No current flows, so the answer is (d)."),
        ("d", r"\boxed{\text{B, as no current flows}}"),
        ("ac", "Option (a) is correct as it is half. Option (c) is correct, too."),
        ("ac", "The correct options are (a) and (c)."),
    ],
)
def test_a_key_that_agrees_is_not_refused(right: str, end: str) -> None:
    kind = QuestionKind.MCQ_SC if len(right) == 1 else QuestionKind.MCQ_MC
    assert scan_breaches(quiz(right, end), kind) == ()


def test_letters_are_not_read_where_the_options_have_other_labels() -> None:
    labelled = quiz("a", "The correct option is (b).").replace(r"\task", r"\task[(b)]", 1)
    assert scan_breaches(labelled, QuestionKind.MCQ_SC) == ()
    own = quiz("b", r"$\boxed{\text{(E) both}}$", ("neither", "(E) both"))
    assert scan_breaches(own, QuestionKind.MCQ_SC) == ()


def test_an_answer_that_could_be_rounded_to_the_key_is_another_option() -> None:
    options = (r"$1.4\,\mathrm{A}$", r"$1.41\,\mathrm{A}$")
    assert scan_breaches(quiz("a", r"$\boxed{1.414\,\mathrm{A}}$", options), QuestionKind.MCQ_SC) == ()
    assert only(
        scan_breaches(quiz("a", r"$\boxed{1.41\,\mathrm{A}}$", options), QuestionKind.MCQ_SC), 3, "ends at"
    )
