from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.agents.questions.batch.one_reply import answer, questions, untagged
from qagen_dagster.records.corpus_options import QuestionType

REPLY = """\
Here are the questions:

1. How did the sale of the Plover lead to the new pier? (causal)
2) **Which boats served before 1992?** (Aggregation)
- What follows from the cancelled sailings about the depth? (inference) (multi-hop)
* [Multi-hop] What could the boat carry that was sold? [multi_hop].
Temporal: In which order did the boats come?
An overview of the ferry
7. What is this? (nonsense)
"""


def test_lines_with_tags_are_questions() -> None:
    found = questions([REPLY], None)
    assert [(one.question, one.question_type.value) for one in found] == [
        ("How did the sale of the Plover lead to the new pier?", "causal"),
        ("Which boats served before 1992?", "aggregation"),
        ("What follows from the cancelled sailings about the depth?", "inference"),
        ("What could the boat carry that was sold?", "multi_hop"),
        ("In which order did the boats come?", "temporal"),
    ]


def test_without_tags_they_are_of_the_only_type_asked_for() -> None:
    text = "1. Why did the pump stop?\n2. Why was it replaced?\nGood luck."
    assert questions([text], None) == ()
    assert [one.question_type for one in questions([text], QuestionType.CAUSAL)] == [QuestionType.CAUSAL] * 2


def test_json_without_a_call_is_read_too_and_the_first_text_that_holds_some_counts() -> None:
    body = {"questions": [{"question": "Why did it stop?", "question_type": "Multi-Hop"}]}
    found = questions(["I will write them now.", f"```json\n{json.dumps(body)}\n```", REPLY], None)
    assert [(one.question, one.question_type.value) for one in found] == [("Why did it stop?", "multi_hop")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Why? (analysis) (comparison)", ("Why?", QuestionType.ANALYSIS)),
        ("Why? (analysis)(comparison). ", ("Why?", QuestionType.ANALYSIS)),
        ("Why (as it is said)?", ("Why (as it is said)?", None)),
        ("Which cell (type B)", ("Which cell (type B)", None)),
        ("(causal)", ("", QuestionType.CAUSAL)),
        ('"Why?" [Counterfactual]', ("Why?", QuestionType.COUNTERFACTUAL)),
        ("", ("", None)),
    ],
)
def test_all_trailing_tags_go_and_nothing_else(text: str, expected: tuple[str, QuestionType | None]) -> None:
    assert untagged(text) == expected


@given(st.text(max_size=300), st.lists(st.sampled_from(list(QuestionType)), min_size=1, max_size=4))
def test_any_number_of_tags_comes_off(text: str, kinds: list[QuestionType]) -> None:
    bare = untagged(text)[0]
    tagged = bare + "".join(f" ({kind.value})" for kind in kinds)
    assert untagged(tagged) == (bare, kinds[0]) or untagged(bare)[1] is not None


@given(st.text(max_size=500))
def test_any_text_gives_questions_or_nothing(text: str) -> None:
    assert all(one.question for one in questions([text], QuestionType.FACTUAL))
    answer([text])


def test_an_answer_with_its_quotes() -> None:
    text = (
        "**Answer:** The Tern, the Plover and the Skua: 3 boats.\n\n"
        'Supporting evidence: "began in 1974 with two boats" and "The Skua, for 140 passengers"'
    )
    found = answer(["No idea yet.", text])
    assert found is not None
    assert found.answer == "The Tern, the Plover and the Skua: 3 boats."
    assert [one.quote for one in found.evidence] == [
        "began in 1974 with two boats",
        "The Skua, for 140 passengers",
    ]


def test_quotes_may_be_lines_and_the_honest_way_out_needs_none() -> None:
    found = answer(
        ["Answer: It was sold.\nEvidence:\n- The council sold the Plover in 1990\n- and built a new pier"]
    )
    assert found is not None
    assert [one.quote for one in found.evidence] == [
        "The council sold the Plover in 1990",
        "and built a new pier",
    ]
    honest = answer(["Answer: Insufficient information in the document."])
    assert honest is not None
    assert honest.evidence == ()
    assert answer(["I cannot say.", ""]) is None


def test_an_answer_in_json() -> None:
    body = {"answer": "It was sold.", "evidence": [{"quote": "The council sold the Plover"}]}
    found = answer([json.dumps(body)])
    assert found is not None
    assert found.evidence[0].quote == "The council sold the Plover"
