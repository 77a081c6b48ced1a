"""Markdown: own lines, headings, front matter, tables, images, diagrams."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qagen_dagster.formats.base import ParsedText, ParseOptions, Source
from qagen_dagster.formats.markdown import MarkdownFormat, plain_line
from qagen_dagster.records.document import Section, Visual, VisualType

OPTIONS = ParseOptions()

GUIDE = """\
---
title: "Field guide"
authors: [Ada, {name: Grace}]
date: 2024-03-01
lang: en-GB
draft: true
---

# Field *guide* to `gauges`

Setext heading
--------------

```sh
# not a heading
| not | a table |
|---|---|
```

**Table 3.** Depths by [station](x.html).

| Station | Depth |
|---------|-------|
| A       | 1.5   |
| B | 2 |

![A tide gauge](img/gauge.png "On the pier")

*Figure 2: The gauge on the pier.*

Text with ![first](a.png) and
![second](b.jpg?raw=1) inline, ![badge](https://img.shields.io/x.svg).

```mermaid
graph TD; A-->B
```

<table>
<tr><td>1</td></tr>

<tr><td>2</td></tr>
</table>

<p align="center"><img src='logo.svg' alt="The logo"></p>
"""


def parse(text: str) -> ParsedText:
    entry = MarkdownFormat().parse(Source("a.md", text.encode()), OPTIONS)[0]
    assert isinstance(entry, ParsedText)
    return entry


def visuals(text: str) -> tuple[Visual, ...]:
    return MarkdownFormat().visuals(Source("a.md", text.encode()), None, OPTIONS)


def test_the_text_is_the_file() -> None:
    assert parse(GUIDE).text == GUIDE.rstrip("\n")
    assert parse(GUIDE).page_count is None


def test_sections_stand_on_their_lines() -> None:
    assert parse(GUIDE).sections == (
        Section(title="Field guide to gauges", level=1, start_line=9),
        Section(title="Setext heading", level=2, start_line=11),
    )


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Wheels<br>and ponds <!-- no toc -->\n", "Wheels and ponds"),
        ("# <a name='x'></a>The <name> of `<b>`\n", "The <name> of <b>"),
        ("# H<sub>2</sub>O\n", "H_2O"),
        ('<div align="center">\n<h1 class="big">The <i>Mill</i>s</h1>\n</div>\n', "The Mills"),
        ("# Mill [![weekly downloads](https://x.example/d.svg)](https://x.example)\n", "Mill"),
        ("# ![The mill](logo.svg)\n", "The mill"),
        ("<!--\n# Old\n<h1>Older</h1>\n-->\n", None),
    ],
)
def test_headings_with_html(text: str, title: str | None) -> None:
    assert [one.title for one in parse(text).sections] == ([title] if title else [])


def test_front_matter_is_metadata() -> None:
    found = parse(GUIDE).metadata
    assert (found.title, found.authors) == ("Field guide", ("Ada", "Grace"))
    assert (found.date, found.language) == ("2024-03-01", "en-GB")


@pytest.mark.parametrize("mark", ["---", "+++"])
def test_values_of_front_matter_keep_their_digits(mark: str) -> None:
    sign = ":" if mark == "---" else " ="
    found = parse(f"{mark}\ntitle{sign} 1.10\nauthor{sign} '~'\ndate{sign} nan\n{mark}\ntext").metadata
    assert (found.title, found.authors, found.date) == ("1.10", (), None)
    assert parse("---\ntitle: 010\ndate: 12:30:00\nlang: no\n---\ntext").metadata.model_dump(
        include={"title", "date", "language"}
    ) == {"title": "010", "date": "12:30:00", "language": "no"}


def test_toml_front_matter_and_heading_titles() -> None:
    assert parse('+++\ntitle = "From TOML"\n+++\ntext').metadata.title == "From TOML"
    assert parse("# First\n\n# Second\n").metadata.title == "First"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("![logo](kest.svg)\n\n# Mills\n", "Mills"),
        (
            "[Wheels](wheels.md) | [The ponds of the Upper Kest and their sluices](ponds.md)\n\n# Mills\n",
            "Mills",
        ),
        ("All mills of the Upper Kest are listed here.\n\n# Wheels\n", None),
        ("Of the Upper Kest\n\n# Mills\n", "Mills"),
        ("!!! note\n    All mills of the Upper Kest are listed here.\n\n# Mills\n", "Mills"),
        ("> All mills of the Upper Kest are listed here.\n\n# Mills\n", "Mills"),
        ("> Short\n\n## Wheels\n\n# Ponds\n", None),
        ("## Wheels of the Kest\n\n### Oak\n", "Wheels of the Kest"),
        ("## Wheels\n\n## Ponds\n", None),
        ("Short\n\n## Wheels\n", None),
        ("# Version 6\n\n# Version 5\n", None),
        ("# [1.2.0] - 2024-03-01\n", None),
        ("# main (unreleased)\n", None),
        ("# 2 mills\n", "2 mills"),
    ],
)
def test_the_first_heading_is_the_title_if_it_heads_the_whole_text(text: str, title: str | None) -> None:
    assert parse(text).metadata.title == title


@pytest.mark.parametrize(
    "text",
    ["---\n\nA rule first.\n", "---\n[: broken\n---\ntext", "---\ntitle: never closed\n", "+++\nx\n+++\n"],
)
def test_what_is_no_front_matter_is_text(text: str) -> None:
    entry = parse(text)
    assert entry.metadata.title is None
    assert entry.text == text.rstrip("\n")


def test_tables_have_lines_and_captions() -> None:
    table = next(one for one in visuals(GUIDE) if one.label == "Table 3")
    assert table.type is VisualType.TABLE
    assert table.caption == "Table 3. Depths by station."
    assert (table.start_line, table.end_line) == (20, 25)


def test_images_have_references_and_captions() -> None:
    found = visuals(GUIDE)
    gauge = next(one for one in found if one.reference == "img/gauge.png")
    assert (gauge.label, gauge.type) == ("Figure 2", VisualType.IMAGE)
    assert gauge.caption == "Figure 2: The gauge on the pier."
    assert (gauge.start_line, gauge.end_line) == (27, 29)
    inline = [(one.reference, one.caption, one.start_line) for one in found if one.type is VisualType.IMAGE]
    assert inline[1:] == [("a.png", "first", 31), ("b.jpg?raw=1", "second", 32), ("logo.svg", "The logo", 44)]


def test_html_images_inside_a_paragraph_are_found() -> None:
    text = (
        'Text with <img src="a.png" alt="A gauge">,\nthen <IMG alt=x src=\'b.png\'/> and '
        '<b>bold</b> <img src="https://img.shields.io/x.svg">.\n'
    )
    assert [(one.type, one.reference, one.caption, one.start_line) for one in visuals(text)] == [
        (VisualType.IMAGE, "a.png", "A gauge", 1),
        (VisualType.IMAGE, "b.png", "", 2),
    ]


def test_diagrams_and_html_tables_are_found() -> None:
    found = visuals(GUIDE)
    diagram = next(one for one in found if one.type is VisualType.DIAGRAM)
    assert (diagram.label, diagram.start_line, diagram.end_line) == ("diagram at line 34", 34, 36)
    table = found[-2]
    assert (table.type, table.start_line, table.end_line) == (VisualType.TABLE, 38, 42)


def test_equal_captions_get_labels_of_their_own() -> None:
    table = "Table 1. Same.\n\n| a |\n|---|\n| 1 |\n\ntext\n\n"
    assert [one.label for one in visuals(table * 3)] == ["Table 1", "Table 1 (2)", "Table 1 (3)"]


def test_a_caption_of_another_kind_is_not_taken() -> None:
    assert visuals("Figure 1. A chart.\n\n| a |\n|---|\n| 1 |\n")[0].label == "table at line 3"


def test_tables_inside_lists_and_quotes_count() -> None:
    found = visuals("> | a | b |\n> |---|---|\n> | 1 | 2 |\n\n1. item\n\n   | c |\n   |---|\n   | 3 |\n")
    assert [(one.start_line, one.end_line) for one in found] == [(1, 3), (7, 9)]


def test_plain_line_drops_markup_only() -> None:
    assert plain_line("### **Table 2.** *Rain* in `mm` [here](u) 3 * 4") == "Table 2. Rain in mm here 3 * 4"


def test_there_is_nothing_to_render() -> None:
    assert MarkdownFormat().name == "markdown"


PIECES = st.sampled_from(
    [
        "# h\n",
        "text\n",
        "\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
        "```\n",
        "---\n",
        "===\n",
        "![x](y.png)\n",
        "<table>\n",
        "</table>\n",
        "> quote\n",
        "- item\n",
        "Table 1. x\n",
        "    code\n",
        "\x0c",
        "\r\n",
        "* *\n",
        "Figure 2: y\n",
    ]
)


@settings(deadline=None)
@given(st.lists(PIECES, max_size=30))
def test_positions_hold_for_any_mixture(pieces: list[str]) -> None:
    text = "".join(pieces)
    if not text.strip():
        return
    lines = parse(text).text.split("\n")
    for section in parse(text).sections:
        assert 1 <= section.start_line <= len(lines)
    found = visuals(text)
    assert len({one.label for one in found}) == len(found)
    for one in found:
        assert one.start_line is not None
        assert one.end_line is not None
        assert 1 <= one.start_line <= one.end_line <= len(lines)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (
            "Down to &minus;5&nbsp;&deg;C (&#8722;5, &#x2212;5).",
            "Down to \u22125\u00a0\u00b0C (\u22125, \u22125).",
        ),
        ("p &lt; 0.05 &amp; more", "p < 0.05 & more"),
        (
            "| a | &pm;1 |\n|---|---|\n| x&vert;y | &frac12; |",
            "| a | \u00b11 |\n|---|---|\n| x&vert;y | \u00bd |",
        ),
        ("so&shy;lu&#8203;tion", "solution"),
        ("<td>&le; 3</td>", "<td>\u2264 3</td>"),
        *(
            (kept, kept)
            for kept in (
                "`&deg;` and ``a ` &deg;``",
                "`over\n&deg; lines`",
                "```\n&deg;\n```",
                "- item\n\n      &deg;",
                '<a title="&quot;x&quot;">',
                "&#x10ffff; &#1;",  # no character
                "\\&deg; &nosuch; &copyx; &copy &#10; &ast;plain&ast; R&D;",
                "---\ntitle: 5&deg;\n---",
            )
        ),
    ],
)
def test_entities_are_characters_outside_of_code(written: str, shown: str) -> None:
    assert parse(written).text == shown


def test_titles_captions_and_split_lines_have_the_characters_of_the_text() -> None:
    text = f"# 5&nbsp;&deg;\n\n<h2>A &amp; B</h2>\n\n{'It was &minus;5 &deg;C there. ' * 20}\n\nTable 1. At 5&deg;\n\n| a |\n|---|\n| b |"
    found = parse(text)
    assert [one.title for one in found.sections] == ["5 \u00b0", "A & B"]
    assert "&" not in found.text.replace("A & B", "")
    (table,) = visuals(text)
    assert table.caption == "Table 1. At 5\u00b0"
    assert found.text.split("\n")[table.start_line - 1] == table.caption


def test_words_with_underscores_and_lines_of_headings_stay_apart() -> None:
    assert plain_line("_Table 1_: max_len and min_len") == "Table 1: max_len and min_len"
    assert [one.title for one in parse("10\\\n20\n===\n").sections] == ["10 20"]
