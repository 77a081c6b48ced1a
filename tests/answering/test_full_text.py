"""Every resolver and every fault, over HTTP on loopback. The servers are named in the configuration; nothing else is reachable."""

from __future__ import annotations

import gzip
import socket
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.answering.full_text import RECORD, TEXT, Search, add_fulltext, find_pdf, stored_text
from qagen_dagster.answering.pdf_sources import Paper, resolvers
from qagen_dagster.answering.safe_http import AddressPolicy, Fault, FetchError, Web
from qagen_dagster.formats.base import ParsedText
from qagen_dagster.formats.parser_pool import ParserPool
from qagen_dagster.records.answer import FulltextRecord
from qagen_dagster.records.corpus_options import FulltextOptions
from qagen_dagster.records.document import Document
from qagen_dagster.store import Store
from tests.formats.pdf.samples import pdf
from tests.support.paper_server import Drip, Flood, PaperServer, Served, as_json, moved, page, paper


@pytest.mark.parametrize("name", [RECORD, TEXT])
def test_a_damaged_full_text_counts_as_missing_until_it_is_stored_again(tmp_path: Path, name: str) -> None:
    store, key = Store(tmp_path), Document.file_key("notes", "a.txt", name)

    def add() -> None:
        with ParserPool(workers=1, seconds=60) as pool:
            add_fulltext(store, "notes", "a.txt", pdf("The mast is high."), FulltextOptions(), pool)

    add()
    assert stored_text(store, "notes", "a.txt") == "The mast is high."
    store.write_bytes(key, b'{"damaged')
    assert stored_text(store, "notes", "a.txt") is None
    add()
    assert stored_text(store, "notes", "a.txt") == "The mast is high."
    assert store.find_valid(Document.file_key("notes", "a.txt", RECORD), FulltextRecord) is not None
    assert (store.get(f"{key}.damaged") is not None) == (name == RECORD)


DOI = "10.5555/lamp.7"


def packed(body: bytes, layers: int) -> bytes:
    for _ in range(layers):
        body = gzip.compress(body, 9)
    return body


PDF = Served(paper("The lamp of Skerry Bank burns forty litres of oil a night."), "application/pdf")


@pytest.fixture(scope="module")
def pool() -> Iterator[ParserPool]:
    with ParserPool(workers=1, seconds=60) as workers:
        yield workers


@pytest.fixture
def server() -> Iterator[PaperServer]:
    with PaperServer({"/a.pdf": PDF}) as running:
        yield running


def options(server: PaperServer, **changes: Any) -> FulltextOptions:
    """Every source on the server."""
    usual: dict[str, Any] = {
        "doi_url": server.url("/doi/{doi}"),
        "unpaywall_url": server.url("/unpaywall/{doi}?email={email}"),
        "europe_pmc_url": server.url("/pmc?query={doi}"),
        "email": "reader@lamp.example",
        "allow_private": (server.host,),
        "seconds": 20.0,
    }
    return FulltextOptions.model_validate(usual | changes)


def find(server: PaperServer, pool: ParserPool, url: str | None = None, **changes: Any) -> Search:
    return find_pdf(Paper(DOI, url), options(server, **changes), pool)


def faults(search: Search) -> list[tuple[str, Fault]]:
    assert search.found is None
    return [(one.resolver, one.fault) for one in search.attempts]


def test_the_url_in_the_metadata_comes_first(server: PaperServer, pool: ParserPool) -> None:
    search = find(server, pool, server.url("/a.pdf"))
    assert search.found is not None
    assert (search.found.resolver, search.found.url) == ("url", server.url("/a.pdf"))
    (entry,) = search.found.parsed.entries
    assert isinstance(entry, ParsedText)
    assert "forty litres" in entry.text
    assert server.asked == ["/a.pdf"]


