"""PDF files as documents: outcomes, pages, metadata, headings, and pictures of pages with their limits."""

from __future__ import annotations

import io

import pymupdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import PageImage, ParsedText, ParseOptions, RenderOptions
from qagen_dagster.records.document import Box, Outcome
from tests.formats.pdf.samples import (
    FORMAT,
    HEIGHT,
    OPTIONS,
    WIDTH,
    columns,
    lines,
    parse,
    pdf,
    scan,
    source,
    write,
)

TWO_PAGES = pdf("one", "two")


def image(found: PageImage | None) -> Image.Image:
    assert found is not None
    shown = Image.open(io.BytesIO(found.data))
    assert shown.size == (found.width, found.height)
    return shown


def render(data: bytes, page: int = 1, how: RenderOptions | None = None, **more: int) -> Image.Image:
    return image(FORMAT.render(source(data), page, ParseOptions(**more), how or RenderOptions()))


def black(page: pymupdf.Page) -> None:
    page.draw_rect(pymupdf.Rect(100, 200, 200, 250), color=(0, 0, 0), fill=(0, 0, 0))


def test_a_page_is_drawn_within_the_limits():
    shown = render(pdf(black))
    assert max(shown.size) <= 1568
    assert shown.width * shown.height <= 1_150_000
    assert shown.width / shown.height == pytest.approx(WIDTH / HEIGHT, rel=0.01)


def test_a_crop_shows_what_its_box_says():
    whole = render(pdf(black), how=RenderOptions(crop=Box(x0=100, y0=200, x1=200, y1=250)))
    assert whole.convert("L").getextrema()[1] < 60
    assert min(whole.size) > 200
    assert render(pdf(black), how=RenderOptions(crop=Box(x0=300, y0=200, x1=400, y1=250))).convert(
        "L"
    ).getextrema() == (255, 255)


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_boxes_are_those_of_the_page_as_displayed(rotation):
    def draw(page: pymupdf.Page) -> None:
        page.set_rotation(rotation)
        page.draw_rect(pymupdf.Rect(100, 200, 200, 250) * page.derotation_matrix, fill=(0, 0, 0))

    shown = render(pdf(draw), how=RenderOptions(crop=Box(x0=101, y0=201, x1=199, y1=249)))
    assert shown.convert("L").getextrema()[1] < 60


def test_a_frame_is_drawn_around_its_box():
    found = render(pdf(black), how=RenderOptions(frame=Box(x0=100, y0=200, x1=200, y1=250))).convert("RGB")
    zoom = found.width / WIDTH
    row = [found.getpixel((round(100 * zoom) - step, round(225 * zoom))) for step in range(10)]
    assert (200, 30, 30) in row
    assert found.getpixel((round(150 * zoom), round(225 * zoom))) == (0, 0, 0)


def test_a_huge_page_is_scaled_down():
    document = pymupdf.open()
    document.new_page(width=14_000, height=9_000).insert_text((900, 900), "wide", fontsize=500)
    shown = render(document.tobytes())
    assert max(shown.size) <= 1568


def test_pages_and_crops_that_do_not_exist():
    with pytest.raises(DocumentError, match="pages 1 to 2"):
        render(TWO_PAGES, 3)
    with pytest.raises(DocumentError, match="no page 0"):
        render(TWO_PAGES, 0)
    with pytest.raises(DocumentError, match="595 x 842 points"):
        render(TWO_PAGES, 1, RenderOptions(crop=Box(x0=900, y0=10, x1=950, y1=20)))


def test_a_page_with_a_giant_picture_is_not_drawn():
    with pytest.raises(DocumentError, match="too_large") as caught:
        render(pdf(scan), max_pixels=10_000)
    assert "limit is 10,000 pixels" in caught.value.detail


def test_a_crop_is_finer_than_the_page():
    crop = Box(x0=100, y0=200, x1=200, y1=250)
    page, part = render(TWO_PAGES), render(TWO_PAGES, how=RenderOptions(crop=crop))
    assert part.width / 100 > 3 * page.width / WIDTH
    fine, usual = render(TWO_PAGES, how=RenderOptions(crop=Box(x0=0, y0=0, x1=400, y1=300))), 300 / 72
    assert fine.width / 400 > 0.7 * usual


LOCKED = {"encryption": pymupdf.PDF_ENCRYPT_AES_256, "owner_pw": "owner"}
SMALL = pdf("First page\nof two", columns, title="A small sample", author="Ann Author")


def failure(data: bytes, options: ParseOptions = OPTIONS) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        FORMAT.parse(source(data), options)
    return caught.value


