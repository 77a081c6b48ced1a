"""The rules: what they ask of small documents, what they leave alone, and how they use the tools."""

from __future__ import annotations

import re
from typing import Any

import pytest

from qagen_dagster.models.embedded.answering.reader import answer_from_excerpts, read
from qagen_dagster.models.embedded.conversation import Action, Conversation, Exchange
from qagen_dagster.models.embedded.questions.generator import propose
from tests.models.embedded.driver import Paper, all_questions, generate, possible_questions

MANUAL = """# The Harbour Pump: Operator's Manual

The Harbour Pump is a pump that lifts sea water into the basin at Selby Quay. Martha Kellogg designed the
Harbour Pump in March 1987. The pump has a flow rate of 45 litres per second, and it holds twelve filters. An engineer
must replace the filters because salt blocks them. The pressure relief valve (PRV) opens at 9 bar.

## Specifications

- Weight: 412 kg
- Supply voltage: 400 V

## Options

| Option | Default | Meaning |
|--------|---------|---------|
| `--rate` | `45` | Litres lifted in a second |
| `--quiet` | `false` | Whether the alarm is silent |

## Draining

1. Close the inlet valve and wait for the pressure to fall.
2. Open the drain cock under the motor.
3. Remove the four bolts of the cover.
"""
TEXT = """# The Harbour Pump: Operator's Manual

The Harbour Pump is a pump that lifts sea water into the basin at Selby Quay. The engineer Martha
Kellogg designed the pump in March 1987. The pump holds twelve filters.

## Options

| Model | Weight (kg) | Voltage (V) |
|--------|---------|---------|
| Heron | 45 | 230 |
| Plover | 62 | 400 |
"""
LINES = TEXT.split("\n")
ROWS = "\n".join(f"{number}| {line}" for number, line in enumerate(LINES, 1) if line)
READ = Exchange("read_lines", {}, f"lines 1-{len(LINES)} of {len(LINES)}\n{ROWS}")
TITLE = "title: The Harbour Pump: Operator's Manual\nfile: pump.md\nlines: 12"
FRAME = 'According to "The Harbour Pump: Operator\'s Manual", '


@pytest.fixture(scope="module")
def questions() -> dict[str, str]:
    return {question: found["answer"] for question, found in possible_questions(Paper(MANUAL)).items()}


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("what did Martha Kellogg design in March 1987?", "the Harbour Pump"),
        ("what is the weight?", "412 kg"),
        ("what is the default value of the option `--rate`?", "45"),
    ],
)
def test_each_family_words_its_question(questions: dict[str, str], question: str, answer: str) -> None:
    found = {asked: said for asked, said in questions.items() if asked.lower().endswith(question.lower())}
    assert set(found.values()) == {answer}, sorted(questions)


def test_a_question_says_what_it_is_about_and_names_the_document_only_if_nothing_else_does(
    questions: dict[str, str],
) -> None:
    for question in questions:
        named = any(name in question for name in ("Martha Kellogg", "Harbour Pump", "PRV"))
        assert named, question
        assert question.startswith("According to") != ("Martha Kellogg" in question), question


@pytest.mark.parametrize(
    ("sentence", "question", "answer"),
    [
        ("In 1911, Martha Kellogg bought the old salt mill from the heirs of a rich salt merchant.", "What did Martha Kellogg buy?", "the old salt mill"),
        ("The Orford Treaty was signed in 1911.", "In what year was the Orford Treaty signed?", "1911"),
        ("The Orford Treaty was signed on 3 May 1911.", "When was the Orford Treaty signed?", "3 May 1911"),
        ("Martha Kellogg repaired twelve walls at Selby.", "How many walls did Martha Kellogg repair at Selby?", "twelve"),
        ("The Orford Treaty was signed in 1911 and printed at Selby.", "In what year was the Orford Treaty signed?", "1911"),
        ("The aim of MillBench is to count all dry walls.", "What is the aim of MillBench?", "to count all dry walls"),
        ("MillBench nodes are small computers that measure the flow of water.", "What are MillBench nodes?", "small computers that measure the flow of water"),
        ("Purpose: MillBench is a small set of programs for old mills.", "What is MillBench?", "a small set of programs for old mills"),
    ],
)  # fmt: skip
def test_questions_are_short_and_of_the_kinds_that_people_ask(
    sentence: str, question: str, answer: str
) -> None:
    found = possible_questions(Paper(f"# Notes of the Mill\n\n{sentence}\n"))
    assert question in found, list(found)
    assert found[question]["answer"] == answer


