from __future__ import annotations

import io
import json
from datetime import UTC, datetime

import jsonschema
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.publishing.questions import corpus_json, jsonl
from qagen_dagster.publishing.questions.corpus_json import schema
from qagen_dagster.publishing.questions.eval_set import EvalSet
from qagen_dagster.publishing.questions.registry import SET_FILES
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.published import CorpusGenerationResult, PublishedQuestion
from qagen_dagster.records.questions.results import Evidence, GenerationMetadata

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
    ((path, data),) = corpus_json.export(eval_set(pair())).items()
    assert path == "corpus.json"
    assert data.endswith(b"}\n")
    assert "\u00fc".encode() in data
    value = json.loads(data)
    assert list(value) == ["corpus_name", "corpus_path", "scenario", "mode", "questions", "timestamp"]
    assert set(value["questions"][0]) == {
        "id", "question", "answer", "source_document", "category", "content_refs", "generation_metadata",
        "evidence", "document_id", "text_path", "row", "mode", "question_type", "hops", "visuals", "verdict", "grade",
    }  # fmt: skip
    assert value["questions"][0]["evidence"][0] == {
        "quote": "it is 42", "start_line": 3, "end_line": 3, "page": None, "visual": None,
    }  # fmt: skip
    assert value["timestamp"] == "2026-01-02T03:04:05+00:00"
    jsonschema.validate(value, schema())
    assert CorpusGenerationResult.model_validate_json(data).questions[0].id == "q-1"


def test_schema_refuses_what_is_not_described() -> None:
    value = json.loads(corpus_json.export(eval_set(pair()))["corpus.json"])
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
    data = jsonl.export(eval_set(pair("q-1", question), pair("q-2", question)))["questions.jsonl"]
    lines = data.decode().splitlines()
    assert [json.loads(line)["question"] for line in lines] == [question, question]


def test_pandas_loads_in_one_line() -> None:
    data = jsonl.export(eval_set(pair()))["questions.jsonl"]
    frame = pandas.read_json(io.BytesIO(data), lines=True)
    assert frame.loc[0, "corpus_name"] == "C"
    whole = corpus_json.export(eval_set(pair(), pair("q-2")))["corpus.json"]
    assert list(pandas.DataFrame(json.loads(whole)["questions"])["id"]) == ["q-1", "q-2"]
    assert len(pandas.read_json(io.BytesIO(whole))) == 2


def test_empty_set() -> None:
    assert jsonl.export(eval_set())["questions.jsonl"] == b""
    assert json.loads(corpus_json.export(eval_set())["corpus.json"])["questions"] == []
