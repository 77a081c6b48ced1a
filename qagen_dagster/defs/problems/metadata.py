"""The metadata of problem sets for the UI: outcomes of tasks, items as picture, LaTeX and rendering, cost."""

from collections import Counter
from collections.abc import Sequence
from html import escape

from qagen_dagster.configuration.problems import ProblemSet
from qagen_dagster.defs.metadata import (
    ROW_COUNT,
    Metadata,
    bar_chart,
    cell,
    cost,
    data_uri,
    html_as_svg,
    markdown_table,
    pictures,
    review_page,
    svg_picture,
    uri,
)
from qagen_dagster.formats.base import PageImage
from qagen_dagster.loop.figures import rendering
from qagen_dagster.loop.problems.bank import EXPORTS, PublishedBank, items_of, not_usable, thumbnail
from qagen_dagster.loop.problems.plan import SetPlan
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.markup import with_mathml, xml_text
from qagen_dagster.publishing.problems.formats import html
from qagen_dagster.records.decisions import problem_set_key
from qagen_dagster.records.problems.result import BankItem, ProblemBank, ProblemSources, Stage, TaskResult
from qagen_dagster.records.problems.submissions import Problem

MAX_CARDS = 6
# pixels: the width of a card, the height of a line, the width of a letter
_WIDE, _LINE, _LETTER = 990, 17, 7.5
_LEAST, _MOST = 160, 620  # minimum and maximum height of a card in pixels
_TEXT = "font:13px/1.4 Georgia,serif;color:#222"
_CODE = "font:11px/1.45 monospace;color:#333;white-space:pre-wrap;overflow-wrap:anywhere;margin:0"
_COLUMN = "box-sizing:border-box;padding:8px 10px;overflow:hidden;border-left:1px solid #ddd"


def of_sources(space: Workspace, problem_set: ProblemSet, found: ProblemSources) -> Metadata:
    """The settings of problems.yaml, a row per file, a row per problem, and thumbnails of pictures."""
    config = problem_set.config
    files = [(source.file, source.problems) for source in found.sources]
    rows = [(one.id, one.source_path, one.input.value, one.kind, one.tex) for one in found.problems]
    requested = {
        "variants": [variant.value for variant in config.variants],
        "variants_each": config.variants_each,
        "alternates": config.alternates,
        "conversions": [conversion.value for conversion in config.conversions],
        "combine": [list(one) for one in config.combine],
    }
    return {
        ROW_COUNT: len(found.problems),
        "name": config.name,
        "requested": requested,
        "files": markdown_table(("file", "problems"), files),
        "problems": markdown_table(("id", "source", "input", "kind", "TeX"), rows),
        **_pictures(space, [problem for problem in found.problems if problem.picture is not None]),
    }


def of_stage(space: Workspace, plan: SetPlan, bank: ProblemBank, stage: Stage, fresh: int) -> Metadata:
    """The outcomes of the stage's tasks, failures, repairs, warnings, rendered items, cost. `fresh` counts problems with new results."""
    tasks = [(one.id, task) for one in bank.problems for task in one.tasks if task.task.stage is stage]
    ends = Counter(task.end.value for _, task in tasks)
    rejected = [(name, task.task.key, task.end.value, task.detail) for name, task in tasks if not task.end.ok]
    repaired = [
        (name, task.task.key, "; ".join(map(str, task.repaired))) for name, task in tasks if task.repaired
    ]
    warned = [(name, task.task.key, warning) for name, task in tasks for warning in task.warnings]
    rows = [(name, task.task.key, task.end.value, _in_one_line(task), task.model) for name, task in tasks]
    shown: Metadata = {
        ROW_COUNT: sum(task.end.ok for _, task in tasks),
        "problems_with_new_results": fresh,
        "outcomes": bar_chart(ends, "tasks by outcome"),
        "results": markdown_table(("problem", "task", "outcome", "result", "model"), rows),
        "failed_tasks": markdown_table(("problem", "task", "outcome", "reason"), rejected),
        "repaired": markdown_table(("problem", "task", "what was wrong before the repair"), repaired),
        "warnings": markdown_table(("problem", "task", "warning"), warned),
        "profile": plan.profile_name,
        **cost(call for _, task in tasks for call in task.calls),
    }
    if stage in (Stage.SCAN, Stage.DIAGRAM, Stage.VARIANT, Stage.CONVERT):
        shown |= _cards(space, bank, _items_at(bank, stage))
    return shown


