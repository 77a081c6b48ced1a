r"""Renders texts of items as HTML, with formulas as MathML, or between \( \) for pages that typeset them by script."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from qagen_dagster.publishing.mathml import mathml
from qagen_dagster.publishing.segments import Segment, split, xml_text


def with_mathml(text: str) -> str:
    """Inline HTML that is also well-formed XML. A formula that cannot be converted is shown as it was written."""
    return _html(text, _set)


def with_fences(text: str) -> str:
    r"""Flowing HTML whose formulas stand between \( \) or \[ \]."""
    return _html(text, _fenced)


def paragraphs(text: str, flow: Callable[[str], str]) -> str:
    """`p` elements, parted at empty lines."""
    parts = [part.strip() for part in _parts(text)]
    return "".join(f"<p>{flow(part)}</p>" for part in parts if part)


def _parts(text: str) -> list[str]:
    parts: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.strip():
            parts[-1].append(line)
        else:
            parts.append([])
    return ["\n".join(part) for part in parts]


def _html(text: str, formula: Callable[[Segment], str]) -> str:
    return "".join(
        _prose(segment.text) if segment.kind == "prose" else formula(segment) for segment in split(text)
    )


def _prose(text: str) -> str:
    return escape(xml_text(text), quote=False).replace("\n", "<br/>")


def _set(segment: Segment) -> str:
    found = mathml(segment.text, display=segment.kind == "display")
    return f"<code>{escape(xml_text(segment.text), quote=False)}</code>" if found is None else found


def _fenced(segment: Segment) -> str:
    opening, closing = (r"\[", r"\]") if segment.kind == "display" else (r"\(", r"\)")
    return f"{opening}{escape(xml_text(segment.text), quote=False)}{closing}"
