"""Bytes in, documents out: one format, one file, one line in the registry."""

import sys

# PyMuPDF loads an ONNX layout model and its Markdown writer with every import; nothing here uses them, and leaving
# them out saves each process more than a second and some 60 MB. None makes its optional imports fail quietly.
sys.modules.setdefault("pymupdf.layout", None)  # pyright: ignore[reportArgumentType]
sys.modules.setdefault("pymupdf4llm", None)  # pyright: ignore[reportArgumentType]
