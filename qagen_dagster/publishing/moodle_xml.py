"""The XML elements that all Moodle questions have in common, for the exporters to Moodle."""

from __future__ import annotations

from typing import TypeAlias

from lxml import etree

from qagen_dagster.publishing.segments import xml_text

Element: TypeAlias = etree._Element  # pyright: ignore[reportPrivateUsage]  lxml has no public name


def text_of(parent: Element, name: str, value: str) -> Element:
    """Add a child element with text."""
    child = etree.SubElement(parent, name)
    etree.SubElement(child, "text").text = xml_text(value)
    return child


def html_of(parent: Element, name: str, value: str) -> Element:
    """Add a child element with HTML."""
    child = text_of(parent, name, value)
    child.set("format", "html")
    return child


def category(*steps: str) -> Element:
    """The pseudo question that puts the following ones into a category. Moodle reads `//` in a name as a slash."""
    question = etree.Element("question", {"type": "category"})
    path = "/".join(" ".join(step.replace("/", "//").split()) for step in steps)
    text_of(question, "category", f"$course$/top/{path}")
    return question


def written(root: Element) -> dict[str, bytes]:
    """The content of the only file of an export."""
    etree.indent(root, " ")
    return {"moodle.xml": etree.tostring(root, xml_declaration=True, encoding="UTF-8") + b"\n"}
