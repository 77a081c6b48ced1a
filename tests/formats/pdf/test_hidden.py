"""Text that nobody sees is left out, and the detail of the outcome says so."""

from __future__ import annotations

import pymupdf
import pytest

from tests.formats.pdf.samples import HEIGHT, WIDTH, Draw, lines, parse, pdf, scan, write

SEEN = ["The fund of Torvik was opened by the harbour board.", "One copy of this note is kept in the hall."]
HIDDEN = "The fund of Torvik was sold in 1999."


def beside(draw: Draw) -> Draw:
    """A page of visible text and what `draw` adds."""

    def page_of(page: pymupdf.Page) -> None:
        write(page, SEEN)
        draw(page)

    return page_of


def written(**how: object) -> Draw:
    return lambda page: page.insert_text((60, 300), HIDDEN, **{"fontsize": 11, **how})


def behind(page: pymupdf.Page) -> None:
    written()(page)
    page.insert_image((50, 280, 400, 320), pixmap=_picture(), keep_proportion=False)


def _picture() -> pymupdf.Pixmap:
    picture = pymupdf.Pixmap(pymupdf.csRGB, (0, 0, 200, 60), False)
    picture.clear_with(180)
    return picture


def barred(page: pymupdf.Page) -> None:
    """A bar over a line of text, as of a redaction that left the text in the file."""
    written()(page)
    page.draw_rect((50, 285, 400, 306), fill=(0, 0, 0))


def erased(page: pymupdf.Page) -> None:
    written()(page)
    page.draw_rect((50, 285, 400, 306), fill=(1, 1, 1), color=None)


def struck(page: pymupdf.Page) -> None:
    page.draw_line((60, 296), (60 + pymupdf.get_text_length(HIDDEN, fontsize=11), 296))
    written()(page)


def outside(page: pymupdf.Page) -> None:
    page.insert_text((60, 820), HIDDEN, fontsize=11)
    page.set_cropbox((0, 0, WIDTH, 800))


def split_command(page: pymupdf.Page) -> None:
    """Text that is not painted, by a command whose parts are on two lines."""
    written(render_mode=3)(page)
    content = page.get_contents()[-1]
    page.parent.update_stream(content, page.parent.xref_stream(content).replace(b"3 Tr", b"3\nTr"))


def on_grey(page: pymupdf.Page) -> None:
    page.draw_rect((50, 280, 400, 320), fill=(0.95, 0.95, 0.95), color=None)
    written(color=(0.95, 0.95, 0.95))(page)


def tinted(page: pymupdf.Page) -> None:
    """White as no tint of a separate ink."""
    written(color=(1, 0, 1))(page)
    document, content = page.parent, page.get_contents()[-1]
    ink = "<</FunctionType 2/Domain[0 1]/C0[1]/C1[0]/N 1>>"
    resources = int(document.xref_get_key(page.xref, "Resources")[1].split()[0])
    document.xref_set_key(resources, "ColorSpace", f"<</Ink[/Separation/Ink/DeviceGray{ink}]>>")
    stream = document.xref_stream(content).replace(b"1 0 1 rg", b"/Ink cs 0 scn")
    document.update_stream(content, stream)


def within(page: pymupdf.Page) -> None:
    """White in a form within a form."""
    inner, outer = pymupdf.open(), pymupdf.open()
    written(color=(1, 1, 1))(inner.new_page(width=WIDTH, height=HEIGHT))
    outer.new_page(width=WIDTH, height=HEIGHT).show_pdf_page(page.rect, inner)
    page.show_pdf_page(page.rect, outer)


def noted(page: pymupdf.Page) -> None:
    page.add_freetext_annot((50, 280, 400, 320), HIDDEN, text_color=(1, 1, 1))


@pytest.mark.parametrize(
    "draw",
    [
        written(color=(1, 1, 1)),
        written(color=(1,)),
        written(color=(0, 0, 0, 0)),
        within,
        noted,
        written(color=(0.99, 0.99, 0.98)),
        tinted,
        written(fontsize=0.8),
        written(render_mode=3),
        split_command,
        written(fill_opacity=0, stroke_opacity=0),
        on_grey,
        behind,
        barred,
        erased,
        struck,
        outside,
    ],
    ids=[
        "white",
        "white grey",
        "no ink",
        "white form",
        "white note",
        "near white",
        "no tint",
        "tiny",
        "not painted",
        "not painted, two lines",
        "transparent",
        "light on light",
        "behind",
        "barred",
        "erased",
        "struck",
        "outside",
    ],
)
def test_hidden_text_is_left_out(draw: Draw) -> None:
    entry = parse(pdf(beside(draw)))
    assert [line for line in entry.text.split("\n") if line] == SEEN
    assert entry.detail == (
        "" if draw is outside else "text that nobody sees or that is struck out left out on 1 page: 1"
    )


def head(page: pymupdf.Page) -> None:
    page.draw_rect((50, 280, 400, 320), fill=(0.1, 0.2, 0.5), color=None)
    written(color=(1, 1, 1))(page)


