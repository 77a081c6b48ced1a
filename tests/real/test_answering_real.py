"""Abstracts of real papers are answered from; then their full text is looked for on a server that plays every publisher."""

from __future__ import annotations

import itertools
import json
import os
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

from qagen_dagster.answering.answer_from_document import Place, answer_from_document
from qagen_dagster.ingest.parsing import parse_corpus
from qagen_dagster.loop.answering import corpus_place
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.answer import AnswerSource, ProxyCallbackResult, QAError, SemanticSearchAnswer
from qagen_dagster.records.corpus_options import AnsweringOptions, FulltextOptions
from qagen_dagster.records.document import CorpusIndex, Document
from tests.support.paper_server import Answer, Drip, PaperServer, Served, as_json, moved, page, paper
from tests.support.project import Project

REAL = Path(os.environ.get("QAGEN_REAL_DATA", ""))
ROUNDS = 6  # papers of each publisher
CORPUS = "name: Papers\ncorpus_context: Abstracts.\nscenarios:\n  facts: {name: Facts, description: Facts.}\n"
LOGIN = "<form action='/login'><input type='password'></form>"

pytestmark = pytest.mark.real


@dataclass(frozen=True)
class Publisher:
    """What stands behind a DOI, and what an answer says of it then; None: the full text was found."""

    name: str
    error: QAError | None
    told: str = ""


PUBLISHERS = (
    Publisher("page", None),
    Publisher("open copy", None),
    Publisher("404", QAError.DOWNLOAD_FAILED, "doi: not_found"),
    Publisher("html", QAError.DOWNLOAD_FAILED, "doi: wrong_type"),
    Publisher("10 GB", QAError.DOWNLOAD_FAILED, "doi: too_large"),
    Publisher("drip", QAError.DOWNLOAD_FAILED, "doi: timeout"),
    Publisher("file", QAError.DOWNLOAD_FAILED, "doi: refused"),
    Publisher("internal", QAError.DOWNLOAD_FAILED, "doi: refused"),
    Publisher("login", QAError.PROXY_REQUIRED, "doi: login"),
)


@dataclass(frozen=True)
class Paper:
    id: str
    doi: str
    question: str
    abstract: str
    whole: tuple[str, ...]  # paragraphs of the full text

    @property
    def document(self) -> str:
        return f"papers.jsonl--{self.id}"


def pubmedqa() -> Iterator[Paper]:
    """Questions that experts answered, with their abstracts; the conclusion is the full text's alone."""
    rows: dict[str, Any] = json.loads((REAL / "qa/pubmedqa_ori_pqal.json").read_text(encoding="utf-8"))
    for name, row in rows.items():
        contexts = cast("list[str]", row["CONTEXTS"])
        yield Paper(
            name, f"10.5555/{name}", row["QUESTION"], " ".join(contexts), (*contexts, row["LONG_ANSWER"])
        )


def test_pubmedqa_falls_back_to_abstracts_and_finds_what_publishers_give(tmp_path: Path) -> None:
    papers = list(itertools.islice(pubmedqa(), ROUNDS * len(PUBLISHERS)))
    with PaperServer() as server, PaperServer({"/admin": Served(status=200)}) as internal:
        place = _place(tmp_path, papers, server)
        for one in papers:
            found = answer_from_document(one.document, one.question, place=place, download_missing=False)
            _rests_on_the_abstract(found, one, QAError.NO_FULLTEXT)
        assert server.asked == []
        ends: Counter[str] = Counter()
        for one, publisher in zip(papers, itertools.cycle(PUBLISHERS), strict=False):
            server.answers |= _behaviour(publisher.name, one, server, internal)
            found = answer_from_document(one.document, one.question, place=place)
            if publisher.error is None:
                _rests_on_the_full_text(found, one, place)
            else:
                _rests_on_the_abstract(found, one, publisher.error)
                assert publisher.told in found.notes[0], publisher
                assert place.store.list(f"documents/papers/{one.document}/fulltext") == []
            ends[publisher.name] += 1
        assert internal.asked == []
    assert set(ends.values()) == {ROUNDS}


def test_a_login_page_leads_through_the_proxy_after_consent_alone(tmp_path: Path) -> None:
    papers = list(itertools.islice(pubmedqa(), ROUNDS))
    with PaperServer() as server, PaperServer() as proxy:
        for one in papers:
            server.answers[f"/doi/{one.doi}"] = page(body=LOGIN)
        place = _place(tmp_path, papers, server)
        fulltext = place.options.fulltext.model_copy(
            update={"proxy_url": proxy.url("/login?url={url}"), "allow_private": (server.host, proxy.host)}
        )
        place = replace(place, options=place.options.model_copy(update={"fulltext": fulltext}))
        for one in papers:
            proxy.answers["/login"] = _pdf(one)
            refused = answer_from_document(
                one.document, one.question, place=place, proxy_callback=lambda *_: ProxyCallbackResult()
            )
            _rests_on_the_abstract(refused, one, QAError.USER_CANCELLED)
            assert proxy.asked == []
            allowed = answer_from_document(
                one.document,
                one.question,
                place=place,
                proxy_callback=lambda *_: ProxyCallbackResult(allow_proxy=True),
            )
            _rests_on_the_full_text(allowed, one, place)
            assert len(proxy.asked) == 1
            proxy.asked.clear()


