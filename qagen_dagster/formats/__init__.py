"""Bytes in, documents out: one format, one file, one line in the registry."""

import sys

# PyMuPDF loads an ONNX layout model with every import; nothing here uses it, and leaving it out saves
# each process more than a second and some 60 MB. None makes its optional import fail quietly.
sys.modules.setdefault("pymupdf.layout", None)  # pyright: ignore[reportArgumentType]
