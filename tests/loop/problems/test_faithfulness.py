"""What results of problems keep of their sources, and values that are wrong in one item."""

from __future__ import annotations

import pytest

from qagen_dagster.loop.problems.code_checks import (
    alternate_breaches,
    combined_breaches,
    conversion_breaches,
    diagram_breaches,
    scan_breaches,
    variant_breaches,
)
from qagen_dagster.loop.problems.faithfulness import conditions_kept, given_faults
from qagen_dagster.loop.problems.item_faults import figure_faults, too_large
from qagen_dagster.records.problems.submissions import (
    AlternateResult,
    Breach,
    Format,
    QuestionKind,
    VariantKind,
)

ANS = " \\ans"
BLOCK = r"A block of mass $4\,\mathrm{kg}$ is pulled along a smooth level floor by a horizontal force of $20\,\mathrm{N}$. Find its acceleration."
WORK = r"The floor is smooth, so $a = \frac{F}{m} = \frac{20}{4} = \boxed{5\,\mathrm{m\,s^{-2}}}$."
FALL = r"A stone falls from rest for $3\,\mathrm{s}$. Take $g = 10\,\mathrm{m\,s^{-2}}$. What speed does it reach?"
FELL = r"From rest, $v = gt = 10 \times 3 = \boxed{30\,\mathrm{m\,s^{-1}}}$."
SPEEDS = ("15", "30", "45", "90")
FIGURE = "\\begin{tikzpicture}\n\\draw (0,0) -- (4,0); \\node at (1,1) {$LABEL$};\n\\end{tikzpicture}"


def item(statement: str, solution: str, options: tuple[str, ...] = (), right: int = 1) -> str:
    tasks = "".join(f"\\task {text}{ANS * (place == right)}\n" for place, text in enumerate(options))
    quiz = f"\n\\begin{{tasks}}(2)\n{tasks}\\end{{tasks}}" if options else ""
    return f"\\item {statement}{quiz}\n\\begin{{solution}}\n{solution}\n\\end{{solution}}"


def speeds(*values: str) -> tuple[str, ...]:
    return tuple(rf"${one}\,\mathrm{{m\,s^{{-1}}}}$" for one in values)


SOURCE, QUIZ = item(BLOCK, WORK), item(FALL, f"{FELL} The correct option is (b).", speeds(*SPEEDS))
ACCELERATIONS = tuple(rf"${one}\,\mathrm{{m\,s^{{-2}}}}$" for one in (0.2, 5, 16, 80))


def said(found: tuple[Breach, ...], word: str) -> bool:
    return any(word in one.detail for one in found)


def test_good_results_are_kept() -> None:
    assert conversion_breaches(SOURCE, Format.MCQ_SC, item(BLOCK, WORK, ACCELERATIONS)) == ()
    assert conversion_breaches(QUIZ, Format.SUBJECTIVE, item(FALL, FELL)) == ()
    other_unit = item(BLOCK.replace(r"20\,\mathrm{N}", r"0.02\,\mathrm{kN}"), WORK, ACCELERATIONS)
    assert conversion_breaches(SOURCE, Format.MCQ_SC, other_unit) == ()
    variant = item(
        BLOCK.replace("4", "6").replace("20", "42"),
        WORK.replace("20", "42").replace("{4}", "{6}").replace("5", "7"),
    )
    assert variant_breaches(VariantKind.NUMERICAL, SOURCE, variant) == ()


@pytest.mark.parametrize(
    ("statement", "solution", "options", "word"),
    [
        (BLOCK.replace("4", "5"), WORK, ACCELERATIONS, "4 kg of the source is not there"),
        (BLOCK.replace(r"of mass $4\,\mathrm{kg}$ ", ""), WORK, ACCELERATIONS, "4 kg of the source"),
        (
            BLOCK + r" It starts with $3\,\mathrm{m\,s^{-1}}$.",
            WORK,
            ACCELERATIONS,
            "not a given of the source",
        ),
        (BLOCK, WORK, (ACCELERATIONS[0], ACCELERATIONS[1], r"$500\,\mathrm{cm\,s^{-2}}$"), "same value"),
        (BLOCK, WORK, (ACCELERATIONS[0], ACCELERATIONS[1], r"$16\,\mathrm{kg}$"), "another quantity"),
        (BLOCK, WORK, (*ACCELERATIONS, "None of these"), "state its own answer"),
        (BLOCK, WORK.replace("{4}", "{5}"), ACCELERATIONS, "is false"),
        (BLOCK + " It is drawn below as shown in the figure.", WORK, ACCELERATIONS, "no figure"),
    ],
)
def test_conversions_keep_givens_and_have_options_of_their_own(
    statement: str, solution: str, options: tuple[str, ...], word: str
) -> None:
    assert said(conversion_breaches(SOURCE, Format.MCQ_SC, item(statement, solution, options)), word)


