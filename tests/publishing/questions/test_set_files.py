"""Files of a published set, for sets with and without facts, and the figures of diversity."""

from __future__ import annotations

import gzip
import io
import json
import math
import re
from datetime import UTC, datetime

import jsonschema
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.publishing.questions import set_files
from qagen_dagster.publishing.questions.set_files import (
    EXAMPLES,
    SET_FILES,
    EvalSet,
    SetFacts,
    card_file,
    diversity,
    schema,
)
from qagen_dagster.records.decisions import Agreement, ReviewFacts
from qagen_dagster.records.document import Rights
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.published import (
    CorpusGenerationResult,
    PublishedGrade,
    PublishedQuestion,
    PublishedVerdict,
)
from qagen_dagster.records.questions.results import Evidence, GenerationMetadata, RejectionReason, RetiredQA

TIME = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def pair(
    identifier: str = "q-1", question: str = "Was ist \u00fc?", line: int | None = 3
) -> PublishedQuestion:
    return PublishedQuestion(
        id=identifier,
        question=question,
        answer="42",
        source_document="a.txt",
        document_id="a.txt",
        category=Mode.TEXTUAL,
        content_refs=(),
        evidence=(Evidence(quote="it is 42", start_line=line, end_line=line),),
        generation_metadata=GenerationMetadata(
            generator_model="e:a", validator_model="e:b", attempt_number=1
        ),
    )


def eval_set(*questions: PublishedQuestion) -> EvalSet:
    return EvalSet(
        corpus_name="C", corpus_path="corpora/c", scenario="s", mode=Mode.TEXTUAL, questions=questions,
        timestamp=TIME,
    )  # fmt: skip


def test_corpus_json_is_the_described_record() -> None:
    ((path, data),) = set_files.corpus_json(eval_set(pair())).items()
    assert path == "corpus.json"
    assert data.endswith(b"}\n")
    assert "\u00fc".encode() in data
    value = json.loads(data)
    assert list(value) == ["corpus_name", "corpus_path", "scenario", "mode", "questions", "timestamp"]
    assert set(value["questions"][0]) == {
        "id", "question", "answer", "source_document", "category", "content_refs", "generation_metadata",
        "evidence", "document_id", "text_path", "row", "mode", "question_type", "hops", "visuals", "verdict", "grade", "answerable", "no_answer",
    }  # fmt: skip
    assert value["questions"][0]["evidence"][0] == {
        "quote": "it is 42", "start_line": 3, "end_line": 3, "page": None, "visual": None,
    }  # fmt: skip
    assert value["timestamp"] == "2026-01-02T03:04:05+00:00"
    jsonschema.validate(value, schema())
    assert CorpusGenerationResult.model_validate_json(data).questions[0].id == "q-1"


def test_schema_refuses_what_is_not_described() -> None:
    value = json.loads(set_files.corpus_json(eval_set(pair()))["corpus.json"])
    value["questions"][0]["score"] = 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(value, schema())


def test_order_does_not_depend_on_the_input() -> None:
    one, two, three = pair("q-1", line=9), pair("q-2", line=2), pair("q-3", line=None)
    for export in SET_FILES:
        assert export(eval_set(one, two, three)) == export(eval_set(three, one, two))
    assert [question.id for question in eval_set(one, two, three).published().questions] == [
        "q-3", "q-2", "q-1",
    ]  # fmt: skip


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_jsonl_has_one_line_a_question(question: str) -> None:
    data = set_files.jsonl_files(eval_set(pair("q-1", question), pair("q-2", question)))["questions.jsonl"]
    lines = data.decode().splitlines()
    assert [json.loads(line)["question"] for line in lines] == [question, question]


def test_pandas_loads_in_one_line() -> None:
    data = set_files.jsonl_files(eval_set(pair()))["questions.jsonl"]
    frame = pandas.read_json(io.BytesIO(data), lines=True)
    assert frame.loc[0, "corpus_name"] == "C"
    whole = set_files.corpus_json(eval_set(pair(), pair("q-2")))["corpus.json"]
    assert list(pandas.DataFrame(json.loads(whole)["questions"])["id"]) == ["q-1", "q-2"]
    assert len(pandas.read_json(io.BytesIO(whole))) == 2


def test_empty_set() -> None:
    assert set_files.jsonl_files(eval_set())["questions.jsonl"] == b""
    assert json.loads(set_files.corpus_json(eval_set())["corpus.json"])["questions"] == []


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
    return card_file(eval_set)["README.md"].decode()


@pytest.mark.parametrize(
    ("planned", "rows"),
    [
        ({"causal": 2, "one_passage": 4, "table": 1}, ["causal | 2 | 3", "one_passage | 4 | 3", "table | 1 | 0"]),
        ({"advanced": 3, "two_passages": 0}, ["advanced | 3 | 3", "causal | any number | 3", "two_passages | 0 | 0"]),
        ({"causal": 2, "advanced": 1}, ["advanced | 1 | 0", "causal | 2 | 3"]),
    ],
)  # fmt: skip
def test_the_card_compares_what_was_planned_of_each_kind_with_what_is_published(
    planned: dict[str, int], rows: list[str]
) -> None:
    told = card(3, FACTS.model_copy(update={"planned_by_type": planned}))
    table = told.partition("| question type | planned | published |")[2].partition("| all |")[0]
    assert [line.strip("| ") for line in table.splitlines()[2:] if line] == rows


def test_the_card_names_the_audience_of_the_scenario() -> None:
    assert "| audience | searcher |" in card(3, FACTS.model_copy(update={"audience": "searcher"}))
    assert "audience" not in card(3)