@pytest.mark.parametrize(
    "title",
    [
        "Application Note",
        "Cover Page",
        "Release Notes",
        "Zither Wobble",
        "report_final.docx",
        "DATA SHEET",
        "1",
    ],
)
def test_a_title_that_the_text_does_not_confirm_names_nothing(title: str) -> None:
    text = "Salt water was pumped over the old sluice gate in March 1987.\nMartha Kellogg designed the pump in May 1987.\n"
    found = possible_questions(Paper(text, title=f"title: {title}", name="scan0001.txt"))
    assert found
    assert all(
        "Martha Kellogg" in question or "May 1987" in item["answer"] for question, item in found.items()
    )
    assert not [question for question in found if question.startswith("According to")]


def test_at_most_a_quarter_asks_for_a_date() -> None:
    names = ("Ida Holm", "Martha Kellogg", "Daniel Forsyth", "Anneke Visser", "Ruth Selby", "John Orford")
    works = ("mill", "quay", "wall", "tower", "sluice", "bridge")
    text = "\n\n".join(
        f"{name} repaired the {work} of Selby in {1900 + place}. Selby sold the old {work} to London in {1920 + place}. The {name.split()[1]} Survey Unit ({name.split()[1][0]}SU) closed."
        for place, (name, work) in enumerate(zip(names, works, strict=True))
    )
    found = list(possible_questions(Paper(f"# Works\n\n{text}\n")))
    assert sum(question.startswith(("When", "In what year")) for question in found) <= len(found) / 3, found
    assert not [question for question in found if "stand for" in question], found


def test_evidence_is_verbatim_and_holds_the_answer() -> None:
    lines = MANUAL.split("\n")
    for found in possible_questions(Paper(MANUAL)).values():
        quotes = [(item["quote"], item["start_line"]) for item in found["evidence"]]
        for quote, start in quotes:
            assert "\n".join(lines[start - 1 :]).find(quote) != -1
            assert quote.split("\n")[0] in lines[start - 1]
        joined = re.sub(r"[\s*`_]+", " ", " ".join(quote for quote, _ in quotes))
        assert re.sub(r"\s+", " ", found["answer"]).rstrip(".") in joined


@pytest.mark.parametrize(
    "text",
    [
        "# Notes on It\n\nIt was built in 1911. They moved it to the quay in 1950. This changed everything.",
        "# Licence of the Works\n\nCopyright 1998 by the Press. All rights reserved. See www.press.example for more.",
        "# Study of Reeds\n\n## References\n\nBrown A. Reed beds of the north. J Reeds. 2009;12(3):44-51. Brown wrote it in 2009.",
        "one two three\nfour five\nsix\n\n42\n\n%%% &&& ###",
        "",
    ],
)
def test_silence_where_nothing_good_can_be_asked(text: str) -> None:
    name, arguments = generate(Paper(text))
    assert name == "report_exhausted", arguments
    assert arguments["reason"]


@pytest.mark.parametrize(
    "text",
    [
        "Der Rat der Stadt beschloss am 3. Juni 1987, die Brücke zu sperren. Martha Kellogg baute sie 1911.",
        "Le pont fut construit par Martha Kellogg en mars 1987. Il mesure 45 mètres et porte douze lampes.",
        "川の水位は一九八七年三月に四メートルまで上がり、町の三分の一が水につかりました。" * 3,
    ],
)
def test_another_language_is_declined_in_one_line(text: str) -> None:
    for mode in ("textual", "visual"):
        listing = "1 visual\n- Table 1 | type: table | page: - | lines: 1-1 | caption: 1"
        name, arguments = generate(Paper(text, listing), mode=mode)
        assert name == "report_exhausted"
        assert "not in English" in arguments["reason"]


def test_filler_text_and_paragraphs_in_another_language_are_not_asked_about() -> None:
    filler = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor in May 1987."
    text = (
        f"# Walls: a Report\n\n{filler}\n\nMartha Kellogg built the wall of the quay in May 1911 by hand.\n"
    )
    assert {found["answer"] for found in possible_questions(Paper(text)).values()} <= {
        "May 1911",
        "Martha Kellogg",
        "the wall of the quay",
    }