RISE = r"A heater of $500\,\mathrm{W}$ warms $2\,\mathrm{kg}$ of water %s by $84\,\mathrm{K}$. How long does it take?"


@pytest.mark.parametrize(
    ("source", "converted", "lost"),
    [
        (BLOCK, BLOCK.replace("smooth ", ""), "smooth"),
        (BLOCK, BLOCK.replace("smooth level floor", "level floor without friction"), ""),
        (BLOCK, BLOCK.replace("smooth level floor", "level floor; neglect friction"), ""),
        (FALL, FALL.replace(" from rest", ""), ""),
        (FALL + "\\begin{tasks}(2)\\task in vacuum\\task in air\\end{tasks} It is in a vacuum.", FALL, "a vacuum"),
        ("A body at rest gets a push.", "A body gets a push.", "at rest"),
        ("A body at rest gets a push.", "A body that does not move gets a push.", ""),
        ("Two resistors in parallel.", "Two resistors in series.", "in parallel"),
        ("Two resistors in parallel.", "Two parallel resistors.", ""),
        (RISE % "in an insulated vessel", RISE % "in a vessel", "insulated"),
        (RISE % "in an insulated vessel", RISE % "in a vessel that keeps its heat", ""),
        ("Two balls collide elastically.", "Two balls meet.", "collide elastic"),
        ("Two balls collide inelastically.", "Two balls stick together.", ""),
        ("A light string joins them. Ignore air resistance.", "A string joins them. There is no drag.", "light string"),
        ("Heated at constant volume.", "Heated in a rigid vessel.", ""),
    ],
)  # fmt: skip
def test_a_conversion_keeps_the_conditions_in_words(source: str, converted: str, lost: str) -> None:
    found = list(conditions_kept(item(source, WORK), item(converted, WORK)))
    assert [one.split("'")[1] for one in found] == ([lost] if lost else [])


def test_a_question_does_not_ask_to_choose_without_options_or_give_the_answer() -> None:
    which = item(FALL.replace("What speed", "Which of the following speeds"), FELL)
    assert said(conversion_breaches(QUIZ, Format.SUBJECTIVE, which), "there are no options")
    told = item(
        FALL.replace("falls from rest", r"falls from rest to a speed of $30\,\mathrm{m\,s^{-1}}$"), FELL
    )
    assert said(conversion_breaches(QUIZ, Format.SUBJECTIVE, told), "gives the answer")
    quiz = item(FALL.replace("What", r"A gauge shows $30\,\mathrm{m\,s^{-1}}$. What"), FELL, speeds(*SPEEDS))
    assert said(conversion_breaches(item(FALL, FELL), Format.MCQ_SC, quiz), "gives the answer")
    assert conversion_breaches(item(FALL, FELL), Format.MCQ_SC, item(FALL, FELL, speeds(*SPEEDS))) == ()


@pytest.mark.parametrize(
    ("source", "variant", "another"),
    [
        (r"Its mass is $2\,\mathrm{kg}$.", r"Its weight is $2\,\mathrm{N}$ in all.", True),
        ("Its weight is 50 N.", "Its mass is 50 kg.", True),
        ("It uses a power of 5 W.", "It uses an energy of 5 J.", True),
        ("It takes in 3 litres per minute.", "It takes in 3 litres of water every minute.", False),
        (r"It goes at $4\,\mathrm{m\,s^{-1}}$.", r"It swims $4\,\mathrm{m}$ each second.", False),
        ("It goes at 40 km/h.", "It swims 40 km in one hour.", False),
        (r"It is warmed by $9\,^\circ\mathrm{C}$.", "It is warmed by 9 K.", False),
        ("It costs 3 pounds.", "It costs 3 euros.", False),
    ],
)
def test_a_given_stays_in_a_unit_of_its_quantity(source: str, variant: str, another: bool) -> None:
    assert any("in the source; here it is in" in one for one in given_faults(source, variant)) is another


