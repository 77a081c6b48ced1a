"""The reader: right answers found blind or in excerpts, wrong ones refused, and honesty about both."""

from __future__ import annotations

from typing import Any

import pytest

from qagen_dagster.agents.answering import prompt
from qagen_dagster.models.embedded.answering.reader import answer_from_excerpts, pieces_of
from qagen_dagster.models.embedded.conversation import Line
from qagen_dagster.toolkit.excerpt import Block, enclose, row
from tests.models.embedded.driver import Paper, run

TEXT = """# The Harbour Pump: Operator's Manual

Martha Kellogg designed the pump in March 1987, and Daniel Forsyth wrote its firmware. The pump holds twelve
filters. Salt blocks the filters because the sea water of the basin is warm. The relief valve is a brass ring
that opens at 9 bar. If the motor overheats, the controller stops the pump.

| Station | Depth (m) | Mean salinity (g/kg) |
|---------|-----------|----------------------|
| Skerry Bank | 18 | 34.6 |
| Port Carrick | 4 | 31.2 |
| Mill Creek | 2 | 17.8 |

- Weight: 412 kg
"""
FRAME = 'According to "The Harbour Pump: Operator\'s Manual", '


def blind(question: str, text: str = TEXT) -> dict[str, Any]:
    return run(
        "reader", f"Document\ntitle: The Harbour Pump\n\nQuestion:\n{question}", Paper(text), "submit_answers"
    )[1]


def judge(question: str, proposed: str, own: str) -> dict[str, Any]:
    prompt = f"Mode: textual\n\nQuestion:\n{question}\n\nProposed answer:\n{proposed}\n\nEvidence:\n{TEXT[:300]}\n\nYour own answer:\n{own}\n\nYour own note:\nnone"
    return run("reader", prompt, Paper(TEXT), "submit_comparisons")[1]


@pytest.mark.parametrize(
    ("proposed", "own", "same"),
    [
        ("W5", "5", False),
        ("5", "W5", False),
        ("W5", "wall W5", True),
        ("3 May 1873", "May 1873", True),
        ("1240", "1,240 kg", True),
        (
            "a wall built without mortar",
            "a wall built without mortar, whose gaps give shelter to lizards and voles",
            True,
        ),
        ("It holds a bell", "It does not hold a bell", False),
    ],
)
def test_the_comparison_is_that_of_the_whole_program(proposed: str, own: str, same: bool) -> None:
    assert judge("which wall?", proposed, own)["matches"] is same


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("who designed the pump in March 1987?", "Martha Kellogg"),
        ("when did Martha Kellogg design the pump?", "March 1987"),
        ("how many filters does the pump hold?", "twelve"),
        ("why does salt block the filters?", "because the sea water of the basin is warm"),
        ("what is the relief valve?", "brass ring that opens at 9 bar"),
        ('what is the mean salinity in g/kg for the station "Port Carrick"?', "31.2"),
        ("what is the weight?", "412 kg"),
    ],
)
def test_blind_answers(question: str, answer: str) -> None:
    found = blind(FRAME + question)
    assert found["answerable"], found
    assert found["unambiguous"], found
    assert found["answer"] == answer
    assert found["evidence"][0]["quote"] in TEXT
    assert "score" in found["note"]


@pytest.mark.parametrize(
    "question", ["who painted the lighthouse at Selby?", "how many sailors drowned in the storm of 1911?", ""]
)
def test_what_the_document_does_not_say_is_not_answered(question: str) -> None:
    assert not blind(FRAME + question)["answerable"]


def test_two_different_answers_make_a_question_ambiguous() -> None:
    text = "# Mills: a Report\n\nMartha Kellogg repaired the mill in March 1987.\n\nMartha Kellogg repaired the mill in June 1991."
    assert not blind('According to "Mills: a Report", when did Martha Kellogg repair the mill?', text)[
        "unambiguous"
    ]


@pytest.mark.parametrize(
    ("own", "proposed", "same"),
    [
        ("4,000 readings", "4000 readings", True),
        ("about three hours", "3 hours", True),
        ("Judge Bruce Selya", "Bruce Selya", True),
        ("twelve", "12", True),
        ("the controller stops the pump", "The controller stops the pump.", True),
        ("412 kg", "413 kg", False),
        ("March 1987", "June 1987", False),
        ("Martha Kellogg", "Daniel Forsyth", False),
        ("the pump is fitted with a valve", "the pump is not fitted with a valve", False),
        ("31.2", "34.6", False),
        ("", "412 kg", False),
    ],
)
def test_comparison(own: str, proposed: str, same: bool) -> None:
    assert judge(FRAME + "what is it?", proposed, own)["matches"] is same


def test_comparison_sees_furniture_and_says_how_it_judged() -> None:
    stamp = judge(FRAME + "who holds the copyright?", "the Press", "the Press")
    assert not stamp["relevant"]
    assert stamp["explanation"].startswith("embedded:reader")


