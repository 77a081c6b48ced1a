"""The Markdown format: the file's own lines, with long lines split, and with sections, metadata and visuals from its structure.

The text is not rendered, so that a quote has the words of the author; only entities outside of code become characters. Headings give
sections. Tables, images and diagram fences give visuals. There are no pages. Front matter, the YAML (`---`) or TOML (`+++`) block at the start of a file, gives metadata and
stays in the text. Only known keys with plain values are used, and a block that cannot be parsed is treated as text.
"""

import datetime
import re
import tomllib
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import unescape
from html.entities import html5
from typing import cast

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from qagen_dagster.formats import base
from qagen_dagster.formats.decoding import ABSENT, Lines, collapse
from qagen_dagster.formats.plain_text import looks_like_text, read_text
from qagen_dagster.formats.wrap import SplitLines, split_long_lines, with_split_lines
from qagen_dagster.records.document import Metadata, Section, Visual, VisualType
from qagen_dagster.records.text import without_tags

_MAX_FRONT_LINES = 300  # maximum lines of front matter; a longer block is text between two rules
_MAX_FRONT_LINE = 10_000  # characters; longer lines are data, and their parsing is slow
_ENDS = {"---": ("---", "..."), "+++": ("+++",)}
_DIAGRAMS = frozenset({"mermaid", "graph", "graphviz", "dot", "plantuml", "puml", "d2", "ditaa", "flowchart"})
_BADGE = re.compile(r"shields\.io|badge", re.IGNORECASE)
_HTML_TABLE = re.compile(r"<(/?)table\b", re.IGNORECASE)
_HTML_IMAGE = re.compile(r"<img\b[^<>]{0,2000}>", re.IGNORECASE)
_HTML_HEADING = re.compile(r"<h([1-6])\b[^<>]{0,200}>(.{1,500}?)</h\1>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"\b(src|alt)\s{0,5}=\s{0,5}(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_EMPHASIS = re.compile(r"(\*\*|\*|`|(?<!\w)__?)(?=\S)([^*_`]{1,500})(?<=\S)\1(?!(?<=_)\w)")
_LINK = re.compile(r"!?\[([^\[\]]{0,500})\]\([^()\s]{0,1000}(?:\s\"[^\"]{0,300}\")?\)")
# An escaped character, a code span or a tag, which stay as they are, or an entity
_ENTITY = re.compile(
    r"\\.|(?<!`)(`+)(?!`)(?s:.{1,2000}?)(?<!`)\1(?!`)|<[A-Za-z/!?][^<>]{0,2000}>"
    r"|(?P<name>&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[A-Za-z]\w{1,31});)"
)
_MARKS = frozenset("\\`*_#|[]~")  # an entity keeps these from being marks of Markdown
_TEXT_CHARS = 40  # minimum length of running text
_VERSION = re.compile(
    r"(?:version|release|v)?[ [.]*\d+(?:\.\d+)+|(?:version|release) \d|.*\bunreleased\b", re.IGNORECASE
)
_KINDS = {
    VisualType.TABLE: ("Table",),
    VisualType.IMAGE: ("Figure", "Chart", "Plate", "Scheme", "Diagram", "Exhibit"),
    VisualType.DIAGRAM: ("Figure", "Chart", "Scheme", "Diagram"),
}


@dataclass(frozen=True)
class _FrontMatter:
    """The metadata of the block, and the number of lines that the block takes (0 if there is none)."""

    line_count: int = 0
    metadata: Metadata = field(default_factory=Metadata)


def _front_matter(lines: Sequence[str]) -> _FrontMatter:
    """The front matter of a file's lines."""
    mark = lines[0].rstrip() if lines else ""
    ends = _ENDS.get(mark)
    if ends is None:
        return _FrontMatter()
    end = next((at for at, line in enumerate(lines[1:_MAX_FRONT_LINES], 1) if line.rstrip() in ends), None)
    if end is None or any(len(line) > _MAX_FRONT_LINE for line in lines[1:end]):
        return _FrontMatter()
    values = _load("\n".join(lines[1:end]), toml=mark == "+++")
    if not values:
        return _FrontMatter()
    return _FrontMatter(end + 1, _stated_metadata(values))


def _load(block: str, *, toml: bool) -> dict[str, object]:
    try:  # values stay as written, because a number would lose digits: a title "1.10" is not 1.1
        value: object = (
            tomllib.loads(block, parse_float=str) if toml else yaml.BaseLoader(block).get_single_data()
        )
    except (yaml.YAMLError, tomllib.TOMLDecodeError, ValueError, RecursionError):
        return {}
    if not isinstance(value, dict):
        return {}
    return {str(key).lower(): item for key, item in cast("dict[object, object]", value).items()}


def _stated_metadata(values: dict[str, object]) -> Metadata:
    authors = values.get("authors", values.get("author"))
    names = cast("list[object]", authors) if isinstance(authors, list) else [authors]
    return Metadata(
        title=_line(values.get("title")),
        authors=tuple(name for author in names if (name := _author(author))),
        date=_line(values.get("date")),
        doi=_line(values.get("doi")),
        abstract=_line(values.get("abstract")) or _line(values.get("description")),
        language=_line(values.get("lang")) or _line(values.get("language")),
    )


def _author(value: object) -> str | None:
    return _line(cast("dict[str, object]", value).get("name") if isinstance(value, dict) else value)


def _line(value: object) -> str | None:
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = collapse(str(value))
    return text if text and text not in ABSENT else None


@dataclass(frozen=True)
class _Unlabelled:
    """A visual without its label: 1-based lines, and its type and texts from the markup."""

    type: VisualType
    start: int
    end: int
    alt: str = ""
    reference: str | None = None


@dataclass
class _Parsed:
    lines: Lines
    front: _FrontMatter
    sections: list[Section] = field(default_factory=list[Section])
    visuals: list[_Unlabelled] = field(default_factory=list[_Unlabelled])
    texts: list[int] = field(default_factory=list[int])  # lines at which paragraphs begin


class MarkdownFormat(base.Format):
    """CommonMark with tables."""

    name = "markdown"
    version = base.VERSIONS["markdown"]
    suffixes: tuple[str, ...] = (".md", ".markdown", ".mdown")

    def sniff(self, head: bytes) -> bool:
        """Whether the file is text in any encoding; Markdown may begin with HTML."""
        return looks_like_text(head)

    def parse(
        self, source: base.Source, options: base.ParseOptions
    ) -> list[base.ParsedText | base.RowFailure]:
        """One document. Raises DocumentError `empty` or `binary`."""
        parsed = _parse(source, options)
        stated = parsed.front.metadata
        entry = base.ParsedText(
            text=parsed.lines.text,
            detail=parsed.lines.note,
            sections=tuple(parsed.sections),
            metadata=stated if stated.title else stated.model_copy(update={"title": _title(parsed)}),
        )
        return [with_split_lines(entry)]

    def visuals(self, source: base.Source, row: str | None, options: base.ParseOptions) -> tuple[Visual, ...]:
        """Tables, images and diagram fences in the order of the text. Raises DocumentError."""
        parsed = _parse(source, options)
        labels = base.Labels()
        lines = parsed.lines.lines
        captions = _captions(parsed.visuals, lines)
        pairs = zip(parsed.visuals, captions, strict=True)
        numbers = split_long_lines(lines)
        return tuple(_labelled(visual, caption, lines, labels, numbers) for visual, caption in pairs)


def _parse(source: base.Source, options: base.ParseOptions) -> _Parsed:
    lines = read_text(source, options)
    lines = Lines(lines.lines, (), lines.note)  # a form feed does not end a page in Markdown
    front = _front_matter(lines.lines)
    parsed = _Parsed(lines, front)
    body = [""] * front.line_count + list(lines.lines[front.line_count :])
    tokens = MarkdownIt("commonmark").enable("table").parse("\n".join(body))
    for at, token in enumerate(tokens):
        if token.map is None:
            continue
        start, end = token.map[0] + 1, min(token.map[1], len(body))
        if token.type == "heading_open":
            title = _plain(tokens[at + 1])
            if title:
                parsed.sections.append(Section(title=title, level=int(token.tag[1:]), start_line=start))
        elif token.type == "table_open":
            parsed.visuals.append(_Unlabelled(VisualType.TABLE, start, end))
        else:
            parsed.visuals.extend(_visuals_of(token, body, start, end))
            if token.type == "inline" and tokens[at - 1].type == "paragraph_open" and _is_running(token):
                parsed.texts.append(start)
            if token.type == "html_block" and not token.content.lstrip().startswith("<!--"):
                parsed.sections.extend(_html_headings(body, start, end))
    shown = list(lines.lines)
    prose = {one.map[0]: one.map[1] for one in tokens if one.map and one.type in ("inline", "html_block")}
    for start, end in prose.items():
        shown[start:end] = _ENTITY.sub(_character, "\n".join(shown[start:end])).split("\n")
    parsed.lines = replace(lines, lines=tuple(shown))
    return parsed


def _character(found: re.Match[str]) -> str:
    """The characters of an entity. Invisible characters are left out; an entity stays if it is unknown, a control character or a mark."""
    name = found["name"] or ""
    shown = (unescape(name) if name[1:2] == "#" else html5.get(name[1:])) or "\0"
    kind = unicodedata.category(shown[0])
    return found[0] if shown in _MARKS or kind in ("Cc", "Cs", "Cn") else "" if kind == "Cf" else shown


def _visuals_of(token: Token, body: Sequence[str], start: int, end: int) -> Iterator[_Unlabelled]:
    if token.type == "fence" and token.info.strip().split(" ")[0].strip("{}.").lower() in _DIAGRAMS:
        yield _Unlabelled(VisualType.DIAGRAM, start, end)
    elif token.type == "inline":
        yield from _images(token, start, end)
    elif token.type == "html_block":
        yield from _html(body, start, end)


def _images(token: Token, start: int, end: int) -> Iterator[_Unlabelled]:
    line = start
    for child in token.children or ():
        if child.type in ("softbreak", "hardbreak"):
            line = min(line + 1, end)
        elif child.type == "image":
            reference = str(child.attrGet("src") or "")
            if not _BADGE.search(reference):
                yield _Unlabelled(VisualType.IMAGE, line, line, child.content, reference or None)
        elif child.type == "html_inline":
            for image in _html_images(child.content):
                yield _Unlabelled(VisualType.IMAGE, line, line, *image)


def _html(body: Sequence[str], start: int, end: int) -> Iterator[_Unlabelled]:
    opened: int | None = None
    for number in range(start, end + 1):
        line = body[number - 1]
        for image in _html_images(line):
            yield _Unlabelled(VisualType.IMAGE, number, number, *image)
        for tag in _HTML_TABLE.finditer(line):
            if not tag[1]:
                opened = opened or number
            elif opened:
                yield _Unlabelled(VisualType.TABLE, opened, number)
                opened = None
    if opened:
        # A blank line ends the HTML block early, so the table is read up to its end tag.
        rest = range(end + 1, len(body) + 1)
        close = next((number for number in rest if "</table" in body[number - 1].lower()), end)
        yield _Unlabelled(VisualType.TABLE, opened, close)


def _html_headings(body: Sequence[str], start: int, end: int) -> Iterator[Section]:
    for number in range(start, end + 1):
        for level, words in _HTML_HEADING.findall(body[number - 1]):
            if title := collapse(unescape(without_tags(words))):
                yield Section(title=title, level=int(level), start_line=number)


def _html_images(markup: str) -> Iterator[tuple[str, str | None]]:
    for image in _HTML_IMAGE.findall(markup):
        attributes = {name.lower(): double or single for name, double, single in _ATTRIBUTE.findall(image)}
        if not _BADGE.search(attributes.get("src", "")):
            yield attributes.get("alt", ""), attributes.get("src") or None


def _labelled(
    found: _Unlabelled,
    caption_line: int | None,
    lines: Sequence[str],
    labels: base.Labels,
    numbers: SplitLines,
) -> Visual:
    caption = plain_line(lines[caption_line - 1]) if caption_line else ""
    label = base.caption_label(caption or found.alt)
    if label.split(" ")[0] not in _KINDS[found.type]:
        label = f"{found.type.value} at line {numbers.first(found.start)}"
    return Visual(
        label=labels.unique(label),
        type=found.type,
        caption=caption or collapse(found.alt),
        reference=found.reference,
        start_line=numbers.first(min(found.start, caption_line or found.start)),
        end_line=numbers.last(max(found.end, caption_line or found.end)),
    )


def _captions(found: Sequence[_Unlabelled], lines: Sequence[str]) -> list[int | None]:
    """The line of each visual's caption: next to the visual, with at most one blank line between.

    Captions stand above tables and below pictures. If that side has none, the other side is searched. Each line is
    the caption of at most one visual.
    """
    captions: list[int | None] = [None] * len(found)
    for usual in (True, False):
        for index, visual in enumerate(found):
            if captions[index] is None:
                above = range(visual.start - 1, max(0, visual.start - 3), -1)
                below = range(visual.end + 1, min(len(lines), visual.end + 2) + 1)
                near = above if (visual.type is VisualType.TABLE) is usual else below
                number = next((number for number in near if lines[number - 1].strip()), None)
                word = base.caption_label(plain_line(lines[number - 1])).split(" ")[0] if number else ""
                if number not in captions and word in _KINDS[visual.type]:
                    captions[index] = number
    return captions


def plain_line(line: str) -> str:
    """A Markdown line without its emphasis, links and heading or quote marks, for captions."""
    text = _LINK.sub(r"\1", line.strip().lstrip("#>").strip())
    for _ in range(2):
        text = _EMPHASIS.sub(r"\2", text)
    return collapse(text)


def _plain(token: Token) -> str:
    """The text of a heading. The texts of its images, such as badges, count only if the heading has no other text."""
    children = token.children or ()
    words = [_shown(child) for child in children if child.type != "image"]
    return collapse("".join(words)) or collapse("".join(map(_shown, children)) or token.content)


def _shown(child: Token) -> str:
    if child.type in ("softbreak", "hardbreak"):
        return " "
    return without_tags(child.content) if child.type == "html_inline" else child.content


def _is_running(token: Token) -> bool:
    """Whether a paragraph has running text outside its links, and is not part of a quote, a list or a note."""
    texts = [child.content for child in token.children or () if child.type == "text" and not child.level]
    outside = token.level == 1 and not token.content.startswith("!!!")
    return outside and any(len(text) >= _TEXT_CHARS for text in texts)


def _title(parsed: _Parsed) -> str | None:
    """The first heading, if it is of level 1, or if it begins the body and no other heading has its level or a higher one. None if running
    text precedes the heading, or if the heading names a version."""
    first = next(iter(parsed.sections), None)
    if (
        first is None
        or _VERSION.match(first.title)
        or min(parsed.texts, default=first.start_line) < first.start_line
    ):
        return None
    begins = not any(map(str.strip, parsed.lines.lines[parsed.front.line_count : first.start_line - 1]))
    equals = sum(section.level <= first.level for section in parsed.sections)
    return first.title if first.level == 1 or (begins and equals == 1) else None