def test_a_variant_computes_with_its_own_givens() -> None:
    stale = item(FALL.replace("3", "7"), r"$v = gt = 10 \times 3 = \boxed{30\,\mathrm{m\,s^{-1}}}$ at last.")
    assert said(variant_breaches(VariantKind.NUMERICAL, item(FALL, FELL), stale), "computes with 3")
    false = item(FALL.replace("3", "7"), FELL.replace("3 =", "7 =").replace("30", "80"))
    assert said(variant_breaches(VariantKind.NUMERICAL, item(FALL, FELL), false), "is false")


def test_a_fault_of_the_source_is_not_that_of_its_variant() -> None:
    poor = (*speeds(*SPEEDS), "None of these")
    source = item(FALL, FELL, poor)
    variant = item(
        FALL.replace("3", "4"), FELL.replace("3", "4"), (*speeds("20", "40", "80", "160"), "None of these")
    )
    assert variant_breaches(VariantKind.NUMERICAL, source, variant) == ()


def test_other_kinds_are_what_they_are_called() -> None:
    word = item(BLOCK.replace("block", "crate"), WORK.replace("floor", "ground"))
    assert said(variant_breaches(VariantKind.CONTEXT, SOURCE, word), "a few words")
    plain = item(BLOCK.replace("smooth", "rough"), WORK.replace("smooth", "rough there"))
    assert said(variant_breaches(VariantKind.CALCULUS, SOURCE, plain), "no derivative and no integral")
    joined = item(f"(i) {BLOCK} (ii) {FALL}", f"(i) {WORK} (ii) {FELL}")
    assert said(combined_breaches((SOURCE, item(FALL, FELL)), joined), "one after the other")


@pytest.mark.parametrize(
    ("solution", "word"),
    [
        (
            r"Newton tells us that $a = \frac{F}{m} = \frac{20}{4} = \boxed{5\,\mathrm{m\,s^{-2}}}$ here.",
            "another method",
        ),
        (
            r"The speed grows by $\frac{20}{4} = 6$ each second, so $\boxed{5\,\mathrm{m\,s^{-2}}}$.",
            "is false",
        ),
        (r"The impulse per second gives $\boxed{4\,\mathrm{m\,s^{-2}}}$ at once.", "original answer"),
    ],
)
def test_an_alternate_is_another_way_and_right(solution: str, word: str) -> None:
    latex = f"\\begin{{solution}}\n{solution}\n\\end{{solution}}"
    found = AlternateResult.model_validate(
        {"solution": latex, "method": "-", "final_answer": r"$5\,\mathrm{m\,s^{-2}}$"}
    )
    assert said(alternate_breaches(SOURCE, found), word)


def test_an_answer_of_one_digit_is_no_rounding_of_another() -> None:
    source = item(
        "A current of 0.5 A flows for 0.48 s. What charge passes?",
        r"$Q = 0.5 \times 0.48 = \boxed{0.24\,\mathrm{C}}$",
    )
    latex = "\\begin{solution}\nThe area is a rectangle of $0.5$ by $0.48$: $\\boxed{0.2\\,\\mathrm{C}}$\n\\end{solution}"
    found = AlternateResult.model_validate(
        {"solution": latex, "method": "-", "final_answer": r"$0.2\,\mathrm{C}$"}
    )
    assert said(alternate_breaches(source, found), "original answer")


def test_a_scan_of_tex_has_its_amounts() -> None:
    assert scan_breaches(QUIZ, QuestionKind.MCQ_SC, source=QUIZ) == ()
    other = QUIZ.replace("$15", "$14")
    assert said(scan_breaches(other, QuestionKind.MCQ_SC, source=QUIZ), "15 m s^{-1} of the source")
    assert said(scan_breaches(other, QuestionKind.MCQ_SC, source=QUIZ), "14 m s^{-1} of the scan")


def test_labels_of_a_figure_are_those_of_the_statement() -> None:
    def drawn(label: str) -> str:
        return FIGURE.replace("LABEL", label)

    assert diagram_breaches(None, drawn(r"4\,\mathrm{kg}"), BLOCK) == ()
    assert diagram_breaches(None, drawn(r"m_1"), BLOCK) == ()
    assert said(diagram_breaches(None, drawn(r"5\,\mathrm{kg}"), BLOCK), "the figure says 5 kg")
    source = item(BLOCK + drawn(r"4\,\mathrm{kg}"), WORK)
    stale = source.replace(r"of mass $4\,", r"of mass $2\,").replace("{4}", "{2}").replace("{5", "{10")
    assert said(variant_breaches(VariantKind.NUMERICAL, source, stale), "the figure says 4 kg")


