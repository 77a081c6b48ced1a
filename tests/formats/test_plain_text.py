"""Plain text: encodings, line ends, pages, titles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import ParsedText, ParseOptions, Source
from qagen_dagster.formats.decoding import decode, split_lines, without_unseen
from qagen_dagster.formats.plain_text import TextFormat
from qagen_dagster.records.document import PageSpan, Section

WESTERN = "Caf\u00e9 na\u00efve \u2013 \u201cquoted\u201d \u20ac5, 12 \u00b5m\u2026 l\u2019\u00e9t\u00e9 d\u00e9j\u00e0 vu.\n"
ENGLISH = "The mill is older than the bridge beside it."
RUSSIAN = "Это обычный русский текст, который нужно распознать. Он довольно короткий.\n"
JAPANESE = "これは日本語の文章です。文字コードを判定する必要があります。今日は天気がいい。\n"
POLISH = "Zażółć gęślą jaźń, a w piątek pójdę na łąkę i będę śpiewać pieśń o źdźble.\n"


def parse(data: bytes, name: str = "a.txt") -> ParsedText:
    entry = TextFormat().parse(Source(name, data), ParseOptions())[0]
    assert isinstance(entry, ParsedText)
    return entry


@pytest.mark.parametrize("mark", [True, False])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_unicode_encodings_with_and_without_mark(encoding: str, mark: bool) -> None:
    text = "A plain line.\nWith \u00e9 and \u4f60 and \U0001f600.\n" * 20
    data = (("\ufeff" if mark else "") + text).encode(encoding)
    assert parse(data).text == text.rstrip("\n")


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", WESTERN),
        ("latin-1", "Phænomenon, Æquations, naïve café, § 12, ½\n"),
        ("cp1251", RUSSIAN),
        ("koi8-r", RUSSIAN),
        ("shift_jis", JAPANESE),
        ("euc-jp", JAPANESE),
        ("iso2022_jp", JAPANESE),
        ("gb18030", "这是一个中文文本需要识别编码。今天天气很好我们去公园散步。\n"),
        ("big5", "這是一個中文文本需要識別編碼。今天天氣很好\n"),
        ("euc-kr", "이것은 한국어 텍스트입니다. 인코딩을 감지해야 합니다.\n"),
        ("cp1253", "Αυτό είναι ένα κείμενο στα ελληνικά.\n"),
        ("iso8859-2", POLISH),
        ("iso8859-2", "Prší už třetí den a řeka stoupá. Žáci nešli do školy.\n"),
        ("cp866", RUSSIAN),
        ("latin-1", f"{ENGLISH} It costs £12 at 20 °C. {ENGLISH}\n"),
        ("latin-1", "Londra è una grande città del Regno Unito.\n"),
        ("latin-1", f"{ENGLISH}\n" * 3_000 + "café\n"),
    ],
)
def test_legacy_encodings_are_recognised_and_named(encoding: str, text: str) -> None:
    entry = parse(text.encode(encoding))
    assert entry.text == text.rstrip("\n")
    assert entry.detail.startswith("read as ")


def test_sound_utf8_needs_no_note() -> None:
    assert parse(WESTERN.encode()).detail == ""


def test_bad_bytes_in_utf8_become_replacements_with_a_note() -> None:
    data = "Lectiones Optic\u00e6\n".encode() * 30 + b"oh\xff\xfe\x80 bad \xc3( bytes\n"
    entry = parse(data)
    assert entry.text.endswith("oh\ufffd\ufffd\ufffd bad \ufffd( bytes")
    assert "Optic\u00e6" in entry.text
    assert entry.detail == "bytes that are not utf-8 in 4 places, shown as U+FFFD"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_become_one(end: str) -> None:
    entry = parse(end.join(["one", "", "two", ""]).encode())
    assert entry.text == "one\n\ntwo"
    assert entry.page_count is None


def test_one_nul_is_removed_and_noted() -> None:
    entry = parse(b"first line\nsecond\x00line\nthird\n")
    assert entry.text == "first line\nsecondline\nthird"
    assert entry.detail == "1 NUL character removed"


@pytest.mark.parametrize("data", [bytes(5_000), bytes(range(32)) * 50, b"\x00\x01\x02text" * 100])
def test_mostly_control_characters_is_binary(data: bytes) -> None:
    with pytest.raises(DocumentError, match="binary"):
        parse(data)


@pytest.mark.parametrize("data", [b"\n", b" \t\r\n \f\n", b"\xef\xbb\xbf\n", b"\xff\xfe"])
def test_white_space_alone_is_empty(data: bytes) -> None:
    with pytest.raises(DocumentError, match="empty"):
        parse(data)


def test_form_feeds_are_page_breaks() -> None:
    entry = parse(b"one\ntwo\n\fthree\n\f\ffour\n\f")
    assert entry.text == "one\ntwo\nthree\nfour"
    assert entry.page_count == 4
    assert entry.pages == (
        PageSpan(page=1, start_line=1, end_line=2),
        PageSpan(page=2, start_line=3, end_line=3),
        PageSpan(page=3, start_line=4, end_line=3),
        PageSpan(page=4, start_line=4, end_line=4),
    )


def test_a_form_feed_inside_a_line_ends_it() -> None:
    assert parse(b"one\ftwo").pages[1] == PageSpan(page=2, start_line=2, end_line=2)


def test_leading_lines_stay_and_blank_ends_go() -> None:
    assert parse(b"\n\n  text  \n \n\n").text == "\n\n  text  "


@given(st.text())
def test_lines_and_pages_restore_the_text(text: str) -> None:
    found = split_lines(text)
    assert found.text.split("\n") == list(found.lines) or not found.lines
    joined = [line for span in found.pages for line in found.lines[span.start_line - 1 : span.end_line]]
    assert not found.pages or joined == list(found.lines)
    wanted = (
        without_unseen(text).replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n").replace("\0", "")
    )
    words = "".join(wanted.encode("utf-16", "surrogatepass").decode("utf-16", "replace").split())
    assert "".join("".join(found.lines).split()) == words


@given(st.binary())
def test_decoding_never_raises(data: bytes) -> None:
    decode(data).text.encode("utf-8", "surrogatepass")


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1))
def test_utf8_is_read_as_it_was_written(text: str) -> None:
    decoded = decode(text.encode())
    assert decoded.text.removeprefix("\ufeff") == text.removeprefix("\ufeff")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("A Short History\n\nIt began long ago.\n", "A Short History"),
        ("A Short History\n===============\nIt began.\n", "A Short History"),
        ("It began long ago.\n\nThen it went on.\n", None),
        ("It began long ago\nand went on for years.\n", None),
        ("          United States Court of Appeals\n\n  text\n", None),
        ("---------\n\ntext\n", None),
        ("# A Short History\n\nIt began long ago.\n", "A Short History"),
        ("#  \n\ntext\n", None),
        ("[history]\n\nbegan = long ago\n", None),
        ("Copyright (c) 2020 Ann Author\n\ntext\n", None),
        ("Title: Opticks\nAuthor: Isaac Newton\n\ntext\n", "Opticks"),
    ],
)
def test_titles_are_taken_only_when_plain(text: str, title: str | None) -> None:
    assert parse(text.encode()).metadata.title == title


def test_a_header_gives_metadata() -> None:
    entry = parse(b"Title: Opticks\nAuthor: Isaac Newton\nLanguage: English\nRelease Date: 1730\n\ntext\n")
    assert entry.metadata.authors == ("Isaac Newton",)
    assert entry.metadata.language == "en"
    assert entry.metadata.date == "1730"


def test_underlined_and_numbered_headings_are_sections() -> None:
    entry = parse(
        b"Guide\n=====\ntext\n\nSetting up\n----------\ntext\n\nCHAPTER II\n\nmore\n\nPart of it.\n"
    )
    assert entry.sections == (
        Section(title="Guide", level=1, start_line=1),
        Section(title="Setting up", level=2, start_line=5),
        Section(title="CHAPTER II", level=1, start_line=9),
    )


def test_text_has_nothing_to_look_at() -> None:
    source = Source("a.txt", b"text")
    assert TextFormat().visuals(source, None, ParseOptions()) == ()


RUNNING = "The parties agree on what was said that day, and on little else besides.\n" * 2


def headings(text: str) -> list[tuple[int, str]]:
    return [(one.level, one.title) for one in parse(text.encode()).sections]


def test_numbered_headings_follow_their_count():
    indent = " " * 20
    text = (
        f"{indent}I.\n\n{indent}BACKGROUND\n\n{RUNNING}\nA.   The Parties\n\n{RUNNING}\n"
        f"     1.  Who They Are\n\n{RUNNING}\nB.   The Claim.\n\n{RUNNING}\nII. STANDARD OF REVIEW.\n\n{RUNNING}"
    )
    assert headings(text) == [
        (1, "I. BACKGROUND"),
        (2, "A. The Parties"),
        (3, "1. Who They Are"),
        (2, "B. The Claim."),
        (1, "II. STANDARD OF REVIEW."),
    ]


def test_numbered_titles_of_a_manual():
    text = (
        f"1. Setting Up\n\n{RUNNING}\n1.1 Small Parts\n\n{RUNNING}\n2. Use\n\n2. Taking It Apart\n\n{RUNNING}"
    )
    assert headings(text) == [(1, "1. Setting Up"), (2, "1.1 Small Parts"), (1, "2. Taking It Apart")]


def test_a_line_in_capitals_over_text_is_a_heading():
    text = f"{RUNNING}\n      THE CONSENT DECREE\n\n{RUNNING}\n      CONCLUSION\n\n{RUNNING}"
    assert headings(text) == [(1, "THE CONSENT DECREE"), (1, "CONCLUSION")]


@pytest.mark.parametrize(
    "line",
    [
        "J. Norman Jack on brief for appellee.",
        "3. Although the doctor said that she could",
        "            2",
        "V.",
        "I",
        "MOTION DENIED.",
        "PETER BRANDON,",
        "A. The rest of a sentence that begins with a letter",
        "12 SEATS IN ROW 7",
    ],
)
def test_lines_that_only_look_like_headings(line: str):
    assert headings(f"{RUNNING}\n{line}\n\n{RUNNING}") == []


def test_lines_in_capitals_at_the_head_of_a_paper_are_none():
    text = f"SUPREME COURT\n\nANN ONE,\n\nAPPEAL FROM A COURT\n\nFOR THE NORTH\n\n[Hon. B. Two, Judge]\n\n{RUNNING}"
    assert headings(text) == []


def test_a_case_is_named_by_its_parties():
    text = (
        "   UNITED STATES COURT\n\n   CONSERVATION FOUNDATION OF\n   NEW ENGLAND, ET AL.,\n\n   Plaintiffs,\n\n      v.\n\n"
        f"   BARBARA FRANKLIN, ETC.,\n\n   Defendant.\n\n{RUNNING}"
    )
    title = parse(text.encode()).metadata.title
    assert title == "Conservation Foundation of New England v. Barbara Franklin"
    assert parse(f"one\nv.\ntwo\n{RUNNING}".encode()).metadata.title is None


def test_the_mark_of_a_footnote_is_no_part_of_a_heading():
    assert headings(f"{RUNNING}\n1. Setting Up3\n\n{RUNNING}\n2. Taking It Apart\n\n{RUNNING}") == [
        (1, "1. Setting Up"),
        (1, "2. Taking It Apart"),
    ]


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        (
            "cp1254",
            "1911 y\u0131l\u0131nda Agnes Holm taraf\u0131ndan yak\u0131ld\u0131. Kurul her y\u0131l dört May\u0131sta toplan\u0131r, çocuklar güler.",
        ),
        ("cp1257", "Švyturys buvo pastatytas 1911 metais, jį įžiebė žvejų draugija ir ūkininkų sąjunga."),
        (
            "cp1257",
            "Bāka tika uzcelta 1911. gadā, to iededza zvejnieku biedrība; šeit dzīvo ļoti daudz ķeizaru.",
        ),
        ("cp1250", "Maják byl postaven roku 1911, rozsvítila ho společnost rybářů a žlutý kůň běžel."),
        ("cp1250", "A világítótorony 1911-ben épült, a hűséges őr minden este fölment."),
        ("cp1255", "המגדל נבנה בשנת 1911 על ידי חברת הולם"),
        ("cp1252", "Þetta er íslenskur texti um vitann, sem var kveiktur árið 1911 í höfninni að kvöldi."),
        ("mac-roman", "Le pont a été ouvert le 5 mai 1911 ; il coûte 485 francs, très cher à Genève."),
        ("mac-roman", "Die Brücke wurde 1911 von Jörg Groß eröffnet und später gestrichen."),
        ("mac-cyrillic", RUSSIAN.strip()),
        ("cp850", "Die Brücke wurde 1911 von Jörg Groß eröffnet, © 5 £."),
        ("cp852", "Wieża została zbudowana przez Łukasza Żaka w 1911 roku."),
        ("cp1250", "Škola u Zagrebu sagrađena je 1911. godine, a radila je ondje Đurđa Čović, i 12 ľet."),
        (
            "cp1250",
            "Primăria a fost clădită în 1911. Stavba stála 485 000 € \u2013 \u201ehotovo\u201c v roku 1911.",
        ),
        ("iso8859-15", "Le pont coûte 485 € et l'œuvre naît à Genève."),
        ("cp1252", "10 µg"),
        ("cp1252", "Price: £5"),
        ("cp1252", "Æsop met José at Ærøskøbing, then went to Málaga, Köln and Orléans over the years."),
    ],
)
def test_code_pages_of_alphabets_are_told_apart(encoding: str, text: str) -> None:
    assert parse(text.encode(encoding)).text == text


def test_a_configured_encoding_is_used() -> None:
    data = "yak\u0131ld\u0131\n".encode("cp1254")
    for encodings in ({"*": "cp1254"}, {"a.txt": "cp1254", "*": "cp1252"}):
        (entry,) = TextFormat().parse(Source("a.txt", data), ParseOptions(encodings=encodings))
        assert isinstance(entry, ParsedText)
        assert (entry.text, entry.detail) == ("yak\u0131ld\u0131", "read as cp1254")


def test_signs_that_show_nothing_are_left_out() -> None:
    text = "Zero\u200bWidth soft\u00adhyphen\u2060 \ufeffjoin\u200cer \u200eleft\nbro\u00ad\nken \u06a9\u062a\u0627\u0628\u200c\u0647\u0627 \U0001f468\u200d\U0001f469"
    assert parse(text.encode()).text == (
        "ZeroWidth softhyphen joiner left\nbro-\nken \u06a9\u062a\u0627\u0628\u200c\u0647\u0627 \U0001f468\u200d\U0001f469"
    )


def test_controls_beyond_ascii_are_read_as_in_a_browser_and_tags_are_left_out() -> None:
    assert parse("at \u00965 \u00b0C, \u0093half\u0094, tag\U000e0041 \u061cmark".encode()).text == (
        "at \u20135 \u00b0C, \u201chalf\u201d, tag mark"
    )


def test_letters_that_the_mac_has_elsewhere_are_not_of_the_mac() -> None:
    text = "Ein Körper startet.\rDer Körper hält an.\r"
    assert decode(text.encode("latin-1")).text == text
    mac = "Der Körper hält an, und ein größerer fährt später über die Brücke.\r"
    assert decode(mac.encode("mac_roman")).text == mac


def test_bold_underlined_and_coloured_type_of_terminals_is_read_once() -> None:
    assert parse(b"N\x08NA\x08A _\x08x is 7\x1b[1;31m5\x1b[0m mg").text == "NA x is 75 mg"
