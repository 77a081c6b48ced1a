"""The document's title in questions: whatever it is, the document is asked about, and the reader understands the question."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from qagen_dagster.models.embedded.conversation import split_frame
from tests.models.embedded.driver import Paper, generate, possible_questions, run

BODY = "The tide pump stands on the quay. Martha Kellogg designed the tide pump in March 1987 after a fire.\n"
TITLES = st.lists(
    st.sampled_from(
        [
            "Mill", "mill", "-", '"Walls"', "“Walls”", "Pump™", "x^2", "5\u2032 30", "the the", "https://x.example/a?b=c", "(a", "v.",
            "why?", "According to x, what", "Licence", "[1]", "|", "…", "3,5", "Étude", "In 1987, when",
        ]
    ),
    min_size=1,
    max_size=7,
).map(" ".join)  # fmt: skip


@given(TITLES)
@example("Walls - A Study")
@example("WALLS")
@example("word " * 60)
@example("")
@settings(max_examples=60, deadline=None)
def test_no_title_silences_a_document(title: str) -> None:
    name, found = generate(Paper(BODY, title=f"title: {title}"))
    assert name == "submit_qa", found
    prompt = f"Document\ntitle: {title}\n\nQuestion:\n{found['question']}"
    own = run("reader", prompt, Paper(BODY), "submit_answers")[1]
    assert own["answerable"], found
    assert found["answer"].removeprefix("the ") in own["answer"]


@pytest.mark.parametrize(
    "frame",
    [
        'According to "Walls, and what is in them", ',
        'According to the "Costs, what else" section of "Walls", ',
        'According to the "Facts" section of Northeast Utilities Service Company v. Key Bank of Maine, Inc., ',
        "In Gifford v. Key Bank of Me., Inc., ",
        "According to Table 4 of Gifford v. Key Bank, ",
    ],
)
def test_the_frame_of_a_question_is_split_off(frame: str) -> None:
    asked = 'what is the length of "north wall", which fell in 1987?'
    assert split_frame(frame + asked) == (frame, asked)
    assert split_frame(asked) == ("", asked)


def test_a_document_without_a_title_is_named_by_its_file_if_the_text_confirms_it() -> None:
    text = "Mill v. Brandon, the report of 2023.\n\nThe lower wooden gate has nine heavy bolts.\n"
    for name, shown in (
        ("195251-mill-v-brandon.txt", 'According to "Mill v. Brandon", '),
        ("brandon_report/README.md", 'According to "Brandon Report", '),
        ("report-2023.txt", 'According to "Report 2023", '),
        ("scan-0001.txt", None),
    ):
        found = list(possible_questions(Paper(text, title="begins: the report", name=name)))
        assert found[0].startswith(shown) if shown else not found, found