def test_the_card_compares_the_wording_with_that_of_people() -> None:
    told = card(3)
    assert "| wording (means) | this set | readers | searchers |" in told
    assert re.search(r"\| runs of three words copied from it \| \d+% \| 13% \| 3% \|", told)
    assert "Styles: 100% question." in told
    assert "wording (means)" not in card(0)


def test_the_card_tells_how_the_set_was_made_and_what_it_has() -> None:
    told = card(60)
    assert told.startswith("# Probes: Service desk, textual\n")
    for row in (
        "- Scenario `service`: Short questions.",
        "| model: validator | openai:reader |",
        "| prompt: generator_textual | abcd |",
        "| cost | $0.2500 and 1 calls of unknown cost |",
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


def test_figures_by_hand() -> None:
    texts = ["Who built the old pier?", "Who built the old mill?"]
    found = diversity(texts)
    # 10 words: 6 different; 9 pairs: 6; 8 triples: 6; 7 fours: 6.
    assert found.ngram_diversity == pytest.approx(6 / 10 + 6 / 9 + 6 / 8 + 6 / 7)
    # The two share "who built the old": each has one other question with it.
    assert found.self_repetition == pytest.approx(math.log(2))
    joined = b"Who built the old mill? Who built the old pier?"
    assert found.compression_ratio == pytest.approx(len(joined) / len(gzip.compress(joined, mtime=0)))
    assert (found.questions, found.mean_words, found.distinct_openings) == (2, 5.0, 1)


def test_order_does_not_matter_and_copies_are_less_varied() -> None:
    varied = [
        "Why is the pier closed?",
        "How many boats did Ida Holm build?",
        "Who pays the toll of the bridge?",
    ]
    assert diversity(varied) == diversity(varied[::-1])
    copies = diversity([varied[0]] * 3)
    found = diversity(varied)
    assert (found.ngram_diversity or 0) > (copies.ngram_diversity or 0)
    assert (found.self_repetition, found.distinct_openings) == (0.0, 3)
    assert (copies.self_repetition or 0) > 0


@pytest.mark.parametrize("texts", [[], ["Why?"]], ids=["none", "one word"])
def test_too_little_to_measure(texts: list[str]) -> None:
    assert diversity(texts).ngram_diversity is None


@pytest.mark.parametrize(
    ("explanation", "unjudged"),
    [
        ("A model judged everything.", []),
        ("code compared the two answers", ["non_trivial", "relevant"]),
        (
            "embedded:reader compared",
            ["non_trivial", "relevant", "supported", "premise_holds", "self_contained"],
        ),
    ],
)
def test_the_card_names_criteria_that_nobody_judged(explanation: str, unjudged: list[str]) -> None:
    criteria = (
        "answerable",
        "matches",
        "non_trivial",
        "unambiguous",
        "relevant",
        "supported",
        "premise_holds",
        "self_contained",
    )
    verdict = PublishedVerdict.model_validate(
        {"blind_answer": "42", "explanation": explanation, **dict.fromkeys(criteria, True)}
    )
    judged = [pair(f"q-{number}").model_copy(update={"verdict": verdict}) for number in range(3)]
    card = card_file(eval_set(*judged, pair("q-9")))[set_files.CARD_FILE].decode()
    shown = [line.split("|")[1:3] for line in card.splitlines() if "nobody judged" in line]
    assert {name.strip(): count.strip() for name, count in shown} == {
        f"of which nobody judged: {name}": "3" for name in unjudged
    }


def test_the_card_says_who_wrote_what_if_there_are_several() -> None:
    asked = pair("q-2").model_copy(update={"origin": "imported"})
    card = set_files.card_file(eval_set(pair(), pair("q-3"), asked))["README.md"].decode()
    assert "| of which e:a wrote | 2 |\n| of which people wrote | 1 |" in card
    assert "wrote" not in set_files.card_file(eval_set(pair()))["README.md"].decode()
    published = json.loads(set_files.corpus_json(eval_set(pair(), asked))["corpus.json"])["questions"]
    assert {one["id"]: one.get("origin") for one in published} == {"q-1": None, "q-2": "imported"}


def test_the_card_has_the_licences_and_names_documents_without_one() -> None:
    rights = {
        "a.txt": Rights(licence="CC0-1.0", attribution="Ida"),
        "b|c.txt": Rights(),
        "d.txt": Rights(licence="CC0-1.0", attribution="Ida"),
    }
    shown = card_file(eval_set(question(1)).model_copy(update={"rights": rights}))["README.md"].decode()
    assert "| CC0-1.0 | Ida | 2 |" in shown
    assert "| not known |  | 1 |" in shown
    assert "No licence is known of: b\\|c.txt" in shown


def test_the_card_has_the_agreement_of_reviewers_and_models() -> None:
    agreements = (
        Agreement(first="bo", second="ida", both=4, same=3, kappa=0.5, interval=(-0.1, 0.9)),
        Agreement(
            first="p:reader",
            second="reviewers",
            both=9,
            same=6,
            kappa=0.2,
            interval=(0.0, 0.4),
            criterion="all",
            good=4,
            only_first=2,
        ),
    )
    facts = ReviewFacts(
        states={"accepted": 4}, reviewers={"bo": 4, "cy": 1, "ida": 4}, agreements=agreements, alpha=0.25
    )
    shown = card_file(eval_set(question(1)).model_copy(update={"review": facts}))["README.md"].decode()
    assert "| Krippendorff's alpha of 3 reviewers | 0.25 |" in shown
    assert "| Cohen's kappa of bo and ida | 0.50, 95 % interval -0.10 to 0.90 (4 judged by both) |" in shown
    assert (
        "0.20, 95 % interval 0.00 to 0.40 (9 judged by both; good for both: 4, for the model alone: 2, for reviewers alone: 1)"
        in shown
    )
