"""The answerer over excerpts: rows and labels by their form, running text by its best span, and the excerpt it stands in."""

from __future__ import annotations

from typing import Any

import pytest

from qagen_dagster.agents.answering.answerer import prompt
from qagen_dagster.models.embedded.answering.excerpts import answer_from_excerpts, pieces_of
from qagen_dagster.models.embedded.conversation import Line
from qagen_dagster.toolkit.excerpt import Block, enclose, row

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