def check_pages(found: ParsedText) -> None:
    """Pages follow each other and cover every line, once."""
    count = len(found.text.split("\n")) if found.text else 0
    assert found.page_count == len(found.pages)
    assert [span.page for span in found.pages] == list(range(1, len(found.pages) + 1))
    starts = [span.start_line for span in found.pages]
    ends = [span.end_line for span in found.pages]
    assert starts == [1, *(end + 1 for end in ends[:-1])]
    assert ends[-1] == count


def test_pages_cover_the_lines_exactly():
    found = parse(pdf("one\ntwo", lambda page: None, "three", columns))
    assert found.outcome is Outcome.PARSED
    assert [(span.start_line, span.end_line) for span in found.pages[:3]] == [(1, 2), (3, 2), (3, 3)]
    check_pages(found)


def test_the_signature_may_follow_rubbish():
    assert FORMAT.sniff(SMALL)
    assert FORMAT.sniff(b"\n" * 500 + SMALL[:200])
    assert not FORMAT.sniff(b"<html>%PDF</html>")


@pytest.mark.parametrize(
    ("data", "outcome"),
    [
        (b"", Outcome.EMPTY),
        (b"<html>not found</html>", Outcome.NOT_WHAT_IT_SAYS),
        (b"%PDF-1.7\nand then nothing", Outcome.CORRUPT),
        (SMALL[:300], Outcome.CORRUPT),
        (pdf(lambda page: None), Outcome.EMPTY),
    ],
)
def test_files_without_a_document_have_a_named_outcome(data, outcome):
    assert failure(data).outcome == outcome


def test_a_file_that_is_cut_off_is_corrupt_though_its_first_pages_could_be_repaired():
    several = pdf("one", "two", "three")
    cut = failure(several[: several.rindex(b"startxref") - 20])
    assert (cut.outcome, "is cut off" in str(cut)) == (Outcome.CORRUPT, True)
    assert parse(several + b"\n" * 500).text == "one\ntwo\nthree"


def test_a_document_without_pages_is_empty():
    data = by_hand(b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[]/Count 0>>")
    assert failure(data).outcome == Outcome.EMPTY


def test_limits():
    assert failure(SMALL, ParseOptions(max_bytes=100)).outcome == Outcome.TOO_LARGE
    error = failure(SMALL, ParseOptions(max_pages=1))
    assert (error.outcome, error.detail) == (Outcome.TOO_LARGE, "2 pages; the limit is 1")
    assert failure(SMALL, ParseOptions(max_chars=40)).outcome == Outcome.TOO_LARGE


def test_passwords():
    data = pdf("a secret", save={**LOCKED, "user_pw": "open sesame"})
    assert failure(data).outcome == Outcome.ENCRYPTED
    wrong = failure(data, ParseOptions(passwords={"sample.pdf": "wrong"}))
    assert wrong.outcome == Outcome.ENCRYPTED
    assert "wrong" not in wrong.detail
    for key in ("sample.pdf", "folder/sample.pdf", "*"):
        assert lines(data, ParseOptions(passwords={key: "open sesame"})) == ["a secret"]


def test_a_file_that_only_its_owner_may_change_opens():
    assert lines(pdf("not so secret", save=LOCKED)) == ["not so secret"]


def by_hand(*objects: bytes) -> bytes:
    """A file of these objects, numbered from 1, the first being the catalog; without a table of offsets."""
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % (n, one) for n, one in enumerate(objects, start=1))
    return b"%PDF-1.4\n" + body + b"trailer\n<</Root 1 0 R>>\n%%EOF\n"


def content(text: bytes) -> bytes:
    shown = b"BT /F1 20 Tf 50 200 Td (%s) Tj ET" % text
    return b"<</Length %d>>\nstream\n%s\nendstream" % (len(shown), shown)


def test_a_broken_page_is_empty_and_noted():
    page = b"<</Type/Page/Parent 2 0 R/Contents %d 0 R/Resources<</Font<</F1<</Type/Font/Subtype/Type1"
    page += b"/BaseFont/Helvetica>>>>>>>>"
    found = parse(
        by_hand(
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R 4 0 R 5 0 R]/Count 3/MediaBox[0 0 300 300]>>",
            page % 6,
            b"<</Type/Pages/Kids[4 0 R]/Count 1/Parent 2 0 R>>",  # a circle
            page % 7,
            content(b"one"),
            content(b"three"),
        )
    )
    assert found.text == "one\nthree"
    assert found.detail == "1 page broken: 2"
    check_pages(found)


