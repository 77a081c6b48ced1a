"""The answerer "reader": a short answer from excerpts of a document, with the excerpt it was found in.

What belongs here: reading the prompt and choosing among the ways to an answer. Ranking pieces is `retrieval`'s, taking an
answer out of a row, a label or a sentence is `spans`'.
"""

from __future__ import annotations

import re

from qagen_dagster.models.embedded.conversation import Action, Line, rows, section
from qagen_dagster.models.embedded.retrieval import Hit, make_index, rank, take_apart
from qagen_dagster.models.embedded.spans import answer_in, expected
from qagen_dagster.models.embedded.units import units

WEAK = 0.35  # a lower retrieval score is no answer
_EXCERPT = re.compile(
    r"^Excerpt (\d+)\n<document_excerpt>\n(.*?)\n</document_excerpt>", re.MULTILINE | re.DOTALL
)
_TITLE = re.compile(r"^title: (.*)$", re.MULTILINE)


def answer_from_excerpts(prompt: str, threads: int) -> Action:
    """The best span of the best piece that has one; else that piece as a whole."""
    shown = excerpts(prompt)
    known = {line.number: line for _, lines in shown for line in lines}
    title = _TITLE.search(prompt)
    asked = take_apart(section(prompt, "Question"))
    index = make_index(units(known, {}), title.group(1) if title else "")
    ranked = rank(asked, index, threads)
    if not ranked:
        return _submit("The excerpts hold no sentence, row or entry.", None, 0.0, shown, "nothing to search")
    found = next(((hit, text) for hit in ranked if (text := answer_in(asked, hit.unit))), None)
    best, text = found or (ranked[0], ranked[0].unit.text)
    note = (
        f"embedded:reader, retrieval score {best.score:.2f} (words {best.share:.2f}, cosine {best.cosine:.2f}), "
        f"answer of type {expected(asked)}."
    )
    return _submit(text, best, best.score, shown, note)


def excerpts(prompt: str) -> list[tuple[int, list[Line]]]:
    """Number and lines of each excerpt, in the order shown."""
    return [(int(number), rows(body)) for number, body in _EXCERPT.findall(prompt)]


def _submit(
    text: str, best: Hit | None, score: float, shown: list[tuple[int, list[Line]]], note: str
) -> Action:
    chunks: list[int] = []
    if best is not None:
        quote = best.unit.quote
        wanted = set(range(quote.start_line, quote.end_line + 1))
        chunks = [number for number, lines in shown if wanted <= {line.number for line in lines}][:1]
    arguments = {
        "answer": text,
        "answerable": best is not None and score >= WEAK,
        "confidence": round(min(1.0, max(0.0, score)), 4),
        "chunks": chunks,
        "note": note,
    }
    return Action("submit_document_answer", arguments)