def test_abstracts_with_a_doi_are_answered_and_their_doi_is_asked_for(tmp_path: Path) -> None:
    rows = [
        json.loads(line) for line in (REAL / "jsonl/jats_abstracts.jsonl").read_text("utf-8").splitlines()
    ]
    papers = [
        Paper(str(number), row["doi"], f"What is said about {row['title']}?", row["abstract"], ())
        for number, row in enumerate(rows)
        if row.get("doi") and row.get("abstract")
    ]
    assert papers
    with PaperServer() as server:
        place = _place(tmp_path, papers, server)
        for one in papers:
            found = answer_from_document(one.document, one.question, place=place)
            _rests_on_the_abstract(found, one, QAError.DOWNLOAD_FAILED)
            assert f"/doi/{one.doi}" in server.asked


def _place(root: Path, papers: list[Paper], server: PaperServer) -> Place:
    project = Project.make(root / "project")
    rows = [{"id": one.id, "title": one.question, "abstract": one.abstract, "doi": one.doi} for one in papers]
    project.corpus("papers", CORPUS, {"papers.jsonl": "\n".join(map(json.dumps, rows))})
    space = Workspace(project.settings(profile="embedded"))
    parse_corpus(space.corpus("papers"), space.store, space.parsers(), space.settings)
    assert len(space.store.read(CorpusIndex.key("papers"), CorpusIndex).documents) == len(papers)
    fulltext = FulltextOptions(
        download=True, doi_url=server.url("/doi/{doi}"), unpaywall_url=server.url("/up/{doi}?email={email}"),
        europe_pmc_url=server.url("/pmc?q={doi}"), email="reader@paper.example", allow_private=(server.host,),
        seconds=0.75,
    )  # fmt: skip
    return replace(corpus_place(space, "papers"), options=AnsweringOptions(fulltext=fulltext))


def _pdf(one: Paper) -> Served:
    return Served(paper(*one.whole), "application/pdf")


def _behaviour(name: str, one: Paper, server: PaperServer, internal: PaperServer) -> dict[str, Answer]:
    doi, file = f"/doi/{one.doi}", f"/{one.id}.pdf"
    linked = page(f'<meta name="citation_pdf_url" content="{file}">')
    answers: dict[str, dict[str, Answer]] = {
        "page": {doi: linked, file: _pdf(one)},
        "open copy": {
            f"/up/{one.doi}": as_json({"best_oa_location": {"url_for_pdf": server.url(file)}}),
            file: _pdf(one),
        },
        "404": {doi: Served(status=404)},
        "html": {doi: linked, file: page(body="<p>Subscribe to read.</p>")},
        "10 GB": {doi: linked, file: Served(b"%PDF-1.7", "application/pdf", claims=10_000_000_000)},
        "drip": {doi: linked, file: Drip()},
        "file": {doi: moved("file:///etc/passwd")},
        "internal": {doi: moved(internal.url("/admin"))},
        "login": {doi: page(body=LOGIN)},
    }
    return answers[name]


def _rests_on_the_abstract(found: SemanticSearchAnswer, one: Paper, error: QAError) -> None:
    assert (found.error, found.source, found.fulltext_error) == (None, AnswerSource.ABSTRACT, error), one
    assert found.success is (found.answerable is not False)
    assert found.chunks_used
    assert all(_letters(chunk.text) in _letters(one.abstract) for chunk in found.chunks_used)


def _rests_on_the_full_text(found: SemanticSearchAnswer, one: Paper, place: Place) -> None:
    assert (found.error, found.used_fulltext, found.fulltext_error) == (None, True, None), one
    assert found.success is (found.answerable is not False)
    kept = (
        place.store.read_bytes(Document.file_key("papers", one.document, "fulltext.txt")).decode().split("\n")
    )
    for chunk in found.chunks_used or ():
        assert chunk.start_line is not None
        assert chunk.end_line is not None
        assert chunk.text in "\n".join(kept[chunk.start_line - 1 : chunk.end_line])


def _letters(text: str) -> str:
    """The text without spaces and without characters that have no shape, which readers leave out."""
    return "".join(char for char in text if not char.isspace() and unicodedata.category(char) != "Cf")
