r"""Converts formulas to MathML, which browsers display by themselves. Only this module uses the converter.

Models wrote the formulas: the converter escapes its output and knows no command that could load, link or run anything.
"""

from __future__ import annotations

import re
from functools import cache
from html import unescape
from typing import TypeAlias

from lxml import etree
from math_core import LatexError, LatexToMathML

from qagen_dagster.publishing.segments import xml_text

Element: TypeAlias = etree._Element  # pyright: ignore[reportPrivateUsage]  lxml has no public name

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
LONGEST = 4000  # characters; longer formulas are shown as written
_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z]+;")  # HTML entities that XML does not have
_KEPT = {  # attributes that MathML 2, 3 and Core all have
    "math": {"display"},
    "mi": {"mathvariant"},
    "mo": {"stretchy", "form", "fence", "minsize", "maxsize", "largeop"},
    "mspace": {"width"},
    "mfrac": {"linethickness"},
    "mover": {"accent"},
    "munder": {"accentunder"},
}


def mathml(latex: str, *, display: bool = False) -> str | None:
    """A `math` element as well-formed XML with its namespace; None if the formula cannot be converted."""
    if len(latex) > LONGEST:
        return None
    try:
        found = _converter().convert_with_local_state(xml_text(latex), displaystyle=display)
    except LatexError:
        return None
    return _ENTITY.sub(lambda entity: unescape(entity[0]), found)


def plain_mathml(latex: str, *, display: bool = False) -> Element | None:
    """The same with only what every version of MathML has, for strict or old readers."""
    found = mathml(latex, display=display)
    if found is None:
        return None
    root = etree.fromstring(found, etree.XMLParser(resolve_entities=False, no_network=True))
    for element in list(root.iter()):
        _simplify(element)
    return root


def _simplify(element: Element) -> None:
    name = etree.QName(element).localname
    style = element.get("displaystyle")
    for key in set(map(str, element.attrib)) - _KEPT.get(name, set[str]()):
        del element.attrib[key]
    parent = element.getparent()
    if style is None or parent is None:
        return
    wrapper = etree.SubElement(parent, f"{{{NAMESPACE}}}mstyle", {"displaystyle": style})
    parent.replace(element, wrapper)
    wrapper.append(element)


@cache
def _converter() -> LatexToMathML:
    return LatexToMathML(xml_namespace=True, fancy_error=False, max_expansions=200)
