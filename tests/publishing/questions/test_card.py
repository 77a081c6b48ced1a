from __future__ import annotations

from datetime import UTC, datetime

from qagen_dagster.publishing.questions.card import EXAMPLES, export
from qagen_dagster.publishing.questions.eval_set import EvalSet, SetFacts
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.published import PublishedGrade, PublishedQuestion
from qagen_dagster.records.questions.results import Evidence, GenerationMetadata, RejectionReason, RetiredQA

FACTS = SetFacts(
    corpus_context="Manuals of probes.",
    scenario_name="Service desk",
    scenario_description="Short questions.",
    profile="mine",
    strategy="batch",
    models={"generator": "openai:writer", "validator": "openai:reader"},
    prompts={"generator_textual": "abcd"},
    documents_by_outcome={"target_reached": 2, "max_attempts": 1},
    planned=9,
    planned_by_type={"causal": 60, "temporal": 4},
    calls=12,
    input_tokens=345,
    output_tokens=67,
    usd=0.25,
    unknown_price_calls=1,
)


def question(number: int) -> PublishedQuestion:
    return PublishedQuestion(
        id=f"q-{number:04}",
        question=f"Why is | probe {number} *never* opened?",
        answer="it is filled",
        source_document="documents/a.txt",
        category=Mode.TEXTUAL,
        content_refs=(),
        evidence=(Evidence(quote="It is\nfilled. <b>", start_line=number, end_line=number),),
        generation_metadata=GenerationMetadata(
            generator_model="openai:writer", validator_model="openai:reader", attempt_number=1
        ),
        question_type="causal",
        grade=PublishedGrade(grade="A", confidence=1.0, is_grounded=True, decided_by="code"),
    )


def card(count: int, facts: SetFacts | None = FACTS) -> str:
    lost = RetiredQA(
        id="q-9", question="?", answer="a", question_type="causal", source_document="d", document_id="d",
        reason=RejectionReason.EVIDENCE_NOT_FOUND, detail="", evidence=(),
    )  # fmt: skip
    eval_set = EvalSet(
        corpus_name="Probes",
        corpus_path="probes",
        scenario="service",
        mode=Mode.TEXTUAL,
        questions=tuple(question(number) for number in range(1, count + 1)),
        retired=(lost,),
        made=facts,
        timestamp=datetime(2026, 1, 2, tzinfo=UTC),
    )
    return export(eval_set)["README.md"].decode()


def test_the_card_tells_how_the_set_was_made_and_what_it_has() -> None:
    told = card(60)
    assert told.startswith("# Probes: Service desk, textual\n")
    for row in (
        "- Scenario `service`: Short questions.",
        "| model: validator | openai:reader |",
        "| prompt: generator_textual | abcd |",
        "| cost | $0.2500 and 1 calls of unknown price |",
        "| tokens | 345 input, 67 output |",
        "| documents with all the questions that were wanted | 2 |",
        "| published questions | 60 |",
        "| questions retired: evidence_not_found | 1 |",
        "| causal | 60 | 60 |",
        "| temporal | 4 | 0 |",
        "| all | 9 | 60 |",
        "| A | 60 |",
        "| figure | 60 questions | 50 questions |",
        "| distinct openings of three words | 1 | 1 |",
    ):
        assert row in told.splitlines(), row


def test_texts_are_no_markup() -> None:
    told = card(1)
    assert "1. **Why is \\| probe 1 \\*never\\* opened?** it is filled" in told
    assert "documents/a.txt, line 1: \u201cIt is filled. &lt;b&gt;\u201d" in told


def test_it_has_at_most_five_examples_and_is_the_same_every_time() -> None:
    assert card(60).count("\u201c") == EXAMPLES
    assert card(3).count("\u201c") == 3
    assert card(60) == card(60)


def test_an_empty_set_without_facts_has_a_card() -> None:
    assert "| published questions | 0 |" in card(0, None)