@pytest.mark.parametrize(
    "sentence",
    [
        "The Secretary approved the plan as an interim rule.",
        "The supported language set is a property of the system version.",
        "If their identity is discovered in the house, they reassume their normal form.",
        "When the recognition is enabled, some engines also require model files.",
        "An answer is only a record of the corporate proceedings.",
        "The government denied their claims on 26 March 1990.",
        "A jury trial began on March 30, 2009.",
        "Two methods for regular series in most works are lag and diff.",
        "Often, users of the basin get more access because the gate is open.",
        "Christian Schwarz added new sections on March 15th, 1997, and reworked it in July.",
        "One common situation is the installation on older systems with one core.",
        "The most common choice is the hammer which is shown below.",
        "All analyses are marginal sums with respect to the age of walls.",
        "Estimation based on walls is a common theme in surveys of harbours.",
        "A dispatch interface is an interface that supports dynamic, interpreted calls of methods.",
        "A dry wall is a copy of the heuristic wall described in (Weinberg and Ruzzo, 2006).",
        "Distorted reporting is a typical form of such bias in walls.",
        "Dry walls are perhaps the most important structures of the upland.",
        "Clients are now classes of the library for walls.",
        "Their values are the property names of walls that are used in the passed point.",
        "41 complaints in 18 cases did.",
        "More than 40 people were arrested.",
        "Old mortar is a recognised cause of leaks in walls.",
        "Dry walls are in fact the most accurate records of the walls of old.",
        "Six walls were built and described in May 2020.",
        "Two walls showed a different strategy.",
        "The wall includes 21 pairs and 2 bifurcations.",
        "100 dpi fonts must be placed in the folder of walls.",
        "A wall is not complex because it has many measurable stones.",
        "Some walls were removed because they leaned too far.",
        "Might consider renaming this value: nine walls.",
        "The added wall is the one that holds the soil of the slope.",
        "Martha Kellogg painted the wall of Selby yesterday.",
        "Martha Kellogg says the strike is not about the wages of the masons.",
        "When a wall falls, the miller of Selby stops the mill.",
        "The north side of Selby gets two thirds of the stones.",
        "The lower walls are warm because their stones are dark.",
        "The tables above list nine walls of Selby.",
        "Section 6 of the report shows four examples of the walls.",
        "The wall of Selby is old because it is long, see the map of the abbey.",
        "The mill of Selby shows remarkable progress after the flood.",
        "The second wall is a pile of stones that holds soil.",
    ],
)
def test_sentences_that_say_too_little_are_not_asked_about(sentence: str) -> None:
    text = f"# Walls: a Report\n\n{sentence}\n"
    assert not possible_questions(Paper(text))


def test_a_question_with_two_answers_is_dropped() -> None:
    text = "# The Mill: a Report\n\nMartha Kellogg repaired the mill in March 1987.\n\nMartha Kellogg repaired the mill in June 1991."
    assert not [question for question in possible_questions(Paper(text)) if "when" in question]


def test_sentences_are_put_together_across_lines_and_quoted_as_they_stand() -> None:
    text = "# The Mill: a Report\n\nMartha Kellogg re-\nbuilt the mill at Selby\nin March 1987 after a fire."
    found = next(iter(possible_questions(Paper(text)).values()))
    assert "rebuil" in found["question"]
    assert (
        found["evidence"][0]["quote"]
        == "Martha Kellogg re-\nbuilt the mill at Selby\nin March 1987 after a fire."
    )
    assert found["evidence"][0]["start_line"] == 3


def test_a_refused_submission_is_followed_by_another_question() -> None:
    _, first = generate(Paper(MANUAL))
    _, second = generate(Paper(MANUAL), refuse=1)
    assert first["question"] != second["question"]


def test_a_question_is_not_asked_again_with_the_name_of_the_document() -> None:
    paper = Paper("# Notes of the Mill\n\nA sluice is a small wooden gate in a channel.\n")
    assert generate(paper)[1]["question"].startswith("According to")
    assert generate(paper, asked=("What is a sluice?",))[0] == "report_exhausted"


