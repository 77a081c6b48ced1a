"""References of JATS articles, one line each.

A mixed citation has its own punctuation and is copied. An element citation has none, so its parts are put in the
usual order: authors, year, title, source, volume, pages, DOI.
"""

from __future__ import annotations

from qagen_dagster.formats.jats.inline import inline, person, tidy
from qagen_dagster.formats.jats.tree import Element, below, first, line_of, local, named

_MAX_AUTHORS = 20
_CITATIONS = ("mixed-citation", "element-citation", "citation", "nlm-citation")


def reference_lines(ref: Element) -> list[str]:
    """One line for each citation of a `ref`; its label precedes the first."""
    lines = [text for one in _citations(ref) if (text := citation_text(one))]
    if not lines:
        lines = [text for one in named(ref, "note") if (text := inline(one))]
    label = line_of(first(ref, "label")).rstrip(".")
    if label and lines:
        lines[0] = f"{label} {lines[0]}" if label.startswith(("[", "(")) else f"{label}. {lines[0]}"
    return lines


def citation_text(citation: Element) -> str:
    """A citation as one line."""
    written = (citation.text or "") + "".join(child.tail or "" for child in citation)
    if local(citation) == "mixed-citation" and written.strip(" \n\t,.;"):
        return inline(citation)
    return _composed(citation)


def _citations(ref: Element) -> list[Element]:
    return list(below(ref, *_CITATIONS))


def _composed(citation: Element) -> str:
    said = {local(one): inline(one) for one in reversed(list(citation)) if local(one)}
    parts = [_authors(citation)]
    if said.get("year"):
        parts[0] = f"{parts[0]} ({said['year']})".strip()
    for name in ("article-title", "chapter-title", "data-title", "trans-title", "part-title"):
        if said.get(name):
            parts.append(said[name])
    parts.append(_place(said))
    parts.extend(said[name] for name in ("edition", "conf-name", "version") if said.get(name))
    publisher = ": ".join(said[name] for name in ("publisher-loc", "publisher-name") if said.get(name))
    parts.extend((publisher, said.get("comment", ""), said.get("patent", "")))
    text = ". ".join(part.rstrip(".") for part in parts if part)
    identifiers = [_identifier(one) for one in named(citation, "pub-id")]
    links = [said["ext-link"]] if said.get("ext-link") and not identifiers else []
    ends = " ".join(one for one in (*identifiers, *links) if one)
    return tidy(f"{text}. {ends}" if text and ends else text or ends)


def _place(said: dict[str, str]) -> str:
    """ "Source 12(3):45-67" from those parts that exist."""
    volume = said.get("volume", "") + (f"({said['issue']})" if said.get("issue") else "")
    pages = said.get("elocation-id", "") or said.get("fpage", "")
    if said.get("lpage") and said.get("fpage") and not said.get("elocation-id"):
        pages += f"-{said['lpage']}"
    numbers = ":".join(part for part in (volume, pages) if part)
    return " ".join(part for part in (said.get("source", ""), numbers) if part)


def _authors(citation: Element) -> str:
    groups = named(citation, "person-group") or [citation]
    names: list[str] = []
    for one in (name for group in groups for name in group):
        kind = local(one)
        if kind in ("name", "string-name"):
            names.append(person(one))
        elif kind in ("collab", "anonymous"):
            names.append(inline(one) or "Anonymous")
        elif kind == "etal":
            names.append("et al")
    if len(names) > _MAX_AUTHORS:
        names = [*names[:_MAX_AUTHORS], "et al"]
    return ", ".join(name for name in names if name)


def _identifier(identifier: Element) -> str:
    kind, text = identifier.get("pub-id-type", ""), line_of(identifier)
    return f"doi:{text}" if kind == "doi" and text else ""