def test_long_documents_are_searched_not_read_whole() -> None:
    filler = "\n".join(f"Line {n} of the log says little." for n in range(5_000))
    paper = Paper(f"{TEXT}\n{filler}\nAnneke Visser painted the lighthouse in May 1962.\n")
    prompt = f"Question:\n{FRAME}who painted the lighthouse in May 1962?"
    found = run("reader", prompt, paper, "submit_answers")[1]
    assert found["answer"] == "Anneke Visser"
    assert len(paper.reads) == 1


def test_an_abbreviation_is_looked_for_in_its_brackets() -> None:
    filler = "\n".join(f"The MSU logged line {n} of the tide." for n in range(3_000))
    paper = Paper(f"{filler}\nThe Marine Survey Unit (MSU) keeps the gauge.\n{filler}\n")
    prompt = f"Question:\n{FRAME}what does MSU stand for?"
    assert run("reader", prompt, paper, "submit_answers")[1]["answer"] == "Marine Survey Unit"


PROSE = (
    "The pump house at Selby was built by Martha Kellogg in March 1987. Daniel Forsyth wrote the firmware of its controller.\n"
    "The pump holds twelve filters, which the keepers store in the old chapel\nwhen winter comes."
)
TABLE = (
    "# Stations\n\n| Station | Depth (m) | Mean salinity (g/kg) |\n|---|---|---|\n| Skerry Bank | 18 | 34.6 |\n"
    "| Port Carrick | 4 | 31.2 |\n\n- Weight of the pump: 412 kg\n\nThe Marine Survey Unit (MSU) keeps the gauge."
)


def ask(question: str, *texts: tuple[int, int, str]) -> dict[str, Any]:
    shown = Block(
        "\n\n".join(
            f"Excerpt {number}\n"
            + enclose([row(line, text, 4_000) for line, text in enumerate(body.split("\n"), start)])
            for number, start, body in texts
        )
    )
    values = {"question": question, "document_title": enclose(["title: none"]), "excerpts": shown}
    return answer_from_excerpts(prompt().fill(values)[1]).arguments


@pytest.mark.parametrize(
    ("question", "answer", "chunk"),
    [
        ("Who built the pump house?", "Martha Kellogg", 3),
        ("Where do the keepers store the filters?", "the old chapel", 3),
        ('What is the mean salinity in g/kg for the station "Port Carrick"?', "31.2", 8),
        ("What is the weight of the pump?", "412 kg", 8),
        ("What does MSU stand for?", "Marine Survey Unit", 8),
    ],
)
def test_each_form_of_text_answers_and_its_excerpt_is_cited(question: str, answer: str, chunk: int) -> None:
    found = ask(question, (3, 1, PROSE), (8, 20, TABLE))
    assert answer in found["answer"], found
    assert len(found["answer"].split()) <= len(answer.split()) + 2
    assert found["chunks"] == [chunk]
    assert found["answerable"]
    assert 0 < found["confidence"] <= 1


def test_a_question_with_an_added_denial_is_not_answerable() -> None:
    assert ask("Who built the pump house at Selby?", (3, 11, PROSE))["answerable"]
    assert not ask("Who never built the pump house at Selby?", (3, 11, PROSE))["answerable"]


def test_an_answer_over_two_lines_names_both() -> None:
    found = ask("When do the keepers store the filters in the chapel?", (3, 11, PROSE))
    assert "winter" in found["answer"]
    assert "lines 12 to 13" in found["note"]


def test_what_the_excerpts_do_not_say_is_not_answerable() -> None:
    found = ask("Which enzyme breaks down fructose in the liver?", (3, 1, PROSE), (8, 20, TABLE))
    assert not found["answerable"]
    assert found["confidence"] < 0.15


def test_without_any_sentence_there_is_nothing() -> None:
    found = ask("Who built it?", (1, 1, ""))
    assert (found["answerable"], found["chunks"], found["confidence"]) == (False, [], 0.0)
    assert found["answer"]


def test_parts_of_one_long_line_are_all_read() -> None:
    first = "The tower at Ravensby was finished in 1871. It burned whale oil for six years."
    second = "Its bell was cast by Anneke Visser. It weighs two tonnes."
    found = ask("Who cast the bell?", (1, 1, first), (2, 1, second))
    assert "Anneke Visser" in found["answer"]
    assert found["chunks"] == [2]
    assert "1871" in ask("In what year was the tower finished?", (1, 1, first), (2, 1, second))["answer"]


def test_pieces_stand_in_the_order_of_the_document_and_once() -> None:
    one, two = "A valve opens at nine bar.", "A ring seals the valve."
    shown = [(2, [Line(2, two), Line(3, one)]), (1, [Line(1, one), Line(2, two)])]
    assert [(unit.text, unit.quote.start_line) for unit in pieces_of(shown)] == [(one, 1), (two, 2), (one, 3)]
    parts = [(1, [Line(1, f"{one} {two}")]), (2, [Line(1, f"{two} Salt blocks it.")])]
    assert [unit.text for unit in pieces_of(parts)] == [one, two, "Salt blocks it."]
