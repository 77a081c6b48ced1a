"""The published sets of the sample corpora, checked by code that knows the contracts and nothing of how they are met.

`make test` publishes some documents, `make test-long` all.
"""

from __future__ import annotations

import importlib
import io
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

import jsonschema
import pymupdf
import pytest
from lxml import etree

from qagen_dagster.publishing.questions import set_files
from tests.support.once import once
from tests.support.project import Project, ended

SAMPLES = Path(__file__).resolve().parents[2] / "corpora"
AGAIN = ("town_records", "rag_eval")  # the corpus and scenario that are run once more, from scratch
Json = dict[str, Any]


@dataclass(frozen=True)
class Selection:
    """Documents of the sample corpora, the words of the run, and how much it must at least publish."""

    name: str
    documents: Mapping[str, tuple[str, ...]]  # by corpus
    words: tuple[str, ...]
    combinations: int
    questions: int
    quotes: int


SOME = Selection(  # one document of each format but images, whose recognition takes longest
    "some",
    {
        "instrument_manuals": ("service_bulletin_31.txt", "rg2_rain_gauge_datasheet.pdf"),
        "research_journal": ("lake_ice_diary.xml",),
        "town_records": ("market_bylaw.md", "public_notices_2023.jsonl"),
    },
    ("--scenario", "rag_eval"),
    combinations=6,
    questions=30,
    quotes=25,
)
ALL = Selection(
    "all",
    {
        corpus: tuple(
            path.relative_to(SAMPLES / corpus / "documents").as_posix()
            for path in sorted((SAMPLES / corpus / "documents").rglob("*"))
            if path.is_file()
        )
        for corpus in SOME.documents
    },
    (),
    combinations=13,
    questions=220,
    quotes=60,
)


@pytest.fixture(
    scope="session", params=[SOME, pytest.param(ALL, marks=pytest.mark.long)], ids=attrgetter("name")
)
def selection(request: pytest.FixtureRequest) -> Selection:
    return request.param


