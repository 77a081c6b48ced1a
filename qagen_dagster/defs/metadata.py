"""What the UI shows of documents and visuals: tables, counts, charts, page crops. Presentation only."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from html import escape

import dagster as dg

from qagen_dagster.configuration.corpora import Corpora, Corpus
from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import RenderOptions
from qagen_dagster.formats.sandbox import FileSource, ParserPool
from qagen_dagster.ingest.files import parse_options
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.document import CorpusIndex, Outcome, Visual, VisualManifest
from qagen_dagster.store import Store

Metadata = dict[str, dg.MetadataValue]  # pyright: ignore[reportMissingTypeArgument]
MAX_ROWS = 200
MAX_CROPS = 6
_CROP = RenderOptions(max_pixels=120_000, max_side=420, max_bytes=60_000)


def log_progress(context: dg.AssetExecutionContext, verb: str) -> Callable[[int, int, str], None]:
    """A progress callback that writes at most about twenty lines."""

    def progress(done: int, total: int, name: str) -> None:
        if done == total or done % max(1, total // 20) == 0:
            context.log.info(f"{verb} {done} of {total}: {name}")

    return progress


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> dg.MarkdownMetadataValue:
    """A Markdown table; cells are escaped, long tables are cut with a note. Without a row there is none to show."""
    if not rows:
        return dg.MetadataValue.md("none")
    shown = rows[:MAX_ROWS]
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(cell(value) for value in row) + " |" for row in shown]
    if len(rows) > len(shown):
        lines.append(f"\n... and {len(rows) - len(shown)} more")
    return dg.MetadataValue.md("\n".join(lines))


def cell(value: object, limit: int = 300) -> str:
    """One table cell: escaped, on one line, cut."""
    if value is None:
        return ""
    text = " ".join(str(value).split())
    text = text if len(text) <= limit else text[: limit - 1] + "\u2026"
    return escape(text, quote=False).replace("|", "\\|").replace("`", "'")


def bar_chart(counts: Mapping[str, int], title: str) -> dg.MarkdownMetadataValue:
    """Horizontal bars as an SVG image inside Markdown."""
    rows = sorted(counts.items(), key=lambda item: -item[1])
    top = max((count for _, count in rows), default=1) or 1
    height = 26 * len(rows) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="430" height="{height}" font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
    ]
    for number, (name, count) in enumerate(rows):
        y, width = 26 * number + 4, round(230 * count / top)
        parts.append(f'<text x="142" y="{y + 15}" text-anchor="end" fill="#555">{escape(name)}</text>')
        parts.append(f'<rect x="150" y="{y}" width="{max(1, width)}" height="20" rx="3" fill="#4f7cac"/>')
        parts.append(f'<text x="{158 + width}" y="{y + 15}" fill="#555">{count}</text>')
    svg = "".join((*parts, "</svg>"))
    return dg.MetadataValue.md(f"![{title}]({data_uri('image/svg+xml', svg.encode())})")


def data_uri(media_type: str, data: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


def broken_corpora(corpora: Corpora) -> dg.MarkdownMetadataValue:
    """Which corpora cannot be read, and why."""
    if not corpora.faults:
        return dg.MetadataValue.md("none")
    return dg.MetadataValue.md("\n".join(f"- {cell(fault)}" for fault in corpora.faults))


def path(value: str) -> dg.PathMetadataValue:
    """A file's path, shown with a copy button."""
    return dg.MetadataValue.path(value)  # pyright: ignore[reportUnknownMemberType]


def of_index(index: CorpusIndex, parsed_files: int, store: Store) -> Metadata:
    """Counts by outcome, and a row per document."""
    outcomes = Counter(document.outcome.value for document in index.documents)
    rows = [
        (d.id, d.format, d.outcome.value, d.page_count, d.line_count, f"{d.seconds:.2f}", d.detail)
        for d in sorted(index.documents, key=lambda d: (d.outcome in (Outcome.PARSED,), d.id))
    ]
    return {
        "dagster/row_count": dg.MetadataValue.int(len(index.documents)),
        "files_parsed_now": dg.MetadataValue.int(parsed_files),
        "lines": dg.MetadataValue.int(sum(d.line_count for d in index.documents)),
        "not_usable": dg.MetadataValue.int(
            sum(d.outcome not in (Outcome.PARSED, Outcome.NO_TEXT) for d in index.documents)
        ),
        "outcomes": bar_chart(outcomes, "documents by outcome"),
        "documents": markdown_table(
            ("document", "format", "outcome", "pages", "lines", "seconds", "detail"), rows
        ),
        "index": path(store.path(CorpusIndex.key(index.corpus))),
    }


def of_manifests(manifests: Sequence[VisualManifest]) -> Metadata:
    """Counts by type, and a row per visual."""
    types = Counter(visual.type.value for manifest in manifests for visual in manifest.visuals)
    rows = [
        (m.document_id, v.label, v.type.value, v.page, v.start_line, v.caption)
        for m in manifests
        for v in m.visuals
    ]
    failures = [(m.document_id, m.failure) for m in manifests if m.failure is not None]
    return {
        "dagster/row_count": dg.MetadataValue.int(len(rows)),
        "documents_without_visuals": dg.MetadataValue.int(sum(not m.visuals for m in manifests)),
        "types": bar_chart(types, "visuals by type") if types else dg.MetadataValue.md("none found"),
        "visuals": markdown_table(("document", "label", "type", "page", "line", "caption"), rows),
        "failures": markdown_table(("document", "why"), failures),
    }


def page_crops(
    space: Workspace, corpus: Corpus, manifests: Sequence[VisualManifest], pool: ParserPool
) -> Metadata:
    """Small pictures of a few visuals, so that a person sees whether boxes fit."""
    sources = {entry.id: entry.source for entry in space.index(corpus.key).documents}
    chosen: list[tuple[str, Visual]] = []
    for manifest in manifests:
        chosen += [(manifest.document_id, v) for v in manifest.visuals if v.page is not None][:2]
    pictures = [
        text
        for document_id, visual in chosen[:MAX_CROPS]
        if (text := crop_markdown(corpus, pool, sources[document_id], visual)) is not None
    ]
    return {"crops": dg.MetadataValue.md("\n\n".join(pictures))} if pictures else {}


def crop_markdown(corpus: Corpus, pool: ParserPool, source: str, visual: Visual) -> str | None:
    """Markdown of one visual's picture with its caption; None when it cannot be shown."""
    file = FileSource(source, corpus.documents_folder / source)
    how = RenderOptions(_CROP.max_pixels, _CROP.max_side, _CROP.max_bytes, visual.box)
    try:
        picture = pool.render(file, visual.page or 1, parse_options(corpus.config.documents), how)
    except DocumentError:
        return None
    if picture is None:
        return None
    title = f"**{cell(source)}, {cell(visual.label)}** {cell(visual.caption, 160)}"
    return f"{title}\n\n![{cell(visual.label)}]({data_uri(picture.media_type, picture.data)})"
