"""The metadata that assets of all products show in the UI: tables, charts, pictures, costs; also progress lines and results of checks."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import dagster as dg

from qagen_dagster.ingest.parallel import Progress
from qagen_dagster.loop.shared_budget import unique_calls
from qagen_dagster.records.base import Record
from qagen_dagster.records.decisions import page_address
from qagen_dagster.records.ids import fingerprint
from qagen_dagster.records.run import CallSummary, Usage, cost_of
from qagen_dagster.records.text import markdown_text
from qagen_dagster.store import Store

# Values by label. Dagster infers the kind of a plain value; a MetadataValue has its own kind.
Metadata = dict[str, Any]
# the label of the number of rows, questions or items of a partition
ROW_COUNT = "dagster/partition_row_count"
MAX_ROWS = 200
INLINE = 1_000  # characters; the UI shows longer Markdown in a dialog 1,100 pixels wide, shorter Markdown in a narrow cell
_NARROW = 3  # maximum number of columns that fit into a narrow cell
_LETTERS = 19  # maximum length of a name that fits beside its bar
CHART = 320  # pixels; the width of a chart in a cell. If a label is long, the UI cuts off wider charts


def log_progress(context: dg.AssetExecutionContext, verb: str) -> Progress:
    """A progress callback that writes at most forty lines, because each line is an event of the run."""

    def progress(done: int, total: int, name: str) -> None:
        if done == total or done % max(1, total // 20) == 0:
            context.log.info(f"{verb} {done} of {total}: {name}")

    return progress


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> dg.MarkdownMetadataValue:
    """A Markdown table with escaped cells. Rows after MAX_ROWS are replaced by a note. Without rows, the text is the word "none".

    A table with more than _NARROW columns gets INLINE dashes below its header, so that the UI shows it in a dialog and cuts off no column.
    """
    if not rows:
        return dg.MetadataValue.md("none")
    shown = rows[:MAX_ROWS]
    dashes = "-" * (3 if len(header) <= _NARROW else INLINE)
    lines = ["| " + " | ".join(header) + " |", f"|{dashes}|" + "---|" * (len(header) - 1)]
    lines += ["| " + " | ".join(cell(value) for value in row) + " |" for row in shown]
    if len(rows) > len(shown):
        lines.append(f"\n... and {len(rows) - len(shown)} more")
    return dg.MetadataValue.md("\n".join(lines))


def cell(value: object, limit: int = 300) -> str:
    """The text of one table cell: on one line, cut to `limit` characters, then escaped by `markdown_text`."""
    if value is None:
        return ""
    text = " ".join(str(value).split())
    text = text if len(text) <= limit else text[: limit - 1] + "\u2026"
    return markdown_text(text)


def fault_list(faults: Iterable[object]) -> dg.MarkdownMetadataValue:
    """A list of configuration errors, or "none"."""
    return dg.MetadataValue.md("\n".join(f"- {cell(fault)}" for fault in faults) or "none")


def bar_chart(counts: Mapping[str, int], title: str) -> dg.MarkdownMetadataValue:
    """Horizontal bars, the longest first; without counts the word "none"."""
    rows = sorted(counts.items(), key=lambda item: -item[1])
    if not rows:
        return dg.MetadataValue.md("none")
    top = max(1, rows[0][1])
    above = any(len(name) > _LETTERS for name in counts)  # names stand above their bars, not beside them
    left, row, anchor = (0, 42, "start") if above else (130, 26, "end")
    parts: list[str] = []
    for number, (name, count) in enumerate(rows):
        y, width = row * number + (20 if above else 4), round(150 * count / top)
        at = (0, y - 6) if above else (left - 8, y + 15)
        parts.append(
            f'<text x="{at[0]}" y="{at[1]}" text-anchor="{anchor}" fill="#555">{escape(name)}</text>'
        )
        parts.append(f'<rect x="{left}" y="{y}" width="{max(1, width)}" height="20" rx="3" fill="#4f7cac"/>')
        parts.append(f'<text x="{left + 8 + width}" y="{y + 15}" fill="#555">{count}</text>')
    return dg.MetadataValue.md(chart(title, CHART, row * len(rows) + 8, parts))


def chart(title: str, width: int, height: int, parts: Iterable[str]) -> str:
    """Markdown of a chart drawn by the SVG elements `parts`."""
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
        f'font-size="12"><title>{escape(title)}</title>{"".join(parts)}</svg>'
    )
    return svg_picture(title, svg)


def html_as_svg(body: str, width: int, height: int, style: str) -> str:
    """An SVG image of XHTML, which may have MathML. A browser needs no other file to show the image."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
        f'<foreignObject width="{width}" height="{height}">'
        f'<div xmlns="http://www.w3.org/1999/xhtml" style="{style}">{body}</div></foreignObject></svg>'
    )


def svg_picture(alt: str, svg: str) -> str:
    return f"![{alt}]({data_uri('image/svg+xml', svg.encode())})"


