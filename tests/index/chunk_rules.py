"""What holds of the chunks of any text, checked without the code that made them."""

from __future__ import annotations

from itertools import pairwise

import regex

from qagen_dagster.records.document import Chunk
from qagen_dagster.records.index_options import IndexOptions


def check(text: str, chunks: tuple[Chunk, ...], options: IndexOptions) -> None:
    if not text.strip():
        assert chunks == ()
        return
    clusters = regex.findall(r"\X", text)
    edges = {0}
    at = 0
    for cluster in clusters:
        at += len(cluster)
        edges.add(at)
    widest = max(map(len, clusters))
    assert (chunks[0].start, chunks[-1].end) == (0, len(text))
    assert [chunk.number for chunk in chunks] == list(range(1, len(chunks) + 1))
    for chunk in chunks:
        piece = text[chunk.start : chunk.end]
        assert {chunk.start, chunk.end} <= edges
        assert piece.strip()
        assert len(piece.strip()) <= max(options.chunk_characters, widest)
        lines = text.split("\n")[chunk.start_line - 1 : chunk.end_line]
        assert piece.strip() in "\n".join(lines)
        assert lines[0].strip()
        assert lines[-1].strip()
    for one, other in pairwise(chunks):
        assert one.start < other.start <= one.end < other.end
        assert len(text[other.start : one.end].strip()) <= options.overlap_characters
    whole = ""
    for chunk in chunks:
        whole += text[len(whole) : chunk.end]
    assert whole == text
