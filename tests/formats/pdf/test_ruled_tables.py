"""Tables between ruling lines in the text: one line for each row, with its cells apart."""

from __future__ import annotations

import pymupdf

from qagen_dagster.formats.pdf.fragments import fragments_of
from qagen_dagster.formats.pdf.mupdf import Pdf
from qagen_dagster.formats.pdf.ruled_tables import Ruled, ruled_tables
from tests.formats.pdf.samples import HEIGHT, Draw, columns, lines, parse, pdf, put, rule, write

PROSE = ["The gauge stands on a concrete block at the end of the pier.", "It sends its readings by radio."]


def tables(draw: Draw) -> list[Ruled]:
    printed = Pdf(pdf(draw)).print_text(0)
    return ruled_tables(fragments_of(printed.json), printed.paths.rules)


def test_rows_of_a_grid_are_lines_without_blank_lines_between_them():
    def draw(page: pymupdf.Page) -> None:
        write(page, PROSE, y=60)
        for y in (120, 160, 200, 240):
            rule(page, y)
        for x in (60, 200, 460):
            page.draw_line((x, 120), (x, 240), width=0.6)
        put(page, 134, (64, "Station"), (204, "Purpose"))
        put(page, 174, (64, "Port"), (204, "Warns the harbour master of high"))
        put(page, 185, (64, "Carrick"), (204, "water"))
        put(page, 214, (64, "Gannet Point"), (204, "Measures the tide, and the height of"))
        put(page, 225, (204, "waves in winter"))
        write(page, PROSE, y=280)

    said = parse(pdf(draw)).text.split("\n\n")
    assert said[1].split("\n") == [
        "Station | Purpose",
        "Port Carrick | Warns the harbour master of high water",
        "Gannet Point | Measures the tide, and the height of waves in winter",
    ]


def test_two_rows_of_heads_and_a_cell_over_two_rows():
    def draw(page: pymupdf.Page) -> None:
        for y in (100, 128, 170):
            rule(page, y)
        put(page, 110, (200, "First gauge"), (330, "Second gauge"))
        put(page, 116, (64, "Station"))
        put(page, 122, (150, "Year"), (200, "Depth"), (260, "Rain"), (330, "Depth"), (390, "Rain"))
        put(page, 138, (150, "2001"), (200, "12.0"), (260, "840"), (330, "14.5"), (390, "850"))
        put(page, 144, (64, "Port Carrick"))
        put(page, 150, (150, "2002"), (200, "12.5"), (260, "790"), (330, "14.0"), (390, "801"))
        put(
            page,
            162,
            (64, "Gannet Point"),
            (150, "2001"),
            (200, "31.0"),
            (260, "912"),
            (330, "30.5"),
            (390, "920"),
        )

    assert lines(pdf(draw)) == [
        "Station | | First gauge | | Second gauge",
        "| Year | Depth | Rain | Depth | Rain",
        "Port Carrick | 2001 | 12.0 | 840 | 14.5 | 850",
        "| 2002 | 12.5 | 790 | 14.0 | 801",
        "Gannet Point | 2001 | 31.0 | 912 | 30.5 | 920",
    ]


def test_rows_of_numbers_below_a_heading_of_rows_stay_apart():
    def draw(page: pymupdf.Page) -> None:
        for y in (100, 116, 160, 204, 248):
            rule(page, y)
        put(page, 111, (64, "Station"), (200, "Depth"), (330, "Rain"))
        for n, name in enumerate(["Port Carrick", "Gannet Point", "Long Sound"]):
            put(page, 127 + 44 * n, (64, name))
            for year in range(2):
                put(
                    page,
                    139 + 44 * n + 12 * year,
                    (64, f"in 200{year}"),
                    (200, f"12.{n}"),
                    (330, f"84{year}"),
                )

    assert lines(pdf(draw))[:4] == [
        "Station | Depth | Rain",
        "Port Carrick",
        "in 2000 | 12.0 | 840",
        "in 2001 | 12.0 | 841",
    ]


def test_heads_wider_than_their_columns_make_no_empty_column():
    def draw(page: pymupdf.Page) -> None:
        for y in (160, 208, 299):
            rule(page, y, 159, 436)
        put(page, 177, (231, "Frequency"), (351, "Percentage"), size=10)
        heads = (
            (165, "Issue"),
            (199, "Peer-reviewed"),
            (274, "General"),
            (320, "Peer-reviewed"),
            (395, "General"),
        )
        put(page, 200, *heads, size=10)
        for n in range(5):
            put(
                page,
                224 + 17 * n,
                (165, f"{n}(1)"),
                (229, "9"),
                (289, "7"),
                (342, "56.3"),
                (402, "43.8"),
                size=10,
            )

    assert lines(pdf(draw))[1:] == [
        "Issue | Peer-reviewed | General | Peer-reviewed | General",
        *(f"{n}(1) | 9 | 7 | 56.3 | 43.8" for n in range(5)),
    ]


