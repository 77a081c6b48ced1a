"""Files with physics problems: TeX with many items, a picture, a PDF, a problem set of a project."""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image, ImageDraw

from tests.support.problems.play import item, mcq

HEAD = "\\documentclass{article}\n\\usepackage{tasks}\n\\newcommand{\\unitname}[1]{\\mathrm{#1}}\n\\begin{document}\n\\begin{enumerate}\n"
TAIL = "\\end{enumerate}\n\\end{document}\n"
YAML = """\
name: Motion
sources:
  - {{file: problems.tex}}
{more}"""


def tex(items: int, *, first: int = 2) -> str:
    """A document of open problems and, every fourth, one with options; no two with the same numbers."""
    made = [(mcq if number % 4 == 3 else item)(first + number, 5) for number in range(items)]
    return HEAD + "\n\n".join(made) + "\n" + TAIL


def picture(form: str = "PNG", number: int = 1) -> bytes:
    image = Image.new("RGB", (240, 120), "white")
    ImageDraw.Draw(image).text((8, 40), f"{number}. A cart starts from rest.", fill="black")
    out = io.BytesIO()
    image.save(out, form)
    return out.getvalue()


def pdf(pages: int) -> bytes:
    shown = [Image.open(io.BytesIO(picture(number=page))) for page in range(1, pages + 1)]
    out = io.BytesIO()
    shown[0].save(out, "PDF", save_all=True, append_images=shown[1:])
    return out.getvalue()


def write_set(corpora: Path, key: str = "motion", items: int = 3, more: str = "") -> Path:
    """A problem set of TeX items."""
    folder = corpora / "problems" / key
    (folder / "sources").mkdir(parents=True)
    (folder / "problems.yaml").write_text(YAML.format(more=more))
    (folder / "sources" / "problems.tex").write_text(tex(items))
    return folder
