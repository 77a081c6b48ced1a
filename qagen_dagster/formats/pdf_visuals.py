"""What there is to look at in a PDF."""

from __future__ import annotations

import pymupdf

from qagen_dagster.formats.base import ParseOptions
from qagen_dagster.records.document import Visual


def find_visuals(document: pymupdf.Document, options: ParseOptions) -> tuple[Visual, ...]:
    """Nothing yet."""
    return ()
