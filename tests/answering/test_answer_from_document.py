"""The workflow from question to answer, with the real embedded models and a local server; every way it may end is a value."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from qagen_dagster.answering.answer_from_document import Place, answer_from_document, bare_doi
from qagen_dagster.answering.full_text import add_fulltext
from qagen_dagster.errors import PermanentModelError
from qagen_dagster.index.search import ChunkSource
from qagen_dagster.ingest.parsing import parse_corpus
from qagen_dagster.loop.answering import corpus_place
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.base import Model
from qagen_dagster.models.ledger import LocalModel
from qagen_dagster.models.messages import AssistantMessage, Request, Response, Text, Thinking, ToolCall
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.models.wires.scripted import ScriptedProvider
from qagen_dagster.records.answer import AnswerSource, ProxyCallbackResult, QAError, SemanticSearchAnswer
from qagen_dagster.records.corpus_options import AnsweringOptions, FulltextOptions
from qagen_dagster.records.document import Document
from qagen_dagster.records.index_options import IndexOptions
from tests.support.embeddings import WordEmbedder
from tests.support.models import answer
from tests.support.paper_server import Drip, PaperServer, Served, as_json, moved, page, paper
from tests.support.project import Project


@pytest.mark.parametrize(
    "said",
    [
        "10.1/x", "doi:10.1/x", "Doi: 10.1/x", "https://doi.org/10.1/x", "HTTPS://www.doi.org/10.1/x",
        "http://dx.doi.org/10.1/x", " doi.org/10.1/x ",
    ],
)  # fmt: skip
def test_a_doi_is_read_however_it_is_written(said: str) -> None:
    assert bare_doi(said) == "10.1/x"


@pytest.mark.parametrize(
    "said", [None, "", "doi:", "10.1", "https://example.org/10.1/x", "10.1/x y", "10.1/" + "x" * 300]
)
def test_what_is_no_doi_is_none(said: str | None) -> None:
    assert bare_doi(said) is None


DOI = "10.5555/lamp.7"
ABSTRACT = "The lamp of Skerry Bank was tended for ninety years. Its keepers burned whale oil until 1871."
FULL = [
    "The lamp of Skerry Bank stands on a rock in the firth. Its tower was built by Martha Kellogg in 1802.",
    "The lamp burns forty litres of oil a night. The mirror was turned by a clockwork of brass.",
    "The bell of the rock weighs 412 kilograms. It was cast in Port Carrick by the brothers Forsyth.",
]
ROWS = [
    {"id": "paper", "title": "The Lamp", "abstract": ABSTRACT, "doi": DOI},
    {"id": "whole", "title": "The Bell", "abstract": "A bell is described.", "content": "\n".join(FULL * 12)},
    {"id": "bare", "title": "No DOI", "abstract": ABSTRACT},
    {"id": "title", "title": "The Tower", "doi": "10.5555/tower.1"},
]
CORPUS = (
    "name: Lamps\ncorpus_context: Papers on lamps.\nscenarios:\n  facts: {name: Facts, description: Facts.}\n"
)
OIL = "How many litres of oil does the lamp burn a night?"
PAPER = "papers.jsonl--paper"


@dataclass
class Lamps:
    """A parsed corpus, with its sources of full texts on a server."""

    place: Place
    server: PaperServer

    def ask(self, question: str = OIL, document: str = PAPER, **wishes: Any) -> SemanticSearchAnswer:
        return answer_from_document(document, question, place=self.place, **wishes)

    def configured(self, **changes: Any) -> Lamps:
        fulltext = self.place.options.fulltext.model_copy(update=changes)
        options = self.place.options.model_copy(update={"fulltext": fulltext})
        return Lamps(_with(self.place, options=options), self.server)


def _with(place: Place, **changes: Any) -> Place:
    return Place(**{name: getattr(place, name) for name in Place.__dataclass_fields__} | changes)


@pytest.fixture
def lamps(tmp_path: Path) -> Iterator[Lamps]:
    project = Project.make(tmp_path / "project")
    rows = "\n".join(json.dumps(row) for row in ROWS)
    project.corpus(
        "lamps", CORPUS, {"papers.jsonl": rows, "empty.txt": "", "note.md": "# Bell\n\nIt is loud."}
    )
    space = Workspace(project.settings(profile="embedded"))
    parse_corpus(space.corpus("lamps"), space.store, space.parsers(), space.settings)
    with PaperServer() as server:
        fulltext = FulltextOptions(
            download=True, doi_url=server.url("/doi/{doi}"), unpaywall_url=server.url("/up/{doi}?email={email}"),
            europe_pmc_url=server.url("/pmc?q={doi}"), email="reader@lamp.example", allow_private=(server.host,),
            seconds=20,
        )  # fmt: skip
        options = AnsweringOptions(fulltext=fulltext)
        yield Lamps(_with(corpus_place(space, "lamps"), options=options), server)


def pdf() -> Served:
    return Served(paper(*FULL), "application/pdf")


def test_a_full_text_is_fetched_kept_and_cited_by_lines(lamps: Lamps) -> None:
    lamps.server.answers |= {
        f"/doi/{DOI}": page('<meta name="citation_pdf_url" content="/a.pdf">'),
        "/a.pdf": pdf(),
    }
    found = lamps.ask()
    assert found.success, found
    assert found.used_fulltext
    assert (found.source, found.error, found.fulltext_error) == (AnswerSource.FULLTEXT_SEMANTIC, None, None)
    assert "forty" in found.answer
    assert found.answerable
    (chunk, *_) = found.chunks_used or ()
    kept = (
        lamps.place.store.read_bytes(Document.file_key("lamps", PAPER, "fulltext.txt")).decode().split("\n")
    )
    assert chunk.start_line is not None
    assert chunk.end_line is not None
    cited = "\n".join(kept[chunk.start_line - 1 : chunk.end_line])
    assert chunk.text in cited
    asked = len(lamps.server.asked)
    assert lamps.ask("Who built the tower?").used_fulltext
    assert len(lamps.server.asked) == asked  # it is kept


def test_fields_and_plain_values(lamps: Lamps) -> None:
    found = lamps.ask("When did the keepers stop burning whale oil?", use_fulltext=False)
    value = found.to_dict()
    assert json.loads(json.dumps(value)) == value
    assert value["success"] is True
    assert value["used_fulltext"] is False
    assert value["source"] == "abstract"
    assert value["model_used"] == "embedded:reader"
    assert value["document_id"] == PAPER
    assert value["fulltext_error"] is None
    assert 0 <= value["confidence"] <= 1
    assert value["chunks_used"][0]["start_line"] == 1
    assert "1871" in found.answer
    assert "embedded:reader" in (found.reasoning or "")


def test_the_full_text_of_a_row_without_text_is_fetched(lamps: Lamps) -> None:
    asked: list[str | None] = []

    def cancel(_document: str, title: str | None) -> ProxyCallbackResult:
        asked.append(title)
        return ProxyCallbackResult()

    walled = lamps.ask(document="papers.jsonl--title", proxy_callback=cancel)
    assert (walled.error, asked) == (QAError.USER_CANCELLED, ["The Tower"])
    lamps.server.answers["/doi/10.5555/tower.1"] = pdf()
    assert lamps.ask(document="papers.jsonl--title").used_fulltext


def test_nothing_is_fetched_unless_it_is_asked_for(lamps: Lamps) -> None:
    found = lamps.configured(download=False).ask()
    assert (found.source, found.fulltext_error) == (AnswerSource.ABSTRACT, QAError.NO_FULLTEXT)
    assert lamps.ask(download_missing=False).fulltext_error is QAError.NO_FULLTEXT
    assert FulltextOptions().download is False
    assert lamps.server.asked == []


@pytest.mark.parametrize(
    ("answer", "error", "told"),
    [
        (Served(status=404), QAError.DOWNLOAD_FAILED, "not_found"),
        (page(body="<p>Only this.</p>"), QAError.DOWNLOAD_FAILED, "wrong_type"),
        (Served(b"%PDF-1.7", "application/pdf", claims=10_000_000_000), QAError.DOWNLOAD_FAILED, "too_large"),
        (Drip(), QAError.DOWNLOAD_FAILED, "timeout"),
        (moved("file:///etc/passwd"), QAError.DOWNLOAD_FAILED, "refused"),
        (moved("http://127.0.0.1:9/admin"), QAError.DOWNLOAD_FAILED, "refused"),
        (page(body="<input type=password>"), QAError.PROXY_REQUIRED, "login"),
        (Served(status=403), QAError.PROXY_REQUIRED, "login"),
    ],
    ids=["404", "html", "10GB", "drip", "file", "internal", "login page", "403"],
)
def test_without_a_full_text_the_abstract_answers_and_says_why(
    lamps: Lamps, answer: Any, error: QAError, told: str
) -> None:
    lamps.server.answers[f"/doi/{DOI}"] = answer
    found = lamps.configured(seconds=1.5).ask("Until when was whale oil burned?")
    assert found.success
    assert (found.source, found.fulltext_error) == (AnswerSource.ABSTRACT, error)
    assert f"doi: {told}" in found.notes[0]
    assert lamps.place.store.list(f"documents/lamps/{PAPER}/fulltext") == []


def test_a_document_that_names_no_address_has_no_full_text(lamps: Lamps) -> None:
    found = lamps.ask(document="papers.jsonl--bare")
    assert (found.fulltext_error, lamps.server.asked) == (QAError.NO_FULLTEXT, [])


class TestProxy:
    @pytest.fixture
    def walled(self, lamps: Lamps) -> Iterator[Lamps]:
        """The publisher shows a login page; its proxy shows the paper."""
        lamps.server.answers[f"/doi/{DOI}"] = page(
            body="<form action='/login'><input type='password'></form>"
        )
        with PaperServer({"/login": pdf()}) as proxy:
            hosts = (lamps.server.host, proxy.host)
            yield lamps.configured(proxy_url=proxy.url("/login?url={url}"), allow_private=hosts)

    def test_it_is_used_after_consent(self, walled: Lamps) -> None:
        asked: list[tuple[str, str | None]] = []

        def allow(document: str, title: str | None) -> ProxyCallbackResult:
            asked.append((document, title))
            return ProxyCallbackResult(allow_proxy=True)

        found = walled.ask(proxy_callback=allow)
        assert (found.used_fulltext, found.fulltext_error) == (True, None)
        assert asked == [(PAPER, "The Lamp")]

    def test_it_is_used_unasked_where_that_is_allowed_once_for_all(self, walled: Lamps) -> None:
        assert walled.configured(always_allow_proxy=True).ask().used_fulltext

    def test_it_is_not_used_without_either(self, walled: Lamps) -> None:
        assert walled.ask().fulltext_error is QAError.PROXY_REQUIRED

    def test_a_refusal_leads_to_the_abstract(self, walled: Lamps) -> None:
        found = walled.ask(
            "Until when was whale oil burned?", proxy_callback=lambda *_: ProxyCallbackResult()
        )
        assert (found.success, found.fulltext_error) == (True, QAError.USER_CANCELLED)
        assert found.source is AnswerSource.ABSTRACT

    def test_a_pdf_that_was_put_there_meanwhile_is_seen(self, walled: Lamps) -> None:
        def give(document: str, _title: str | None) -> ProxyCallbackResult:
            place = walled.place
            data = paper(*FULL)
            add_fulltext(place.store, place.corpus, document, data, place.options.fulltext, place.pool)
            return ProxyCallbackResult(pdf_made_available=True)

        assert walled.ask(proxy_callback=give).used_fulltext
        bare = walled.ask(
            document="papers.jsonl--bare", proxy_callback=give
        )  # even where no source can be asked
        assert bare.used_fulltext

    def test_a_pdf_that_is_not_there_after_all(self, walled: Lamps) -> None:
        found = walled.ask(proxy_callback=lambda *_: ProxyCallbackResult(pdf_made_available=True))
        assert found.fulltext_error is QAError.NO_FULLTEXT

    def test_consent_without_a_proxy_is_told(self, walled: Lamps) -> None:
        found = walled.configured(proxy_url=None).ask(always_allow_proxy=True)
        assert found.fulltext_error is QAError.CONFIGURATION_ERROR

    def test_an_open_copy_spares_the_question(self, walled: Lamps) -> None:
        walled.server.answers |= {
            f"/up/{DOI}": as_json({"best_oa_location": {"url_for_pdf": walled.server.url("/a.pdf")}}),
            "/a.pdf": pdf(),
        }

        def never(*_: object) -> ProxyCallbackResult:
            raise AssertionError("asked")

        assert walled.ask(proxy_callback=never).used_fulltext


@pytest.mark.parametrize(
    ("wishes", "error"),
    [
        ({"question": "  "}, QAError.CONFIGURATION_ERROR),
        ({"max_chunks": 0}, QAError.CONFIGURATION_ERROR),
        ({"similarity_threshold": 1.5}, QAError.CONFIGURATION_ERROR),
        ({"document": "nobody"}, QAError.DOCUMENT_NOT_FOUND),
        ({"document": "../../etc/passwd"}, QAError.DOCUMENT_NOT_FOUND),
        ({"document": ""}, QAError.DOCUMENT_NOT_FOUND),
        ({"document": "empty.txt", "download_missing": False}, QAError.NO_TEXT_AVAILABLE),
        ({"document": "empty.txt"}, QAError.NO_TEXT_AVAILABLE),
        ({"document": "note.md", "use_fulltext": False}, QAError.NO_TEXT_AVAILABLE),
        ({"model": "nobody"}, QAError.CONFIGURATION_ERROR),
    ],
)
def test_every_error_is_a_value(lamps: Lamps, wishes: dict[str, Any], error: QAError) -> None:
    found = lamps.ask(**wishes)
    assert (found.success, found.answer, found.error) == (False, "", error)
    assert found.error_message
    assert found.error.description


def test_a_broken_record_is_a_value(lamps: Lamps) -> None:
    lamps.place.store.write_bytes(Document.key("lamps", PAPER), b"{")
    assert lamps.ask().error is QAError.DATABASE_ERROR


class _Broken:
    """An embedder whose server is gone."""

    def passages(self, texts: object) -> Any:
        raise PermanentModelError("no such server")

    query = passages


def test_a_text_that_cannot_be_embedded(lamps: Lamps) -> None:
    chunks = ChunkSource(cast(Any, _Broken()), IndexOptions())
    broken = Lamps(_with(lamps.place, chunks=chunks), lamps.server)
    found = broken.ask(document="note.md")
    assert found.error is QAError.EMBEDDING_FAILED
    whole = broken.ask("What is described?", document="papers.jsonl--whole")
    assert (whole.source, whole.fulltext_error) == (AnswerSource.ABSTRACT, QAError.EMBEDDING_FAILED)


class _Dying(WordEmbedder):
    """An embedder whose server is gone after the text was embedded."""

    def query(self, text: str) -> Any:
        raise PermanentModelError("no such server")


@pytest.mark.parametrize(("document", "source"), [("note.md", None), ("papers.jsonl--whole", "abstract")])
def test_a_text_that_cannot_be_searched(lamps: Lamps, document: str, source: str | None) -> None:
    chunks = ChunkSource(_Dying(), IndexOptions())
    found = Lamps(_with(lamps.place, chunks=chunks), lamps.server).ask(document=document)
    failed = QAError.SEMANTIC_SEARCH_FAILED
    assert (found.fulltext_error, found.notes) == (failed, ("no such server",))
    assert (found.error, found.success) == ((failed, False) if source is None else (None, found.success))


def scripted(script: Callable[[Request], AssistantMessage]) -> Callable[[str | None, float | None], Model]:
    spec = ModelSpec(provider="scripted", model="written")
    return lambda _name, _temperature: LocalModel(ScriptedProvider(spec, script))


def submit(**arguments: Any) -> AssistantMessage:
    usual = {"answer": "forty", "answerable": True, "confidence": 0.9, "chunks": [1]} | arguments
    call = ToolCall(id="1", name="submit_document_answer", arguments=usual)
    return AssistantMessage(content=(Thinking(text="The oil is told on line 2."), Text(text="So:"), call))


def test_thinking_is_kept_apart_and_the_document_is_delimited(lamps: Lamps) -> None:
    seen: list[Request] = []

    def think(request: Request) -> AssistantMessage:
        seen.append(request)
        return submit(chunks=[])

    place = _with(lamps.place, model=scripted(think))
    found = answer_from_document("papers.jsonl--whole", OIL, place=place, max_chunks=2)
    assert (found.answer, found.reasoning) == ("forty", "The oil is told on line 2.")
    assert found.model_used == "scripted:written"
    (content,) = seen[0].messages[0].content
    assert isinstance(content, Text)
    outside = "".join(
        part.split("</document_excerpt>")[-1] for part in content.text.split("<document_excerpt>")
    )
    assert "Skerry" not in outside
    assert content.text.count("Excerpt ") == 2


def test_a_citation_of_what_was_not_shown_is_sent_back(lamps: Lamps) -> None:
    replies = iter([submit(chunks=[99]), submit(answer=" "), submit()])
    place = _with(lamps.place, model=scripted(lambda _request: next(replies)))
    found = answer_from_document("note.md", OIL, place=place)
    assert [one.chunk_no for one in found.chunks_used or ()] == [1]


def test_a_model_that_says_nothing_is_an_error_value(lamps: Lamps) -> None:
    def silent(_request: Request) -> AssistantMessage:
        return AssistantMessage(content=(Text(text="It is loud."),))

    found = answer_from_document("note.md", OIL, place=_with(lamps.place, model=scripted(silent)))
    assert (found.error, found.answer) == (QAError.LLM_ERROR, "")


def test_a_threshold_that_no_chunk_reaches_is_told(lamps: Lamps) -> None:
    found = lamps.ask(document="papers.jsonl--whole", similarity_threshold=1.0)
    assert found.success
    assert "threshold 1" in found.notes[-1]
    assert len(lamps.ask(document="papers.jsonl--whole", max_chunks=1).chunks_used or ()) == 1


@pytest.mark.parametrize("question", ["Who painted the ferry of Oslo?", "When was the ferry to Oslo sold?"])
def test_a_declined_question_has_no_answer(lamps: Lamps, question: str) -> None:
    found = lamps.ask(question, use_fulltext=False)
    assert (found.answerable, found.answer, found.success, found.error) == (False, "", False, None)
    assert found.to_dict()["success"] is False


def test_what_a_model_says_beside_no_answer_is_a_candidate(lamps: Lamps) -> None:
    said = submit(answer="1996", answerable=False, confidence=0.2, chunks=[1])
    place = _with(lamps.place, model=scripted(lambda _request: said))
    found = answer_from_document("note.md", OIL, place=place)
    assert (found.answer, found.candidate, found.success) == ("", "1996", False)


def test_after_an_unusable_reply_the_model_is_asked_again(lamps: Lamps) -> None:
    replies = [AssistantMessage(content=(Text(text="Hm."),))] * 4
    replies += [submit(answer="It is loud", answerable=True, confidence=0.9, chunks=[1])]
    asked: list[Request] = []
    stored: dict[str, Response] = {}

    class Kept:
        """A model whose responses are stored by request, as in the ledger."""

        spec = ModelSpec(provider="scripted", model="kept")

        def respond(self, request: Request) -> Response:
            if (key := request.canonical()) in stored:
                return stored[key].model_copy(update={"replayed": True})
            asked.append(request)
            stored[key] = answer(replies[len(asked) - 1])
            return stored[key]

    place = _with(lamps.place, model=lambda _name, _temperature: Kept())
    first, second, third = (answer_from_document("note.md", OIL, place=place) for _ in range(3))
    assert (first.error, second.answer, third.answer) == (QAError.LLM_ERROR, "It is loud", "It is loud")
    assert len(asked) == 5


def test_every_error_has_a_description() -> None:
    assert len({error.description for error in QAError}) == len(QAError) == 11
