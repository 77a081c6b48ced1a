"""What the UI shows of exams: schemas, ideas, items as a candidate sees them, who caught what, cost. Presentation only."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import dagster as dg

from qagen_dagster.configuration.exams.loading import Exam
from qagen_dagster.defs.metadata import Metadata, bar_chart, cell, data_uri, markdown_table, path
from qagen_dagster.defs.questions.metadata import cost
from qagen_dagster.loop.exams.bank import EXPORTS, Bank
from qagen_dagster.loop.exams.plan import PartPlan
from qagen_dagster.loop.exams.stats import caught_by
from qagen_dagster.publishing.exams.preview import question_html
from qagen_dagster.records.exams.bank import Counts, ExamItem, RejectedItem
from qagen_dagster.records.exams.result import SlotEnd, SlotPlan, SlotResult

MAX_CARDS = 6
_WIDTH, _LETTERS, _LINE = 640, 84, 24  # of a card: pixels wide, letters on a line, pixels a line
_CARD = "font:15px/1.5 Georgia,serif;color:#222;background:#fff;padding:4px 14px"


def of_schemas(exam: Exam) -> Metadata:
    """A row per schema, what is wrong with others, what the exam asks for."""
    rows = [
        (one.id, one.title, one.core_move, len(one.contexts), len(one.wrong_paths), one.line)
        for one in exam.schemas.values()
    ]
    weights = {name.value: said.weight for name, said in exam.config.difficulties.items()}
    faults = "\n".join(f"- {cell(str(fault))}" for fault in exam.faults) or "none"
    return {
        "dagster/row_count": dg.MetadataValue.int(len(exam.schemas)),
        "parts": dg.MetadataValue.int(len(exam.parts())),
        "items_asked_for": dg.MetadataValue.int(exam.config.items),
        "difficulties": dg.MetadataValue.json(weights),
        "candidate": dg.MetadataValue.text(exam.config.candidate_profile),
        "schemas": markdown_table(("schema", "title", "core move", "contexts", "wrong paths", "line"), rows),
        "broken_schemas": dg.MetadataValue.md(faults),
    }


def of_ideas(plan: PartPlan, found: Sequence[SlotPlan]) -> Metadata:
    """A row per idea, designs that could not be used, cost."""
    ideas = [(one.slot, one.plan) for one in found if one.plan is not None]
    rows = [
        (slot, idea.idea_summary, idea.what_is_asked, "; ".join(idea.intended_wrong_paths))
        for slot, idea in ideas
    ]
    failures = [(one.slot, why) for one in found for why in one.failures]
    return {
        "dagster/row_count": dg.MetadataValue.int(len(ideas)),
        **_of_plan(plan),
        "ideas": markdown_table(("slot", "idea", "asked for", "wrong paths"), rows),
        "unusable_designs": markdown_table(("slot", "why"), failures),
        **cost(call for one in found for call in one.calls),
    }


def of_items(plan: PartPlan, results: Sequence[SlotResult], reused: int) -> Metadata:
    """Accepted and rejected, who caught what, the items as a candidate sees them, cost."""
    items = [one.item for one in results if one.item is not None]
    rejected = [one.rejected for one in results if one.rejected is not None]
    ends = Counter(one.end.value for one in results)
    caught = caught_by(results, plan.exam.config.thresholds)
    return {
        "dagster/row_count": dg.MetadataValue.int(len(items)),
        "accepted": dg.MetadataValue.int(len(items)),
        "rejected": dg.MetadataValue.int(len(rejected)),
        "budget_exhausted": dg.MetadataValue.int(ends[SlotEnd.BUDGET_EXHAUSTED.value]),
        "reused": dg.MetadataValue.int(reused),
        **_of_plan(plan),
        "items": _items(items),
        "rejected_items": _rejections(rejected),
        "caught_by": _bars(caught, "failed attempts by who caught them"),
        **_cards(items),
        **cost((call for one in results for call in one.calls), len(items)),
    }


def of_bank(exam: Exam, found: Bank) -> Metadata:
    """Acceptance by schema and difficulty, who caught what, cost, items as a candidate sees them, files."""
    stats = found.stats
    total = stats.accepted + stats.rejected
    outcomes = {"accepted": stats.accepted} | stats.failure_types
    exports = {name.rpartition("/")[2]: name for name in found.paths if f"/{EXPORTS}/" in name}
    shown: Metadata = {
        "dagster/row_count": dg.MetadataValue.int(stats.accepted),
        "accepted": dg.MetadataValue.int(stats.accepted),
        "rejected": dg.MetadataValue.int(stats.rejected),
        "unfinished": dg.MetadataValue.int(stats.unfinished),
        "accepted_at_first": dg.MetadataValue.int(stats.first_time),
        "acceptance": _acceptance(exam, stats.by_part),
        "outcomes": _bars(outcomes, "items by outcome"),
        "caught_by": _bars(stats.caught_by, "failed attempts by who caught them"),
        "proofs": dg.MetadataValue.json(stats.proofs),
        "models": dg.MetadataValue.json(stats.models),
        **_cards(_one_of_each(found.bank.items)),
        "items": _items(found.bank.items),
        "rejected_items": _rejections(found.rejected),
        "exports": dg.MetadataValue.json(exports),
        "changed": dg.MetadataValue.json(list(found.changed)),
        **cost((call for one in found.results for call in one.calls), stats.accepted),
    }
    if total:
        shown["acceptance_rate"] = dg.MetadataValue.float(round(stats.accepted / total, 4))
    if "preview.html" in exports:
        shown["preview"] = path(exports["preview.html"])
    return shown


def _of_plan(plan: PartPlan) -> Metadata:
    return {
        "slots": dg.MetadataValue.int(plan.slots),
        "seed": dg.MetadataValue.int(plan.seed),
        "profile": dg.MetadataValue.text(plan.profile_name),
        "models": dg.MetadataValue.json({role.value: spec.name for role, spec in plan.specs.items()}),
        "fingerprint": dg.MetadataValue.text(plan.configuration),
    }


def _acceptance(exam: Exam, by_part: dict[str, Counts]) -> dg.MarkdownMetadataValue:
    """Schemas down, difficulties across: accepted of all that were worked."""
    difficulties = [one.value for one in exam.config.difficulties]
    rows: list[tuple[str, ...]] = []
    for schema in exam.schemas.values():
        counts = [by_part.get(f"{schema.id}/{one}", Counts()) for one in difficulties]
        every = Counts(
            accepted=sum(one.accepted for one in counts), rejected=sum(one.rejected for one in counts)
        )
        rows.append((f"{schema.id} {schema.title}", *map(_share, counts), _share(every)))
    return markdown_table(("schema", *difficulties, "all"), rows)


def _share(counts: Counts) -> str:
    total = counts.accepted + counts.rejected
    return f"{counts.accepted} of {total}" if total else "\u2013"


def _bars(counts: dict[str, int], title: str) -> dg.MarkdownMetadataValue:
    return bar_chart(counts, title) if counts else dg.MetadataValue.md("none")


def _items(items: Sequence[ExamItem]) -> dg.MarkdownMetadataValue:
    rows = [
        (
            item.id,
            item.question.stem,
            f"{item.question.correct_option}: {item.question.options[item.question.correct_option]}",
            len(item.question.options),
            item.proof.status.value,
            f"{item.style_report.scores.mean:.1f}",
            item.attempts,
        )
        for item in items
    ]
    return markdown_table(("id", "stem", "key", "options", "proof", "style", "attempts"), rows)


def _rejections(rejected: Sequence[RejectedItem]) -> dg.MarkdownMetadataValue:
    rows = [
        (
            f"{one.schema_id}/{one.difficulty.value} {one.slot}",
            one.stage,
            one.failure_type,
            one.severity.value,
            one.attempts,
            "; ".join(one.reasons),
        )
        for one in rejected
    ]
    return markdown_table(("slot", "caught by", "failure", "severity", "attempts", "reasons"), rows)


def _one_of_each(items: Sequence[ExamItem]) -> list[ExamItem]:
    """Items of schemas that differ come first."""
    seen: set[str] = set()
    first: list[ExamItem] = []
    others: list[ExamItem] = []
    for item in items:
        (others if item.schema_id in seen else first).append(item)
        seen.add(item.schema_id)
    return [*first, *others]


def _cards(items: Sequence[ExamItem]) -> Metadata:
    """The first items with their formulas set, as pictures inside Markdown."""
    if not items:
        return {}
    cards = [
        f"**{cell(item.id)}** key {item.question.correct_option}\n\n"
        f"![{cell(item.id)}]({data_uri('image/svg+xml', card(item).encode())})"
        for item in items[:MAX_CARDS]
    ]
    return {"as_shown": dg.MetadataValue.md("\n\n".join(cards))}


def card(item: ExamItem) -> str:
    """One question as SVG; a browser sets the MathML in it by itself, and asks nobody for anything."""
    lines = sum(_height(line) for line in item.question.stem.splitlines())
    lines += sum(_height(option) + 0.25 for option in item.question.options.values())
    height = round(lines * _LINE + 48)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}">'
        f'<foreignObject width="{_WIDTH}" height="{height}">'
        f'<div xmlns="http://www.w3.org/1999/xhtml" style="{_CARD}">'
        f"<style>ol{{list-style:upper-alpha;padding-left:2em}}li{{margin:.3em 0}}</style>"
        f"{question_html(item)}</div></foreignObject></svg>"
    )


def _height(text: str) -> float:
    """Lines that a text takes, with room for what stands tall in it."""
    displayed = any(mark in text for mark in ("$$", "\\[", "dfrac"))
    tall = 1.2 if displayed else 0.3 if "frac" in text else 0.0
    return max(1, math.ceil(len(text) / _LETTERS)) + tall
