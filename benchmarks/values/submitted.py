"""The submissions of the cases, judged by the checks of a run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, pairwise
from typing import Any

from qagen_dagster.latex.structure import split_items
from qagen_dagster.loop.exams.code_checks import examine
from qagen_dagster.loop.problems.code_checks import (
    alternate_breaches,
    combined_breaches,
    conversion_breaches,
    diagram_breaches,
    scan_breaches,
    variant_breaches,
)
from qagen_dagster.loop.problems.inputs import with_diagram, with_figure_of
from qagen_dagster.records.exams.submissions import QuestionPackage
from qagen_dagster.records.problems.item import (
    AlternateResult,
    Breach,
    Format,
    QuestionKind,
    ScanResult,
    VariantKind,
    VariantResult,
)

Row = dict[str, Any]


def refusals(row: Row) -> list[str]:
    """Why code refuses a submission; empty if it is kept."""
    if row["product"] == "exams":
        found = examine(QuestionPackage.model_validate(row["package"]))
        return [f"{one.name}: {one.detail}" for one in found.faults]
    return [str(one) for one in (_pictured(row) if row["product"] == "problems-picture" else _commanded(row))]


def honest_fault(row: Row) -> str:
    """What a verifier that is always right says against an exam question. Problems have no solver."""
    if row["product"] != "exams":
        return ""
    right, key = row["right_options"], row["package"]["question"]["correct_option"]
    return "" if right == [key] else f"the right options are {right}, the key is {key}"


def _commanded(row: Row) -> Iterator[Breach]:
    """The breaches of what one command submits about a problem in TeX."""
    command, replies = row["command"], row["replies"]
    options = dict(pairwise(command))
    source = _item(row["source"])
    if command[0] == "alternate":
        yield from alternate_breaches(source, AlternateResult.model_validate(replies["submit_alternate"]))
    elif command[0] == "variant" and options["--type"] == "multi":
        yield from combined_breaches((source, _item(row["source2"])), _latex(replies["submit_variant"]))
    elif command[0] == "variant":
        latex = with_figure_of(_latex(replies["submit_variant"]), source)
        yield from variant_breaches(VariantKind(options["--type"]), source, latex)
    elif command[0] == "convert":
        latex = with_figure_of(_latex(replies["submit_conversion"]), source)
        yield from conversion_breaches(source, Format(options["--to"]), latex)
    elif command[0] == "scan":
        scanned = ScanResult.model_validate(replies["submit_scan"]).latex
        yield from scan_breaches(scanned, QuestionKind(options["--type"]), source=source)
    elif command[0] == "tikz":
        yield from diagram_breaches(None, replies["submit_tikz"]["tikz_code"], options["-d"])


def _pictured(row: Row) -> Iterator[Breach]:
    """The breaches of everything that `process` submits about a picture."""
    replies = row["replies"]
    item = ScanResult.model_validate(replies["submit_scan"]).latex
    yield from scan_breaches(item, QuestionKind.MCQ_SC)
    drawing = replies.get("submit_tikz")
    if drawing is not None:
        yield from diagram_breaches(None, drawing["tikz_code"], item)
        item = with_diagram(item, drawing["tikz_code"])
    if "submit_alternate" in replies:
        yield from alternate_breaches(item, AlternateResult.model_validate(replies["submit_alternate"]))
    for name, reply in _by(replies, "submit_variant"):
        latex = with_figure_of(_latex(reply), item)
        yield from variant_breaches(VariantKind(name), item, latex)
    for name, reply in _by(replies, "submit_conversion"):
        yield from conversion_breaches(item, Format(name), with_figure_of(_latex(reply), item))


def _by(replies: Row, name: str) -> Iterator[tuple[str, Row]]:
    for key, reply in replies.get(name, {}).get("by", {}).items():
        yield key.rpartition(": ")[2], reply


def _latex(reply: Row) -> str:
    return VariantResult.model_validate({"latex": reply["latex"], "changes": "-"}).latex


def _item(document: str | None) -> str:
    """The first item of a document; the text of its lists if it has no item with a solution."""
    return next(chain(split_items(document or "").bare_items, [""]))
