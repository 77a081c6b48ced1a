"""Readers of document formats: each format is one file or one folder, registered by one line in `registry.py`."""

import sys

# Every import of PyMuPDF loads an ONNX layout model and a Markdown writer, which nothing here uses. Leaving them out
# saves each process more than a second and some 60 MB. The value None makes PyMuPDF skip these optional imports.
sys.modules.setdefault("pymupdf.layout", None)  # pyright: ignore[reportArgumentType]
sys.modules.setdefault("pymupdf4llm", None)  # pyright: ignore[reportArgumentType]
