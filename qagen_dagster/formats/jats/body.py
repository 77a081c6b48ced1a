"""Writes the content of a JATS article as lines: sections, paragraphs, lists, floats, notes and references.

A `Writer` collects the lines and records the lines of headings and visuals. A citation is one line. A mixed citation has its own
punctuation and is copied. An element citation has no punctuation, so its parts are put in the usual order: authors, year, title, source,
volume, pages, DOI.
"""

import re
from collections.abc import Callable, Iterable, Sequence

from qagen_dagster.formats.base import Labels, caption_label
from qagen_dagster.formats.jats.inline import (
    BLOCKS,
    Element,
    add_text,
    below,
    children,
    first,
    formula_text,
    href,
    inline,
    line_of,
    local,
    named,
    person,
    segments,
    text_of,
    tidy,
)
from qagen_dagster.formats.jats.tables import table_rows
from qagen_dagster.formats.wrap import wrap
from qagen_dagster.records.document import Section, Visual, VisualType

_INLINE = ("inline-formula", "private-char", "inline-graphic")  # a picture in them is a part of the line
_MAX_AUTHORS = 20
_CITATIONS = ("mixed-citation", "element-citation", "citation", "nlm-citation")
_MAX_CAPTION = 2_000  # characters; a longer caption is cut at a word
_MAX_LABEL = 80  # characters; a longer label is a sentence
_MAX_LEVEL = 6  # of headings, as in HTML and Markdown
_OWN_DOI = re.compile(r"DOI:? ?(?:https?://\S+|10\.\S+)")
_FLOATS = frozenset(
    {"fig", "fig-group", "table-wrap", "table-wrap-group", "boxed-text", "supplementary-material"}
)
_BULLETS = {
    "order": "{n}. ", "alpha-lower": "{a}. ", "alpha-upper": "{A}. ", "roman-lower": "{r}. ", "roman-upper": "{R}. ",
    "simple": "", "none": "",
}  # fmt: skip
_UNITS = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")  # of Roman numbers
_CAPTIONED = (
    "fig-group", "table-wrap-group", "disp-formula-group", "media", "supplementary-material", "chem-struct-wrap",
)  # fmt: skip
# Elements that are written elsewhere or are useless to a reader.
_NAMES_OF_SKIPPED = (
    "title label object-id sec-meta alt-text long-desc permissions attrib-group abstract kwd-group "
    "corresp related-object related-article counts funding-group"
)
_SKIPPED = frozenset(_NAMES_OF_SKIPPED.split())


def reference_lines(ref: Element) -> list[str]:
    """One line for each citation of a `ref`, or else for each note. The label begins the first line."""
    lines = [text for citation in below(ref, *_CITATIONS) if (text := citation_text(citation))]
    if not lines:
        lines = [text for note in named(ref, "note") if (text := inline(note))]
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


def _composed(citation: Element) -> str:
    fields = {local(one): inline(one) for one in reversed(list(citation)) if local(one)}
    parts = [_authors(citation)]
    if fields.get("year"):
        parts[0] = f"{parts[0]} ({fields['year']})".strip()
    titles = ("article-title", "chapter-title", "data-title", "trans-title", "part-title")
    parts += [*(fields.get(name, "") for name in titles), _place(fields)]
    parts += [fields.get(name, "") for name in ("edition", "conf-name", "version")]
    publisher = ": ".join(fields[name] for name in ("publisher-loc", "publisher-name") if fields.get(name))
    parts.extend((publisher, fields.get("comment", ""), fields.get("patent", "")))
    text = ". ".join(part.rstrip(".") for part in parts if part)
    identifiers = named(citation, "pub-id")
    dois = (line_of(each) for each in identifiers if each.get("pub-id-type") == "doi")
    ends = " ".join(f"doi:{doi}" for doi in dois if doi)
    ends = ends if identifiers else fields.get("ext-link", "")
    return tidy(f"{text}. {ends}" if text and ends else text or ends)


def _place(fields: dict[str, str]) -> str:
    """ "Source 12(3):45-67" from those parts that exist."""
    volume = fields.get("volume", "") + (f"({fields['issue']})" if fields.get("issue") else "")
    pages = fields.get("elocation-id", "") or fields.get("fpage", "")
    if fields.get("lpage") and fields.get("fpage") and not fields.get("elocation-id"):
        pages += f"-{fields['lpage']}"
    numbers = ":".join(part for part in (volume, pages) if part)
    return " ".join(part for part in (fields.get("source", ""), numbers) if part)


