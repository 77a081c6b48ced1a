"""Breaking paragraphs into lines: at sentence ends, never inside words, numbers or abbreviations."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.formats.base import ParsedText, ParseOptions, Source
from qagen_dagster.formats.decoding import split_lines
from qagen_dagster.formats.registry import FORMATS, parse_file
from qagen_dagster.formats.wrap import LIMIT, TARGET, sentences, wrap
from qagen_dagster.records.document import joined

WORDS = st.text(alphabet=st.sampled_from("abcXYZ019.,;:()!?\u2019 "), max_size=30)


def test_short_paragraphs_stay_on_one_line() -> None:
    assert wrap("One. Two.\n Three.") == ["One. Two. Three."]
    assert wrap("  \n ") == []


def test_lines_take_whole_sentences() -> None:
    sentence = "This sentence has exactly so many characters that three of them fill a line up. "
    lines = wrap(sentence * 7)
    assert all(line.endswith("line up.") for line in lines)
    assert all(len(line) <= TARGET for line in lines)
    assert [line.count("This") for line in lines] == [2, 2, 2, 1]


def test_long_sentences_break_after_clauses() -> None:
    lines = wrap(("a clause of some length that goes on and on" + ", ") * 20)
    assert all(len(line) <= LIMIT for line in lines)
    assert all(line.endswith(",") for line in lines)


def test_a_label_takes_its_sentence_along() -> None:
    text = "Figure 1. " + "a word or two " * 18 + "end."
    assert wrap(text) == [text.strip()]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("See Smith et al. (2020). Next.", ["See Smith et al. (2020).", "Next."]),
        ("As in Fig. 2 and Eq. 3. Then 5 more.", ["As in Fig. 2 and Eq. 3.", "Then 5 more."]),
        ("By J. R. Smith, e.g. Drosophila. It", ["By J. R. Smith, e.g. Drosophila.", "It"]),
        ("It cost 3.5 million. Why? Nobody knows!", ["It cost 3.5 million.", "Why?", "Nobody knows!"]),
        ('He said "no." She left.', ['He said "no."', "She left."]),
        ("the genus sp. nov. was found", ["the genus sp. nov. was found"]),
    ],
)
def test_sentences_end_where_they_end(text: str, parts: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == parts


def test_numbers_are_not_torn() -> None:
    text = "x" * 280 + " about 12 345 678 " + "y" * 100
    assert any("12 345 678" in line for line in wrap(text))


@given(st.lists(WORDS, max_size=80))
def test_nothing_is_lost_and_lines_are_bounded(words: list[str]) -> None:
    text = " ".join(words)
    lines = wrap(text)
    assert " ".join(lines) == " ".join(text.split())
    for line in lines:
        assert line == line.strip()
        assert line
        # Longer only where no break is allowed: one word, or digits and abbreviations all the way.
        assert len(line) <= LIMIT or not any(
            before.isalpha() and after.isalpha() and at < LIMIT
            for at, (before, space, after) in enumerate(zip(line, line[1:], line[2:], strict=False))
            if space == " "
        )


PROSE = "The bridge at Kelso was opened in 1803. It has five arches, each 72 feet wide. Dr. Rennie built it! "
ONE_LINE = {
    "prose": PROSE * 60,
    "wide gaps": PROSE.replace(" ", "  ") * 60 + "end",
    "no sentence ends": "ten clauses without an end, " * 200,
    "no marks at all": "word " * 1_000,
    "Japanese": "\u4eca\u65e5\u306f\u96e8\u3067\u3059\u3002\u300c\u672c\u5f53\uff1f\u300d\u3068\u805e\u3044\u305f\u3002"
    * 300,
    "Japanese and spaces": "\u4eca\u65e5\u306f\u96e8\u3067\u3059\u3002 " * 300,
    "Hindi": "\u092f\u0939 \u090f\u0915 \u0935\u093e\u0915\u094d\u092f \u0939\u0948\u0964 " * 200,
    "pages": f"{PROSE * 20}\f{PROSE * 20}",
    "several long lines": f"  {PROSE * 9}\n\n{PROSE}\n{PROSE * 8}",
}


def parsed(name: str, content: str) -> ParsedText:
    data = json.dumps({"id": "one", "content": content}) if name.endswith(".jsonl") else content
    (entry,) = parse_file(Source(name, data.encode()), ParseOptions(), FORMATS).entries
    assert isinstance(entry, ParsedText)
    return entry


@pytest.mark.parametrize("name", ["a.jsonl", "a.txt", "a.md"])
@pytest.mark.parametrize("content", ONE_LINE.values(), ids=ONE_LINE)
def test_long_lines_of_files_are_split_and_can_be_joined(name: str, content: str) -> None:
    entry = parsed(name, content)
    lines = entry.text.split("\n")
    assert len(lines) > 8
    assert max(map(len, lines)) <= LIMIT
    kept = split_lines(content)
    text, starts = joined(lines, entry.wrapped)
    assert text == kept.text
    assert all(text[start : start + len(line)] == line for start, line in zip(starts, lines, strict=True))


@pytest.mark.parametrize(
    "sentence",
    [
        "\uc774 \ub2e4\ub9ac\ub294 1803\ub144\uc5d0 \uc9c0\uc5b4\uc84c\ub2e4.",
        "\u1019\u103c\u102d\u102f\u1037\u104b",
        "the pump weighs 40 kg and was built in 1803.",
        "who built the pump of the mill?",
    ],
)
def test_sentences_of_scripts_without_capitals_and_in_small_letters_are_not_torn(sentence: str) -> None:
    lines = parsed("a.jsonl", " ".join([sentence] * 60)).text.split("\n")
    assert len(lines) > 1
    assert {line.replace(sentence, "").strip() for line in lines} == {""}


def test_breaks_between_words_keep_offsets() -> None:
    content = PROSE * 60
    assert parsed("a.jsonl", content).text.replace("\n", " ") == content


def test_pages_sections_and_visuals_follow_their_lines() -> None:
    text = parsed("a.txt", f"{PROSE * 10}\f{PROSE}\f\f{PROSE * 9}")
    lines = text.text.split("\n")
    assert [(one.start_line, one.end_line) for one in text.pages] == [
        (1, (end := len(lines) - len(split_of(PROSE * 9)) - 1)),
        (end + 1, end + 1),
        (end + 2, end + 1),
        (end + 2, len(lines)),
    ]
    source = f"{PROSE * 10}\n\n# Arches\n\n{PROSE * 4}\n\n| a | b |\n|---|---|\n| 1 | {'x ' * 300}|\n"
    shown = parsed("a.md", source).text.split("\n")
    (section,) = parsed("a.md", source).sections
    assert shown[section.start_line - 1] == "# Arches"
    markdown = next(one for one in FORMATS if one.name == "markdown")
    (table,) = markdown.visuals(Source("a.md", source.encode()), None, ParseOptions())
    assert table.start_line
    assert shown[table.start_line - 1 : table.end_line] == source.split("\n")[-4:-1]
    assert table.label == f"table at line {table.start_line}"


def split_of(line: str) -> list[str]:
    return parsed("a.txt", line).text.split("\n")


def test_rows_of_tables_stay_whole() -> None:
    row = "| " + " | ".join(f"a value of cell {number}" for number in range(40)) + " |"
    tabs = "\t".join(f"a value of cell {number}" for number in range(40))
    assert parsed("a.jsonl", f"{row}\n{tabs}").text == f"{row}\n{tabs}"
    assert len(split_of(row * 9)) > 10