def data_uri(media_type: str, data: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


def pictures(label: str, texts: Sequence[str], between: str = "\n\n") -> Metadata:
    """The Markdown of several pictures under one label; empty without pictures."""
    return {label: dg.MetadataValue.md(between.join(texts))} if texts else {}


def review_page(set_key: str, chosen: str = "") -> Metadata:
    """The command that serves the review page, with the options `chosen`, and a link to the page of a set.

    The link is Markdown, because the UI cuts off long addresses, but wraps Markdown.
    """
    command = f"qagen review {chosen}".rstrip()
    return {"review": dg.MetadataValue.md(f"[Open]({page_address(set_key)}) while this runs: `{command}`")}


def stored_file(store: Store, key: str) -> dg.CodeReferencesMetadataValue | dg.PathMetadataValue:
    """If the store is local, a link that opens the file in an editor; else the path of the file, which the UI may cut off."""
    local = store.local_path(key)
    if local is None:
        return path(store.path(key))
    link = dg.LocalFileCodeReference(file_path=str(local), label=local.name)
    return dg.CodeReferencesMetadataValue(code_references=[link])


def uri(store: Store, key: str, table: str = "") -> Metadata:
    """The address of a stored file or folder, and the `table` of the catalog with the same rows, under the labels of Dagster."""
    local = store.local_path(key)
    name = {"dagster/table_name": f"catalog.main.{table}"} if table else {}
    return {"dagster/uri": store.path(key) if local is None else local.absolute().as_uri(), **name}


def path(value: str) -> dg.PathMetadataValue:
    return dg.MetadataValue.path(value)  # pyright: ignore[reportUnknownMemberType]


_TOKENS = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")


def cost(calls: Iterable[CallSummary], accepted: int | None = None) -> Metadata:
    """The number, tokens, cost, time and retries of all calls together, and a table with a row per role and model.

    Each request counts once. If the cost of a call is unknown, the sum is "unknown". `accepted` is a number of results; unless it
    is None or 0, the cost per result is added. If nothing was paid, the number of calls is the only number, because the UI draws a chart of
    every number, and the other charts would show zeros.
    """
    every = unique_calls(calls)
    usd = cost_of(every)
    if usd == 0:
        paid = shown_money(usd) if every else "no calls"
        return {"model_calls": len(every), "usd": paid, "cost_by_role": _by_role(every)}
    shown: Metadata = {
        "model_calls": len(every),
        **{name: sum(getattr(call, name) for call in every) for name in _TOKENS},
        "model_seconds": round(float(sum(call.seconds for call in every)), 3),
        "retries": sum(call.retries for call in every),
        "usd": shown_money(usd),
        "cost_by_role": _by_role(every),
    }
    unused = [call for call in every if call.unused]
    if unused:
        shown |= {"unused_calls": len(unused), "unused_usd": shown_money(cost_of(unused))}
    if accepted:
        shown["usd_per_accepted"] = shown_money(None if usd is None else usd / accepted)
    return shown


def shown_money(usd: float | None) -> str | float:
    if usd is None:
        return "unknown"
    return round(usd, 6) if usd else "nothing was paid"


def _by_role(calls: Sequence[Usage]) -> dg.MarkdownMetadataValue:
    parts: dict[tuple[str, str], list[Usage]] = {}
    for call in calls:
        parts.setdefault((call.role, call.model), []).append(call)
    rows = [
        (
            *key,
            len(part),
            *(sum(getattr(call, name) for call in part) for name in _TOKENS),
            round(sum(call.seconds for call in part), 1),
            sum(call.retries for call in part),
            "unknown" if (usd := cost_of(part)) is None else f"{usd:.4f}",
        )
        for key, part in sorted(parts.items())
    ]
    header = ("role", "model", "calls", "input", "cached", "output", "reasoning", "seconds", "retries", "USD")
    return markdown_table(header, rows)


if TYPE_CHECKING:
    CheckedResult = dg.MaterializeResult[Any]
else:  # Dagster accepts only the bare class as the annotation of an asset with checks
    CheckedResult = dg.MaterializeResult
WARN = dg.AssetCheckSeverity.WARN


def materialized(
    shown: Metadata, version: str | Iterable[Record], checks: Sequence[dg.AssetCheckResult] = ()
) -> dg.MaterializeResult[Any]:
    """The return value of an asset. `version` is its data version, or records whose fingerprint is its data version."""
    named = version if isinstance(version, str) else fingerprint(one.model_dump_json() for one in version)
    return dg.MaterializeResult(metadata=shown, check_results=checks, data_version=dg.DataVersion(named))


_SHOWN, _LONGEST = 10, 2_000  # maximum number of names that are shown, and of their characters together


def check_event(asset: dg.AssetKey, name: str, found: dg.AssetCheckResult) -> dg.AssetCheckEvaluation:
    """The result of a check as an event that a sensor or a job records."""
    values: Any = found.metadata
    return dg.AssetCheckEvaluation(
        asset_key=asset, check_name=name, passed=found.passed, severity=found.severity, metadata=values
    )


def failing_result(
    name: str,
    failing: Sequence[str],
    numbers: Mapping[str, float],
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR,
) -> dg.AssetCheckResult:
    """The result of a check, which passes if `failing` is empty. It shows `numbers`, the length of `failing` and its first names."""
    first = {"first_failing": ", ".join(failing[:_SHOWN])[:_LONGEST]} if failing else {}
    return dg.AssetCheckResult(
        check_name=name,
        passed=not failing,
        severity=severity,
        metadata={**numbers, "failing": len(failing), **first},
    )


def warning_result(name: str, passed: bool, metadata: Mapping[str, Any]) -> dg.AssetCheckResult:
    """The result of a check that warns if it has not passed."""
    return dg.AssetCheckResult(check_name=name, passed=passed, severity=WARN, metadata=metadata)
