"""The running parts of a JATS article: sections, paragraphs, lists, floats and notes."""

from __future__ import annotations

import re
from collections.abc import Callable

from qagen_dagster.formats.jats.inline import BLOCKS, inline, piece, tidy
from qagen_dagster.formats.jats.math import formula_text
from qagen_dagster.formats.jats.references import citation_text, reference_lines
from qagen_dagster.formats.jats.tables import table_rows
from qagen_dagster.formats.jats.tree import (
    Element,
    below,
    children,
    first,
    href,
    line_of,
    local,
    named,
    text_of,
)
from qagen_dagster.formats.jats.writer import Writer
from qagen_dagster.formats.wrap import wrap
from qagen_dagster.records.document import VisualType

_OWN_DOI = re.compile(r"DOI:? ?(?:https?://\S+|10\.\S+)")
_FLOATS = frozenset(
    {"fig", "fig-group", "table-wrap", "table-wrap-group", "boxed-text", "supplementary-material"}
)
_BULLETS = {"order": "{n}. ", "alpha-lower": "{a}. ", "alpha-upper": "{A}. ", "simple": "", "none": ""}
_SKIPPED_NAMES = (
    "title label object-id sec-meta alt-text long-desc permissions attrib-group abstract kwd-group "
    "corresp related-object related-article counts funding-group"
)
_SKIPPED = frozenset(_SKIPPED_NAMES.split())


class BodyWriter:
    """Writes elements to a `Writer`; `level` is the depth of the surrounding section."""

    def __init__(self, writer: Writer) -> None:
        self._out = writer
        self._handlers: dict[str, Callable[[Element, int], None]] = {
            "p": self._paragraph,
            "sec": self.section,
            "ack": self._titled("Acknowledgements"),
            "app": self.section,
            "app-group": self.section,
            "glossary": self._titled("Glossary"),
            "notes": self.section,
            "bio": self.section,
            "fn-group": self._titled("Notes"),
            "author-notes": self._titled("Author notes"),
            "ref-list": self._references,
            "boxed-text": self._box,
            "statement": self.section,
            "list": self._list,
            "def-list": self._definitions,
            "fig": self._figure,
            "fig-group": self._each,
            "table-wrap-group": self._each,
            "disp-formula-group": self._each,
            "table-wrap": self._table,
            "disp-formula": self._formula,
            "media": self._supplement,
            "supplementary-material": self._supplement,
            "code": self._verbatim,
            "preformat": self._verbatim,
            "verse-group": self._each,
            "fn": self._each,
        }

    def write(self, element: Element, level: int) -> None:
        """Write one element by its kind. An unknown one is written by its blocks, or as a paragraph if it has none."""
        name = local(element)
        if name in _SKIPPED or not name:
            return
        handler = self._handlers.get(name)
        if handler:
            handler(element, level)
        elif any(local(one) in BLOCKS or local(one) in ("p", "sec") for one in element):
            self._each(element, level)
        else:
            self._paragraph(element, level)

    def section(self, element: Element, level: int) -> None:
        """A section: its heading, then its content one level deeper."""
        self._under(heading_of(element), element, level)

    def _box(self, element: Element, level: int) -> None:
        before = self._out.mark()
        self.section(element, level)
        self._out.close_headings(before)

    def _titled(self, otherwise: str) -> Callable[[Element, int], None]:
        def write(element: Element, level: int) -> None:
            self._under(heading_of(element) or otherwise, element, level)

        return write

    def _under(self, title: str, element: Element, level: int) -> None:
        before = self._out.mark()
        self._out.heading(title, level)
        self._each(element, level + 1 if title else level)
        self._out.drop_empty_headings(before)

    def _each(self, element: Element, level: int) -> None:
        for child in children(element):
            self.write(child, level)

    def _paragraph(self, element: Element, level: int) -> None:
        """Write text, with lists and formulae at their places in it; floats come after the paragraph."""
        floats: list[Element] = []
        buffer = [element.text or ""]
        for child in element:
            name = local(child)
            if name in _FLOATS:
                floats.append(child)
            elif name in BLOCKS:
                self._flush(buffer)
                self.write(child, level)
            elif name and any(local(one) in BLOCKS for one in child.iter()):
                self._flush(buffer)
                self._paragraph(child, level)
            elif name:
                buffer.append(piece_after(buffer, child))
            buffer.append(child.tail or "")
        self._flush(buffer)
        self._footnotes(element, level)
        for one in floats:
            self.write(one, level)

    def _footnotes(self, element: Element, level: int) -> None:
        for note in named(element, "fn"):
            self._each(note, level)

    def _flush(self, buffer: list[str]) -> None:
        text = tidy("".join(buffer))
        buffer.clear()
        if text and not _OWN_DOI.fullmatch(text) and any(char.isalnum() for char in text):
            self._out.paragraph(text)

    def _list(self, element: Element, level: int, depth: int = 0) -> None:
        style = _BULLETS.get(element.get("list-type", ""), "- ")
        indent = "  " * depth
        for number, item in enumerate(named(element, "list-item"), start=1):
            mark = line_of(first(item, "label"))
            letter = chr(ord("a") + (number - 1) % 26)
            mark = f"{mark} " if mark else style.format(n=number, a=letter, A=letter.upper())
            for child in children(item):
                if local(child) == "list":
                    self._list(child, level, depth + 1)
                elif local(child) not in ("label", "title"):
                    before = self._out.count
                    self._item(child, level, indent + mark, indent + " " * len(mark))
                    if self._out.count > before:
                        mark = " " * len(mark)

    def _item(self, element: Element, level: int, mark: str, rest: str) -> None:
        if local(element) == "p" and not any(local(one) in BLOCKS for one in element):
            self._out.item(inline(element), first=mark, rest=rest)
        else:
            self.write(element, level)

    def _definitions(self, element: Element, level: int) -> None:
        self._out.heading(heading_of(element), level)
        for item in named(element, "def-item"):
            term = inline(first(item, "term"))
            meaning = " ".join(inline(one) for one in named(item, "def"))
            self._out.paragraph(tidy(f"{term}: {meaning}" if meaning else term))

    def _figure(self, element: Element, level: int) -> None:
        label, caption = label_of(element), caption_of(element)
        start = self._captioned(element, label)
        if start is not None:
            self._out.visual(VisualType.FIGURE, label, joined(label, caption), start, reference=href(element))

    def _table(self, element: Element, level: int) -> None:
        label, caption = label_of(element), caption_of(element)
        start = self._captioned(element, label)
        for table in below(element, "table"):
            rows = table_rows(table)
            if rows and start is None:
                start = self._out.block(rows)
            else:
                self._out.append(rows)
        texts = [text for part in named(element, "table-wrap-foot") for text in _notes(part)]
        lines = [line for text in texts for line in wrap(text)]
        if start is not None:
            self._out.append(lines)
            self._out.visual(VisualType.TABLE, label, joined(label, caption), start, reference=href(element))

    def _captioned(self, element: Element, label: str) -> int | None:
        """Write label and title on the first line and the rest of the caption below; return the first line's number."""
        caption = first(element, "caption")
        texts = [inline(first(caption, "title"))] if caption is not None else []
        paragraphs = named(caption, "p") if caption is not None else []
        texts.extend(text for one in paragraphs if not _OWN_DOI.fullmatch(text := inline(one)))
        text = tidy(" ".join(text for text in texts if text))
        start = self._out.paragraph(joined(label, text)) if label or text else None
        for one in paragraphs:
            for formula in below(one, "disp-formula"):
                self._out.append([formula_text(formula)])
        return start

    def _formula(self, element: Element, level: int) -> None:
        text, label = formula_text(element), line_of(first(element, "label"))
        number = label.strip("()[]. ")
        if not text and not label:
            return
        start = self._out.block([f"{text} ({number})" if number and text else text or label])
        if start is not None:
            name = f"Equation {number}" if number and len(number) < 12 else ""
            self._out.visual(VisualType.FORMULA, name, text, start, reference=href(element))

    def _supplement(self, element: Element, level: int) -> None:
        self._captioned(element, label_of(element))

    def _verbatim(self, element: Element, level: int) -> None:
        text = text_of(element).replace("\r", "").expandtabs(4).strip("\n")
        self._out.block([line.rstrip() for line in text.split("\n")] if text.strip() else [])

    def _references(self, element: Element, level: int) -> None:
        self._out.heading(heading_of(element) or "References", level)
        lines = [line for ref in named(element, "ref") for line in reference_lines(ref)]
        self._out.block(lines)
        for one in named(element, "ref-list", "p"):
            self.write(one, level + 1)