@pytest.mark.parametrize(
    "head",
    [
        '<meta name="citation_pdf_url" content="/a.pdf">',
        "<META content='/a.pdf' NAME='citation_pdf_url'/>",
        '<link rel="alternate" type="application/pdf" href="a.pdf">',
        '<base href="/files/deep/"><meta name="citation_pdf_url" content="../../a.pdf">',
        "<meta name=citation_pdf_url content=/a.pdf?x=1&amp;y=2>",
        '<meta name="citation_pdf_url" content="/gone.pdf"><link rel="item" type="application/pdf" href="/a.pdf">',
    ],
)
def test_the_page_behind_the_doi_names_its_pdf(server: PaperServer, pool: ParserPool, head: str) -> None:
    server.answers |= {f"/doi/{DOI}": moved("/article"), "/article": page(head)}
    search = find(server, pool)
    assert search.found is not None
    assert search.found.resolver == "doi"
    assert server.asked[:2] == [f"/doi/{DOI}", "/article"]


def test_a_service_like_unpaywall_lists_open_copies(server: PaperServer, pool: ParserPool) -> None:
    server.answers[f"/unpaywall/{DOI}"] = as_json(
        {
            "best_oa_location": {"url_for_pdf": server.url("/gone.pdf"), "url": None},
            "oa_locations": [{"url_for_pdf": server.url("/a.pdf")}, "broken", None],
        }
    )
    search = find(server, pool)
    assert search.found is not None
    assert search.found.resolver == "unpaywall"
    assert f"/unpaywall/{DOI}?email=reader%40lamp.example" in server.asked
    assert [(one.resolver, one.fault) for one in search.attempts] == [
        ("doi", Fault.NOT_FOUND),
        ("unpaywall", Fault.NOT_FOUND),
    ]


def test_a_service_like_europe_pmc_lists_links(server: PaperServer, pool: ParserPool) -> None:
    def link(url: str, style: str = "pdf", availability: str = "Open access") -> dict[str, str]:
        return {"url": server.url(url), "documentStyle": style, "availability": availability}

    server.answers["/pmc"] = as_json(
        {
            "resultList": {
                "result": [
                    {"doi": "10.5555/other", "fullTextUrlList": {"fullTextUrl": [link("/other.pdf")]}},
                    {
                        "doi": DOI.upper(),
                        "fullTextUrlList": {
                            "fullTextUrl": [
                                link("/page", "html"),
                                link("/paid.pdf", "pdf", "Subscription required"),
                                link("/a.pdf"),
                            ]
                        },
                    },
                ]
            }
        }
    )
    search = find(server, pool)
    assert search.found is not None
    assert search.found.resolver == "europe_pmc"
    assert not {"/other.pdf", "/page", "/paid.pdf"} & set(server.asked)


def test_sources_that_are_not_configured_are_not_asked(server: PaperServer, pool: ParserPool) -> None:
    names = list(resolvers(options(server, email=None, doi_url=None)))
    assert names == ["url", "europe_pmc"]
    search = find(server, pool, email=None, doi_url=None, europe_pmc_url=None)
    assert (search.found, search.attempts, server.asked) == (None, (), [])


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (Served("gone", status=404), Fault.NOT_FOUND),
        (Served("gone", status=410), Fault.NOT_FOUND),
        (Served("broken", status=500), Fault.FAILED),
        (Served("", status=204), Fault.FAILED),
        (Served("who are you", status=401), Fault.LOGIN),
        (Served("pay", status=402), Fault.LOGIN),
        (Served("no", status=403), Fault.LOGIN),
        (page(body="<form action='/x'><input type='password' name='p'></form>"), Fault.LOGIN),
        (page(body="<form action='/Shibboleth.sso/Login'>"), Fault.LOGIN),
        (page(body="<p>This is the abstract.</p>"), Fault.WRONG_TYPE),
        (Served("<html>no pdf", "application/pdf"), Fault.WRONG_TYPE),
        (Served(b"%PDF-1.7\nnothing more", "application/pdf"), Fault.UNREADABLE),
        (Served(paper(""), "application/pdf"), Fault.UNREADABLE),
        (Served(PDF.body, "application/pdf", claims=10_000_000_000), Fault.TOO_LARGE),
        (Served(PDF.body, "application/pdf", claims=100_000), Fault.FAILED),
        (Served(b"%PDF-" + bytes(2_000_000), "application/pdf"), Fault.TOO_LARGE),
        (Flood(), Fault.TOO_LARGE),
        (moved("file:///etc/passwd"), Fault.REFUSED),
        (moved("ftp://127.0.0.1/a.pdf"), Fault.REFUSED),
        (moved("//169.254.169.254/latest/meta-data/"), Fault.REFUSED),
        (moved("http://0x7f000001/a.pdf"), Fault.REFUSED),
        (moved("http://[::ffff:127.0.0.1]/a.pdf"), Fault.REFUSED),
        (moved("/x.pdf"), Fault.FAILED),
        (moved("http://["), Fault.REFUSED),
        (Served("lost", status=302), Fault.FAILED),
    ],
    ids=lambda value: value.value if isinstance(value, Fault) else None,
)
def test_what_a_server_does_has_a_name(
    server: PaperServer, pool: ParserPool, answer: Any, fault: Fault
) -> None:
    server.answers["/x.pdf"] = answer
    search = find_pdf(Paper(None, server.url("/x.pdf")), options(server, max_megabytes=1), pool)
    assert faults(search) == [("url", fault)]
    assert all("\n" not in one.line and len(one.line) < 300 for one in search.attempts)


