"""The figures of items. Each figure is drawn once, on a machine with a TeX engine, and stored. Exports and the review page show it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import PageImage, ParseOptions, RenderOptions, Source
from qagen_dagster.formats.image import trimmed
from qagen_dagster.latex.engine import compile_item, find_engine
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.allowed_tex import own_of, refused
from qagen_dagster.publishing.markup import figure_id, figures_of
from qagen_dagster.publishing.problems.tex_project import allowed_definitions
from qagen_dagster.records.ids import digest, store_key

SMALL = RenderOptions(max_pixels=200_000, max_side=620, max_bytes=90_000)
QUIET = ParseOptions(ocr=False)
NOT_DRAWN = "figures are not drawn, because there is no TeX engine or they do not compile: {}"


@dataclass(frozen=True)
class Drawing:
    """A text with figures, and the preamble and libraries with which they compile."""

    text: str
    preamble: str = ""
    libraries: tuple[str, ...] = ()

    def picture(self, code: str) -> str:
        """The name under which the picture of a figure is stored; `code` is the TeX of the figure."""
        return digest(code, self.preamble, *self.libraries)[:32]


def picture_key(name: str) -> str:
    """The store key of a picture."""
    return store_key("figures", name[:2], name)


def draw_figures(space: Workspace, texts: Iterable[Drawing], *, draw: bool = True) -> dict[str, bytes]:
    """The stored pictures of the figures in `texts`, by figure id. With `draw`, missing pictures are drawn and stored if possible."""
    found: dict[str, bytes] = {}
    for text in texts:
        for code in figures_of(text.text):
            key = picture_key(text.picture(code))
            picture = space.store.get(key)
            if picture is None and draw and (made := rendering(space, code, text.preamble, text.libraries)):
                picture = made.data
                space.store.write_bytes(key, picture)
            if picture is not None:
                found[figure_id(code)] = picture
    return found


def undrawn(texts: Mapping[str, str], figures: Mapping[str, bytes]) -> list[str]:
    """The ids of the items with a figure that `figures` lacks; `texts` has the text of each item by its id."""
    return [one for one, text in texts.items() if {*map(figure_id, figures_of(text))} - figures.keys()]


def rendering(space: Workspace, latex: str, preamble: str, libraries: tuple[str, ...]) -> PageImage | None:
    """A picture of the first page of `latex`.

    Returns None if there is no TeX engine, or if `latex` has forbidden commands or does not compile.
    """
    engine = find_engine()
    barred = refused(latex, own_of(allowed_definitions([preamble])))
    return first_page(
        space, None if engine is None or barred else compile_item(engine, latex, preamble, libraries).pdf
    )


def first_page(space: Workspace, pdf: bytes | None) -> PageImage | None:
    """A picture of the first page of a PDF without its margins; None without a PDF, or if the PDF cannot be drawn."""
    if pdf is None:
        return None
    try:
        page = space.parsers().render(Source("item.pdf", pdf), 1, QUIET, RenderOptions())
    except DocumentError:
        return None
    return None if page is None else trimmed(page, SMALL)
