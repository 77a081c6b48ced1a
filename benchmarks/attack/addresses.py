"""Group `addresses`: addresses that `qagen answer --download` must not ask, in a URL, behind a name and behind a redirect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.attack.table import Row
from qagen_dagster.answering.safe_http import AddressPolicy, Fault, FetchError, RefusedAddressError, Web
from tests.answering.test_safe_http import PRIVATE, PUBLIC, SPELLINGS, TRICKS
from tests.support.paper_server import PaperServer, moved


def addresses(folder: Path, short: bool) -> Iterator[Row]:
    """One row for each URL or address, and each way to it."""
    del folder
    step = 9 if short else 1
    for url in TRICKS[::step]:
        yield _row(ascii(url[:56]), lambda url=url: _target(url, PUBLIC))
    hosts = [*SPELLINGS, *(f"[{one}]" if ":" in one else one for one in PRIVATE)][::step]
    with PaperServer({}) as server:
        for host in hosts:
            url = f"http://{host}/x.pdf"
            yield _row(ascii(host), lambda url=url: _target(url, PUBLIC))
            if host.isascii():
                yield _row(f"a redirect to {host}", lambda url=url: _redirected(server, url))
    for one in PRIVATE[::step]:
        yield _row(f"a name of {one}", lambda one=one: _target("https://papers.example/", one))
        yield _row(f"a name of {one}, too", lambda one=one: _target("https://papers.example/", PUBLIC, one))


def _row(attack: str, attempt: Callable[[], str]) -> Row:
    """`attempt` returns what was asked, or raises what the refusal raises."""
    try:
        found, held = attempt(), False
    except RefusedAddressError as error:
        found, held = str(error), True
    except FetchError as error:
        unread = error.detail.startswith("Invalid URL")
        found, held = f"{error.fault.value}: {error.detail}", unread or error.fault is Fault.REFUSED
    return Row(attack, "refused", found[:100], held)


def _target(url: str, *answers: str) -> str:
    return f"asks {AddressPolicy(lookup=lambda _host, _port: answers).target(url).address}"


def _redirected(server: PaperServer, url: str) -> str:
    server.answers["/article"] = moved(url)
    policy = AddressPolicy(frozenset([server.host]), lambda _host, _port: [PUBLIC])
    web = Web(policy, seconds=5, max_bytes=1_000)
    try:
        return f"asks {web.get(server.url('/article')).url}"
    finally:
        web.close()