def test_a_long_document_goes_on_after_the_last_evidence_and_then_wraps_round() -> None:
    body = "\n\n".join(f"Martha Kellogg repaired mill {n} in March {1800 + n}." for n in range(400))
    paper = Paper(f"# The Mills: a Report\n\n{body}")
    name, found = generate(paper, asked=("- An earlier question? (lines 500-501)",))
    assert name == "submit_qa"
    assert found["evidence"][0]["start_line"] > 501
    assert len(paper.reads) <= 4
    name, found = generate(Paper(paper.text), asked=("- An earlier question? (lines 800-803)",))
    assert name == "submit_qa"
    assert found["evidence"][0]["start_line"] < 500


def test_a_range_that_was_cut_is_read_on() -> None:
    paper = Paper(
        "# The Mills: a Report\n" + "\n" * 150 + "Martha Kellogg repaired the mill in March 1987.",
        max_lines=60,
    )
    name, found = generate(paper)
    assert name == "submit_qa"
    assert found["evidence"][0]["start_line"] == 152


def test_only_labels_of_properties_are_asked_for() -> None:
    text = "# Acid Ant\n\nThe acid ant is shy.\n\n- **Armor Class** 13 (natural armor)\n- **Swift Performance**: fast and without dependencies\n"
    found = {question: item["answer"] for question, item in possible_questions(Paper(text)).items()}
    assert found == {'According to "Acid Ant", what is the Armor Class?': "13 (natural armor)"}


def test_a_value_that_several_rows_share_is_not_asked_for() -> None:
    rows = "\n".join(
        f"| wall {place} | {source} |"
        for place, source in zip("ABCD", ("letter", "map", "map", "W3C file"), strict=True)
    )
    text = f"# Walls: a Report\n\n## Sources\n\n| Wall | Source |\n|---|---|\n{rows}\n"
    found = possible_questions(Paper(text)).values()
    assert {(item["answer"], item["question_type"]) for item in found} == {
        ("letter", "factual"),
        ("W3C file", "factual"),
    }


def test_a_cell_that_is_a_badge_is_not_asked_for() -> None:
    badge = "[![npm](https://img.example/w%s.svg)](https://www.example.org/w(%s))"
    rows = "\n".join(f"| wall {place} | {badge % (place, place)} |" for place in "ABC")
    assert not possible_questions(
        Paper(f"# Walls: a Report\n\n## Drivers\n\n| Wall | Version |\n|---|---|\n{rows}\n")
    )


def test_the_text_of_a_licence_is_not_asked_about() -> None:
    text = "# Walls: a Report\n\n## GNU Free Documentation License\n\nThe Free Software Foundation (FSF) publishes it.\n"
    assert not possible_questions(Paper(text))


def test_visual_mode_asks_of_tables_and_names_them() -> None:
    text = "# Rain at Selby: a Report\n\nTable 1. Rain by month.\n\n| Month | Depth (mm) |\n|---|---|\n| May | 31 |\n| June | 44 |\n| July | 12 |"
    listing = "1 visual\n- Table 1 | type: table | page: - | lines: 3-9 | caption: Rain by month."
    found = all_questions(Paper(text, listing), mode="visual")
    assert found
    assert all(item["visuals"] == ["Table 1"] and "Table 1" in question for question, item in found.items())
    assert any("depth" in question and item["answer"] == "44" for question, item in found.items())


def test_visual_mode_without_anything_to_read_says_so() -> None:
    listing = "1 visual\n- image p1-1 | type: image | page: 1 | lines: - | caption: -"
    name, arguments = generate(Paper("# A Report\n\nText.", listing), mode="visual")
    assert name == "report_exhausted"
    assert "cannot see pictures" in arguments["reason"]


@pytest.mark.parametrize(
    ("purpose", "question"),
    [
        ("They ask for the causes of faults.", "why "),
        ("Dates and deadlines.", "when "),
        ("Values of options in tables.", "what is the meaning of "),
    ],
)
def test_a_scenario_is_given_what_it_asks_for(purpose: str, question: str) -> None:
    text = MANUAL + "\n## Faults\n\nThe Harbour Pump stops early because grit blocks the lower seal.\n"
    name, found = generate(Paper(text), purpose=purpose)
    assert name == "submit_qa"
    assert question in found["question"] or question.capitalize() in found["question"]