@pytest.mark.parametrize("drip", [Drip(), Drip(head=True)])
def test_a_slow_drip_ends_with_the_time_that_is_given(
    server: PaperServer, pool: ParserPool, drip: Drip
) -> None:
    server.answers["/x.pdf"] = drip
    search = find_pdf(Paper(None, server.url("/x.pdf")), options(server, seconds=0.5), pool)
    assert faults(search) == [("url", Fault.TIMEOUT)]


def test_a_document_has_four_times_the_time_of_a_request(server: PaperServer) -> None:
    server.answers["/x.pdf"] = Drip()
    web = Web(AddressPolicy(frozenset([server.host])), seconds=0.1, max_bytes=1_000)
    said: list[str] = []
    for _ in range(8):
        with pytest.raises(FetchError) as error:
            web.get(server.url("/x.pdf"))
        assert error.value.fault is Fault.TIMEOUT
        said.append(error.value.detail)
    web.close()
    assert said[-1] == "no time is left for this document"
    assert len(server.asked) < 8


def test_an_internal_service_on_another_port_is_never_asked(server: PaperServer, pool: ParserPool) -> None:
    with PaperServer({"/admin": PDF}) as internal:
        server.answers["/x.pdf"] = moved(internal.url("/admin"))
        server.answers["/article"] = page(
            f'<meta name="citation_pdf_url" content="{internal.url("/admin")}">'
        )
        server.answers[f"/unpaywall/{DOI}"] = as_json({"best_oa_location": {"url": internal.url("/admin")}})
        server.answers[f"/doi/{DOI}"] = moved("/article", 307)
        search = find(server, pool, server.url("/x.pdf"))
        assert Fault.REFUSED in {one.fault for one in search.attempts}
        assert [one.resolver for one in search.attempts] == ["url", "doi", "europe_pmc"]
        assert search.found is None
        assert internal.asked == []


def test_loopback_is_refused_unless_it_is_configured(server: PaperServer, pool: ParserPool) -> None:
    search = find(server, pool, server.url("/a.pdf"), allow_private=())
    assert {fault for _, fault in faults(search)} == {Fault.REFUSED}
    assert server.asked == []


def test_a_name_that_changes_its_address_between_check_and_connection_gains_nothing(
    server: PaperServer,
) -> None:
    """One lookup checks the URL, one checks the connection and is what it goes to: no third one is made."""
    port = int(server.host.rpartition(":")[2])
    answers = iter([["127.0.0.1"], ["127.0.0.1"]])
    policy = AddressPolicy(frozenset([f"papers.example:{port}"]), lambda _host, _port: next(answers))
    web = Web(policy, seconds=20, max_bytes=100_000)
    assert web.get(f"http://papers.example:{port}/a.pdf", pdf=True).is_pdf
    assert server.hosts == [f"papers.example:{port}"]  # the name is what the server hears
    web.close()


def test_the_address_is_checked_again_at_the_connection(server: PaperServer) -> None:
    port = int(server.host.rpartition(":")[2])
    answers = iter([["93.184.215.14"], ["127.0.0.1"]])
    web = Web(AddressPolicy(lookup=lambda _host, _port: next(answers)), seconds=20, max_bytes=100_000)
    with pytest.raises(FetchError) as error:
        web.get(f"http://papers.example:{port}/a.pdf", pdf=True)
    assert error.value.fault is Fault.REFUSED
    assert server.asked == []
    web.close()


