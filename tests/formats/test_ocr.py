"""Recognition of text in pictures, by a stand-in for the program that says what it was given.

The stand-in takes the picture's orientation from its shape and colour, so that turning is really tested; whether the
machine has the true program only decides the last test's answer.
"""

from __future__ import annotations

import io
import stat
import sys
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import ParseOptions
from qagen_dagster.formats.ocr import ocr_image, tesseract_available
from qagen_dagster.records.document import Outcome
from tests.formats.pdf.samples import lines, parse, pdf, scan

PROGRAM = """#!{python}
import io, sys
from PIL import Image
if "--list-langs" in sys.argv:
    print("List of available languages (3):\\neng\\ndeu\\nosd")
    sys.exit()
data = sys.stdin.buffer.read()
if b"waits" in data:
    import time; time.sleep(1.5)
while b"slow" in data:
    pass
try:
    picture = Image.open(io.BytesIO(data)).convert("L")
except OSError:
    sys.exit("Error: cannot read the picture")
# Upright pictures have their dark corner at the top left.
corners = [(0, 0), (picture.width - 1, 0), (picture.width - 1, picture.height - 1), (0, picture.height - 1)]
turned = min(range(4), key=lambda n: picture.getpixel(corners[n]))
if sys.argv[sys.argv.index("--psm") + 1] == "0":
    print("Rotate: %d\\nOrientation confidence: {sure}" % ((360 - 90 * turned) % 360))
else:
    language = sys.argv[sys.argv.index("-l") + 1]
    print("corner %d of %s\\x0c\\n\\n\\n\\nin %s" % (turned, picture.size, language))
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def install(sure: float = 5.0) -> None:
        program = tmp_path / "tesseract"
        program.write_text(PROGRAM.format(python=sys.executable, sure=sure))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(tmp_path))

    return install


def marked(turned: int) -> bytes:
    picture = Image.new("L", (80, 40), "white")
    picture.paste(0, (0, 0, 20, 10))
    out = io.BytesIO()
    picture.rotate(-90 * turned, expand=True).save(out, "PNG")
    return out.getvalue()


@pytest.mark.parametrize("turned", [0, 1, 2, 3])
def test_a_picture_is_read_upright(stand_in, turned):
    stand_in()
    assert ocr_image(marked(turned), "eng") == "corner 0 of (80, 40)\n\nin eng"


def test_an_unsure_orientation_changes_nothing(stand_in):
    stand_in(sure=0.2)
    assert ocr_image(marked(2), "eng") == "corner 2 of (80, 40)\n\nin eng"


def test_only_installed_languages_are_asked_for(stand_in):
    stand_in()
    assert (ocr_image(marked(0), "fra+deu+eng; rm -rf") or "").endswith("in deu")
    assert ocr_image(marked(0), "fra") is None


def test_without_the_program_there_is_no_text(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not tesseract_available()
    assert ocr_image(marked(0), "eng") is None
    assert "not installed" in parse(pdf(scan), ParseOptions()).detail


def test_a_picture_that_cannot_be_read(stand_in):
    stand_in()
    with pytest.raises(DocumentError) as caught:
        ocr_image(b"rubbish", "eng")
    assert caught.value.outcome == Outcome.CORRUPT


def test_the_time_is_limited(stand_in):
    stand_in()
    with pytest.raises(DocumentError) as caught:
        ocr_image(b"slow", "eng", seconds=1)
    assert caught.value.outcome == Outcome.TIMEOUT


def test_waiting_for_a_processor_is_not_counted(stand_in):
    stand_in()
    assert (ocr_image(marked(0) + b"waits", "eng", seconds=1) or "").startswith("corner 0")


def test_scanned_pages_get_their_text(stand_in):
    stand_in()
    found = parse(pdf("typed", scan, "typed too"), ParseOptions())
    assert (found.outcome, found.ocr) == (Outcome.PARSED, True)
    assert found.detail == "text of 1 page recognised from pictures"
    page = found.pages[1]
    assert found.text.split("\n")[page.start_line - 1].startswith("corner")
    assert (found.pages[0].end_line, found.pages[2].start_line) == (1, page.end_line + 1)


def test_languages_that_are_not_there_are_named(stand_in):
    stand_in()
    found = parse(pdf(scan, scan), ParseOptions(ocr_languages="fra"))
    assert found.outcome is Outcome.NO_TEXT
    assert "none of the languages fra" in found.detail


def test_a_picture_too_large_to_decode_is_not_read(stand_in):
    stand_in()
    found = parse(pdf(scan), ParseOptions(max_pixels=1_000))
    assert found.outcome is Outcome.NO_TEXT
    assert "exceeds 1,000 pixels" in found.detail


def test_a_page_with_text_and_pictures_is_not_recognised(stand_in):
    stand_in()

    def both(page) -> None:
        scan(page)
        page.insert_text((60, 700), "A caption in letters")

    assert lines(pdf(both), ParseOptions()) == ["A caption in letters"]


def test_with_the_machines_own_program():
    picture = Image.new("L", (700, 160), "white")
    ImageDraw.Draw(picture).text((30, 40), "Hello printed world", fill=0, font=ImageFont.load_default(60))
    out = io.BytesIO()
    picture.save(out, "PNG")
    found = ocr_image(out.getvalue(), "eng")
    assert found is None or "Hello" in found