def of_bank(space: Workspace, found: PublishedBank) -> Metadata:
    """The outcome of every problem, rendered items, files, cost."""
    bank, items = found.bank, found.export.items
    ends = Counter(problem.end.value for problem in bank.problems)
    rows = [
        (
            problem.id,
            problem.end.value,
            problem.classification.question_type.value if problem.classification else "",
            problem.classification.topic if problem.classification else "",
            ", ".join(item.made for item in items_of(problem)),
            len(problem.alternates),
            "; ".join((problem.detail, *problem.withdrawn.values())).strip("; "),
        )
        for problem in bank.problems
    ]
    exports = {name.partition(f"/{EXPORTS}/")[2]: name for name in found.paths if f"/{EXPORTS}/" in name}
    unusable = not_usable(bank)
    calls = [call for problem in bank.problems for task in problem.tasks for call in task.calls]
    return {
        ROW_COUNT: len(items),
        "problems": len(bank.problems),
        "accepted": len(bank.accepted) - len(unusable),
        "not_usable": [f"{name} {why}" for name, why in unusable.items()],
        "outcomes": bar_chart(ends, "problems by outcome"),
        "items_by_kind": dict(Counter(item.made for item in items)),
        "bank": markdown_table(
            ("problem", "outcome", "question type", "topic", "items", "other solutions", "reason"), rows
        ),
        "not_combined": markdown_table(("reason",), [(line,) for line in found.missing]),
        "exports": exports,
        "changed": list(found.changed),
        **review_page(problem_set_key(bank.name)),
        **uri(space.store, ProblemBank.file_key(bank.name, "bank.json"), "problem_items"),
        **_cards(space, bank, [item for item in items if item.made == "original"] or list(items)),
        **cost(calls, len(items)),
    }


def card(item: BankItem, picture: str | None, drawn: str | None) -> str:
    """One item as SVG with three columns: its picture, its LaTeX, its rendering. A browser needs no other file.

    `picture` and `drawn` are data URIs. If `picture` is None, there are two wider columns. If `drawn` is None, MathML replaces it.
    """
    wide = _WIDE // (3 if picture else 2)
    lines = sum(max(1, -int(-len(line) * _LETTER // wide)) for line in item.latex.splitlines())
    high = min(_MOST, max(_LEAST, lines * _LINE + 30))
    options = "".join(f"<li>{html(option.text, with_mathml)}</li>" for option in item.options)
    page = f'{html(item.statement, with_mathml)}<ol type="a">{options}</ol>{html(item.solution, with_mathml)}'
    columns = [
        f'<pre style="{_CODE}">{escape(xml_text(item.latex))}</pre>',
        _image(drawn, wide) if drawn else page,
    ]
    if picture:
        columns.insert(0, _image(picture, wide))
    cells = "".join(f'<div style="width:{wide}px;{_COLUMN}">{column}</div>' for column in columns)
    return html_as_svg(cells, _WIDE, high, f"display:flex;background:#fff;height:{high}px;{_TEXT}")


def _image(uri: str, wide: int) -> str:
    return f'<img src="{uri}" style="max-width:{wide - 20}px" alt=""/>'


def _cards(space: Workspace, bank: ProblemBank, items: Sequence[BankItem]) -> Metadata:
    records = {problem.id: problem for problem in bank.problems}
    shown: list[str] = []
    for item in items[:MAX_CARDS]:
        record = records[item.problem]
        libraries = record.tikz.libraries if record.tikz is not None else ()
        drawn = rendering(space, item.latex, record.problem.preamble, libraries)
        svg = card(item, _uri(thumbnail(space, record.problem)), _uri(drawn))
        title = f"**{cell(item.id)}** ({cell(item.made)}, {cell(item.source_path)})"
        shown.append(f"{title}\n\n{svg_picture(cell(item.id), svg)}")
    return pictures("rendered_items", shown)


def _pictures(space: Workspace, problems: Sequence[Problem]) -> Metadata:
    found = [
        f"**{cell(problem.id)}**\n\n![{cell(problem.id)}]({uri})"
        for problem in problems[:MAX_CARDS]
        if (uri := _uri(thumbnail(space, problem))) is not None
    ]
    return pictures("pictures", found)


def _uri(picture: PageImage | None) -> str | None:
    return None if picture is None else data_uri(picture.media_type, picture.data)


def _items_at(bank: ProblemBank, stage: Stage) -> list[BankItem]:
    """The items that a stage made: the problems themselves (for DIAGRAM those with a diagram), their variants, or their conversions."""
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


def _in_one_line(task: TaskResult) -> str:
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