@pytest.fixture(scope="session")
def project(selection: Selection, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """After one run with the models that need no key. Tests must leave it as it is."""
    return Project(once(tmp_path_factory, f"samples-{selection.name}", partial(_run, selection)))


@pytest.fixture(scope="session")
def published(project: Project) -> dict[str, Json]:
    """Each combination's corpus.json."""
    return _sets(project)


@pytest.fixture(scope="session")
def store(project: Project) -> Path:
    return project.assets


def _run(selection: Selection, folder: Path) -> None:
    folder.mkdir()
    project = Project.make(folder)
    for corpus, names in selection.documents.items():
        documents = {name: (SAMPLES / corpus / "documents" / name).read_bytes() for name in names}
        project.corpus(corpus, (SAMPLES / corpus / "corpus.yaml").read_text(), documents)
    again = ("--corpus", AGAIN[0], "--scenario", AGAIN[1])
    once_more = project.another(2).start_fresh("run", "--json", *again, QAGEN_PROFILE="embedded")
    whole = ended(project.start("run", "--json", *selection.words, QAGEN_PROFILE="embedded"))
    assert whole.code == 0, whole.err
    assert ended(once_more).code == 0


def test_every_combination_is_published_with_as_many_questions_as_the_samples_give(
    published: dict[str, Json], selection: Selection
) -> None:
    assert len(published) == selection.combinations
    assert sum(len(one["questions"]) for one in published.values()) >= selection.questions
    for key, one in published.items():
        assert f"{one['corpus_path']}/{one['scenario']}/{one['mode']}" == key
        assert one["corpus_name"] in (SAMPLES / one["corpus_path"] / "corpus.yaml").read_text()


def test_every_quote_stands_in_the_text_on_exactly_its_lines(
    published: dict[str, Json], store: Path, selection: Selection
) -> None:
    checked = 0
    for corpus, question in _questions(published):
        lines = _text(store, corpus, question).split("\n")
        assert question["evidence"]
        for place in question["evidence"]:
            if place["start_line"] is None:
                assert lines == [""]
                continue
            first, last = place["start_line"], place["end_line"]
            assert 1 <= first <= last <= len(lines)
            assert _covers(lines[first - 1 : last], place["quote"]), (question["id"], place)
            checked += 1
    assert checked >= selection.quotes


def test_every_page_is_that_of_its_lines(published: dict[str, Json], store: Path) -> None:
    paged = 0
    for corpus, question in _questions(published):
        pages = _record(store, corpus, question)["pages"]
        for place in question["evidence"]:
            line = place["start_line"]
            if line is not None:
                on = [span["page"] for span in pages if span["start_line"] <= line <= span["end_line"]]
                assert ([place["page"]] if place["page"] else []) == on
                paged += bool(on)
    assert paged > 0


def test_every_quote_is_made_of_the_words_of_its_source_file(published: dict[str, Json]) -> None:
    """Read by other means: what stands in the stored text must also stand in the file."""
    for corpus, question in _questions(published):
        source = SAMPLES / corpus / question["source_document"]
        assert source.is_file()
        if source.suffix in (".png", ".jpg"):
            continue
        squashed = _squashed(_raw(source))
        for place in question["evidence"]:
            missing = [word for word in re.findall(r"\w+", place["quote"]) if _squashed(word) not in squashed]
            assert missing == [], (question["id"], place["quote"])


def test_answers_of_facts_stand_in_their_proof(published: dict[str, Json]) -> None:
    """The embedded models only ask what one passage says: every number of an answer is in it."""
    for _, question in _questions(published):
        if not question.get("answerable", True):
            continue  # what corrects a false premise repeats the number that it denies
        proof = _squashed(" ".join(place["quote"] for place in question["evidence"]))
        for number in re.findall(r"\d+", question["answer"]):
            assert number in proof, question


def test_visual_questions_name_what_to_look_at(published: dict[str, Json], store: Path) -> None:
    for corpus, question in _questions(published):
        labels = [visual["label"] for visual in _stored(store, corpus, question, "visuals.json")["visuals"]]
        assert set(question["content_refs"]) <= set(labels)
        assert bool(question["content_refs"]) == (question["category"] == "visual")


def test_ids_are_unique_and_no_set_asks_twice(published: dict[str, Json]) -> None:
    every = [question["id"] for _, question in _questions(published)]
    assert len(every) == len(set(every))
    assert all(re.fullmatch(r"q-[0-9a-f]{16}", one) for one in every)
    for one in published.values():
        words = [" ".join(re.findall(r"\w+", q["question"].casefold())) for q in one["questions"]]
        assert len(words) == len(set(words))
        places = [(q["source_document"], q["row"] or "", _first_line(q)) for q in one["questions"]]
        assert places == sorted(places)


def test_the_validator_is_another_model(published: dict[str, Json]) -> None:
    for _, question in _questions(published):
        made = question["generation_metadata"]
        assert made["generator_model"] != made["validator_model"]
        assert made["attempt_number"] >= 1


def test_a_run_from_scratch_elsewhere_gives_the_same_sets(
    published: dict[str, Json], project: Project
) -> None:
    again = _sets(Project(project.root, number=2))
    assert len(again) == 2
    for key, one in again.items():
        assert one | {"timestamp": ""} == published[key] | {"timestamp": ""}


def test_the_json_fits_its_schema_and_the_lines_hold_the_same(
    published: dict[str, Json], store: Path
) -> None:
    validator: Any = jsonschema.Draft202012Validator(set_files.schema())
    validator.check_schema(set_files.schema())
    for key, one in published.items():
        assert [fault.message for fault in validator.iter_errors(one)] == []
        assert list(one) == ["corpus_name", "corpus_path", "scenario", "mode", "questions", "timestamp"]
        lines = (store / "published" / key / "questions.jsonl").read_text().splitlines()
        rows = [json.loads(line) for line in lines]
        assert [
            {name: row[name] for name in q} for row, q in zip(rows, one["questions"], strict=True)
        ] == one["questions"]
    spoilt = {**next(iter(published.values())), "mode": "audible"}
    assert list(validator.iter_errors(spoilt)) != []


def test_a_set_loads_with_pandas_in_one_line(published: dict[str, Json], store: Path) -> None:
    key = "/".join((*AGAIN, "textual"))
    file = store / "published" / key / "corpus.json"
    pandas: Any = importlib.import_module("pandas")
    table = pandas.json_normalize(json.loads(file.read_bytes())["questions"])
    assert len(table) == len(published[key]["questions"])
    assert {"id", "question", "answer", "generation_metadata.generator_model", "evidence"} <= set(
        table.columns
    )
    rows = pandas.read_json(io.StringIO(file.with_name("questions.jsonl").read_text()), lines=True)
    assert list(rows["id"]) == list(table["id"])


def _sets(project: Project) -> dict[str, Json]:
    root = project.assets / "published"
    return {
        file.parent.relative_to(root).as_posix(): json.loads(file.read_bytes())
        for file in sorted(root.glob("*/*/*/corpus.json"))
    }


def _questions(published: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    for one in published.values():
        for question in one["questions"]:
            yield one["corpus_path"], question


def _document(store: Path, corpus: str, question: Json) -> Path:
    """The stored document that a question came from: by its source, and for rows by the quote."""
    source = question["source_document"].removeprefix("documents/")
    index = json.loads((store / "documents" / corpus / "index.json").read_bytes())
    of_file = [
        store / "documents" / corpus / one["id"] for one in index["documents"] if one["source"] == source
    ]
    quotes = [place["quote"] for place in question["evidence"]]
    holding = [
        folder
        for folder in of_file
        if (text := folder / "text.txt").is_file() and all(q in text.read_text() for q in quotes)
    ]
    assert of_file
    return (holding or of_file)[0]


def _text(store: Path, corpus: str, question: Json) -> str:
    path = _document(store, corpus, question) / "text.txt"
    return path.read_bytes().decode() if path.is_file() else ""


def _stored(store: Path, corpus: str, question: Json, file: str) -> Json:
    return json.loads((_document(store, corpus, question) / file).read_bytes())


def _record(store: Path, corpus: str, question: Json) -> Json:
    return _stored(store, corpus, question, "document.json")


def _covers(lines: list[str], quote: str) -> bool:
    """Whether the quote begins in the first of the lines, ends in the last, and is there letter for letter."""
    text = "\n".join(lines)
    last = len(text) - len(lines[-1])
    starts = [match.start() for match in re.finditer(re.escape(quote), text)]
    return any(start <= len(lines[0]) and start + len(quote) > last for start in starts)


def _first_line(question: Json) -> int:
    return min((place["start_line"] or 0 for place in question["evidence"]), default=0)


def _squashed(text: str) -> str:
    """Letters and digits alone."""
    return "".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))


@cache
def _raw(source: Path) -> str:
    """The words of a file, read as plainly as can be."""
    if source.suffix == ".pdf":
        file: Any = pymupdf.open(source)
        return "\n".join(cast("str", page.get_text()) for page in file)
    if source.suffix in (".xml", ".nxml"):
        return " ".join(cast("Iterator[str]", etree.parse(source).getroot().itertext()))
    text = source.read_text(encoding="utf-8")
    return (
        " ".join(json.loads(line)["content"] for line in text.splitlines())
        if source.suffix == ".jsonl"
        else text
    )
