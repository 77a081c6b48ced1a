"""The address policy, on the check itself: nothing here is ever sent."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.answering.safe_http import AddressPolicy, RefusedAddressError, read_url, why_refused

PUBLIC = "93.184.215.14"
PRIVATE = [
    "0.0.0.0", "10.1.2.3", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254", "169.254.169.254",
    "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1",
    "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "168.63.129.16",
    "::", "::1", "fe80::1", "fec0::1", "fc00::1", "fd12:3456::1", "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1",
    "::ffff:93.184.215.14", "::127.0.0.1", "::93.184.215.14", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1",
    "64:ff9b::5db8:d70e", "64:ff9b:1::a00:1", "2002:7f00:1::", "2002:5db8:d70e::1", "2001:0:4136:e378::1",
    "2001:db8::1", "100::1", "3fff::1", "2620:fe::5efe:7f00:1", "2620:fe::200:5efe:c0a8:1", "5f00::1",
]  # fmt: skip
SPELLINGS = [
    "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "127.0.1", "017700000001", "0x7f.0.0.0x1",
    "127.0.0.01", "1.2.3.4.5", "256.1.1.1", "0xA9FEA9FE", "\uff13\uff12.1.1.1", "\uff11\uff12\uff17.0.0.1", "127.0.0.1.", "1572395042",
    "93.184.215.014", "0", "papers.0x7f",
]  # fmt: skip
TRICKS = [
    "file:///etc/passwd", "ftp://papers.example/x", "gopher://papers.example/", "data:application/pdf,x", "x.pdf",
    "//papers.example/x", "http:///x", "http://", "", "javascript:alert(1)", "http://user@papers.example/",
    "http://a:b@papers.example/", "http://papers.example\\@10.0.0.1/", "http://papers.example/a b",
    "http://papers.example/\r\nHost: x", "http://[fe80::1%25eth0]/", "http://[::1", "http://papers.example:0/",
    "http://papers.example:99999/", "http://..example/", "jar:http://papers.example!/", "dict://127.0.0.1:11211/",
    f"http://papers.example/{'x' * 5_000}", "http://exa%6dple%00.org/",
]  # fmt: skip
HOSTS = st.from_regex(r"[a-z][a-z0-9-]{0,10}[a-z]\.(?:org|example|de)", fullmatch=True)


def to(*addresses: str, allow: Sequence[str] = ()) -> AddressPolicy:
    return AddressPolicy(frozenset(allow), lambda _host, _port: addresses)


def refused(url: str, policy: AddressPolicy | None = None) -> str:
    with pytest.raises(RefusedAddressError) as error:
        (policy or to(PUBLIC)).target(url)
    return str(error.value)


@pytest.mark.parametrize("address", PRIVATE)
def test_addresses_that_are_not_public_are_refused_by_themselves_and_behind_a_name(address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    assert "public" in (told := refused(f"http://{host}/x.pdf")) or "tunnel" in told
    assert refused("https://papers.example/x.pdf", to(address))
    assert refused("https://papers.example/x.pdf", to(PUBLIC, address))


@pytest.mark.parametrize(
    "address", [PUBLIC, "8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "2a00:1450:4001::5e"]
)
def test_public_addresses_are_asked(address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    assert to().target(f"http://{host}/x.pdf").address == str(ip_address(address))
    assert to(address).target("https://papers.example/").address == str(ip_address(address))


@pytest.mark.parametrize("host", SPELLINGS)
def test_numbers_in_other_spellings_are_no_hosts(host: str) -> None:
    assert refused(f"http://{host}/x.pdf")


@pytest.mark.parametrize("url", TRICKS)
def test_other_schemes_and_tricks_of_urls_are_refused(url: str) -> None:
    assert refused(url)


def test_a_name_without_an_address_is_refused() -> None:
    def nowhere(_host: str, _port: int) -> list[str]:
        raise OSError("no such name")

    assert "no address" in refused("https://papers.example/", AddressPolicy(lookup=nowhere))
    assert "no address" in refused("https://papers.example/", to())


def test_named_pairs_of_host_and_port_may_be_private_and_no_others() -> None:
    policy = to("10.0.0.5", allow=["library.uni.example:8443", "127.0.0.1:9000"])
    assert policy.target("https://library.uni.example:8443/login").address == "10.0.0.5"
    assert policy.target("http://127.0.0.1:9000/x").address == "127.0.0.1"
    assert refused("https://library.uni.example/login", policy)
    assert refused("http://127.0.0.1:9001/x", policy)
    assert refused("http://localhost:9000/x", policy)


@pytest.mark.parametrize("address", ["169.254.169.254", "fd00:ec2::254", "fe80::1", "0.0.0.0", "224.0.0.1"])
def test_no_configuration_opens_link_local_and_metadata_addresses(address: str) -> None:
    assert refused("http://meta.example:80/", to(address, allow=["meta.example:80"]))


@given(
    HOSTS,
    st.sampled_from(["http", "https"]),
    st.integers(1, 65_535),
    st.sampled_from(["", "/", "/a/b.pdf?c=d#e"]),
)
def test_ordinary_urls_are_read_as_they_are(host: str, scheme: str, port: int, path: str) -> None:
    target = to(PUBLIC).target(f"{scheme}://{host}:{port}{path}")
    assert (target.url.host, target.address) == (host, PUBLIC)


@given(st.ip_addresses(v=4))
def test_no_spelling_of_an_ipv4_address_gets_past_what_its_usual_form_does(address: IPv4Address) -> None:
    a, b, c, d = address.packed
    number = int(address)
    spellings = [
        str(number), hex(number), f"0{number:o}", f"{a:#x}.{b}.{c}.{d}", f"{a}.{(b << 16) + (c << 8) + d}", f"{a}.{b}.{(c << 8) + d}",
        f"0{a:o}.{b}.{c}.{d}", f"0{a:o}.0{b:o}.0{c:o}.0{d:o}",
    ]  # fmt: skip
    for spelling in spellings:
        if spelling != str(address):
            assert refused(f"http://{spelling}/", to(str(address)))
    if why_refused(address):
        assert refused(f"http://{address}/")


@given(st.ip_addresses(v=4))
def test_ipv6_forms_of_ipv4_addresses_are_all_refused(address: IPv4Address) -> None:
    number = int(address)
    for base in ("::ffff:0:0", "::", "64:ff9b::", "::ffff:0:0:0"):
        assert why_refused(IPv6Address(int(IPv6Address(base)) + number))
    assert why_refused(IPv6Address((0x2002 << 112) + (number << 80)))


@given(st.ip_addresses(v=6))
def test_only_global_unicast_ipv6_is_asked(address: IPv6Address) -> None:
    if why_refused(address) is None:
        assert address.is_global
        assert not address.is_multicast
        assert (address.ipv4_mapped, address.sixtofour, address.teredo) == (None, None, None)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    for url in (text, f"http://{text}", f"https://papers.example/{text}"):
        try:
            found = read_url(url)
        except RefusedAddressError:
            continue
        assert found.scheme in ("http", "https")
        assert found.host
