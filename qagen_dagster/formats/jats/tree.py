"""Safe XML parsing, and small helpers to read the tree.

The parser loads no DTD, fetches nothing, expands only XML's five entities, and bounds depth and text size. Named
characters of HTML and ISO (`&alpha;`) are replaced from a local table before parsing.
"""

from __future__ import annotations

import html.entities
import re
from collections.abc import Iterator
from typing import TypeAlias, cast

from lxml import etree

from qagen_dagster.errors import DocumentError

Element: TypeAlias = etree._Element  # pyright: ignore[reportPrivateUsage]  lxml has no public name

_NAMED = re.compile(rb"&([A-Za-z][A-Za-z0-9]{1,31});")
_XML_FIVE = frozenset({b"amp", b"lt", b"gt", b"quot", b"apos"})
_WIDE = (b"\xff\xfe", b"\xfe\xff", b"<\x00", b"\x00<")


def read_tree(data: bytes) -> Element:
    """The root element. Raises DocumentError `corrupt` with the place of the first error."""
    parser = etree.XMLParser(
        resolve_entities=False,
        load_dtd=False,
        dtd_validation=False,
        attribute_defaults=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    if not data.startswith(_WIDE):
        data = _NAMED.sub(_character, data)
    try:
        root: Element | None = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise DocumentError("corrupt", f"not well-formed XML: {error.msg}") from error
    if root is None:
        raise DocumentError("corrupt", "no element in the file")
    return root


def local(element: Element) -> str:
    """The element's name without its namespace; empty for entity references and other non-elements."""
    tag = cast("object", element.tag)  # a function for anything that is not an element
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def children(element: Element) -> list[Element]:
    """The child elements."""
    return [one for one in element if local(one)]


def named(element: Element, *names: str) -> list[Element]:
    """The child elements with one of these names."""
    return [one for one in element if local(one) in names]


def first(element: Element | None, *path: str) -> Element | None:
    """The first element down a path of child names, or None."""
    for name in path:
        if element is None:
            return None
        element = next((one for one in element if local(one) == name), None)
    return element


def below(element: Element, *names: str) -> Iterator[Element]:
    """All descendants with one of these names, in document order."""
    return (one for one in element.iter() if one is not element and local(one) in names)


def text_of(element: Element) -> str:
    """All text below an element, without markup."""
    return "".join(str(part) for part in element.itertext())


def line_of(element: Element | None) -> str:
    """All text below an element, single-spaced; empty for None."""
    return "" if element is None else " ".join(text_of(element).split())


def href(element: Element) -> str | None:
    """The `xlink:href` of the first picture below an element, else of a `media` child, else None."""
    for one in (*below(element, "graphic", "inline-graphic"), *named(element, "media")):
        found = one.get("{http://www.w3.org/1999/xlink}href") or one.get("href")
        if found:
            return found
    return None


def _character(found: re.Match[bytes]) -> bytes:
    if found[1] in _XML_FIVE:
        return found[0]
    known = html.entities.html5.get(found[1].decode("ascii") + ";")
    if known is None:
        return found[0]
    return "".join(f"&#{ord(char)};" for char in known).encode("ascii")