@pytest.mark.parametrize(
    ("paths", "ends"),
    [
        (r"\draw (0,0) -- (7,0); \draw (0,0) rectangle (2,1) node[midway] {$m; n$};", True),
        (r"\foreach \x in {1,2} { \draw (\x,0) -- (\x,1); \node at (\x,2) {$\frac{1}{2}$}; }", True),
        (r"\draw (0,0) -- (1,0) % \draw (0,1) -- (1,1)" + "\n;", True),
        (r"\draw (0,0) -- (7,0)" + "\n" + r"\draw (0,0) rectangle (2,1);", False),
        (r"\node at (0,0) {a} \fill (1,1) circle (2pt);", False),
    ],
)
def test_each_path_of_a_drawing_ends(paths: str, ends: bool) -> None:
    drawing = f"\\begin{{tikzpicture}}\n{paths}\n\\end{{tikzpicture}}"
    assert said(diagram_breaches(None, drawing), "semicolon") is not ends


BLOCKS = r"\begin{tikzpicture}\draw (0,0) rectangle (2,1); \node at (1,0.5) {$A$: $2\,\mathrm{kg}$}; \node at (4,0.5) {$B$ ($3\,\mathrm{kg}$)};\end{tikzpicture}"
RESISTORS = r"\begin{circuitikz}\draw (0,0) to[R, l=$R_1=4\,\Omega$] (2,0) to[R, l={$R_2 = 6\,\Omega$}] (4,0);\end{circuitikz}"


@pytest.mark.parametrize(
    ("drawing", "statement", "kept"),
    [
        (BLOCKS, r"Block A has a mass of $2\,\mathrm{kg}$ and block B one of $3\,\mathrm{kg}$.", True),
        (BLOCKS, r"Block A has a mass of $3\,\mathrm{kg}$ and block B one of $2\,\mathrm{kg}$.", False),
        (BLOCKS, "A block of 3 kg rests on a block of 2 kg.", True),
        (BLOCKS, r"The bodies $A$ (2000 g) and $B$ (3000 g) collide.", True),
        (RESISTORS, r"The resistors $R_1 = 4\,\Omega$ and $R_2 = 6\,\Omega$ are in series.", True),
        (RESISTORS, r"The resistors $R_1 = 6\,\Omega$ and $R_2 = 4\,\Omega$ are in series.", False),
        (RESISTORS, r"A current of 2 A flows through 4 $\Omega$ and 6 $\Omega$.", True),
    ],
)
def test_names_of_a_figure_have_the_amounts_of_the_statement(
    drawing: str, statement: str, kept: bool
) -> None:
    assert (list(figure_faults(drawing, statement)) == []) is kept


@pytest.mark.parametrize(
    ("drawing", "fits"),
    [
        (r"\begin{tikzpicture}\draw (0,0) -- (30,0);\end{tikzpicture}", False),
        (r"\begin{tikzpicture}\draw (-15cm,0) -- (15cm, 1);\end{tikzpicture}", False),
        (r"\begin{tikzpicture}\draw (0,0) -- (2,40);\end{tikzpicture}", False),
        (r"\begin{tikzpicture}[scale=3]\draw (0,0) -- (9,0);\end{tikzpicture}", False),
        (r"\begin{tikzpicture}[scale=0.4]\draw (0,0) -- (30,0);\end{tikzpicture}", True),
        (r"\begin{tikzpicture}[x=1mm,y=1mm]\draw (0,0) -- (90,0);\end{tikzpicture}", True),
        (r"\begin{tikzpicture}\begin{axis}\addplot coordinates {(0,0) (100,5)};\end{axis}\end{tikzpicture}", True),
        (r"\begin{tikzpicture}\draw (0,0) -- (12,8);\end{tikzpicture}", True),
    ],
)  # fmt: skip
def test_a_drawing_fits_on_a_page(drawing: str, fits: bool) -> None:
    assert (list(too_large(drawing)) == []) is fits