def _notes(foot: Element) -> list[str]:
    """Footnotes of a table, each with its mark as cells show it ("^a Text")."""
    texts: list[str] = []
    for one in below(foot, "p"):
        parent = one.getparent()
        label = line_of(first(parent, "label")) if parent is not None and local(parent) == "fn" else ""
        mark = next((child for child in one if local(child) == "sup"), None)
        text = inline(one)
        if mark is not None and not (one.text or "").strip() and one[0] is mark:
            sign = inline(mark)
            text = f"^{sign} {text.removeprefix(sign).lstrip()}"
        if text and not _OWN_DOI.fullmatch(text):
            texts.append(f"{label} {text}" if label and not text.startswith(label) else text)
    return texts


def piece_after(buffer: list[str], element: Element) -> str:
    """An inline element's text; `buffer` holds the text before it, which a superscript depends on."""
    if local(element) in ("element-citation", "mixed-citation"):
        return citation_text(element)
    before = next((part for part in reversed(buffer) if part), "")
    return piece(element, before)


def heading_of(element: Element) -> str:
    """Label and title of a section-like element, on one line."""
    title = inline(first(element, "title")) or inline(first(element, "caption", "title"))
    label = line_of(first(element, "label"))
    return tidy(f"{label} {title}") if label and title else title or label.rstrip(".:")


def label_of(element: Element) -> str:
    """A float's label without trailing punctuation."""
    return line_of(first(element, "label")).rstrip(".:| ")


def caption_of(element: Element) -> str:
    """Title and text of a caption as one line."""
    caption = first(element, "caption")
    texts = [inline(one) for one in children(caption)] if caption is not None else []
    return tidy(" ".join(text for text in texts if text and not _OWN_DOI.fullmatch(text)))


def joined(label: str, caption: str) -> str:
    """ "Table 1. Caption" from those parts that exist."""
    return f"{label}. {caption}" if label and caption else label or caption