REPORT = """\
# Walls of the Upland: a Report

## 2 Walls

Eelgrass is a flowering plant that grows under water on sandy shores. The eelgrass is cut in May.
Six walls were chosen in May 2019, three of dolerite and three of sandstone.
Every wall was measured in March 2020 by Ida Holm with a steel tape and a level.
Table 4. The walls.
Wall | Length (m) | Warmth (h)
north wall | 12 | 7.9
south wall | 19 | 6.4
east wall | 31 | 5.1

## 3.1 Costs

| Wall | Price (EUR) |
|---|---|
| north wall | 100 |
| south wall | 250 |
| east wall | 310 |
"""


def test_a_table_is_named_only_where_another_one_has_the_same_columns() -> None:
    found = list(possible_questions(Paper(REPORT)))
    assert any(
        'According to "Walls of the Upland: a Report", what is the price in EUR' in one for one in found
    ), found
    assert any(
        'According to "Walls of the Upland: a Report", what is the length in m' in one for one in found
    ), found
    twice = REPORT.replace("Price (EUR)", "Length (m)")
    found = list(possible_questions(Paper(twice)))
    assert any('the table in the "Costs" section of' in one for one in found), found


def submitted(wanted: str) -> list[dict[str, Any]]:
    prompt = f"Document\n{TITLE}\n\nQuestions to write, by kind:\n{wanted}"
    conversation = Conversation("", prompt, (READ,), frozenset({"submit_no_answer", "read_lines"}))
    (action,) = propose(conversation)
    assert action.name == "submit_no_answer"
    return action.arguments["questions"]


def blind(question: str) -> dict[str, Any]:
    prompt = f"Document\n{TITLE}\n\nQuestion:\n{FRAME}{question}"
    (action,) = read(Conversation("", prompt, (READ,), frozenset({"submit_answers", "read_lines"})))
    return action.arguments


def excerpts(question: str) -> Action:
    shown = f"Excerpt 1\n<document_excerpt>\n{ROWS}\n</document_excerpt>"
    return answer_from_excerpts(f"title: none\n\n{shown}\n\nQuestion:\n{FRAME}{question}")


def test_the_document_is_read_first() -> None:
    conversation = Conversation("", f"Document\n{TITLE}", (), frozenset({"submit_no_answer", "read_lines"}))
    assert [one.name for one in propose(conversation)] == ["read_lines"]


def test_a_near_miss_asks_a_name_of_the_document_for_what_it_lacks() -> None:
    (one,) = submitted("- unanswerable: 1")
    assert one["question"].endswith("what is the phone number of Harbour Pump?")
    asked = one["question"].removeprefix(FRAME)
    assert not blind(asked)["answerable"]
    assert not excerpts(asked).arguments["answerable"]


def test_a_property_that_the_document_gives_is_answered() -> None:
    assert excerpts('what is the weight in kg of "Heron"?').arguments["answer"] == "45"


def test_without_its_row_a_table_cell_has_two_readings() -> None:
    (one,) = submitted("- underspecified: 1")
    assert len({reading["answer"] for reading in one["readings"]}) == 2
    said = blind(one["question"].partition(", ")[2])
    assert (said["answerable"], said["unambiguous"]) == (True, False)


@pytest.mark.parametrize(("year", "holds"), [("1999", False), ("1987", True)])
def test_another_number_is_a_false_premise(year: str, holds: bool) -> None:
    said = blind(f"who designed the pump in March {year}?")
    assert said.get("premise_holds", True) is holds
    if not holds:
        assert "1987" in said["note"]


def test_nothing_is_made_up_where_the_rules_find_nothing() -> None:
    assert [one["kind"] for one in submitted("- unanswerable: 9")].count("unanswerable") < 9


def test_a_question_that_is_hardly_worth_asking_is_not_submitted() -> None:
    paper = Paper(MANUAL)
    asked, allowed = all_questions(paper), possible_questions(paper)
    assert "When did Martha Kellogg design the Harbour Pump?" in asked
    assert "What did Martha Kellogg design in March 1987?" in allowed
    assert "What did Martha Kellogg design in March 1987?" not in asked
    assert asked.keys() < allowed.keys()


def test_the_best_question_comes_first() -> None:
    assert generate(Paper(MANUAL))[1]["question"] == "When did Martha Kellogg design the Harbour Pump?"
