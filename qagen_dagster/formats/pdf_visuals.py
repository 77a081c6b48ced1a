"""What there is to look at in a PDF."""

from __future__ import annotations

from qagen_dagster.formats.base import ParseOptions
from qagen_dagster.formats.pdf_library import Pdf
from qagen_dagster.records.document import Visual


def find_visuals(pdf: Pdf, options: ParseOptions) -> tuple[Visual, ...]:
    """Nothing yet."""
    return ()
