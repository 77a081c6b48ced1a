"""Checks URLs before a request: only public addresses by http or https are allowed, and private ones that are configured.

A document can name any URL. Without this check, it could make this machine send requests into its own network.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import httpx

Address = IPv4Address | IPv6Address
Lookup = Callable[[str, int], Sequence[str]]

_PORTS = {"http": 80, "https": 443}
_LONGEST_URL = 4_000
_UNPRINTABLE = re.compile(r"[\x00-\x20\x7f\\]")
_NUMBER = re.compile(r"(?:0[xX][0-9a-fA-F]*|[0-9]+)")
_NEVER_V4 = tuple(
    map(
        IPv4Network,
        (
            "192.0.0.0/24",  # special services of a network; Python counts parts of it as public
            "192.88.99.0/24",  # relays to 6to4
            "168.63.129.16/32",  # a cloud's wire server, on an address that looks public
        ),
    )
)
_UNICAST_V6 = IPv6Network("2000::/3")  # other IPv6 is local, reserved, multicast, mapped or translated
_TUNNELS_V6 = tuple(map(IPv6Network, ("2001::/32", "2002::/16", "3fff::/20")))  # Teredo, 6to4, examples
_ISATAP = (0x00005EFE, 0x02005EFE)  # interface identifiers that hide an IPv4 address


class RefusedAddressError(Exception):
    """A URL is not allowed; the message says why."""


@dataclass(frozen=True)
class Target:
    """An allowed URL, and the checked address to connect to."""

    url: httpx.URL
    address: str


@dataclass(frozen=True)
class AddressPolicy:
    """Checks URLs.

    Args:
        allow_private: `host:port` pairs that may have loopback or private addresses.
        lookup: returns the addresses of a host name; the default is the system's resolver.
    """

    allow_private: frozenset[str] = frozenset()
    lookup: Lookup = lambda host, port: _system_lookup(host, port)

    def target(self, url: str | httpx.URL) -> Target:
        """The URL with an address that was checked. Raises RefusedAddressError.

        Every address of the host must be allowed, not only the one that is used.
        """
        checked = read_url(url)
        port = checked.port or _PORTS[checked.scheme]
        named = f"{checked.host}:{port}".lower() in self.allow_private
        addresses = self._addresses(checked.host, port)
        for address in addresses:
            why = why_refused(address, private=named)
            if why:
                raise RefusedAddressError(f"{checked.host} is {address}, {why}")
        return Target(checked, str(addresses[0]))

    def _addresses(self, host: str, port: int) -> list[Address]:
        try:
            return [ip_address(host)]
        except ValueError:
            pass
        try:
            found = [ip_address(one) for one in self.lookup(host, port)]
        except (OSError, UnicodeError, ValueError):
            found = []
        if not found:
            raise RefusedAddressError(f"{host} has no address")
        return found


def read_url(url: str | httpx.URL) -> httpx.URL:
    """The URL in the form for a request. Raises RefusedAddressError if it is no plain http(s) address."""
    text = str(url)
    if len(text) > _LONGEST_URL or _UNPRINTABLE.search(text):
        raise RefusedAddressError("the URL is too long or holds blanks, backslashes or control characters")
    try:
        parsed = httpx.URL(text)
        host = parsed.host
    except (httpx.InvalidURL, UnicodeError, ValueError):
        raise RefusedAddressError("the URL cannot be read") from None
    if parsed.scheme not in _PORTS:
        raise RefusedAddressError(f"{parsed.scheme or 'no scheme'} is neither http nor https")
    if parsed.userinfo:
        raise RefusedAddressError("the URL carries a user name")
    if not host or "%" in host or host.strip(".") != host.rstrip("."):
        raise RefusedAddressError("the URL names no host")
    if parsed.port is not None and not 1 <= parsed.port <= 65_535:
        raise RefusedAddressError(f"there is no port {parsed.port}")
    _check_spelling(parsed.raw_host.decode("ascii", "replace"))
    return parsed


def _check_spelling(host: str) -> None:
    """Refuse a numeric host in any form but the usual one: octal, hexadecimal, short or long."""
    if ":" in host or not _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]):
        return
    try:
        usual = str(IPv4Address(host)) == host
    except ValueError:
        usual = False
    if not usual:
        raise RefusedAddressError(f"{host} is an address in an unusual form")


def why_refused(address: Address, *, private: bool = False) -> str | None:
    """Why an address is not allowed; None if it is.

    `private` allows loopback and private addresses, but never link-local ones, where cloud providers serve secrets.
    """
    if private and (address.is_loopback or _is_home(address)):
        return None
    if isinstance(address, IPv6Address):
        return _why_refused_v6(address)
    if address.is_multicast or not address.is_global or address.is_reserved:
        return "which is not public"
    return "which is not public" if any(address in net for net in _NEVER_V4) else None


def _is_home(address: Address) -> bool:
    nets = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
    if isinstance(address, IPv4Address):
        return any(address in IPv4Network(net) for net in nets)
    return address in IPv6Network("fc00::/7") and address != IPv6Address("fd00:ec2::254")


def _why_refused_v6(address: IPv6Address) -> str | None:
    if address not in _UNICAST_V6 or not address.is_global or address.scope_id:
        return "which is not public"
    if any(address in net for net in _TUNNELS_V6):
        return "which leads into a tunnel"
    if (int(address) >> 32) & 0xFFFFFFFF in _ISATAP:
        return "which leads into a tunnel"
    return None


def _system_lookup(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return [str(entry[4][0]) for entry in found]