def _authors(citation: Element) -> str:
    names: list[str] = []
    for group, name in ((one, name) for one in named(citation, "person-group") or [citation] for name in one):
        kind = local(name)
        if kind in ("name", "string-name"):
            is_editor = "editor" in group.get("person-group-type", "")
            names.append(person(name) + " (ed)" * is_editor)
        elif kind in ("collab", "anonymous"):
            names.append(inline(name) or "Anonymous")
        elif kind == "etal":
            names.append("et al")
    if len(names) > _MAX_AUTHORS:
        names = [*names[:_MAX_AUTHORS], "et al"]
    return ", ".join(name for name in names if name)


class Writer:
    """Collects lines; an empty line separates blocks."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.sections: list[Section] = []
        self.visuals: list[Visual] = []
        self.blocks = 0  # blocks of any kind except headings
        self._labels = Labels()
        self._item_end = -1

    def heading(self, title: str, level: int) -> None:
        """A heading on a line of its own."""
        if title:
            start = self._block([title])
            self.sections.append(Section(title=title, level=min(level, _MAX_LEVEL), start_line=start))

    def paragraph(self, text: str) -> int | None:
        """Write a paragraph in lines of whole sentences if possible. Returns the number of its first line, or None if there is no text."""
        return self.block(wrap(text))

    def mark(self) -> tuple[int, int, int]:
        """The current position, for `close_headings` and `drop_empty_headings`."""
        return self.count, len(self.sections), self.blocks

    def close_headings(self, mark: tuple[int, int, int]) -> None:
        """End the sections that began since `mark` at the last line written. Later lines are not under their headings."""
        for place in range(mark[1], len(self.sections)):
            self.sections[place] = self.sections[place].model_copy(update={"end_line": self.count})

    def drop_empty_headings(self, mark: tuple[int, int, int]) -> None:
        """Remove the headings written since `mark` if no text followed them."""
        lines, sections, blocks = mark
        if self.blocks == blocks:
            del self.lines[lines:], self.sections[sections:]

    def item(self, text: str, *, first: str, rest: str) -> None:
        """Write a list item, without an empty line between it and the item before."""
        lines = wrap(text)
        if not lines:
            return
        marked = [first + lines[0], *(rest + line for line in lines[1:])]
        self.blocks += 1
        if self._item_end == self.count:
            self.lines.extend(marked)
        else:
            self._block(marked)
        self._item_end = self.count

    def block(self, lines: Sequence[str]) -> int | None:
        """Write lines unchanged, as one block. Returns the number of its first line, or None if there are no lines."""
        if not lines:
            return None
        self.blocks += 1
        return self._block(lines)

    @property
    def count(self) -> int:
        """Number of lines so far."""
        return len(self.lines)

    def visual(
        self, kind: VisualType, label: str, caption: str, start: int, *, reference: str | None = None
    ) -> None:
        """Record a visual that extends from line `start` to the last line written."""
        name = _name(label) or f"{kind.value} at line {start}"
        if len(caption) > _MAX_CAPTION:
            caption = caption[: _MAX_CAPTION - 1].rsplit(" ", 1)[0] + "…"
        self.visuals.append(
            Visual(
                label=self._labels.unique(name),
                type=kind,
                caption=caption,
                reference=reference,
                start_line=start,
                end_line=self.count,
            )
        )

    def _block(self, lines: Sequence[str]) -> int:
        if self.lines:
            self.lines.append("")
        self.lines.extend(lines)
        return self.count - len(lines) + 1


def _name(label: str) -> str:
    """The label as a name: "Fig 1" becomes "Figure 1"; "Figure 1-figure supplement 2" stays."""
    short = caption_label(label)
    if len(label.split()) == 2 and short:
        return short
    return label if len(label) <= _MAX_LABEL else short


class BodyWriter:
    """Writes elements to a `Writer`. The `level` of an element is the level of a heading in it, 1 for the highest."""

    def __init__(self, writer: Writer) -> None:
        self._out = writer
        self._counts: dict[str | None, int] = {}  # the last number of each list, by its id
        self._handlers: dict[str, Callable[[Element, int], object]] = {
            "p": self._paragraph,
            **dict.fromkeys(("sec", "app", "app-group", "notes", "bio", "statement"), self._titled("")),
            "ack": self._titled("Acknowledgements"),
            "glossary": self._titled("Glossary"),
            "fn-group": self._titled("Notes"),
            "author-notes": self._titled("Author notes"),
            "ref-list": self._references,
            "boxed-text": self._box,
            "list": self._list,
            "def-list": self._definitions,
            "fig": self._figure,
            **dict.fromkeys(_CAPTIONED, self._captioned),
            **dict.fromkeys(("table-wrap", "table", "array"), self._table),
            "disp-formula": self._formula,
            **dict.fromkeys(("code", "preformat"), self._verbatim),
            "verse-group": self._each,
            "fn": self._note,
        }

    def write(self, element: Element, level: int) -> None:
        """Write one element according to its name.

        An element with an unknown name is written block by block, or as one paragraph if it has no blocks.
        """
        name = local(element)
        if name in _SKIPPED or not name:
            return
        if name in self._handlers:
            self._handlers[name](element, level)
        elif any(local(one) in BLOCKS or local(one) in ("p", "sec") for one in element):
            self._each(element, level)
        else:
            self._paragraph(element, level)

    def _box(self, element: Element, level: int) -> None:
        before = self._out.mark()
        self._titled("")(element, level)
        self._out.close_headings(before)

    def _titled(self, otherwise: str) -> Callable[[Element, int], None]:
        """A writer of sections: their heading, or else `otherwise`, then their content one level deeper."""

        def write(element: Element, level: int) -> None:
            before, title = self._out.mark(), _heading_of(element) or otherwise
            self._out.heading(title, level)
            self._each(_notes_in(named(element, "title")), level)
            self._each(element, level + 1 if title else level)
            self._out.drop_empty_headings(before)

        return write

    def _each(self, element: Iterable[Element], level: int) -> None:
        for child in element:
            self.write(child, level)

    def _paragraph(self, element: Element, level: int) -> None:
        """Write an element's text, with lists and formulae at their places in the text. Floats and notes follow the text."""
        floats: list[Element] = []
        buffer = [element.text or ""]
        for child in element:
            name = local(child)
            if name in _FLOATS:
                floats.append(child)
            elif name in BLOCKS:
                self._flush(buffer)
                self.write(child, level)
            elif (
                name
                and name not in _INLINE
                and name != "fn"
                and any(local(one) in BLOCKS for one in child.iter())
            ):
                self._flush(buffer)
                self._paragraph(child, level)
            elif name:
                if name in ("element-citation", "mixed-citation"):
                    buffer.append(citation_text(child))
                else:
                    add_text(child, buffer)
                floats += _notes_in([child])
            buffer.append(child.tail or "")
        self._flush(buffer)
        for float_element in floats:
            self.write(float_element, level)

    def _flush(self, buffer: list[str]) -> None:
        text = tidy("".join(buffer))
        buffer.clear()
        if text and not _OWN_DOI.fullmatch(text) and any(char.isalnum() for char in text):
            self._out.paragraph(text)

    def _list(self, element: Element, level: int, depth: int = 0) -> None:
        style = _BULLETS.get(element.get("list-type", ""), "- ")
        indent = "  " * depth
        self._out.paragraph(_heading_of(element))
        items, before = named(element, "list-item"), self._counts.get(element.get("continued-from"), 0)
        self._counts[element.get("id") or ""] = before + len(items)
        for number, item in enumerate(items, start=before + 1):
            mark = line_of(first(item, "label"))
            roman = "x" * (number // 10) + _UNITS[number % 10] if number < 40 else str(number)
            letter = chr(ord("a") + (number - 1) % 26)
            shown = style.format(n=number, a=letter, A=letter.upper(), r=roman, R=roman.upper())
            mark = f"{element.get('prefix-word', '')} {f'{mark} ' if mark else shown}".lstrip()
            for child in children(item):
                if local(child) == "list":
                    self._list(child, level, depth + 1)
                elif local(child) != "label":
                    before = self._out.count
                    self._item(child, level, indent + mark, indent + " " * len(mark))
                    if self._out.count > before:
                        mark = " " * len(mark)

    def _item(self, element: Element, level: int, mark: str, rest: str) -> None:
        if local(element) in ("p", "title") and not any(local(one) in BLOCKS for one in element):
            self._out.item(inline(element), first=mark, rest=rest)
            self._each(_notes_in(element), level)
        else:
            element.text = mark * (local(element) == "p") + (element.text or "")
            self.write(element, level)

    def _definitions(self, element: Element, level: int) -> None:
        self._out.heading(_heading_of(element), level)
        self._out.paragraph(": ".join(inline(one) for one in named(element, "term-head", "def-head")))
        for item in named(element, "def-item", "def-list"):
            if local(item) == "def-list":
                self._definitions(item, level + 1)
                continue
            term = f"{line_of(first(item, 'label'))} {', '.join(map(inline, named(item, 'term')))}"
            meaning = " ".join(text for one in named(item, "def") for text in segments(one) if text)
            self._out.paragraph(tidy(f"{term}: {meaning}" if meaning else term))

    def _figure(self, element: Element, level: int) -> None:
        label, start = _label_of(element), self._captioned(element, level)
        if start is not None:
            text = _joined(label, _caption_of(element))
            self._out.visual(VisualType.FIGURE, label, text, start, reference=href(element))

    def _table(self, element: Element, level: int) -> None:
        label, text = _label_of(element), _joined(_label_of(element), _caption_of(element))
        groups = [*below(element, "tgroup")] or [*below(element, "table")] or [element]
        rows = [row for table in groups for row in table_rows(table)]
        feet = named(element, "table-wrap-foot", "attrib", "p", "list", "def-list")
        notes = [line for part in feet for note in _notes(part) for line in wrap(note)]
        start = self._out.block([*wrap(text), *rows, *notes])
        if start is not None:
            self._out.visual(VisualType.TABLE, label, text, start, reference=href(element))
        for child in _floats_of(element):
            self.write(child, level)

    def _captioned(self, element: Element, level: int) -> int | None:
        """Write an element with a caption. Returns the number of the first line of its label and caption, or None if both are empty."""
        start = self._out.paragraph(_joined(_label_of(element), _caption_of(element)))
        for child in (*_floats_of(element), *children(element)):
            if local(child) != "caption":
                self.write(child, level)
        return start

    def _note(self, element: Element, level: int) -> None:
        """Write a footnote after its label."""
        label, start = line_of(first(element, "label")), first(element, "p")
        if label and start is not None:
            start.text = f"{label} {start.text or ''}"
        self._each(element, level)

    def _formula(self, element: Element, level: int) -> None:
        text, label = formula_text(element), line_of(first(element, "label"))
        number = label.strip("()[]. ")
        line = f"{text} ({number})" if number and text else text or label
        start = self._out.block([line] if line else [])
        if start is not None:
            name = f"Equation {number}" if number and len(number) < 12 else ""
            self._out.visual(VisualType.FORMULA, name, text, start, reference=href(element))

    def _verbatim(self, element: Element, level: int) -> None:
        text = text_of(element).replace("\r", "").expandtabs(4).strip("\n")
        self._out.block([line.rstrip() for line in text.split("\n")] if text.strip() else [])

    def _references(self, element: Element, level: int) -> None:
        self._out.heading(_heading_of(element) or "References", level)
        lines = [line for ref in named(element, "ref") for line in reference_lines(ref)]
        self._out.block(lines)
        for child in named(element, "ref-list", "p"):
            self.write(child, level + 1)


def _notes(foot: Element) -> list[str]:
    """The footnotes of a table, each after its label if any. A raised mark is written as in the cells ("^a Text")."""
    texts: list[str] = []
    parts = below(foot, "p", "attrib", "title", "def-item")
    for paragraph in [foot] if local(foot) in ("attrib", "p") else parts:
        parent = paragraph.getparent()
        if parent is None or local(parent) == "def":
            continue
        label = line_of(first(parent, "label")) if local(parent) in ("fn", "list-item") else ""
        mark = next((child for child in paragraph if local(child) == "sup"), None)
        between = ": " if local(paragraph) == "def-item" else " "
        text = between.join(filter(None, segments(paragraph, BLOCKS.union({"fn"}) - {"disp-formula"})))
        if mark is not None and not (paragraph.text or "").strip() and paragraph[0] is mark:
            sign = inline(mark)
            text = f"^{sign} {text.removeprefix(sign).lstrip()}"
        if text and not _OWN_DOI.fullmatch(text):
            texts.append(f"{label} {text}" if label and not text.startswith(label) else text)
    return texts


def _heading_of(element: Element) -> str:
    """Label and title of a section-like element, on one line."""
    title = inline(first(element, "title")) or inline(first(element, "caption", "title"))
    label = line_of(first(element, "label"))
    return tidy(f"{label} {title}") if label and title else title or label.rstrip(".:")


def _label_of(element: Element) -> str:
    """A float's label without trailing punctuation."""
    return line_of(first(element, "label")).rstrip(".:| ")


def _notes_in(elements: Iterable[Element]) -> list[Element]:
    """The notes in running text, without the notes of notes."""
    inner = ([one] if local(one) == "fn" else _notes_in(one) for one in elements)
    return [note for notes in inner for note in notes]


def _floats_of(element: Element) -> list[Element]:
    """The floats within a caption, such as the source data of a figure."""
    parts = [part for caption in named(element, "caption") for part in caption]
    return [one for part in parts for one in named(part, *_FLOATS, "media")]


def _caption_of(element: Element) -> str:
    """Title and text of a caption as one line."""
    caption = first(element, "caption")
    parts = children(caption) if caption is not None else []
    texts = [" ".join(filter(None, segments(one, _FLOATS | {"media"}))) for one in parts]
    return tidy(" ".join(text for text in texts if text and not _OWN_DOI.fullmatch(text)))


def _joined(label: str, caption: str) -> str:
    """ "Table 1. Caption" from those parts that exist."""
    return f"{label}. {caption}" if label and caption else label or caption