def test_a_page_tree_in_a_circle_ends():
    circle = [b"<</Type/Pages/Kids[3 0 R]/Count 3>>", b"<</Type/Pages/Kids[2 0 R]/Count 3>>"]
    assert failure(by_hand(b"<</Type/Catalog/Pages 2 0 R>>", *circle)).outcome == Outcome.CORRUPT


def test_values_of_form_fields_are_part_of_the_text():
    def draw(page: pymupdf.Page) -> None:
        page.insert_text((60, 100), "Name:")
        field = pymupdf.Widget()
        field.field_name, field.field_type = "name", pymupdf.PDF_WIDGET_TYPE_TEXT
        field.rect, field.field_value = pymupdf.Rect(100, 86, 300, 106), "Ada Lovelace"
        page.add_widget(field)

    assert "Ada Lovelace" in parse(pdf(draw)).text


def test_pictures_of_text_without_recognition():
    found = parse(pdf(scan, scan))
    assert (found.outcome, found.text, found.page_count) == (Outcome.NO_TEXT, "", 2)
    assert "recognition is switched off" in found.detail
    assert not found.ocr


def test_letters_that_mean_nothing_are_noted():
    noise = "\n".join("%&' (+) ,-. *!3 $ ?@> <=; " * 3 for _ in range(12))
    with pytest.raises(DocumentError, match="not what the page shows"):
        parse(pdf(noise))
    assert parse(pdf("12.5 13.1 14.7 18.2 19.9\n" * 12)).detail == ""


def test_pages_whose_letters_are_drawn_are_named():
    def drawn(page: pymupdf.Page) -> None:
        for n in range(80):
            page.draw_line((60 + 4 * n, 100), (62 + 4 * n, 110))

    assert parse(pdf("typed", drawn, lambda page: None, drawn)).detail.endswith(": 2, 4")


PAPER = """A Study of Small Things
and Their Uses

Abstract
We look at small things in some detail. They turn out to be use-
ful in many ways, and we measure how much. Nothing like it was
done before, as far as we know.
1 Introduction
Small things are everywhere. See https://doi.org/10.1234/small.things.5."""


def paper(page: pymupdf.Page) -> None:
    write(page, PAPER.split("\n")[:2], size=18)
    write(page, ["Ann Author and Bob Writer"], y=130, size=10)
    write(page, PAPER.split("\n")[3:], y=160, size=10)


def test_metadata_from_the_page():
    found = parse(pdf(paper, PAPER, author="Ann Author and Bob Writer", title="paper.dvi")).metadata
    assert found.title == "A Study of Small Things and Their Uses"
    assert found.authors == ("Ann Author", "Bob Writer")
    assert found.doi == "10.1234/small.things.5"
    assert found.abstract is not None
    assert found.abstract.startswith("We look at small things")
    assert "useful in many ways" in found.abstract
    assert found.abstract.endswith("as far as we know.")


def test_metadata_from_the_properties():
    document = pymupdf.open(
        "pdf",
        pdf("The Report of Mills\nA. One, B. Two", title="The Report of Mills", author="A. One; B. Two"),
    )
    document.set_metadata({**document.metadata, "creationDate": "D:20240229120000Z"})
    document.xref_set_key(document.pdf_catalog(), "Lang", "(en-GB)")
    found = parse(document.tobytes()).metadata
    assert (found.title, found.authors, found.date, found.language) == (
        "The Report of Mills",
        ("A. One", "B. Two"),
        "2024-02-29",
        "en-GB",
    )


def test_headings_from_the_outline():
    document = pymupdf.open("pdf", pdf("Preface\nwords", "words before\n2 Methods of Work\nwords after"))
    document.set_toc([[1, "Preface", 1], [1, "Methods of Work", 2], [2, "Not on the page", 2]])
    found = parse(document.tobytes()).sections
    assert [(one.title, one.level, one.start_line) for one in found] == [
        ("Preface", 1, 1),
        ("Not on the page", 2, 3),
        ("Methods of Work", 1, 4),
    ]


def test_headings_from_the_size_of_letters():
    def draw(page: pymupdf.Page) -> None:
        write(page, ["The Mills"], y=30, size=20)
        write(page, ["Results"], y=60, size=16)
        write(page, ["Body text is what most of a page is made of, after all."] * 9, y=90)
        write(page, ["1.2 Details"], y=300, size=13)
        write(page, ["More body text follows here."] * 9, y=330)
        write(page, ["What it means"], y=500, size=16)

    found = parse(pdf(draw)).sections
    assert [(one.title, one.level) for one in found] == [
        ("Results", 1),
        ("1.2 Details", 2),
        ("What it means", 1),
    ]


