"""Questions without an answer by rule, and the reader that does not answer them."""

from __future__ import annotations

from typing import Any

import pytest

from qagen_dagster.models.embedded.answering.reader import answer_from_excerpts, read
from qagen_dagster.models.embedded.conversation import Action, Conversation, Exchange
from qagen_dagster.models.embedded.questions.generator import propose

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


def submitted(wanted: str) -> list[dict[str, Any]]:
    prompt = f"Document\n{TITLE}\n\nQuestions to write, by kind:\n{wanted}"
    conversation = Conversation("", prompt, (READ,), frozenset({"submit_no_answer", "read_lines"}))
    (action,) = propose(conversation)
    assert action.name == "submit_no_answer"
    return action.arguments["questions"]


def blind(question: str) -> dict[str, Any]:
    prompt = f"Document\n{TITLE}\n\nQuestion:\n{FRAME}{question}"
    (action,) = read(Conversation("", prompt, (READ,), frozenset({"submit_answer", "read_lines"})))
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