def test_proxies_of_the_environment_are_not_used(
    server: PaperServer, pool: ParserPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with PaperServer() as stranger:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, stranger.url())
        assert find(server, pool, server.url("/a.pdf")).found is not None
        assert stranger.asked == []


def test_the_proxy_is_asked_for_the_page_and_for_what_it_names(server: PaperServer, pool: ParserPool) -> None:
    with PaperServer() as proxy:
        article = server.url("/article")
        proxy.answers["/login"] = lambda: (
            page('<meta name="citation_pdf_url" content="/through/a.pdf">')
            if proxy.asked[-1] == f"/login?url={article.replace(':', '%3A').replace('/', '%2F')}"
            else Served(status=404)
        )
        proxy.answers["/through/a.pdf"] = PDF
        chosen = options(
            server,
            proxy_url=proxy.url("/login?url={url}"),
            allow_private=(server.host, proxy.host),
            doi_url=None,
        )
        search = find_pdf(Paper(None, article), chosen, pool, proxy=True)
        assert search.found is not None
        assert search.found.url == proxy.url("/through/a.pdf")
        assert server.asked == []


def test_endless_redirects_end(server: PaperServer, pool: ParserPool) -> None:
    server.answers["/x.pdf"] = lambda: moved(f"/x.pdf?{len(server.asked)}")
    search = find_pdf(Paper(None, server.url("/x.pdf")), options(server), pool)
    assert faults(search) == [("url", Fault.FAILED)]
    assert len(server.asked) == 9


@pytest.mark.parametrize(
    "reply", ["no json", "[1, 2]", '{"best_oa_location": 3, "oa_locations": {"a": 1}}', "[" * 100_000]
)
def test_replies_of_services_that_are_none_are_passed_over(
    server: PaperServer, pool: ParserPool, reply: str
) -> None:
    server.answers |= {f"/unpaywall/{DOI}": Served(reply), "/pmc": Served(reply)}
    search = find(server, pool, doi_url=None)
    assert search.found is None
    assert {one.fault for one in search.attempts} <= {Fault.WRONG_TYPE}


def test_a_server_that_is_not_there(pool: ParserPool) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{taken.getsockname()[1]}"
        chosen = FulltextOptions(allow_private=(host,), doi_url=None, europe_pmc_url=None)
        search = find_pdf(Paper(None, f"http://{host}/a.pdf"), chosen, pool)
    assert faults(search) == [("url", Fault.FAILED)]


@pytest.mark.parametrize(
    ("encoding", "layers", "fault"),
    [
        ("gzip", 1, Fault.TOO_LARGE),
        ("gzip, gzip", 2, Fault.FAILED),
        ("gzip, gzip, gzip", 3, Fault.FAILED),
        ("br", 0, Fault.FAILED),
    ],
)
def test_a_bomb_of_a_few_bytes_is_not_decoded(encoding: str, layers: int, fault: Fault) -> None:
    headers = {"Content-Encoding": encoding}
    bomb = Served(packed(bytes(60_000_000), layers) if layers else b"x", "application/pdf", headers=headers)
    with PaperServer({"/bomb.pdf": bomb}) as server:
        web = Web(AddressPolicy(frozenset({server.host})), seconds=20, max_bytes=5_000_000)
        tracemalloc.start()
        try:
            with pytest.raises(FetchError) as caught:
                web.get(server.url("/bomb.pdf"), pdf=True)
            assert tracemalloc.get_traced_memory()[1] < 40_000_000
        finally:
            tracemalloc.stop()
            web.close()
    assert caught.value.fault is fault


def test_one_layer_of_compression_is_read() -> None:
    headers = {"Content-Encoding": "gzip"}
    with PaperServer({"/a.txt": Served(gzip.compress(b"words " * 9), headers=headers)}) as server:
        web = Web(AddressPolicy(frozenset({server.host})), seconds=20, max_bytes=1_000)
        try:
            assert web.get(server.url("/a.txt")).text == "words " * 9
        finally:
            web.close()
