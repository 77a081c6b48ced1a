"""The metadata of exams for the UI: schemas, ideas, typeset items, the number of failed attempts by step, cost."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import dagster as dg

from qagen_dagster.configuration.exams import Exam
from qagen_dagster.defs import metadata
from qagen_dagster.loop.exams.bank import EXPORTS, Bank, caught_by
from qagen_dagster.loop.exams.plan import PartPlan
from qagen_dagster.publishing.exams.pages import question_html
from qagen_dagster.records.decisions import exam_key
from qagen_dagster.records.exams import bank
from qagen_dagster.records.exams.paper import ItemStatistics

MAX_CARDS = 6
_WIDTH, _LETTERS, _LINE = 640, 84, 24  # of a card: width in pixels, letters per line, line height in pixels
_CARD = "font:15px/1.5 Georgia,serif;color:#222;background:#fff;padding:4px 14px"
_LIST = "<style>ol{list-style:upper-alpha;padding-left:2em}li{margin:.3em 0}</style>"


def of_schemas(exam: Exam) -> metadata.Metadata:
    """The settings of exam.yaml, a row per schema, and the faults of schemas that cannot be used."""
    rows = [
        (one.id, one.title, one.core_move, len(one.contexts), len(one.wrong_paths), one.line)
        for one in exam.schemas.values()
    ]
    weights = {name.value: difficulty.weight for name, difficulty in exam.config.difficulties.items()}
    return {
        metadata.ROW_COUNT: len(exam.schemas),
        "parts": len(exam.parts()),
        "requested_items": exam.config.items,
        "weights": weights,
        "candidate_profile": exam.config.candidate_profile,
        "schemas": metadata.markdown_table(
            ("schema", "title", "core move", "contexts", "wrong paths", "line"), rows
        ),
        "broken_schemas": metadata.fault_list(exam.faults),
    }


def of_ideas(plan: PartPlan, found: Sequence[bank.SlotPlan]) -> metadata.Metadata:
    """A row per idea, a row per design that could not be used, cost."""
    ideas = [(one.slot, one.plan) for one in found if one.plan is not None]
    rows = [
        (slot, idea.idea_summary, idea.what_is_asked, "; ".join(idea.intended_wrong_paths))
        for slot, idea in ideas
    ]
    failures = [(one.slot, why) for one in found for why in one.failures]
    return {
        metadata.ROW_COUNT: len(ideas),
        **_of_plan(plan),
        "ideas": metadata.markdown_table(("slot", "idea", "question", "wrong paths"), rows),
        "unusable_designs": metadata.markdown_table(("slot", "reason"), failures),
        **metadata.cost(call for one in found for call in one.calls),
    }


def of_items(plan: PartPlan, results: Sequence[bank.SlotResult], reused: int) -> metadata.Metadata:
    """Accepted and rejected items, the number of failed attempts by step, pictures of typeset items, cost."""
    items = [result.item for result in results if result.item is not None]
    rejected = [result.rejected for result in results if result.rejected is not None]
    ends = Counter(result.end.value for result in results)
    caught = caught_by(results, plan.exam.config.thresholds)
    return {
        metadata.ROW_COUNT: len(items),
        "accepted": len(items),
        "rejected": len(rejected),
        "budget_exhausted": ends[bank.SlotEnd.BUDGET_EXHAUSTED.value],
        "reused": reused,
        **_of_plan(plan),
        "items": _items(items),
        "rejected_items": _rejections(rejected),
        "rejected_by": metadata.bar_chart(caught, "failed attempts by the step that rejected them"),
        **_cards(items),
        **metadata.cost((call for result in results for call in result.calls), len(items)),
    }


def of_bank(exam: Exam, found: Bank, statistics: Mapping[str, ItemStatistics]) -> metadata.Metadata:
    """The share of accepted items by schema and difficulty, failed attempts by step, pictures of typeset items, files, cost."""
    stats = found.stats
    total = stats.accepted + stats.rejected
    outcomes = {"accepted": stats.accepted} | stats.failure_types
    exports = {name.rpartition("/")[2]: name for name in found.paths if f"/{EXPORTS}/" in name}
    shown: metadata.Metadata = {
        metadata.ROW_COUNT: stats.accepted,
        "accepted": stats.accepted,
        "rejected": stats.rejected,
        "unfinished": stats.unfinished,
        "accepted_at_first_attempt": stats.first_time,
        "acceptance": _acceptance(exam, stats.by_part),
        "outcomes": metadata.bar_chart(outcomes, "items by outcome"),
        "rejected_by": metadata.bar_chart(stats.caught_by, "failed attempts by the step that rejected them"),
        "proofs": stats.proofs,
        "models": stats.models,
        **_cards(_one_of_each(found.bank.items)),
        "items": _items(found.bank.items),
        "rejected_items": _rejections(found.rejected),
        "answers_of_candidates": _statistics(statistics.values()),
        "exports": list(exports),
        "changed": list(found.changed),
        **metadata.review_page(exam_key(exam.key)),
        **metadata.cost((call for result in found.results for call in result.calls), stats.accepted),
    }
    if total:
        shown["acceptance_rate"] = round(stats.accepted / total, 4)
    if "preview.html" in exports:
        # The key in the store, because the UI would truncate the full path.
        shown["preview"] = metadata.path(bank.ItemBank.file_key(exam.key, f"{EXPORTS}/preview.html"))
    return shown


def _statistics(found: Iterable[ItemStatistics]) -> dg.MarkdownMetadataValue:
    rows = [
        (one.item, one.candidates, one.facility, one.discrimination, "; ".join(one.findings)) for one in found
    ]
    return metadata.markdown_table(("id", "candidates", "facility", "point-biserial", "found"), rows)


def _of_plan(plan: PartPlan) -> metadata.Metadata:
    return {
        "slots": plan.slots,
        "seed": plan.seed,
        "profile": plan.profile_name,
        "models": {role.value: spec.name for role, spec in plan.specs.items()},
        "fingerprint": plan.configuration,
    }


def _acceptance(exam: Exam, by_part: dict[str, bank.Counts]) -> dg.MarkdownMetadataValue:
    """A row per schema and a column per difficulty, with the number of accepted items out of all finished items."""
    difficulties = [difficulty.value for difficulty in exam.config.difficulties]
    rows: list[tuple[str, ...]] = []
    for schema in exam.schemas.values():
        counts = [by_part.get(f"{schema.id}/{difficulty}", bank.Counts()) for difficulty in difficulties]
        every = bank.Counts(
            accepted=sum(count.accepted for count in counts), rejected=sum(count.rejected for count in counts)
        )
        rows.append((f"{schema.id} {schema.title}", *map(_share, counts), _share(every)))
    return metadata.markdown_table(("schema", *difficulties, "all"), rows)


def _share(counts: bank.Counts) -> str:
    total = counts.accepted + counts.rejected
    return f"{counts.accepted} of {total}" if total else "\u2013"


def _items(items: Sequence[bank.ExamItem]) -> dg.MarkdownMetadataValue:
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
    return metadata.markdown_table(("id", "stem", "key", "options", "proof", "style", "attempts"), rows)


def _rejections(rejected: Sequence[bank.RejectedItem]) -> dg.MarkdownMetadataValue:
    rows = [
        (
            f"{item.schema_id}/{item.difficulty.value} {item.slot}",
            item.failure_type,
            "; ".join(item.reasons),
            item.stage,
            item.severity.value,
            item.attempts,
        )
        for item in rejected
    ]
    return metadata.markdown_table(
        ("slot", "failure", "reasons", "rejected by", "severity", "attempts"), rows
    )


def _one_of_each(items: Sequence[bank.ExamItem]) -> list[bank.ExamItem]:
    """The items, with the first item of each schema before all other items."""
    first = {item.schema_id: item.id for item in reversed(items)}
    return sorted(items, key=lambda item: item.id != first[item.schema_id])


def _cards(items: Sequence[bank.ExamItem]) -> metadata.Metadata:
    cards = [
        f"**{metadata.cell(item.id)}** key {item.question.correct_option}\n\n{metadata.svg_picture(metadata.cell(item.id), card(item))}"
        for item in items[:MAX_CARDS]
    ]
    return metadata.pictures("rendered_items", cards)


def card(item: bank.ExamItem) -> str:
    """One question as SVG. A browser typesets its MathML and needs no other file."""
    lines = sum(_height(line) for line in item.question.stem.splitlines())
    lines += sum(_height(option) + 0.25 for option in item.question.options.values())
    height = round(lines * _LINE + 48)
    return metadata.html_as_svg(f"{_LIST}{question_html(item)}", _WIDTH, height, _CARD)


def _height(text: str) -> float:
    """The number of lines that a text takes. Fractions and displayed formulas are taller than a line."""
    displayed = any(mark in text for mark in ("$$", "\\[", "dfrac"))
    tall = 1.2 if displayed else 0.3 if "frac" in text else 0.0
    return max(1, math.ceil(len(text) / _LETTERS)) + tall
