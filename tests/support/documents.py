"""Small documents, opened for agents, and the corpus they belong to."""

from __future__ import annotations

from qagen_dagster.agents.questions.prompt_values import QAContext
from qagen_dagster.formats.base import PageImage, RenderOptions
from qagen_dagster.records.corpus_options import CorpusConfig, ScenarioConfig
from qagen_dagster.records.document import Document, Metadata, Outcome, PageSpan, Section, Visual, VisualType
from qagen_dagster.records.ids import Mode
from qagen_dagster.toolkit.document_view import DocumentView

MANUAL = """\
Service manual of the CT-15 probe
The probe measures conductivity between 0.1 and 70 mS/cm.
The cell constant is 1,250 per metre.
Calibrate the probe every 90 days.
Never open the cell: it is filled with argon.
The probe was first built in 1998 by Ida Holm.
Its cable is 12 m long and must not be shortened.
Table 1: Drift of the probe
| Month | Drift |
| May | 0.3 % |
| June | 0.8 % |"""

SCENARIO = ScenarioConfig(
    name="Service desk", description="Short questions of technicians.", target_count=3, closed_book=False
)
CORPUS = CorpusConfig(
    name="Probe manuals", corpus_context="Manuals of conductivity probes.", scenarios={"service": SCENARIO}
)
TABLE = Visual(label="Table 1", type=VisualType.TABLE, page=2, caption="Drift of the probe", start_line=8)


def page_picture(page: int, _how: RenderOptions) -> PageImage:
    return PageImage("image/png", b"\x89PNG page %d" % page, 10, 10)


def view_of(
    text: str = MANUAL,
    *,
    name: str = "manual.txt",
    visuals: tuple[Visual, ...] = (),
    pages: tuple[PageSpan, ...] = (),
    sections: tuple[Section, ...] = (),
    metadata: Metadata | None = None,
    outcome: Outcome = Outcome.PARSED,
    page_count: int | None = None,
) -> DocumentView:
    lines = tuple(text.split("\n")) if text else ()
    document = Document(
        id=name,
        source=name,
        format="text",
        outcome=outcome,
        detail="" if outcome is Outcome.PARSED else "for a reason",
        source_sha256="5" * 64,
        parser="text-1",
        line_count=len(lines),
        page_count=page_count or len(pages) or None,
        pages=pages,
        sections=sections,
        metadata=metadata or Metadata(),
    )
    return DocumentView(document, lines, visuals, page_picture)


def context_of(view: DocumentView | None = None, mode: Mode = Mode.TEXTUAL) -> QAContext:
    return QAContext(CORPUS, SCENARIO, mode, view or view_of())


def visual_context() -> QAContext:
    """The manual on two pages with its table."""
    pages = (PageSpan(page=1, start_line=1, end_line=7), PageSpan(page=2, start_line=8, end_line=11))
    return context_of(view_of(pages=pages, visuals=(TABLE,)), Mode.VISUAL)
