"""What the UI shows of problem sets: picture beside LaTeX beside rendering, how tasks ended, cost. Presentation only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape

import dagster as dg

from qagen_dagster.configuration.problems import ProblemSet, ProblemSets
from qagen_dagster.defs.metadata import Metadata, bar_chart, cell, data_uri, markdown_table
from qagen_dagster.defs.questions.metadata import cost
from qagen_dagster.loop.problems.bank import EXPORTS, PublishedBank, items_of
from qagen_dagster.loop.problems.pictures import rendering, thumbnail
from qagen_dagster.loop.problems.plan import SetPlan
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.markup import with_mathml
from qagen_dagster.publishing.problems.markup import html
from qagen_dagster.publishing.segments import xml_text
from qagen_dagster.records.problems.export import BankItem
from qagen_dagster.records.problems.item import Problem
from qagen_dagster.records.problems.result import ProblemBank, Stage, TaskResult
from qagen_dagster.records.problems.source import ProblemSources

MAX_CARDS = 6
_WIDE, _LINE, _LETTER = 990, 17, 7.5  # pixels: of a card, of a line, of a letter
_LEAST, _MOST = 160, 620  # pixels high
_TEXT = "font:13px/1.4 Georgia,serif;color:#222"
_CODE = "font:11px/1.45 monospace;color:#333;white-space:pre-wrap;overflow-wrap:anywhere;margin:0"
_COLUMN = "box-sizing:border-box;padding:8px 10px;overflow:hidden;border-left:1px solid #ddd"


def broken_sets(sets: ProblemSets) -> dg.MarkdownMetadataValue:
    """Which problem sets cannot be read, and why."""
    return dg.MetadataValue.md("\n".join(f"- {cell(str(fault))}" for fault in sets.faults) or "none")


def of_sources(space: Workspace, problem_set: ProblemSet, found: ProblemSources) -> Metadata:
    """A row per file, a row per problem, pictures as models see them."""
    config = problem_set.config
    files = [(one.file, one.problems) for one in found.sources]
    rows = [(one.id, one.source_path, one.input.value, one.kind, one.tex) for one in found.problems]
    wishes = {
        "variants": [one.value for one in config.variants],
        "variants_each": config.variants_each,
        "alternates": config.alternates,
        "conversions": [one.value for one in config.conversions],
        "combine": [list(one) for one in config.combine],
    }
    return {
        "dagster/row_count": dg.MetadataValue.int(len(found.problems)),
        "name": dg.MetadataValue.text(config.name),
        "wishes": dg.MetadataValue.json(wishes),
        "files": markdown_table(("file", "problems"), files),
        "problems": markdown_table(("id", "source", "input", "kind", "TeX"), rows),
        **_pictures(space, [one for one in found.problems if one.picture is not None]),
    }


def of_stage(space: Workspace, plan: SetPlan, bank: ProblemBank, stage: Stage, fresh: int) -> Metadata:
    """How the tasks ended, a row each, what broke a property, LaTeX beside picture and rendering, cost."""
    tasks = [(one.id, task) for one in bank.problems for task in one.tasks if task.task.stage is stage]
    ends = Counter(task.end.value for _, task in tasks)
    rejected = [(name, task.task.key, task.end.value, task.detail) for name, task in tasks if not task.end.ok]
    repaired = [
        (name, task.task.key, "; ".join(map(str, task.repaired))) for name, task in tasks if task.repaired
    ]
    warned = [(name, task.task.key, said) for name, task in tasks for said in task.warnings]
    rows = [(name, task.task.key, task.end.value, _told(task), task.model) for name, task in tasks]
    shown: Metadata = {
        "dagster/row_count": dg.MetadataValue.int(sum(task.end.ok for _, task in tasks)),
        "problems_with_new_results": dg.MetadataValue.int(fresh),
        "ends": bar_chart(ends, "tasks by how they ended") if ends else dg.MetadataValue.md("none"),
        "results": markdown_table(("problem", "task", "end", "result", "model"), rows),
        "not_made": markdown_table(("problem", "task", "end", "why"), rejected),
        "repaired": markdown_table(("problem", "task", "what broke at first"), repaired),
        "warnings": markdown_table(("problem", "task", "warning"), warned),
        "profile": dg.MetadataValue.text(plan.profile_name),
        **cost(call for _, task in tasks for call in task.calls),
    }
    if stage in (Stage.SCAN, Stage.DIAGRAM, Stage.VARIANT, Stage.CONVERT):
        shown |= _cards(space, bank, _items_at(bank, stage))
    return shown


def of_bank(space: Workspace, found: PublishedBank) -> Metadata:
    """What became of every problem, items as they look, files, cost."""
    bank, items = found.bank, found.export.items
    ends = Counter(one.end.value for one in bank.problems)
    rows = [
        (
            one.id,
            one.end.value,
            one.classification.question_type.value if one.classification else "",
            one.classification.topic if one.classification else "",
            ", ".join(item.made for item in items_of(one)),
            len(one.alternates),
            one.detail,
        )
        for one in bank.problems
    ]
    exports = {name.partition(f"/{EXPORTS}/")[2]: name for name in found.paths if f"/{EXPORTS}/" in name}
    calls = [call for one in bank.problems for task in one.tasks for call in task.calls]
    return {
        "dagster/row_count": dg.MetadataValue.int(len(items)),
        "problems": dg.MetadataValue.int(len(bank.problems)),
        "accepted": dg.MetadataValue.int(len(bank.accepted)),
        "outcomes": bar_chart(ends, "problems by outcome") if ends else dg.MetadataValue.md("none"),
        "made": dg.MetadataValue.json(dict(Counter(item.made for item in items))),
        "bank": markdown_table(("problem", "end", "kind", "topic", "items", "other solutions", "why"), rows),
        "not_combined": markdown_table(("what is missing",), [(line,) for line in found.missing]),
        "exports": dg.MetadataValue.json(exports),
        "changed": dg.MetadataValue.json(list(found.changed)),
        **_cards(space, bank, [item for item in items if item.made == "original"] or list(items)),
        **cost(calls, len(items)),
    }


def card(item: BankItem, picture: str | None, drawn: str | None) -> str:
    """One item as SVG: its picture, its LaTeX, how it looks. A browser asks nobody for anything to show it.

    `picture` and `drawn` are data URIs; without a picture the other two are wider, without a rendering formulas are MathML.
    """
    wide = _WIDE // (3 if picture else 2)
    lines = sum(max(1, -int(-len(line) * _LETTER // wide)) for line in item.latex.splitlines())
    high = min(_MOST, max(_LEAST, lines * _LINE + 30))
    options = "".join(f"<li>{html(one.text, with_mathml)}</li>" for one in item.options)
    page = f'{html(item.statement, with_mathml)}<ol type="a">{options}</ol>{html(item.solution, with_mathml)}'
    columns = [
        f'<pre style="{_CODE}">{escape(xml_text(item.latex))}</pre>',
        _image(drawn, wide) if drawn else page,
    ]
    if picture:
        columns.insert(0, _image(picture, wide))
    cells = "".join(f'<div style="width:{wide}px;{_COLUMN}">{one}</div>' for one in columns)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDE}" height="{high}">'
        f'<foreignObject width="{_WIDE}" height="{high}">'
        f'<div xmlns="http://www.w3.org/1999/xhtml" style="display:flex;background:#fff;height:{high}px;{_TEXT}">'
        f"{cells}</div></foreignObject></svg>"
    )


def _image(uri: str, wide: int) -> str:
    return f'<img src="{uri}" style="max-width:{wide - 20}px" alt=""/>'


def _cards(space: Workspace, bank: ProblemBank, items: Sequence[BankItem]) -> Metadata:
    """Picture, LaTeX and rendering of the first items."""
    records = {one.id: one for one in bank.problems}
    shown: list[str] = []
    for item in items[:MAX_CARDS]:
        record = records[item.problem]
        libraries = record.tikz.libraries if record.tikz is not None else ()
        drawn = rendering(space, item.latex, record.problem.preamble, libraries)
        svg = card(item, _uri(thumbnail(space, record.problem)), _uri(drawn))
        uri = data_uri("image/svg+xml", svg.encode())
        shown.append(
            f"**{cell(item.id)}** ({cell(item.made)}, {cell(item.source_path)})\n\n![{cell(item.id)}]({uri})"
        )
    return {"as_shown": dg.MetadataValue.md("\n\n".join(shown))} if shown else {}


def _pictures(space: Workspace, problems: Sequence[Problem]) -> Metadata:
    found = [
        f"**{cell(one.id)}**\n\n![{cell(one.id)}]({uri})"
        for one in problems[:MAX_CARDS]
        if (uri := _uri(thumbnail(space, one))) is not None
    ]
    return {"pictures": dg.MetadataValue.md("\n\n".join(found))} if found else {}


def _uri(picture: tuple[str, bytes] | None) -> str | None:
    return None if picture is None else data_uri(*picture)


def _items_at(bank: ProblemBank, stage: Stage) -> list[BankItem]:
    """What a stage is about: the problems themselves, their variants, or their conversions."""
    found: list[BankItem] = []
    for record in bank.problems:
        for item in items_of(record):
            made = (
                Stage.VARIANT if item.made in record.variants
                else Stage.CONVERT if item.made in record.conversions
                else Stage.SCAN
            )  # fmt: skip
            drawn = stage is Stage.DIAGRAM and made is Stage.SCAN and record.tikz is not None
            if made is stage or drawn:
                found.append(item)
    return found


def _told(task: TaskResult) -> str:
    """A result in one line."""
    if task.classification is not None:
        one = task.classification
        return (
            f"{one.question_type.value}, {one.difficulty.value}, {one.topic}, confidence {one.confidence:g}"
        )
    if task.ideas is not None:
        return ", ".join((*task.ideas.concepts, *task.ideas.techniques))
    if task.alternate is not None:
        return f"{task.alternate.method}: {task.alternate.final_answer}"
    if task.tikz is not None:
        return task.tikz.tikz_code
    latex = task.scan or task.variant or task.conversion
    return latex.latex if latex is not None else task.detail
