"""Running text of JATS elements: markup is dropped, spacing normalised, scripts and formulae made readable.

Superscripts become `10^-5` and `m^2`, subscripts are joined (`H2O`), superscript citations become `[3]`.
"""

from __future__ import annotations

import re

from qagen_dagster.formats.jats.math import formula_text, math_text, tex_text
from qagen_dagster.formats.jats.tree import Element, local, text_of

_BLOCK_NAMES = (
    "array boxed-text chem-struct-wrap code def-list disp-formula disp-formula-group disp-quote fig "
    "fig-group graphic list media preformat speech statement supplementary-material table-wrap "
    "table-wrap-group verse-group"
)
_DROPPED_NAMES = (
    "object-id contrib-id institution-id inline-graphic graphic media annotation annotation-xml fn "
    "index-term x processing-meta alt-text long-desc private-char"
)
BLOCKS = frozenset(_BLOCK_NAMES.split())
_DROPPED = frozenset(_DROPPED_NAMES.split())
_ORDINAL = re.compile(r"(?:st|nd|rd|th|TM|®|™|©)")
_BEFORE = re.compile(r" (?=[,;)\]](?:\W|\s|$)|[.:!?](?:\s|$))")
_AFTER = re.compile(r"(?<=[(\[]) ")
_EMPTY = re.compile(r" (?:\(\s*[,;]?\s*\)|\[\s*[,;]?\s*\])")


def inline(element: Element | None) -> str:
    """An element's text on one line, without block elements inside it. Empty for None."""
    if element is None:
        return ""
    parts: list[str] = []
    _walk(element, parts)
    return tidy("".join(parts))


def tidy(text: str) -> str:
    """Single spaces, none before a closing mark or after an opening bracket, no empty brackets."""
    text = " ".join(text.split())
    return _AFTER.sub("", _BEFORE.sub("", _EMPTY.sub("", text)))


def piece(element: Element, before: str = "") -> str:
    """One inline element's text without its tail, with its spacing; `before` is the text in front of it."""
    parts = [before]
    _element(element, parts)
    return "".join(parts[1:])


def _walk(element: Element, parts: list[str]) -> None:
    parts.append(element.text or "")
    for child in element:
        if local(child):
            _element(child, parts)
        parts.append(child.tail or "")


def _element(element: Element, parts: list[str]) -> None:
    name = local(element)
    if name in _DROPPED or name in BLOCKS:
        return
    if name in ("break", "p", "title") and parts:
        parts.append(" ")
    special = _SPECIAL.get(name)
    if special is None:
        _walk(element, parts)
    else:
        special(element, parts)


def _superscript(element: Element, parts: list[str]) -> None:
    inner: list[str] = []
    _walk(element, inner)
    text = tidy("".join(inner))
    if not text:
        return
    before = next((part for part in reversed(parts) if part), "")
    attached = bool(before) and not before[-1].isspace()
    if any(local(one) == "xref" and one.get("ref-type") == "bibr" for one in element.iter()):
        parts.append(text if text.startswith(("[", "(")) else f"{' ' if attached else ''}[{text}]")
    elif text in ("o", "∘") and attached and before[-1].isdigit():
        parts.append("°")
    elif not attached or before[-1] in "([," or _ORDINAL.fullmatch(text):
        parts.append(text)
    else:
        parts.append(f"^({text})" if " " in text else f"^{text}")


def _formula(element: Element, parts: list[str]) -> None:
    parts.append(formula_text(element))


def _alternatives(element: Element, parts: list[str]) -> None:
    if any(local(one) in ("tex-math", "math") for one in element):
        parts.append(formula_text(element))
    else:
        _walk(element, parts)


def _tex(element: Element, parts: list[str]) -> None:
    parts.append(f"${tex_text(text_of(element))}$")


def _math(element: Element, parts: list[str]) -> None:
    parts.append(math_text(element))


def _identifier(element: Element, parts: list[str]) -> None:
    # Numbers of literature databases mean nothing to a reader, and publishers set no mark before them.
    if element.get("pub-id-type") not in ("pmid", "pmcid"):
        _walk(element, parts)


def _name(element: Element, parts: list[str]) -> None:
    parts.append(person(element))


def person(name: Element, *, given_first: bool = False) -> str:
    """A `name` or `string-name` as "Surname Given Suffix", or given names first."""
    found = {local(one): " ".join(text_of(one).split()) for one in name}
    surname, given = found.get("surname", ""), found.get("given-names", "")
    if not surname and not given:
        return " ".join(text_of(name).split())
    ordered = (given, surname) if given_first else (surname, given)
    return " ".join(part for part in (*ordered, found.get("suffix", "")) if part)


_SPECIAL = {
    "sup": _superscript,
    "inline-formula": _formula,
    "alternatives": _alternatives,
    "tex-math": _tex,
    "math": _math,
    "pub-id": _identifier,
    "name": _name,
    "string-name": _name,
}
