"""Passages with people's questions, in the form of SQuAD, BEIR or Cranfield, and made questions about the same passages."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lxml import etree

from benchmarks import project
from benchmarks.engine import SET_ASSETS
from qagen_dagster.definitions import open_graph

CORPUS, SCENARIO = "ranking", "rag_eval"
_DESCRIPTION = """name: Ranking
corpus_context: Articles.
scenarios:
  {scenario}:
    name: Retrieval
    description: Exact facts, to test whether retrieval finds the right passage.
    modes: [textual]
    target_count: {count}
"""


@dataclass(frozen=True)
class Passage:
    """A passage that systems retrieve; `document` is its number, `title` that of the document or empty."""

    text: str
    title: str
    document: int


@dataclass(frozen=True)
class Asked:
    """A question and the numbers of the passages that answer it."""

    text: str
    relevant: tuple[int, ...]


@dataclass(frozen=True)
class Human:
    """A corpus with people's questions."""

    passages: tuple[Passage, ...]
    questions: tuple[Asked, ...]


def read_human(source: Path) -> Human:
    """A SQuAD-like JSON file, a BEIR folder (corpus.jsonl, queries.jsonl, qrels/) or a folder with the files of Cranfield."""
    if source.is_file():
        return _squad(source)
    return _beir(source) if (source / "corpus.jsonl").is_file() else _cranfield(source)


def _squad(file: Path) -> Human:
    """Each article is a document and each paragraph a passage. In one article of unrelated texts each paragraph is a document."""
    data: Any = json.loads(file.read_text(encoding="utf-8"))["data"]
    apart = len(data) == 1
    passages: list[Passage] = []
    questions: list[Asked] = []
    for number, article in enumerate(data):
        title = "" if apart else str(article.get("title", "")).replace("_", " ")
        for paragraph in article["paragraphs"]:
            place = len(passages)
            passages.append(Passage(_flat(paragraph["context"]), title, place if apart else number))
            questions += [Asked(_flat(one["question"]), (place,)) for one in paragraph["qas"]]
    return Human(tuple(passages), tuple(questions))


def _beir(folder: Path) -> Human:
    rows = [json.loads(line) for line in (folder / "corpus.jsonl").read_text("utf-8").splitlines()]
    asked = [json.loads(line) for line in (folder / "queries.jsonl").read_text("utf-8").splitlines()]
    qrels = [
        line.split("\t")
        for file in sorted((folder / "qrels").glob("*.tsv"))
        for line in file.read_text("utf-8").splitlines()[1:]
    ]
    passages = tuple(
        Passage(_flat(row["text"]), row.get("title", ""), number) for number, row in enumerate(rows)
    )
    texts = {str(row["_id"]): row["text"] for row in asked}
    return _graded(
        passages,
        {str(row["_id"]): number for number, row in enumerate(rows)},
        texts,
        ((query, document) for query, document, grade in qrels if int(grade) > 0),
    )


def _cranfield(folder: Path) -> Human:
    """The abstracts without their title, the queries in order, and judgements other than "of no interest"."""
    parser = etree.XMLParser(recover=True, resolve_entities=False)
    root = etree.fromstring((folder / "cran.all.1400.xml").read_bytes(), parser)
    found = [
        (
            _flat(one.findtext("docno") or ""),
            _flat(one.findtext("title") or ""),
            _flat(one.findtext("text") or ""),
        )
        for one in root.iter("doc")
    ]
    passages = tuple(
        Passage(text.removeprefix(title).strip(), title, number)
        for number, (_, title, text) in enumerate(found)
    )
    queries = etree.fromstring((folder / "cran.qry.xml").read_bytes(), parser)
    texts = {
        str(place): _flat(one.findtext("title") or "") for place, one in enumerate(queries.iter("top"), 1)
    }
    rows = (line.split() for line in (folder / "cranqrel.trec.txt").read_text("utf-8").splitlines())
    numbers = {name: number for number, (name, _, _) in enumerate(found)}
    return _graded(passages, numbers, texts, ((row[0], row[2]) for row in rows if int(row[3]) > 0))


def _graded(
    passages: tuple[Passage, ...],
    numbers: dict[str, int],
    texts: dict[str, str],
    pairs: Iterator[tuple[str, str]],
) -> Human:
    relevant: dict[str, list[int]] = {}
    for query, document in pairs:
        if query in texts and document in numbers:
            relevant.setdefault(query, []).append(numbers[document])
    asked = tuple(Asked(texts[query], tuple(places)) for query, places in relevant.items())
    return Human(passages, asked)


def sampled(human: Human, most: int) -> Human:
    """The documents with the least hashes that have together at most `most` passages, and the questions about them."""
    documents: dict[int, list[int]] = {}
    for place, passage in enumerate(human.passages):
        documents.setdefault(passage.document, []).append(place)
    order = sorted(documents.values(), key=lambda places: _hash(human.passages[places[0]].text))
    kept: list[int] = []
    for places in order:
        if len(kept) + len(places) <= most:
            kept += places
    new = {old: number for number, old in enumerate(kept)}
    questions = (
        replace(one, relevant=tuple(new[old] for old in one.relevant if old in new))
        for one in human.questions
    )
    return Human(tuple(human.passages[old] for old in kept), tuple(one for one in questions if one.relevant))


def documents_of(passages: Sequence[Passage]) -> dict[str, str]:
    """The Markdown files of the documents, by name."""
    texts: dict[int, list[str]] = {}
    for passage in passages:
        head = [f"# {passage.title}"] if passage.title else []
        texts.setdefault(passage.document, head).append(passage.text)
    return {f"{number:05}.md": "\n\n".join(parts) + "\n" for number, parts in texts.items()}


def make_set(passages: Sequence[Passage], count: int, profile: str = "embedded") -> list[Asked]:
    """The questions of a set that a run over the documents publishes, at most `count` for each document."""
    with tempfile.TemporaryDirectory() as folder:
        description = _DESCRIPTION.format(scenario=SCENARIO, count=count)
        settings = project.make(Path(folder), CORPUS, description, documents_of(passages), profile)
        key = f"{CORPUS}/{SCENARIO}/textual"
        with open_graph(settings, project.Quiet()) as graph:
            project.check(graph.documents(CORPUS))
            project.check(graph.materialize("", ("candidate_qa", *SET_ASSETS), key))
        published = Path(settings.assets) / "published" / CORPUS / SCENARIO / "textual" / "questions.jsonl"
        return read_set(published, passages)


def read_set(published: Path, passages: Sequence[Passage]) -> list[Asked]:
    """The questions of a published `questions.jsonl` whose longest quote stands in a passage."""
    found: list[Asked] = []
    texts = [_plain(passage.text) for passage in passages]
    for line in published.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        quote = max((_plain(one["quote"]) for one in row["evidence"]), key=len, default="")
        relevant = tuple(place for place, text in enumerate(texts) if quote and quote in text)
        if relevant:
            found.append(Asked(row["question"], relevant))
    return found


def _flat(text: str) -> str:
    return " ".join(text.split())


def _plain(text: str) -> str:
    """Letters and digits only, because lines and spaces of a stored text differ from those of the passage."""
    return re.sub(r"\W+", "", text).lower()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