BODY = "Most of what stands on a page is such a line of running text as this one here."


def bold(page: pymupdf.Page, line: str, y: float, size: float = 12) -> None:
    page.insert_text((60, y), line, fontsize=size, fontname="hebo")


def test_title_and_authors_are_no_headings():
    def first(page: pymupdf.Page) -> None:
        write(page, ["Proceedings of Something"], y=40, size=14)
        write(page, ["A Study of Small Things", "and Their Uses"], y=80, size=18)
        bold(page, "Ann Author   Bob Writer", 130)
        bold(page, "University of Somewhere", 150, size=14)
        bold(page, "Abstract", 190)
        write(page, [BODY] * 5, y=210)
        bold(page, "1 Introduction", 300)
        write(page, [BODY] * 9, y=320)
        bold(page, "1.1 Small Things", 500, size=11)
        bold(page, "Keywords: small, things", 520)
        write(page, [BODY] * 5, y=540)

    def second(page: pymupdf.Page) -> None:
        write(page, ["A Study of Small Things", "and Their Uses"], y=80, size=15)
        bold(page, "2 A Heading that Goes on", 120)
        bold(page, "over a Second Line", 134)
        write(page, [BODY] * 9, y=160)
        bold(page, "Limitations", 320)
        bold(page, "A Further Details", 360)

    found = parse(pdf(first, second))
    assert found.metadata.title == "A Study of Small Things and Their Uses"
    assert [(one.title, one.level) for one in found.sections] == [
        ("Abstract", 1),
        ("1 Introduction", 1),
        ("1.1 Small Things", 2),
        ("2 A Heading that Goes on over a Second Line", 1),
        ("Limitations", 1),
        ("A Further Details", 1),
    ]


def test_entries_of_contents_and_running_text_in_bold_are_no_headings():
    def draw(page: pymupdf.Page) -> None:
        bold(page, "1 Small Things . . . . . . . . . 7", 60)
        write(page, [BODY] * 12, y=80)
        bold(page, "Table 1 Some values", 300)
        bold(page, "Part II", 330, size=11)
        bold(page, "nothing but stress on some words", 360, size=11)

    found = parse(pdf("Cover", draw)).sections
    assert [one.title for one in found] == ["Part II"]


def test_an_outline_that_names_only_the_file_is_none():
    document = pymupdf.open("pdf", pdf(*[f"{BODY}\n" * 4] * 6, lambda page: bold(page, "Conclusions", 80)))
    document.set_toc([[1, "report797.html", 1]])
    assert [one.title for one in parse(document.tobytes()).sections] == ["Conclusions"]


def test_an_entry_of_the_outline_is_found_on_two_lines():
    document = pymupdf.open("pdf", pdf("words\n2.1 How to Correct it\nwith Feedback?\nwords"))
    document.set_toc([[1, "How to Correct It with Feedback?", 1]])
    assert [one.start_line for one in parse(document.tobytes()).sections] == [2]


@settings(max_examples=60)
@given(st.data())
def test_damaged_bytes_give_a_document_or_a_named_outcome(data):
    start = data.draw(st.integers(0, len(SMALL)))
    broken = bytearray(SMALL[:start] if data.draw(st.booleans()) else SMALL)
    for _ in range(data.draw(st.integers(0, 20)) if broken else 0):
        broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    outcome = Outcome.PARSED.value
    try:
        check_pages(parse(bytes(broken)))
        FORMAT.render(source(bytes(broken)), 1, OPTIONS, RenderOptions())
        FORMAT.visuals(source(bytes(broken)), None, OPTIONS)
    except DocumentError as error:
        outcome = error.outcome
    assert outcome in Outcome.__members__.values()


def with_logo(page: pymupdf.Page) -> None:
    write(page, ["Redbooks"], y=40, size=30)
    write(page, ["A Survey of Small Things", "and Their Uses"], y=120, size=18)
    write(page, PAPER.split("\n")[3:], y=260, size=10)


def test_a_logo_is_no_title():
    assert parse(pdf(with_logo, PAPER)).metadata.title == "A Survey of Small Things and Their Uses"


@pytest.mark.parametrize("filters", ["/DCTDecode", "/JBIG2Decode", "[/FlateDecode /JPXDecode]"])
def test_a_page_whose_content_is_compressed_as_a_picture_is_broken(filters: str) -> None:
    document = pymupdf.open(stream=TWO_PAGES)
    document.xref_set_key(document[0].get_contents()[0], "Filter", filters)
    entry = parse(document.tobytes())
    assert (entry.text.split(), entry.detail) == (["two"], "1 page broken: 1")
