"""Faults of outputs, and what variants and conversions have to keep."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qagen_dagster.loop.problems.code_checks import (
    alternate_breaches,
    combined_breaches,
    conversion_breaches,
    diagram_breaches,
    scan_breaches,
    variant_breaches,
)
from qagen_dagster.records.problems.submissions import (
    AlternateResult,
    Breach,
    Format,
    QuestionKind,
    VariantKind,
)
from tests.support.problems.play import MERGED, integer, item, mcq

ANSWER = r"10\,\mathrm{m\,s^{-1}}"
NUMERICAL, CONTEXT, CONCEPTUAL = VariantKind.NUMERICAL, VariantKind.CONTEXT, VariantKind.CONCEPTUAL


def made(statement: str, solution: str) -> str:
    return f"\\item {statement}\n{solved(solution)}"


def solved(body: str) -> str:
    return f"\\begin{{solution}}\n{body}\n\\end{{solution}}"


def told(breaches: tuple[Breach, ...]) -> list[tuple[int, str]]:
    pairs = [(one.property, one.detail) for one in breaches]
    return [pair for pair in pairs if " is false: " not in pair[1] and not pair[1].endswith("is not there")]


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


def context_variant(statement: str) -> str:
    return f"\\item {statement}\n\\begin{{solution}}\nWith the law of motion $s = \\boxed{{7}}$.\n\\end{{solution}}"


def faults_of_variant(source: str, variant: str) -> list[tuple[int, str]]:
    broken = variant_breaches(
        VariantKind.CONTEXT,
        context_variant(f"A cart on a road. {source}"),
        context_variant(f"A swan in a lake. {variant}"),
    )
    return [(one.property, one.detail) for one in broken]


@pytest.mark.parametrize(
    ("source", "variant"),
    [
        ("It goes 5 km.", "It swims 5 m."),
        ("It goes $5$ km.", "It swims $5$~m."),
        (r"It goes $5\,\mathrm{km}$.", r"It swims $5\,\text{m}$."),
        (r"It goes \SI{5}{\kilo\metre}.", r"It swims 5 metres."),
        (r"It goes at $36\,\mathrm{km\,h^{-1}}$.", r"It swims at $36\,\mathrm{m/s}$."),
        ("It goes at 36 km/h.", r"It swims at $36\,\mathrm{m\,s^{-1}}$."),
        ("A 2 kg load for 3 minutes.", "A 2 kg fish for 3 seconds."),
        (r"It turns by $30^\circ$.", r"It turns by $30\,\mathrm{rad}$."),
    ],
)
def test_a_value_in_a_unit_of_another_scale_is_another_value(source: str, variant: str) -> None:
    ((number, detail),) = faults_of_variant(source, variant)
    assert number == 8
    assert "in the source; here it is in" in detail


@pytest.mark.parametrize(
    ("source", "variant"),
    [
        ("Its place is $x = 3t + 2t^2$.", "Its place is $y = 3s - 2s^2$."),
        ("Its place is $x(t) = 5 - 3t$.", "Its height is $h = 5 + 3 \\tau$."),
        (
            r"\[ \vec v = 3\hat i + 4\hat j \]",
            r"\begin{equation} \vec u = 3\hat{i} - 4\hat{j} \end{equation}",
        ),
        ("It holds for $t > 4$.", "It holds for $s < 4$."),
        (r"It holds for $t \leq 4 t_0$.", r"It holds for $\tau \ge 4\tau_0$."),
    ],
)
def test_a_given_relation_keeps_its_signs(source: str, variant: str) -> None:
    ((number, detail),) = faults_of_variant(source, variant)
    assert number == 8
    assert detail.startswith("a given relation has another sign: ")


@pytest.mark.parametrize(
    ("source", "variant"),
    [
        ("It goes 5 km.", r"It swims $5\,\mathrm{kilometres}$."),
        (r"It goes at $36\,\mathrm{m\,s^{-1}}$.", "It swims at 36 m/s, like others."),
        (r"It goes at 36 m s$^{-1}$.", r"It swims at $36\,\mathrm{m/s}$."),
        ("A mass of $2m$ and one of 3 kg.", "A mass of $2M$ and one of 3 kg."),
        ("Loads 3 kg A and 5 g B move.", "Fish 5 g P and 3 kg Q swim."),
        ("First 5 m, then 5 cm.", "First 5 cm, then 5 m."),
        (r"A force $F = 5\,\mathrm{N}$.", "A force of 5 newtons."),
        ("Its place is $x = 3t + 2t^2$.", r"Its place is \( y(s) = 3 s + 2 s^{2} \)."),
        ("Its place is $x = 3t + 2t^2$.", "Its place is $2s^2+3s$."),
        ("$x = 3t + 2$ and $y = 3t - 2$.", "$u = 3s - 2$ and $w = 3s + 2$."),
        ("It holds for $t > 4$.", "It holds for $4 < s$."),
        ("Charges $+3q$ and $-3q$.", "Charges $-3Q$ and $+3Q$."),
        (r"Masses $m_1 + m_2$ at $4\,\mathrm{s}$.", r"Masses at $4\,\mathrm{s}$, $M_2 - M_1$ apart."),
        (r"A field of $10^{-3}\,\mathrm{T}$.", r"A field of $10^{-3}$ T."),
        (r"It is $20^\circ\mathrm{C}$ warm.", r"It is at $20\,^{\circ}\text{C}$."),
        (r"A tenth: 10\% of it.", r"A part: $10\,\%$ of it."),
    ],
)  # fmt: skip
def test_the_same_values_and_relations_may_be_written_and_named_otherwise(source: str, variant: str) -> None:
    assert faults_of_variant(source, variant) == []
    assert faults_of_variant(variant, source) == []


WORKED = "Forces balance: $F = m g \\sin 30^\\circ = 10 \\cdot 9.8 \\cdot 0.5$, $s = \\boxed{7}$."
NAMED = "Here $g = 10\\,\\mathrm{m\\,s^{-2}}$, so $F = 10 \\cdot 10 \\cdot 0.5$ and $s = \\boxed{7}$."


@pytest.mark.parametrize(
    ("solution", "more", "kept"),
    [
        (WORKED, r"Take $g = 9.8\,\mathrm{m\,s^{-2}}$.", True),
        (WORKED, r"Take \( g \approx 9.8\,\mathrm{m/s^2} \).", True),
        (NAMED, r"Take $g = 10\,\mathrm{m\,s^{-2}}$.", True),
        (NAMED, r"Take $g=10$ and $g = 10$.", False),
        (WORKED, r"Take $g = 10\,\mathrm{m\,s^{-2}}$.", False),
        (WORKED, r"Take $g = 9.81\,\mathrm{m\,s^{-2}}$.", False),
        (WORKED, r"Its length is $l = 9.8\,\mathrm{m}$.", False),
        (WORKED, r"Its speed is 9.8 m/s.", False),
    ],
)
def test_a_constant_of_the_solution_may_be_named(solution: str, more: str, kept: bool) -> None:
    def item(statement: str) -> str:
        return f"\\item {statement}\n\\begin{{solution}}\n{solution}\n\\end{{solution}}"

    source = item("A cart of $10$ kg on a slope of $30^\\circ$. What holds it?")
    variant = item(f"A sledge of $10$ kg on a hill of $30^\\circ$. {more} What holds it there?")
    broken = variant_breaches(VariantKind.CONTEXT, source, variant)
    assert [one.property for one in broken] == ([] if kept else [8])


def test_numbers_are_told_as_people_write_them() -> None:
    found = faults_of_variant("It goes 2.5 km and 7 km.", r"It swims 0.1 km and $\frac{1}{3}$ km and 7 km.")
    assert found[0][1].endswith(
        "those of the source: 2.5 of the source is not there, and 0.1, 1/3 is not in the source"
    )


STATEMENT = "A spring is pulled until it rests. How far is it pulled?"
LENGTH = r"0.25\,\mathrm{m}"


def conversion(statement: str, answer: str) -> str:
    return f"\\item {statement}\n\\begin{{solution}}\nBy Hooke's law $x = F / k = \\boxed{{{answer}}}$.\n\\end{{solution}}"


def faults_of_conversion(
    source: str, ask: str, answer: str, statement: str = STATEMENT
) -> list[tuple[int, str]]:
    broken = conversion_breaches(
        conversion(STATEMENT, source), Format.INTEGER, conversion(f"{statement} {ask}".strip(), answer)
    )
    return [(one.property, one.detail) for one in broken]


@pytest.mark.parametrize(
    ("source", "ask", "answer"),
    [
        (LENGTH, "Give your answer in cm as an integer.", "52"),
        (LENGTH, r"Give your answer in $\mathrm{cm}$ as an integer.", "52"),
        (LENGTH, "Give your answer as an integer.", r"52\,\mathrm{cm}"),
        (LENGTH, "Give the number of centimetres.", "250"),
        (LENGTH, "Give your answer in m as a number.", "25"),
        (LENGTH, r"Give the integer in units of $10^{-3}\,\mathrm{m}$.", "25"),
        (LENGTH, "Give your answer as an integer.", r"25\,\mathrm{s}"),
        (r"12.4\,\mathrm{m}", "Give your answer in m to the nearest integer.", "13"),
        (r"1234\,\mathrm{m}", "Give an integer in m, to two significant figures.", "1300"),
        (r"36\,\mathrm{km\,h^{-1}}", r"Give your answer in $\mathrm{m\,s^{-1}}$ as an integer.", "36"),
        (r"-5\,\mathrm{m}", "Give your answer in m as an integer.", "5"),
        (r"10\,\mathrm{m}", "Give your answer as an integer.", "12"),
    ],
)
def test_an_integer_that_is_not_the_sources_answer_is_refused(source: str, ask: str, answer: str) -> None:
    ((number, detail),) = faults_of_conversion(source, ask, answer)
    assert (number, detail) == (11, f"the answer must stay {source}; here it is {answer}")


@pytest.mark.parametrize(
    ("source", "ask", "answer"),
    [
        (LENGTH, "Give your answer in cm as an integer.", "25"),
        (LENGTH, "Give your answer in cm as an integer.", r"25\,\mathrm{cm}"),
        (LENGTH, "Give the number of centimetres.", "25"),
        (LENGTH, r"Give the integer in units of $10^{-3}\,\mathrm{m}$.", "250"),
        (LENGTH, "Give the numerical value of your answer in m.", "0.25"),
        (r"12.4\,\mathrm{m}", "Give your answer in m to the nearest integer.", "12"),
        (r"1234\,\mathrm{m}", "Give an integer in m, to two significant figures.", "1200"),
        (r"36\,\mathrm{km\,h^{-1}}", r"Give your answer in $\mathrm{m\,s^{-1}}$ as an integer.", "10"),
        (r"36\,\mathrm{km\,h^{-1}}", "Give your answer in metres per second as an integer.", "10"),
        (r"-5\,\mathrm{m}", "Give the magnitude in m as an integer.", "5"),
        (r"0.5\,\mathrm{rad}", "Give your answer in degrees to the nearest integer.", "29"),
        (
            r"300\,\mathrm{K}",
            r"Give your answer as an integer in $^\circ\mathrm{C}$.",
            r"27\,^\circ\mathrm{C}",
        ),
        (r"2\sqrt{5}\,\mathrm{m}", r"It is $n\sqrt{5}$ in m. Give the integer $n$.", "2"),
        (r"4500\,\mathrm{J}", r"It is $n \times 10^{2}\,\mathrm{J}$. Give the integer $n$.", "45"),
        (r"0.25", "Give your answer in percent as an integer.", "25"),
        (LENGTH, "Give your answer as an integer in paces.", "52"),
        (r"2x\,\mathrm{m}", "Give the number of metres as an integer.", "9"),
    ],
)
def test_an_integer_that_is_the_answer_in_another_unit_or_cannot_be_compared_is_kept(
    source: str, ask: str, answer: str
) -> None:
    assert faults_of_conversion(source, ask, answer) == []


def test_the_unit_that_the_question_itself_asks_for_counts() -> None:
    asked = "A spring is pulled until it rests. How far is it pulled in mm? Give an integer."
    assert faults_of_conversion(LENGTH, "", "250", asked) == []
    assert len(faults_of_conversion(LENGTH, "", "520", asked)) == 1


def test_a_rounded_answer_of_the_source_may_be_given_with_more_digits() -> None:
    source = conversion(STATEMENT, r"9.8\,\mathrm{m}").replace("By", r"As $g \approx 10$, by")
    about = source.replace("9.8", "10")
    converted = conversion(f"{STATEMENT} Give a numerical answer in m.", "9.8")
    assert conversion_breaches(about, Format.INTEGER, converted) == ()
    (breach,) = conversion_breaches(conversion(STATEMENT, r"10\,\mathrm{m}"), Format.INTEGER, converted)
    assert "must stay" in breach.detail


@settings(max_examples=100, deadline=None)
@given(a=st.integers(2, 900), t=st.integers(2, 900), off=st.integers(1, 1000))
def test_the_same_question_in_the_same_unit_keeps_its_number(a: int, t: int, off: int) -> None:
    """**Feature: physics-question-pipeline, Property 11: Format Conversion Structure**"""
    assert conversion_breaches(item(a, t), Format.INTEGER, integer(a, t)) == ()
    wrong = a * t + max(off, a * t // 50 + 1)
    other = integer(a, t).replace(f"\\boxed{{{a * t}", f"\\boxed{{{wrong}")
    breaches = conversion_breaches(item(a, t), Format.INTEGER, other)
    assert "must stay" in breaches[-1].detail
