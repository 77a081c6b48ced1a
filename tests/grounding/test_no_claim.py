from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.grounding.no_claim import claim_of, is_generic, is_refusal, is_unsure

GENERIC = (
    "The document states this.",
    "The document provides several examples.",
    "According to the document:",
    "As stated in the document.",
    "This is described in the text above.",
    "The passage discusses many key points.",
    "This is stated in the report.",
    "The answer is as follows:",
    "Supporting evidence:",
    "This is the case.",
    "This refers to the following:",
    "See section below.",
)
CLAIMS = (
    "According to the document, revenue was $5M.",
    "The document states that the pump failed.",
    "As stated in the document, costs fell.",
    "This means that the firm is insolvent.",
    "This is a whale.",
    "The document lists 5 examples.",
    "The document lists five examples.",
    "The document is not available.",
    "The report was written by Jane Doe.",
    "Yes.",
    "No.",
    "Delhi",
    "5",
    "",
    "...",
)
REFUSALS = (
    "Insufficient information in the document.",
    "Insufficient information",
    "There is not enough information to answer the question.",
    "The document does not mention the revenue for 2021.",
    "The document doesn\u2019t say whether he served in the army.",
    "The revenue for 2021 is not mentioned in the document.",
    "The passage does not provide names, dates, or places.",
    "Unfortunately, the text does not state his age.",
    "Sorry, but this is not stated in the provided text.",
    "His age is not explicitly given in the passage.",
    "There is no information about costs in the document.",
    "No details are provided in the text.",
    "Based on the document, there is insufficient information.",
    "Not in the document.",
    "I don't know.",
    "I don\u2019t know.",
    "Cannot be determined.",
    "The cause cannot be determined from the given text.",
)
NO_REFUSALS = (
    "The document does not mention costs, but revenue was $5M.",
    "Revenue was $5M, but costs are not mentioned in the document.",
    "He died in 1960; his grave is not mentioned in the text.",
    "The contract is not available in Germany.",
    "The cause is not known.",
    "The text does not say when he died: it was 1960.",
    "The document does not give his age, he was 60.",
    "His birth is described and his death is not mentioned in the text, although it was in 1960.",
    "He was 60 and his wife is not mentioned in the document.",
    "The pump failed.",
    "",
)


@pytest.mark.parametrize("sentence", GENERIC)
def test_statements_about_the_document_are_generic(sentence: str) -> None:
    assert is_generic(sentence)


@pytest.mark.parametrize("sentence", [*CLAIMS, *NO_REFUSALS])
def test_whatever_makes_a_claim_is_not_waived(sentence: str) -> None:
    assert not is_generic(sentence)


@pytest.mark.parametrize("sentence", REFUSALS)
def test_refusals_are_known(sentence: str) -> None:
    assert is_refusal(sentence)
    assert is_unsure(sentence)


@pytest.mark.parametrize("sentence", [*NO_REFUSALS, *CLAIMS, *GENERIC])
def test_a_claim_beside_a_refusal_is_no_refusal(sentence: str) -> None:
    assert not is_refusal(sentence)


@pytest.mark.parametrize(
    "answer",
    ["I don't know the age of the pump.", "This cannot be determined.", "I am unable to answer that."],
)
def test_not_knowing_is_no_refusal_but_unsure(answer: str) -> None:
    assert is_unsure(answer)
    assert not is_refusal(answer)


@pytest.mark.parametrize(
    ("sentence", "claim"),
    [
        ("According to the document, revenue was $5M.", "revenue was $5M."),
        ("The document states that the pump failed.", "the pump failed."),
        ("As mentioned in the passage, the text says that costs fell.", "costs fell."),
        ("Based on the provided text, he left.", "he left."),
        ("It is stated in the report that he left.", "he left."),
        ("Revenue was $5M according to the document.", "Revenue was $5M according to the document."),
        ("According to the text, Delhi.", "Delhi."),
        ("According to it, the pump failed.", "the pump failed."),
        ("Based on this, he left.", "he left."),
        ("According to Ida Holm, he left.", "According to Ida Holm, he left."),
        ("In the document.", "In the document."),
        ("In the context of mail, CC is a copy.", "In the context of mail, CC is a copy."),
        ("In the documentary film he left.", "In the documentary film he left."),
    ],
)
def test_an_opening_is_no_part_of_the_claim(sentence: str, claim: str) -> None:
    assert claim_of(sentence) == claim


@given(st.text())
def test_any_text_can_be_asked_about(text: str) -> None:
    assert not (is_generic(text) and any(char.isdigit() for char in text))
    assert claim_of(text) in text
    assert is_unsure(text) or not is_refusal(text)


@given(st.sampled_from(GENERIC), st.sampled_from(["revenue was $5M", "the pump failed", "42"]))
def test_a_claim_added_to_a_generic_statement_is_graded(generic: str, claim: str) -> None:
    assert not is_generic(f"{generic.rstrip('.:')}, {claim}.")
