"""The embedded model in the seven problem roles: everything it submits is held to the properties of the pipeline."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.latex.structure import split_items
from qagen_dagster.loop.problems.code_checks import (
    answer_of,
    conversion_breaches,
    idea_breaches,
    scan_breaches,
    variant_breaches,
)
from qagen_dagster.models.embedded.provider import EmbeddedProvider
from qagen_dagster.models.messages import (
    AssistantMessage,
    Message,
    Request,
    Text,
    ToolCall,
    ToolMessage,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.problems.submissions import (
    ClassificationResult,
    ConversionResult,
    DiagramKind,
    Format,
    IdeaResult,
    QuestionKind,
    ScanResult,
    VariantKind,
    VariantResult,
)

SAMPLE = Path(__file__).parents[4] / "corpora/problems/mechanics/sources/mechanics.tex"
ITEMS = tuple(item.strip() for item in split_items(SAMPLE.read_text("utf-8")).items)
KINDS = (
    *[QuestionKind.MCQ_SC] * 2,
    *[QuestionKind.MCQ_MC] * 2,
    *[QuestionKind.SUBJECTIVE] * 4,
    QuestionKind.ASSERTION_REASON,
    QuestionKind.PASSAGE,
    QuestionKind.MATCH,
)
COMPUTED = (0, 1, 4, 5, 6, 7)  # one number is the answer, and the solution computes it


def ask(model: str, prompt: str, *, refused: str = "") -> tuple[str, dict[str, Any]]:
    provider = EmbeddedProvider(ModelSpec(provider="embedded", model=f"problem-{model}"))
    messages: list[Message] = [UserMessage(content=(Text(text=prompt),))]
    if refused:
        result = ToolResult(call_id="1", name="submit", content=(Text(text=refused),), is_error=True)
        call = ToolCall(id="1", name="submit", arguments={})
        messages += [AssistantMessage(content=(call,)), ToolMessage(results=(result,))]
    tools = (ToolSpec(name="report_unable", description="", parameters={}),)
    response = provider.read(provider.send(Request(system="", messages=tuple(messages), tools=tools)))
    assert response.model == f"embedded:problem-{model}"
    (call,) = response.message.tool_calls
    return call.name, call.arguments


def vary(
    item: str, *, number: int = 1, kind: str = "numerical", earlier: str = "none"
) -> tuple[str, dict[str, Any]]:
    prompt = f"Variant: {kind}\nNumber: {number}\n\n<item>\n{item}\n</item>\n<ideas>\n-\n</ideas>\n<earlier>\n{earlier}\n</earlier>"
    return ask("variant", prompt)


def convert(item: str, target: Format) -> tuple[str, dict[str, Any]]:
    return ask("converter", f"From: subjective\nTo: {target.value}\n\n<item>\n{item}\n</item>")


def ideas(item: str) -> tuple[str, dict[str, Any]]:
    statement, solution = item.split("\\begin{solution}")
    return ask("ideas", f"<problem>\n{statement}\n</problem>\n<solution>\n{solution}\n</solution>")


def item_of(statement: str, solution: str, tasks: str = "") -> str:
    return f"\\item {statement}\n{tasks}\\begin{{solution}}\n{solution}\n\\end{{solution}}"


def unable(answer: tuple[str, dict[str, Any]]) -> str:
    name, arguments = answer
    assert name == "report_unable"
    assert set(arguments) == {"reason"}
    assert "\n" not in arguments["reason"]
    return arguments["reason"]


@pytest.mark.parametrize(("item", "kind"), list(zip(ITEMS, KINDS, strict=True)))
def test_classifies_by_rules(item: str, kind: QuestionKind) -> None:
    name, arguments = ask("classifier", f"Input: tex\n\n<problem>\n{item}\n</problem>")
    found = ClassificationResult.model_validate(arguments)
    assert name == "submit_classification"
    assert found.question_type is kind
    assert not found.flagged
    assert found.has_diagram == ("tikzpicture" in item)
    assert found.num_options == (4 if kind.is_mcq else None)


def test_what_no_list_knows_is_flagged() -> None:
    _, arguments = ask("classifier", "Input: tex\n\n<problem>\n\\item Why?\n</problem>")
    found = ClassificationResult.model_validate(arguments)
    assert found.flagged
    assert found.diagram_type is DiagramKind.NONE


@pytest.mark.parametrize("item", ITEMS)
def test_ideas_by_terms(item: str) -> None:
    name, arguments = ideas(item)
    assert name == "submit_ideas"
    assert not idea_breaches(IdeaResult.model_validate(arguments))


def test_ideas_of_unknown_words_are_not_made_up() -> None:
    assert "terms" in unable(ask("ideas", "<problem>\nWhy?\n</problem>\n<solution>\nSo.\n</solution>"))


@pytest.mark.parametrize("place", COMPUTED)
@pytest.mark.parametrize("number", [1, 2, 3])
def test_numerical_variants_keep_the_properties(place: int, number: int) -> None:
    name, arguments = vary(ITEMS[place], number=number)
    made = VariantResult.model_validate(arguments)
    assert name == "submit_variant"
    assert not variant_breaches(VariantKind.NUMERICAL, ITEMS[place], made.latex)
    assert vary(ITEMS[place], number=number)[1] == arguments


def test_the_result_of_a_variant_is_that_of_its_own_numbers() -> None:
    for number in range(1, 9):
        latex = vary(ITEMS[5], number=number)[1]["latex"]
        mass, speed, way = (float(one) for one in re.findall(r"\$(\d+)\\,", latex)[:3])
        result = re.search(r"boxed\{(\d+)", latex)
        assert result is not None
        assert float(result.group(1)) == mass * speed**2 / (2 * way)


def test_options_follow_the_numbers() -> None:
    latex = vary(ITEMS[1])[1]["latex"]
    values = [float(one) for one in re.findall(r"\\task \$([\d.]+)", latex)]
    assert len(set(values)) == 4
    assert answer_of(latex) == rf"${values[1]:g}\,\mathrm{{m}}$"


def test_an_earlier_variant_is_not_made_again() -> None:
    first = vary(ITEMS[7])[1]["latex"]
    assert vary(ITEMS[7], earlier=first)[1]["latex"] != first


def test_results_are_carried_on_and_constants_stay() -> None:
    item = item_of(
        r"A car starts from rest with $3\,\mathrm{m\,s^{-2}}$ for $8\,\mathrm{s}$. Its mass is $900\,\mathrm{kg}$. Find its energy.",
        r"$v = a t = 3 \cdot 8 = 24\,\mathrm{m\,s^{-1}}$. With 24 we get $E = \frac{1}{2} m v^2 = \frac{1}{2} \cdot 900 \cdot 24^2 = \boxed{259200\,\mathrm{J}}$.",
    )
    latex = vary(item)[1]["latex"]
    a, t, m = (float(one) for one in re.findall(r"\$(\d+)\\,", latex.split("\\begin")[0]))
    assert f"= {a * t:g}\\," in latex
    assert f"With {a * t:g} we" in latex
    assert f"boxed{{{m * (a * t) ** 2 / 2:.0f}\\," in latex


@pytest.mark.parametrize(
    ("statement", "solution", "word"),
    [
        (r"A car goes $30\,\mathrm{m}$ in $12\,\mathrm{s}$.", r"$v = \frac{s}{t} = \frac{30}{12} = 3$", "computed again"),
        (r"A car goes $30\,\mathrm{m}$ in $12\,\mathrm{s}$.", r"The answer is quick.", "no equation"),
        (r"A car goes $30\,\mathrm{m}$ in $12\,\mathrm{s}$.", r"$s = 30 - 5 = 25$", "comes from"),
        (r"See % diagram" + "\n% diagram\n" + r"for $30\,\mathrm{m}$.", r"$s = 2 \cdot 30 = 60$", "figure"),
        (r"It takes $2\,\mathrm{s}$ at $10\,\mathrm{m}$.", r"$s = 2 \cdot 2 = 4$", "constants"),
        (r"A car goes \frac12 of $30\,\mathrm{m}$.", r"$s = \frac12 \cdot 30 = 15$", "replaced safely"),
    ],
)  # fmt: skip
def test_what_cannot_be_computed_is_said_in_a_line(statement: str, solution: str, word: str) -> None:
    assert word in unable(vary(item_of(statement, solution)))


@pytest.mark.parametrize("place", COMPUTED)
@pytest.mark.parametrize("target", [one for one in Format if not one.is_keyed])
def test_conversions_keep_the_properties(place: int, target: Format) -> None:
    name, arguments = convert(ITEMS[place], target)
    made = ConversionResult.model_validate(arguments)
    assert name == "submit_conversion"
    assert not conversion_breaches(ITEMS[place], target, made.latex)
    if target.is_mcq:
        assert len(set(re.findall(r"\\task (.*)", made.latex))) == 4


@pytest.mark.parametrize("place", [2, 8, 9, 10])
def test_questions_without_one_number_are_not_converted(place: int) -> None:
    assert unable(convert(ITEMS[place], Format.INTEGER))


@pytest.mark.parametrize("kind", ["context", "conceptual", "calculus", "multi"])
def test_other_variants_need_a_model(kind: str) -> None:
    assert "language model" in unable(vary(ITEMS[0], kind=kind))


def test_pictures_need_eyes_and_drawings_a_hand() -> None:
    assert "pictures" in unable(ask("classifier", "Input: image"))
    assert "pictures" in unable(ask("scanner", "Input: image\nKind: mcq_sc"))
    assert "draw" in unable(ask("tikz", "Diagram: circuit"))
    assert "another way" in unable(ask("alternate", "Alternate: 1"))


def test_the_scanner_cuts_what_stands_around_an_item() -> None:
    prompt = "Input: tex\nKind: subjective\n\n<problem>\n% one\n{}\n\n% subjective\n</problem>"
    name, arguments = ask("scanner", prompt.replace("{}", ITEMS[6]))
    assert name == "submit_scan"
    assert not scan_breaches(ScanResult.model_validate(arguments).latex, QuestionKind.SUBJECTIVE)
    assert "solution" in unable(ask("scanner", prompt.replace("{}", "\\item What is work?")))


def test_what_was_refused_is_not_submitted_again() -> None:
    reason = unable(
        ask("converter", f"To: integer\n\n<item>\n{ITEMS[0]}\n</item>", refused="property 11: no")
    )
    assert "property 11" in reason


@pytest.mark.parametrize(
    ("statement", "solution"),
    [
        (
            r"A charge of $3 \times 10^{-6}\,\mathrm{C}$ in a field of $200\,\mathrm{N/C}$.",
            r"\[F = q E = 3 \times 10^{-6} \times 200 = 6 \times 10^{-4}\,\mathrm{N}\]",
        ),
        (
            r"A train of $72\,\mathrm{km/h}$ stops in $10\,\mathrm{s}$.",
            r"$v = 72 \times \frac{1000}{3600} = 20\,\mathrm{m/s}$, so $a = \frac{v}{t} = \frac{20}{10} = 2\,\mathrm{m/s^2}$.",
        ),
        (
            r"Resistors of $6\,\Omega$ and $3\,\Omega$ in parallel.",
            r"$R = \frac{R_1 R_2}{R_1 + R_2} = \frac{6 \cdot 3}{6 + 3} = \frac{18}{9} = 2\,\Omega$.",
        ),
        (
            r"A pendulum is $1.2\,\mathrm{m}$ long, $g = 9.8\,\mathrm{m/s^2}$.",
            r"$T = 2\pi\sqrt{\frac{l}{g}} = 2\pi\sqrt{\frac{1.2}{9.8}} \approx 2.20\,\mathrm{s}$.",
        ),
    ],
)
def test_powers_of_ten_units_steps_between_and_roundings(statement: str, solution: str) -> None:
    item = item_of(statement, solution)
    name, arguments = vary(item)
    assert name == "submit_variant"
    assert not variant_breaches(VariantKind.NUMERICAL, item, arguments["latex"])
    assert "18" not in arguments["latex"]
