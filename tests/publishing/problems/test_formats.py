"""The export formats of problem banks."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from moodle_xml_parser.parser import parse_bytes

from qagen_dagster.publishing.markup import exported as export_made
from qagen_dagster.publishing.markup import figure_id
from qagen_dagster.publishing.problems.formats import json_lines, moodle_file
from qagen_dagster.records.problems.result import BankExport, BankItem
from tests.support.problems.export import exported, record
from tests.support.problems.play import integer, item, mcq

TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("$\\{}<>&%~"), min_size=1, max_size=40
)

BOXED = r"10\,\mathrm{m\,s^{-1}}"


def written(bank: BankExport) -> bytes:
    return moodle_file(bank)["moodle.xml"]


def test_one_right_option_is_single_choice_and_several_share_the_mark() -> None:
    bank = exported(record(mcq()), record(mcq(right=3), name="p-02"))
    one, several = parse_bytes(written(bank))["multichoice"]
    assert (one.name, one.single, one.shuffle_answers) == ("p-01", True, False)
    assert [option.score_fraction for option in one.options] == [100, 0, 0, 0]
    assert one.options[0].answer == "<p>\\(10\\,\\mathrm{m\\,s^{-1}}\\)</p>"
    assert "A cart starts from rest" in one.text_pre_parse
    assert "tasks" not in one.text_pre_parse
    shares = [option.score_fraction for option in several.options]
    assert not several.single
    assert math.isclose(sum(share for share in shares if share > 0), 100, abs_tol=0.001)
    assert shares[3] == -100


def test_a_bare_number_is_numerical_and_all_else_an_essay() -> None:
    bare = integer().replace(r"\boxed{10\,\mathrm{m\,s^{-1}}}", r"\boxed{-2.5}")
    symbols = item().replace(BOXED, "2mg")
    root = etree.fromstring(written(exported(record(bare), record(symbols, name="p-02"))))
    _, number, _, essay = root
    assert [one.get("type") for one in root] == ["category", "numerical", "category", "essay"]
    assert number.findtext("answer/text") == "-2.5"
    assert [one.get("fraction") for one in number.iter("answer")] == ["100"]
    assert number.findtext("answer/tolerance") == "0.05"
    assert number.find("units") is None
    assert "2mg" in essay.findtext("graderinfo/text", "")
    assert essay.findtext("generalfeedback/text") == essay.findtext("graderinfo/text")


@pytest.mark.parametrize(
    ("answer", "number", "tolerance", "units"),
    [
        (r"10\,\mathrm{m\,s^{-1}}", "10", "0.2", ["m s^-1", "m/s"]),
        (r"-4.0\times 10^{3}\,\text{kg m s}^{-2}", "-4000", "80", ["kg m s^-2", "kg m/s^2"]),
        (r"2.5\,\mathrm{m/s}", "2.5", "0.05", ["m/s"]),
        (r"30^\circ", "30", "0.6", ["\u00b0"]),
        (r"7", "7", "0", []),
        (r"0.125", "0.125", "0.0005", []),
        (r"\frac{3}{4}", "0.75", "0", []),
    ],
)
def test_a_value_is_numerical_with_its_unit_and_a_tolerance(
    answer: str, number: str, tolerance: str, units: list[str]
) -> None:
    root = etree.fromstring(written(exported(record(item().replace(BOXED, answer)))))
    question = root[1]
    assert question.get("type") == "numerical"
    assert question.findtext("answer/text") == number
    assert question.findtext("answer/tolerance") == tolerance
    assert [one.text for one in question.iter("unit_name")] == units
    assert question.findtext("showunits") == ("0" if units else None)


def test_a_drawn_figure_is_in_the_text_and_the_statement_is_its_alternative() -> None:
    figure = "\\begin{tikzpicture}\n\n\\draw (0,0) -- (1,0); % line\n\\end{tikzpicture}"
    of = exported(record(item().replace("A cart", f"{figure}\nA cart")))
    for figures, kind in ({figure_id(figure): b"\x89PNG"}, "image/png"), ({}, "image/svg+xml"):
        made = of.model_copy(update={"figures": figures})
        text = etree.fromstring(export_made(moodle_file(made), made.figures)["moodle.xml"]).findtext(
            "question/questiontext/text", ""
        )
        image = etree.fromstring(f"<div>{text}</div>").find(".//img")
        assert image is not None
        assert image.get("src", "").startswith(f"data:{kind};base64,")
        assert image.get("alt", "").startswith("A cart starts from rest with acceleration")
        assert "tikz" not in text


def test_a_category_for_each_problem_and_a_number_for_each_item() -> None:
    bank = exported(
        record(
            item(),
            variants={"numerical": item(3, 4), "numerical-2": item(4, 5)},
            conversions={"mcq_sc": mcq()},
        ),
        record(item(5, 6), name="p-02"),
        title="A/B & C",
    )
    root = etree.fromstring(written(bank))
    assert [one.findtext("text") for one in root.iter("category")] == [
        "$course$/top/A//B & C/p-01", "$course$/top/A//B & C/p-02",
    ]  # fmt: skip
    ids = [one.findtext("idnumber") for one in root if one.get("type") != "category"]
    assert ids == ["p-01", "p-01--numerical", "p-01--numerical-2", "p-01--mcq_sc", "p-02"]
    tags = [
        [tag.findtext("text") for tag in one.iter("tag")] for one in root if one.get("type") != "category"
    ]
    assert tags[1] == ["numerical", "easy", "Kinematics"]


@pytest.mark.parametrize(
    ("latex", "shown"),
    [
        (r"\textbf{Fast} 5~km % no", "<p>Fast 5 km</p>"),
        (r"$a < b$ & c", r"<p>\(a &lt; b\) &amp; c</p>"),
        (r"\begin{enumerate}\item one\item[(q)] two\end{enumerate}", "<p>(a) one</p><p>(q) two</p>"),
        (r"See \begin{tikzpicture}\draw (0,0);\end{tikzpicture} now", "<p>See</p><p><img src="),
    ],
)  # fmt: skip
def test_what_stands_around_formulas_is_html(latex: str, shown: str) -> None:
    made = item().replace("A cart starts from rest with acceleration", f"{latex} @")
    text = etree.fromstring(written(exported(record(made)))).findtext("question/questiontext/text", "")
    text = "".join(text.split("\n"))
    assert text.startswith(shown.removesuffix("</p>")), text
    etree.fromstring(f"<div>{text}</div>")


@given(TEXT)
def test_any_statement_gives_xml_that_is_read(text: str) -> None:
    latex = f"\\item What? {text}\n\\begin{{solution}}\n$x = 3$\n\\end{{solution}}"
    (found,) = parse_bytes(written(exported(record(latex), record(mcq(), name="p-02"))))["multichoice"]
    assert found.name == "p-02"


OTHER = "\\begin{solution}\n$v = 10$ by energy.\n\\end{solution}"


def test_an_item_a_line_with_its_parts() -> None:
    bank = exported(record(mcq(), alternates=[OTHER], conversions={"subjective": item()}))
    lines = json_lines(bank)["items.jsonl"].decode().splitlines()
    assert [BankItem.model_validate_json(line) for line in lines] == list(bank.items)
    original, open_one = (json.loads(line) for line in lines)
    assert set(original) == set(BankItem.model_fields) - {"unedited"}
    assert (original["id"], original["problem"], original["made"]) == ("p-01", "p-01", "original")
    assert original["statement"].startswith("A cart starts from rest")
    assert original["statement"].endswith("$5\\,\\mathrm{s}$?"), "options stand apart"
    assert [one["right"] for one in original["options"]] == [True, False, False, False]
    assert original["options"][1]["text"] == "$11\\,\\mathrm{m\\,s^{-1}}$"
    assert f"${original['answer']}$" == original["options"][0]["text"] == "$10\\,\\mathrm{m\\,s^{-1}}$"
    assert original["solution"].startswith("The speed is")
    assert original["alternates"] == [OTHER]
    assert original["classification"]["topic"] == "Kinematics"
    assert (open_one["id"], open_one["options"], open_one["alternates"]) == ("p-01--subjective", [], [])


def test_an_empty_bank_is_an_empty_file() -> None:
    assert json_lines(exported()) == {"items.jsonl": b""}
