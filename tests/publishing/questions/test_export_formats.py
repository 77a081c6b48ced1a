"""The files of each export format: structure alone. `make test-exports` opens them with the programs."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
import zipfile
from dataclasses import replace
from typing import Any

import duckdb
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from qagen_dagster.publishing.questions import export_formats
from qagen_dagster.publishing.questions.export_formats import EXPORT_FORMATS
from qagen_dagster.publishing.questions.exported_set import (
    ExportedDocument,
    ExportedRow,
    ExportedSet,
    Passage,
    Picture,
    Place,
)
from qagen_dagster.records.corpus_options import NoAnswerKind
from qagen_dagster.records.document import Rights, VisualType
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.no_answer import NoAnswer
from qagen_dagster.records.questions.published import (
    CorpusGenerationResult,
    PublishedGrade,
    PublishedQuestion,
    PublishedVisual,
)
from qagen_dagster.records.questions.results import Evidence, GenerationMetadata
from qagen_dagster.settings import PROJECT_ROOT
from tests.support import markdown

BY_NAME = {one.name: one for one in EXPORT_FORMATS}
PICTURE = Picture("image/png", b"\x89PNG of a table")
FIRST = Passage("a.txt#1", "\nThe dam is 42 m high. ")
SECOND = Passage("a.txt#2", "It was built\nin 1811.\n")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


def row(
    number: int = 1,
    *places: Place,
    question: str = "How high is the dam?",
    answer: str = "42 m",
    pictures: tuple[Picture, ...] = (),
) -> ExportedRow:
    quotes = [place.quote for place in places] or ["a quote of a picture"]
    published = PublishedQuestion(
        id=f"q-{number}",
        question=question,
        answer=answer,
        source_document="documents/a.txt",
        document_id="a.txt",
        category=Mode.VISUAL if pictures else Mode.TEXTUAL,
        content_refs=(),
        evidence=tuple(
            Evidence(quote=quote, start_line=2 if places else None, end_line=3 if places else None)
            for quote in quotes
        ),
        generation_metadata=GenerationMetadata(
            generator_model="m:gen", validator_model="m:val", attempt_number=1
        ),
        question_type="factual",
        hops=1,
        visuals=tuple(
            PublishedVisual(label="Table 1", type=VisualType.TABLE, page=1, box=None) for _ in pictures
        ),
        grade=PublishedGrade(grade="B", confidence=0.8, is_grounded=True, decided_by="code"),
    )
    return ExportedRow(published, places, pictures)


def high() -> Place:
    return Place("The dam is 42 m high.", 1, (FIRST,))


def built() -> Place:
    return Place("It was built\nin 1811.", 0, (SECOND,))


def exported(*rows: ExportedRow) -> ExportedSet:
    published = CorpusGenerationResult(
        corpus_name="Dams: old",
        corpus_path="dams",
        scenario="facts",
        mode=Mode.TEXTUAL,
        questions=tuple(one.question for one in rows),
        timestamp="2026-01-02T03:04:05+00:00",
    )
    other = ExportedDocument("b.txt", "B", (Passage("b.txt#1", "Nothing is asked about this."),))
    return ExportedSet(
        published, "# The card\n", rows, (ExportedDocument("a.txt", "A dam", (FIRST, SECOND)), other)
    )


def files(name: str, *rows: ExportedRow) -> dict[str, bytes]:
    return BY_NAME[name].export(exported(*rows))


def lines(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.decode().splitlines()]


@pytest.mark.parametrize("name", BY_NAME)
def test_the_same_set_gives_the_same_bytes_and_an_empty_one_opens(name: str) -> None:
    rows = (row(1, high()), row(2, built(), answer="1811", pictures=(PICTURE,)))
    assert files(name, *rows) == files(name, *rows)
    assert files(name)


def test_the_documentation_names_every_format_and_its_files() -> None:
    text = (PROJECT_ROOT / "docs" / "exports.md").read_text(encoding="utf-8")
    rows = markdown.table(text, "## Formats")
    assert [line[0].strip("`") for line in rows] == list(BY_NAME)
    sample = row(1, high(), pictures=(PICTURE,))
    for line in rows:
        named = re.findall(r"`([^`]+)`", line[1])
        made = files(line[0].strip("`"), sample)
        assert all(any(path.startswith(name) for path in made) for name in named), line
        assert all(any(path.startswith(name) for name in named) for path in made), line


def test_ragas_has_the_passages_of_the_evidence_with_ids() -> None:
    (sample,) = lines(files("ragas", row(1, high(), built()))["testset.jsonl"])
    assert sample == {
        "id": "q-1",
        "user_input": "How high is the dam?",
        "reference": "42 m",
        "reference_contexts": ["The dam is 42 m high.", "It was built\nin 1811."],
        "reference_context_ids": ["a.txt#1", "a.txt#2"],
    }


def test_a_question_about_a_document_without_text_has_its_quotes_as_contexts() -> None:
    (sample,) = lines(files("ragas", row(1, pictures=(PICTURE,)))["testset.jsonl"])
    assert (sample["reference_contexts"], sample["reference_context_ids"]) == (["a quote of a picture"], [])


def test_a_golden_is_named_by_its_question_and_is_no_conversation() -> None:
    (golden,) = json.loads(files("deepeval", row(1, high()))["goldens.json"])
    assert (golden["name"], golden["input"], golden["expected_output"]) == (
        "q-1", "How high is the dam?", "42 m",
    )  # fmt: skip
    assert "scenario" not in golden
    assert golden["additional_metadata"]["grade"] == "B"


def test_llamaindex_names_the_model() -> None:
    (example,) = json.loads(files("llamaindex", row(1, high()))["rag_dataset.json"])["examples"]
    assert example["query_by"] == {"type": "ai", "model_name": "m:gen"}
    assert (example["query"], example["reference_answer"]) == ("How high is the dam?", "42 m")


def test_pictures_are_part_of_an_inspect_sample() -> None:
    made = files("inspect", row(1, high()), row(2, pictures=(PICTURE,)))
    text, visual = lines(made["samples.jsonl"])
    assert (text["input"], text["target"], text["id"]) == ("How high is the dam?", "42 m", "q-1")
    (message,) = visual["input"]
    assert message["content"][1] == {"type": "image", "image": PICTURE.path}
    assert made[PICTURE.path] == PICTURE.data


def test_promptfoo_gets_every_string_quoted_and_pictures_as_files() -> None:
    other = Picture("image/jpeg", b"\xff\xd8 another")
    made = files("promptfoo", row(1, question="1e3", answer="yes", pictures=(PICTURE, other)))
    assert b'question": "1e3"' in made["tests.yaml"]
    (case,) = yaml.safe_load(made["tests.yaml"])
    assert case["vars"]["image"] == f"file://{PICTURE.path}"
    assert case["vars"]["image_2"] == f"file://{other.path}"
    assert case["assert"] == [{"type": "factuality", "value": "yes"}]
    assert set(made) == {"tests.yaml", PICTURE.path, other.path}


def test_mlflow_gets_facts_with_their_accepted_forms_or_what_a_good_system_says() -> None:
    quote = Place("The World Health Organization (WHO) and Ida Holm built it.", 0, (FIRST,))
    two = row(1, quote, question="Who built it?", answer="the World Health Organization and Ida Holm")
    with_facts, without = lines(files("mlflow", two, impossible())["records.jsonl"])
    facts = ["the World Health Organization (or: the WHO)", "Ida Holm"]
    assert with_facts["inputs"] == {"question": "Who built it?", "question_id": "q-1"}
    assert with_facts["expectations"]["expected_facts"] == facts
    assert without["expectations"] == {
        "expected_response": "The documents do not give its length.", "contexts": [],
    }  # fmt: skip


@pytest.mark.parametrize(("name", "field"), [("inspect", "metadata"), ("langsmith", "metadata")])
def test_metadata_have_the_key_facts_with_unit_and_tolerance(name: str, field: str) -> None:
    (data,) = (
        data for path, data in files(name, row(1, high(), answer="42.5 m")).items() if path.endswith("jsonl")
    )
    (found,) = lines(data)[0][field]["key_facts"]
    assert found == {"text": "42.5 m", "accepted": [], "value": 42.5, "unit": "m", "tolerance": 0.05}


@pytest.mark.parametrize("text", ["{{ env.HOME }}", "{% include 'x' %}{# #}", "file:///etc/passwd", "{{{%"])
def test_promptfoo_neither_computes_nor_reads_what_a_document_says(text: str) -> None:
    (case,) = yaml.safe_load(files("promptfoo", row(1, question=text, answer=text))["tests.yaml"])
    for shown in (case["vars"]["question"], case["assert"][0]["value"]):
        assert not shown.startswith("file:")
        assert re.sub(r'\{\{ "([^"]*)" \}\}', r"\1", shown) == text
        assert not re.search(r"\{[{%#]|#\}", re.sub(r'\{\{ "[^"]*" \}\}', "", shown))


def test_beir_has_the_passages_of_all_documents_and_judges_existing_ones() -> None:
    made = files("beir", row(1, high(), built()))
    corpus = {one["_id"]: one for one in lines(made["corpus.jsonl"])}
    assert list(corpus) == ["a.txt#1", "a.txt#2", "b.txt#1"]
    assert corpus["a.txt#1"]["title"] == "A dam"
    assert made["qrels/test.tsv"].decode().splitlines() == [
        "query-id\tcorpus-id\tscore", "q-1\ta.txt#1\t1", "q-1\ta.txt#2\t1",
    ]  # fmt: skip
    assert [one["_id"] for one in lines(made["queries.jsonl"])] == ["q-1"]
    assert not BY_NAME["beir"].takes(row(1, pictures=(PICTURE,)))


def test_judged_passages_have_grades_and_those_without_an_answer_are_hard_negatives() -> None:
    near, about = Passage("b.txt#1", "A dam of Arden."), Passage("b.txt#2", "The dam is high.")
    one = replace(row(1, high()), graded=((FIRST, 3), (near, 0), (SECOND, 2), (about, 1)))
    assert files("beir", one)["qrels/test.tsv"].decode().splitlines()[1:] == [
        "q-1\ta.txt#1\t3", "q-1\tb.txt#1\t0", "q-1\ta.txt#2\t2", "q-1\tb.txt#2\t1",
    ]  # fmt: skip
    made = lines(files("triples", one, row(2, built()))["triples.jsonl"])
    assert [(found["positive_id"], found["negatives"]) for found in made] == [
        ("a.txt#1", ["A dam of Arden."]), ("a.txt#2", ["A dam of Arden."]), ("a.txt#2", []),
    ]  # fmt: skip
    assert (made[0]["query"], made[0]["positive"]) == ("How high is the dam?", "The dam is 42 m high.")


@pytest.mark.parametrize(
    ("answer", "written"), [("42 m", "42 m"), ("THE DAM", "The dam"), ("built in 1811", "built\nin 1811")]
)
def test_a_squad_answer_is_written_as_in_its_passage(answer: str, written: str) -> None:
    one = row(1, high(), built(), answer=answer)
    assert export_formats.has_span(one)
    (entry,) = json.loads(files("squad", one)["squad.json"])["data"]
    (paragraph,) = entry["paragraphs"]
    (found,) = paragraph["qas"][0]["answers"]
    assert found["text"] == written
    assert paragraph["context"][found["answer_start"] :].startswith(written)


@pytest.mark.parametrize("answer", ["forty-two metres", "2 m", "181", "", "Yes"])
def test_an_answer_that_is_no_span_is_left_out_of_squad(answer: str) -> None:
    assert not export_formats.has_span(row(1, high(), built(), answer=answer))


def test_a_squad_answer_is_the_one_in_the_quote() -> None:
    passage = Passage("a.txt#1", " Lot 7 was sold for 7 pounds in 1811.")
    place = Place("sold for 7 pounds", passage.text.index("sold"), (passage,))
    data = json.loads(files("squad", row(1, place, answer="7"))["squad.json"])["data"]
    found = data[0]["paragraphs"][0]["qas"][0]["answers"][0]
    assert found["answer_start"] == len("Lot 7 was sold for ")
    assert not export_formats.has_span(row(1, place, answer="Lot 7"))
    assert not export_formats.has_span(row(1, place, answer="1811"))


def impossible(kind: NoAnswerKind = NoAnswerKind.UNANSWERABLE) -> ExportedRow:
    """A question without an answer, with its nearest passage."""
    one = row(3, high(), question="How long is the dam?", answer="The documents do not give its length.")
    why = NoAnswer(kind=kind, reason="Only the height is given.", documents=7)
    question = one.question.model_copy(update={"answerable": False, "no_answer": why})
    return ExportedRow(question, one.places)


def test_squad_has_questions_without_an_answer_as_impossible() -> None:
    assert export_formats.has_span(impossible())
    (entry,) = json.loads(files("squad", row(1, high()), impossible())["squad.json"])["data"]
    possible, without = (paragraph["qas"][0] for paragraph in entry["paragraphs"])
    assert (possible["is_impossible"], without["is_impossible"], without["answers"]) == (False, True, [])
    assert entry["paragraphs"][1]["context"] == "The dam is 42 m high."


@pytest.mark.parametrize("kind", NoAnswerKind)
def test_only_passages_that_prove_something_are_relevant(kind: NoAnswerKind) -> None:
    one = impossible(kind)
    proves = kind is not NoAnswerKind.UNANSWERABLE
    assert BY_NAME["beir"].takes(one) is proves
    (sample,) = lines(files("ragas", one)["testset.jsonl"])
    assert sample["reference_contexts"] == (["The dam is 42 m high."] if proves else [])
    assert sample["reference_context_ids"] == (["a.txt#1"] if proves else [])
    (golden,) = json.loads(files("deepeval", one)["goldens.json"])
    assert golden["expected_output"] == "The documents do not give its length."
    assert golden["context"] == sample["reference_contexts"]
    told = golden["additional_metadata"]
    assert (told["answerable"], told["reason"], told["documents_searched"]) == (
        False,
        "Only the height is given.",
        7,
    )


def test_promptfoo_judges_whether_a_question_without_an_answer_is_recognised() -> None:
    with_answer, without = yaml.safe_load(files("promptfoo", row(1, high()), impossible())["tests.yaml"])
    assert with_answer["assert"][0]["type"] == "factuality"
    (judged,) = without["assert"]
    assert judged["type"] == "llm-rubric"
    assert judged["value"].endswith("The documents do not give its length.")


@pytest.mark.parametrize(
    "name", ["csv", "xlsx", "huggingface", "inspect", "langsmith", "llamaindex", "ragchecker"]
)
def test_the_other_formats_take_questions_without_an_answer(name: str) -> None:
    assert BY_NAME[name].takes(impossible())
    assert files(name, row(1, high()), impossible())
    if name == "csv":
        rows = csv.DictReader(
            io.StringIO(files(name, row(1, high()), impossible())["questions.csv"].decode())
        )
        assert [one["answerable"] for one in rows] == ["True", "False"]


@given(TEXTS, TEXTS, TEXTS)
def test_squad_offsets_hold(before: str, answer: str, after: str) -> None:
    passage = Passage("a.txt#1", f"{before} {answer} {after}")
    one = row(1, Place(answer, len(before) + 1, (passage,)), answer=answer)
    if not export_formats.has_span(one):
        assert not answer.split() or re.search(r"\w", answer[0] + answer[-1])
        return
    (entry,) = json.loads(files("squad", one)["squad.json"])["data"]
    (paragraph,) = entry["paragraphs"]
    (found,) = paragraph["qas"][0]["answers"]
    start = found["answer_start"]
    assert paragraph["context"][start : start + len(found["text"])] == found["text"]


def test_langsmith_has_pictures_in_the_file() -> None:
    (example,) = lines(files("langsmith", row(1, pictures=(PICTURE,)))["examples.jsonl"])
    head, data = example["inputs"]["images"][0].split(",")
    assert (head, base64.b64decode(data)) == ("data:image/png;base64", PICTURE.data)
    assert (example["outputs"]["answer"], example["metadata"]["id"]) == ("42 m", "q-1")


def test_ragchecker_leaves_the_answers_of_the_system_open() -> None:
    (result,) = json.loads(files("ragchecker", row(1, high()))["checking_inputs.json"])["results"]
    assert result == {
        "query_id": "q-1", "query": "How high is the dam?", "gt_answer": "42 m", "response": "",
        "retrieved_context": [],
    }  # fmt: skip


def test_parquet_has_the_columns_that_its_card_declares(tmp_path: Any) -> None:
    made = files("huggingface", row(1, high(), built()), row(2, pictures=(PICTURE,)))
    _, yaml_text, card = made["README.md"].decode().split("---\n")
    assert card == "\n# The card\n"
    front = yaml.safe_load(yaml_text)
    (data,) = front["configs"][0]["data_files"]
    file = tmp_path / "rows.parquet"
    file.write_bytes(made[data["path"]])
    with duckdb.connect(":memory:") as connection:
        table = connection.read_parquet(str(file))
        assert table.columns == [one["name"] for one in front["dataset_info"]["features"]]
        found = [dict(zip(table.columns, values, strict=True)) for values in table.fetchall()]
    assert found[0]["contexts"] == ["The dam is 42 m high.", "It was built\nin 1811."]
    assert found[0]["evidence"][1]["quote"] == "It was built\nin 1811."
    assert found[1]["images"] == [{"bytes": PICTURE.data, "path": PICTURE.path}]


@given(st.sampled_from(["=", "+", "-", "@", "\t", "\r", "\n", ""]), TEXTS)
def test_no_cell_of_a_csv_file_is_a_formula(opening: str, text: str) -> None:
    data = files("csv", row(1, high(), question=opening + text))["questions.csv"].decode()
    head, cells = csv.reader(io.StringIO(data, newline=""))
    shown = cells[head.index("question")]
    assert shown.removeprefix("'") == (opening + text).removeprefix("'")
    assert not any(cell.startswith(tuple("=+-@\t\r\n")) for cell in cells)


def test_a_workbook_has_text_and_no_formulas() -> None:
    made = files("xlsx", row(1, high(), question="=1+1", answer="x" * 40_000), row(2, answer="\x0b"))
    with zipfile.ZipFile(io.BytesIO(made["questions.xlsx"])) as book:
        sheet = etree.fromstring(book.read("xl/worksheets/sheet1.xml"))
        texts = etree.fromstring(book.read("xl/sharedStrings.xml"))
    names = {"x": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
    assert sheet.xpath("//x:f", namespaces=names) == []
    shown = ["".join(one.itertext()) for one in texts]
    assert "=1+1" in shown
    assert "x" * 32_767 in shown
    assert len(sheet.xpath("//x:row", namespaces=names)) == 3


def test_beir_judges_the_passages_of_all_documents_of_a_question() -> None:
    other = Passage("b.txt#1", "Nothing is asked about this.")
    one = row(1, high(), Place("Nothing is asked", 0, (other,)))
    assert lines(files("ragas", one)["testset.jsonl"])[0]["reference_context_ids"] == ["a.txt#1", "b.txt#1"]
    qrels = files("beir", one)["qrels/test.tsv"].decode().splitlines()
    assert qrels[1:] == ["q-1\ta.txt#1\t1", "q-1\tb.txt#1\t1"]


def test_croissant_describes_the_columns_the_sources_and_what_is_not_licensed() -> None:
    rights = {
        "a.txt": Rights(licence="CC-BY-4.0", attribution="Ida"),
        "b.txt": Rights(),
        "c.txt": Rights(licence="see page 2"),
    }
    whole = replace(exported(row(1, high())), rights=rights, about="Old dams.")
    made = BY_NAME["huggingface"].export(whole)
    found = json.loads(made["croissant.json"])
    columns = found["recordSet"][0]["field"]
    front = yaml.safe_load(made["README.md"].decode().split("---\n")[1])
    declared = {one["name"] for one in front["dataset_info"]["features"]}
    assert {one["name"] for one in columns} == declared - {"images"}
    (file,) = found["distribution"]
    assert hashlib.sha256(made[file["contentUrl"]]).hexdigest() == file["sha256"]
    assert found["license"] == ["https://spdx.org/licenses/CC-BY-4.0", "see page 2"]
    assert [one.get("license") for one in found["isBasedOn"]] == [found["license"][0], None, "see page 2"]
    assert found["isBasedOn"][0]["creditText"] == "Ida"
    assert found["rai:dataLimitations"][-1] == "No licence is known of: b.txt"
    assert found["rai:machineAnnotationTools"] == ["generator: m:gen", "validator: m:val"]
    assert front["license"] == "other"


@pytest.mark.parametrize(
    ("licences", "front"),
    [
        (["CC-BY-4.0", "CC-BY-4.0"], "cc-by-4.0"),
        ([None], "unknown"),
        ([], "unknown"),
        (["CC-BY-4.0", None], "other"),
        (["ours"], "other"),
    ],
)
def test_the_front_matter_has_a_licence_that_the_hub_knows(licences: list[str | None], front: str) -> None:
    rights = {str(number): Rights(licence=one) for number, one in enumerate(licences)}
    card = (
        BY_NAME["huggingface"].export(replace(exported(row(1, high())), rights=rights))["README.md"].decode()
    )
    assert yaml.safe_load(card.split("---\n")[1])["license"] == front


def test_mlflow_records_are_told_apart_by_the_id_and_have_tags_of_text() -> None:
    first, second = lines(files("mlflow", row(1, high()), row(2, built()))["records.jsonl"])
    assert first["inputs"] == {"question": "How high is the dam?", "question_id": "q-1"}
    assert second["inputs"]["question_id"] == "q-2"
    assert first["expectations"] == {
        "expected_facts": ["42 m"], "contexts": [{"doc_uri": "a.txt#1", "content": "The dam is 42 m high."}],
    }  # fmt: skip
    assert all(isinstance(value, str) for value in first["tags"].values())
    assert first["tags"]["document_id"] == "a.txt"
