"""The pieces of Moodle's XML that all its questions are made of. Which questions there are is the exporters' to say."""

from __future__ import annotations

from typing import TypeAlias

from lxml import etree

from qagen_dagster.publishing.segments import xml_text

Element: TypeAlias = etree._Element  # pyright: ignore[reportPrivateUsage]  lxml has no public name


def text_of(parent: Element, name: str, value: str) -> Element:
    """A child that holds text."""
    child = etree.SubElement(parent, name)
    etree.SubElement(child, "text").text = xml_text(value)
    return child


def html_of(parent: Element, name: str, value: str) -> Element:
    """A child that holds HTML."""
    child = text_of(parent, name, value)
    child.set("format", "html")
    return child


def category(*steps: str) -> Element:
    """The pseudo question that puts those behind it into a category; Moodle reads `//` in a step as a slash."""
    question = etree.Element("question", {"type": "category"})
    path = "/".join(" ".join(step.replace("/", "//").split()) for step in steps)
    text_of(question, "category", f"$course$/top/{path}")
    return question


def written(root: Element) -> dict[str, bytes]:
    """The one file of an export."""
    etree.indent(root, " ")
    return {"moodle.xml": etree.tostring(root, xml_declaration=True, encoding="UTF-8") + b"\n"}
