from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.formats.base import ParsedText, ParseOptions, Source
from qagen_dagster.formats.registry import parse_file
from qagen_dagster.index.chunks import chunks_of, inner_positions
from qagen_dagster.records.index_options import IndexOptions
from tests.formats.jats.test_reader import META, article
from tests.index.chunk_rules import check
from tests.support import waterworks

CHINESE = (
    "黄河发源于青藏高原。它流经九个省区\uff0c最后注入渤海\uff01全长约五千四百六十四公里\uff1f是的。" * 12
)
JAPANESE = (
    "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。「にゃあ」と泣いていた。か\u3099き\u3099く\u3099。"
    * 9
)
ARABIC = "اَلْعَرَبِيَّةُ لُغَةٌ قَدِيمَةٌ. يَتَحَدَّثُ بِهَا مَلَايِينُ النَّاسِ؟ نَعَمْ! وَهِيَ لُغَةُ الْكِتَابَةِ فِي بُلْدَانٍ كَثِيرَةٍ.\n" * 8
HINDI = "क्षत्रिय और स्त्री श्रीमान् के साथ गए। नमस्ते दुनिया॥ विद्यार्थी पढ़ रहे हैं। " * 9
KOREAN = "한국어는 한반도에서 쓰인다. \u1112\u1161\u11ab\u1100\u1173\u11af 자모도 있다. " * 15
EMOJI = "👩‍👩‍👧‍👦🏳️‍🌈🇩🇪🇫🇷👍🏽e\u0301\u0323o\u0308 ok. " * 30
SAMPLES = {"zh": CHINESE, "ja": JAPANESE, "ar": ARABIC, "hi": HINDI, "ko": KOREAN, "emoji": EMOJI}
SMALL = IndexOptions(chunk_characters=60, overlap_characters=20)
SIZES = st.integers(50, 160).flatmap(
    lambda size: st.builds(
        IndexOptions, chunk_characters=st.just(size), overlap_characters=st.integers(0, size // 2)
    )
)
PIECES = st.sampled_from(
    [
        *"aZ. !?\n\t,", "\r\n", "e\u0301", "\u0301", "\u200d", "🇩", "🇪", "👩‍👧", "👍🏽", "\u0600", "क्ष", "\u1112", "\u1161", "\u11ab",
        "漢字。", "الْعَ", "word ", "A sentence. ", "\n\n", "1. item\n", "| a | b |\n", "     ", "Dr. ", "한글 ", "\ufe0f", "\x0c", "x" * 90,
    ]
)  # fmt: skip


@given(st.lists(PIECES, max_size=60).map("".join), SIZES)
def test_chunks_of_any_text_cover_it_and_cut_no_character(text: str, options: IndexOptions) -> None:
    check(text, chunks_of(text, options), options)


@given(st.text(max_size=400), SIZES)
def test_chunks_of_any_characters_cover_them(text: str, options: IndexOptions) -> None:
    check(text, chunks_of(text, options), options)


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("options", [SMALL, IndexOptions()], ids=["small", "usual"])
def test_scripts_keep_their_characters(sample: str, options: IndexOptions) -> None:
    text = SAMPLES[sample]
    chunks = chunks_of(text, options)
    check(text, chunks, options)
    assert len(chunks) > 1 or len(text.strip()) <= options.chunk_characters


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.txt", (waterworks.notes("ridge") + ARABIC).encode()),
        (
            "a.md",
            b"# Title\n\nA paragraph. And more.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- one\n- two\n" * 9,
        ),
        ("a.jsonl", json.dumps({"id": "1", "title": "T", "content": CHINESE}).encode()),
        ("a.xml", article(f"<sec><title>S</title><p>{EMOJI}</p></sec>", front=META).encode()),
        ("a.pdf", waterworks.sheet("mill")),
    ],
)
def test_texts_of_every_format_keep_their_positions(name: str, data: bytes) -> None:
    parsed = parse_file(Source(name, data), ParseOptions(ocr=False))
    (entry,) = parsed.entries
    assert isinstance(entry, ParsedText)
    assert entry.text.strip()
    for options in (SMALL, IndexOptions()):
        check(entry.text, chunks_of(entry.text, options), options)


def test_whole_sentences_go_into_a_chunk_and_the_last_is_repeated() -> None:
    text = "The first valve opens. The second one is shut. A third leaks.\nThe fourth holds. It is new."
    chunks = chunks_of(text, IndexOptions(chunk_characters=50, overlap_characters=20))
    assert [text[chunk.start : chunk.end] for chunk in chunks] == [
        "The first valve opens. The second one is shut. ",
        "A third leaks.\nThe fourth holds. It is new.",
    ]
    assert [(chunk.start_line, chunk.end_line) for chunk in chunks] == [(1, 1), (1, 2)]
    wide = chunks_of(text, IndexOptions(chunk_characters=52, overlap_characters=26))
    assert [text[chunk.start : chunk.end] for chunk in wide][1] == "The second one is shut. A third leaks.\n"


def test_one_character_longer_than_a_chunk_is_not_cut() -> None:
    text = "a" + "\u0301" * 200 + " end of it"
    chunks = chunks_of(text, SMALL)
    assert [(chunk.start, chunk.end) for chunk in chunks] == [(0, 201), (201, len(text))]


def test_white_space_neither_makes_a_chunk_nor_counts() -> None:
    text = "\n" * 500 + "Only this." + " " * 500 + "\n\nAnd that." + "\n" * 900
    chunks = chunks_of(text, SMALL)
    assert [(chunk.start, chunk.end) for chunk in chunks] == [(0, 1012), (1012, len(text))]
    assert [(chunk.start_line, chunk.end_line) for chunk in chunks] == [(501, 501), (503, 503)]
    assert chunks_of(" \n\t\n", SMALL) == chunks_of("", SMALL) == ()


def test_positions_inside_characters_are_those_of_the_standard() -> None:
    assert inner_positions("plain ascii\nlines.") == frozenset()
    assert inner_positions("e\u0301a\r\nb") == {1, 4}
    assert inner_positions("x\u0600" + "1y") == {2}
    assert inner_positions("🇩🇪🇫🇷") == {1, 3}
    assert inner_positions("क्षa") == {1, 2}
