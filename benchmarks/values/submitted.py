"""The submissions of the cases, judged by the checks of a run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import Any

from qagen_dagster.latex.structure import split_items
from qagen_dagster.loop.exams.code_checks import examine
from qagen_dagster.loop.exams.duplicates import find_duplicates
from qagen_dagster.loop.problems.code_checks import (
    alternate_breaches,
    combined_breaches,
    conversion_breaches,
    diagram_breaches,
    scan_breaches,
    variant_breaches,
)
from qagen_dagster.loop.problems.inputs import with_diagram, with_figure_of
from qagen_dagster.loop.problems.key_checks import compared, keys_of, read_differently, unsolvable
from qagen_dagster.records.blind import BlindSolution
from qagen_dagster.records.exams.bank import ExamItem
from qagen_dagster.records.exams.submissions import QuestionPackage
from qagen_dagster.records.problems.submissions import (
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


def repeats(rows: Sequence[Row]) -> dict[str, str]:
    """The names of exam questions that repeat a good one, with the reason."""
    exams = sorted((one for one in rows if one["product"] == "exams"), key=lambda one: one["kind"] != "good")
    packages = {one["name"]: QuestionPackage.model_validate(one["package"]) for one in exams}
    found = find_duplicates(
        [ExamItem.model_construct(id=name, question_package=one) for name, one in packages.items()]
    )
    return {name: f"repeats {other}: {why}" for name, (other, why) in found.items()}


def honest_fault(row: Row) -> str:
    """What a verifier, a solver or a second reader that is always right says against a submission.

    Of a problem, `solver` is the answer to the item as submitted (letters for options), and `second_reading` the right LaTeX of its picture.
    Without them nobody solves it.
    """
    if row["product"] == "exams":
        right, key = row["right_options"], row["package"]["question"]["correct_option"]
        return "" if right == [key] else f"the right options are {right}, the key is {key}"
    item = _solved_item(row)
    found: list[str] = []
    if row.get("second_reading"):
        scan = ScanResult.model_validate(row["replies"]["submit_scan"])
        found += read_differently(scan, scan.model_copy(update={"latex": row["second_reading"]}))
    if row.get("solver") and item and not unsolvable(item):
        letters = tuple(re.findall(r"\b[A-H]\b", row["solver"].upper())) if keys_of(item) else ()
        blind = BlindSolution.model_validate(
            {"reasoning": "-", "value": row["solver"], "right_options": letters, "chosen_option": None}
        )
        found.append(compared(item, blind)[1])
    return "; ".join(filter(None, found))


def _solved_item(row: Row) -> str:
    """The item that the solver is shown; empty if the command makes none."""
    replies = row["replies"]
    if row["product"] == "problems-picture":
        return with_diagram(
            replies["submit_scan"]["latex"], replies.get("submit_tikz", {}).get("tikz_code", "")
        )
    made = [
        replies[name]["latex"]
        for name in ("submit_variant", "submit_conversion", "submit_scan")
        if name in replies
    ]
    return with_figure_of(made[0], _item(row["source"])) if made else ""


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