def test_a_line_far_from_the_rules_around_it_parts_two_tables():
    def draw(page: pymupdf.Page, room: int) -> None:
        for y in (100, 116, 132, 132 + room, 148 + room, 164 + room):
            rule(page, y)
        for y in (0, 32 + room):
            put(page, 111 + y, (64, "Station"), (200, "Depth"), (330, "Rain"))
            put(page, 127 + y, (64, "Port Carrick"), (200, "12"), (330, "840"))
        put(page, 142, (64, "After the flood"))

    assert len(tables(lambda page: draw(page, 16))) == 1
    assert len(tables(lambda page: draw(page, 60))) == 2


def test_heads_of_many_lines_are_one_row():
    def draw(page: pymupdf.Page) -> None:
        for y in (100, 150, 190):
            rule(page, y)
        put(page, 110, (64, "Kind"), (200, "Percentage"), (330, "Total"))
        put(page, 121, (200, "of gauges"), (330, "of gauges"))
        put(page, 132, (200, "with rain"), (330, "per port"))
        put(page, 143, (200, "first"), (260, "last"))
        for n in range(3):
            put(page, 160 + 11 * n, (64, f"Kind {n}"), (200, "80"), (260, "20"), (330, "196"))

    assert lines(pdf(draw))[0].startswith("Kind | Percentage of gauges with rain")


def test_cells_that_the_library_reads_as_one_are_apart():
    names = ["Port Carrick harbour", "Gannet Point", "Long Sound", "Outer Bank", "Inner Bank"]
    kind = 66 + pymupdf.get_text_length(names[0], fontsize=9)

    def draw(page: pymupdf.Page) -> None:
        for y in (100, 116, 180):
            rule(page, y)
        put(page, 111, (64, "Station"), (kind, "Kind"), (250, "Mean"), (300, "Error"))
        for n, name in enumerate(names):
            put(page, 127 + 12 * n, (64, name), (kind, "gauge"))
            put(page, 127 + 12 * n, (250, f"0.00011{n} 0.00349{n}" if n == 2 else f"0.00011{n}"))
            if n != 2:
                put(page, 127 + 12 * n, (300, f"0.00349{n}"))

    assert lines(pdf(draw)) == [
        "Station | Kind | Mean | Error",
        *(f"{name} | gauge | 0.00011{n} | 0.00349{n}" for n, name in enumerate(names)),
    ]


def test_tables_of_the_same_width_are_apart_though_their_last_rows_are_open():
    def draw(page: pymupdf.Page) -> None:
        for start, word in ((100, "Waves"), (200, "Winds")):
            put(page, start - 8, (220, word))
            for n in range(3):
                rule(page, start + 20 * n)
                put(page, start + 13 + 20 * n, (64, f"{word} {n}"), (204, "Measured at the pier"))
            page.draw_line((200, start), (200, start + 60), width=0.6)

    assert lines(pdf(draw)) == [
        text
        for word in ("Waves", "Winds")
        for text in (word, *(f"{word} {n} | Measured at the pier" for n in range(3)))
    ]


def test_prose_between_rules_stays_prose():
    def draw(page: pymupdf.Page) -> None:
        for y in (90, 140, 190):
            rule(page, y)
        put(page, 65, (64, "Year"), (200, "Depth"))
        put(page, 80, (64, "2001"), (200, "12"))
        write(page, PROSE, y=105)
        write(page, PROSE, y=160)

    assert lines(pdf(draw)) == ["Year | Depth", "2001 | 12", *PROSE, *PROSE]


def test_lines_above_and_below_the_sums_of_a_column_are_no_table():
    names = ["Rain", "Snow", "Water of both", "Mist", "Dew", "Water of all"]

    def draw(page: pymupdf.Page) -> None:
        for n, name in enumerate(names):
            put(page, 100 + 14 * n, (64, name), (300, "$"), (330, f"{n}02"), (400, "$"), (430, f"{n}14"))
        for y in (118, 132, 160, 174):
            rule(page, y, 298, 350)
            rule(page, y, 398, 450)

    assert lines(pdf(draw)) == [f"{name} | $ {n}02 | $ {n}14" for n, name in enumerate(names)]


def test_a_listing_between_rules_is_no_table():
    code = [f"value{n} = read({n})" for n in range(6)]

    def draw(page: pymupdf.Page) -> None:
        for y in (90, 165, 185):
            rule(page, y)
        for n, line in enumerate(code):
            put(page, 102 + 12 * n, (64, ">>>"), (110, line))
        put(page, 178, (64, "Example"))

    assert not tables(draw)


def test_columns_of_prose_below_a_head_between_rules_are_no_table():
    def draw(page: pymupdf.Page) -> None:
        for y in (45, 75, 260):
            rule(page, y, 60, 520)
        put(page, 70, (62, "Chapter 4"), (480, "Rain"))
        columns(page)

    assert not tables(draw)