def over(page: pymupdf.Page) -> None:
    page.insert_image((50, 280, 400, 320), pixmap=_picture(), keep_proportion=False)
    written()(page)


def clipped(page: pymupdf.Page) -> None:
    """A picture whose box covers the line, but whose lower part is cut away."""
    written()(page)
    whole = pymupdf.open()
    whole.new_page(width=WIDTH, height=400).insert_image(
        (50, 100, 400, 320), pixmap=_picture(), keep_proportion=False
    )
    box = pymupdf.Rect(50, 100, 400, 280)
    page.show_pdf_page(box, whole, 0, clip=box)


def highlighted(page: pymupdf.Page) -> None:
    written()(page)
    page.add_highlight_annot((60, 288, 260, 304))


def underlined(page: pymupdf.Page) -> None:
    written()(page)
    page.draw_line((60, 302), (200, 302))


def crossed(page: pymupdf.Page) -> None:
    """A line of a grid behind a label."""
    page.draw_line((40, 296), (500, 296))
    written()(page)


@pytest.mark.parametrize(
    "draw",
    [
        head,
        over,
        clipped,
        highlighted,
        underlined,
        crossed,
        written(color=(0.4, 0.4, 0.4)),
        written(fontsize=5),
    ],
)
def test_light_text_on_dark_and_text_over_a_picture_stay(draw: Draw) -> None:
    entry = parse(pdf(beside(draw)))
    assert (HIDDEN in entry.text, entry.detail) == (True, "")


def test_the_hidden_part_of_a_line_is_left_out() -> None:
    def draw(page: pymupdf.Page) -> None:
        page.insert_text((60, 300), "The lamp burns", fontsize=11)
        page.insert_text((136, 300), "no oil", fontsize=11, color=(1, 1, 1))

    assert lines(pdf(beside(draw))) == [*SEEN, "The lamp burns"]


@pytest.mark.parametrize("bar", [(0, 290, 0, 304), (0, 296, 0, 296.8)], ids=["redacted", "struck"])
def test_words_under_a_bar_are_left_out(bar: tuple[float, ...]) -> None:
    def draw(page: pymupdf.Page) -> None:
        page.insert_text((60, 300), "The lamp of Torvik burns no oil", fontsize=11)
        word = page.search_for("Torvik")[-1]
        page.draw_rect((word.x0, bar[1], word.x1, bar[3]), fill=(0, 0, 0), color=None)

    entry = parse(pdf(beside(draw)))
    assert "The lamp of burns no oil" in " ".join(entry.text.split())
    assert "Torvik burns" not in entry.text


def test_a_struck_out_number_is_left_out() -> None:
    def draw(page: pymupdf.Page) -> None:
        page.insert_text((60, 300), "The dose was 20 10 mg a day.", fontsize=11)
        word = page.search_for("20")[-1]
        page.draw_line((word.x0, 296.4), (word.x1, 296.4), width=0.6)

    assert " ".join(lines(pdf(beside(draw)))[2].split()) == "The dose was 10 mg a day."


def test_a_letter_without_width_below_a_line_does_not_break_its_page() -> None:
    rule = pdf(beside(lambda page: page.draw_rect((198, 333, 203, 334), fill=(0, 0, 0), color=None)))
    page = pymupdf.open("pdf", rule)[0]
    name, text = page.get_fonts()[0][4], page.parent.xref_stream(page.get_contents()[-1])
    letter = b"BT /%b 1 Tf 0.0001 0 0 30 200 500 Tm (X) Tj ET " % name.encode()
    page.parent.update_stream(page.get_contents()[-1], text + b"\n" + letter)
    assert lines(page.parent.tobytes())[:2] == SEEN


def test_a_shadow_behind_a_heading_is_read_once() -> None:
    def draw(page: pymupdf.Page) -> None:
        for colour, by in (((0.7, 0.7, 0.7), 1.2), ((0, 0, 0), 0)):
            for n, text in enumerate(["The fund of the harbour", "A report for 1999"]):
                page.insert_text((60 + by, 300 + 24 * n + by), text, fontsize=18, color=colour)

    assert lines(pdf(beside(draw)))[2:] == ["The fund of the harbour", "A report for 1999"]


def test_text_that_is_not_painted_counts_on_a_scan() -> None:
    def draw(page: pymupdf.Page) -> None:
        scan(page)
        page.insert_text((60, 80), "HELLO SCANNED WORLD", fontsize=30, render_mode=3)

    assert lines(pdf(draw)) == ["HELLO SCANNED WORLD"]


def test_letters_through_which_a_bar_is_painted_are_seen() -> None:
    def draw(page: pymupdf.Page) -> None:
        beside(written(render_mode=3))(page)
        page.insert_text((60, 200), "It holds 18 boats.", render_mode=7)
        document, content = page.parent, page.get_contents()[-1]
        stream = document.xref_stream(content).replace(b"ET\n", b"ET\n0 0 1 rg 0 0 600 850 re f\n")
        document.update_stream(content, stream)

    assert [line for line in lines(pdf(draw)) if line] == [*SEEN, "It holds 18 boats."]