def test_thin_lines_of_scaled_content_are_ruling_lines():
    def draw(page: pymupdf.Page) -> None:
        put(page, 114, (64, "Station"), (204, "Purpose"))
        put(page, 134, (64, "Port Carrick"), (204, "Warns the harbour master of high water at night"))
        put(page, 145, (204, "and in fog"))
        put(page, 156, (64, "Gannet Point"), (204, "Measures the tide"))
        page.clean_contents()
        (content,) = page.get_contents()
        ruled = "".join(f"600 {8420 - 10 * y} m 4600 {8420 - 10 * y} l S\n" for y in (100, 120, 164))
        scaled = f"q 0.1 0 0 0.1 0 0 cm 4 w\n{ruled}Q\n"
        page.parent.update_stream(content, scaled.encode() + page.read_contents())

    assert lines(pdf(draw)) == [
        "Station | Purpose",
        "Port Carrick | Warns the harbour master of high water at night and in fog",
        "Gannet Point | Measures the tide",
    ]


def test_numbered_lines_of_a_program_between_two_lines_are_no_table():
    def draw(page: pymupdf.Page) -> None:
        rule(page, 104)
        for n, code in enumerate(["read the gauge", "while dark:", "light the lamp", "close", "end"]):
            put(page, 116 + 11 * n, (64, str(n)), (90, code))
        rule(page, 166)

    assert tables(draw) == []


def test_a_head_in_the_middle_of_a_ruled_column_and_a_double_line_make_no_empty_column():
    def draw(page: pymupdf.Page) -> None:
        for n in range(6):
            rule(page, 100 + 16 * n)
        for x in (60, 300, 303, 380, 460):
            page.draw_line((x, 100), (x, 180), width=0.6)
        put(page, 112, (190, "Station"), (310, "Year"), (390, "Depth"))
        for n in range(4):
            put(page, 128 + 16 * n, (64, f"Gauge {n}"), (310, f"200{n}"), (390, f"1{n}.5"))

    assert lines(pdf(draw)) == ["Station | Year | Depth", *[f"Gauge {n} | 200{n} | 1{n}.5" for n in range(4)]]


def test_a_rule_that_almost_touches_the_edge_of_the_page_leaves_the_page_readable():
    """The library prints such a place without a digit before its point."""

    def draw(page: pymupdf.Page) -> None:
        put(page, 114, (64, "Port Carrick"), (204, "12.5"))
        put(page, 134, (64, "Gannet Point"), (204, "14.0"))
        document, content = page.parent, page.get_contents()[0]
        ruled = b"".join(b" 0.0000038 %d 460 0.5 re f" % (HEIGHT - y) for y in (100, 120, 140))
        document.update_stream(content, document.xref_stream(content) + ruled)

    assert lines(pdf(draw)) == ["Port Carrick | 12.5", "Gannet Point | 14.0"]


def test_a_list_above_a_table_with_upright_lines_is_no_part_of_it():
    def draw(page: pymupdf.Page) -> None:
        rule(page, 60)
        for n in range(6):
            put(page, 80 + 16 * n, (64, f"key {n}"), (200, f"the meaning of the key {n}"))
        for y in (200, 230, 260):
            rule(page, y)
        for x in (60, 250, 460):
            page.draw_line((x, 200), (x, 260), width=0.6)
        put(page, 212, (64, "The gauge is neither read"), (254, "error(gauge)"))
        put(page, 223, (64, "nor sent"))
        put(page, 242, (64, "The name is no word"), (254, "error(name)"))

    assert lines(pdf(draw))[-2:] == [
        "The gauge is neither read nor sent | error(gauge)",
        "The name is no word | error(name)",
    ]


def test_short_lines_below_an_empty_cell_are_rows():
    def draw(page: pymupdf.Page) -> None:
        for y in (100, 116, 250):
            rule(page, y, 60, 200)
        put(page, 112, (64, "Set"), (130, "Fields"))
        for n in range(10):
            put(page, 128 + 12 * n, *[(64, "names")] * (n == 0), (130, f"field{n}"))

    assert lines(pdf(draw)) == ["Set | Fields", "names | field0", *[f"| field{n}" for n in range(1, 10)]]


def test_drawn_underscores_are_no_space_between_columns():
    def draw(page: pymupdf.Page) -> None:
        for n in range(4):
            rule(page, 100 + 16 * n, 60, 300)
        for x in (60, 180, 300):
            page.draw_line((x, 100), (x, 148), width=0.6)
        for n in range(3):
            put(page, 112 + 16 * n, (64, f"No number {n}"), (184, "type"))
        for n in range(3):
            put(page, 112 + 16 * n, (205, f"error(number, {n})"))

    assert lines(pdf(draw)) == [f"No number {n} | type error(number, {n})" for n in range(3)]


def test_the_grid_of_a_chart_is_no_table():
    def draw(page: pymupdf.Page) -> None:
        for n in range(5):
            rule(page, 100 + 30 * n, 100, 220)
            page.draw_line((100 + 30 * n, 100), (100 + 30 * n, 220), width=0.6)
        for row in range(4):
            put(page, 120 + 30 * row, *((110 + 30 * column, "x") for column in range(4)))

    assert not tables(draw)
