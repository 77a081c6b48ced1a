"""`qagen evaluate` and `qagen panel`, which evaluate published sets, and `qagen score`, which scores another system on published sets."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.markup import escape
from rich.table import Table

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.graph import Progress, open_quietly
from qagen_dagster.cli.options import (
    Models,
    OneOf,
    Selection,
    combination_options,
    json_option,
    model_options,
)
from qagen_dagster.cli.output import (
    OUTPUT,
    Terminal,
    fail,
    file_to_write,
    print_json,
    slashed,
    warn,
    write_output,
)
from qagen_dagster.errors import ConfigError, StoreError
from qagen_dagster.loop.evaluation.kinds import is_evaluated
from qagen_dagster.loop.evaluation.run_questions import latest_report, open_evaluation
from qagen_dagster.loop.evaluation.score import read_output, score_systems
from qagen_dagster.loop.evaluation.system_scores import report_intervals
from qagen_dagster.loop.grading.grade_answers import command_judge
from qagen_dagster.loop.grading.grade_set import RunMark
from qagen_dagster.loop.index import is_indexed
from qagen_dagster.loop.product_table import Product
from qagen_dagster.loop.questions.publication.published_set import read_published
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.score_markdown import (
    BOUNDS,
    effects,
    overall_rows,
    own_questions,
    planned,
    score_markdown,
    shown_measure,
)
from qagen_dagster.records.evaluation import (
    SEARCHING,
    USUAL,
    ClosedBookAnswer,
    EvaluationReport,
    Kind,
    ScoreReport,
)
from qagen_dagster.records.ids import Combination
from qagen_dagster.settings import Settings

_COLUMNS = (
    ("leaked", Kind.CLOSED_BOOK, "leaked_share"),
    ("document\n@5", Kind.RETRIEVAL, "fused_document_recall_at_5"),
    ("untitled\n@5", Kind.RETRIEVAL, "untitled_fused_document_recall_at_5"),
    ("evidence\n@5", Kind.RETRIEVAL, "fused_evidence_recall_at_5"),
    ("exact", Kind.ANSWERS, "exact_match"),
    ("F1", Kind.ANSWERS, "token_f1"),
    ("grounded", Kind.ANSWERS, "grounded_share"),
    ("judged\n@10", Kind.LABELS, "judged_share_at_10"),
    ("suspected", Kind.PANEL, "suspected_share"),
    ("leaked", Kind.PANEL, "leaked_share"),
)


@click.command()
@combination_options
@click.option(
    "--only",
    type=OneOf(Kind),
    multiple=True,
    help="Only this evaluation. Can be repeated. Default: closed_book, retrieval and answers.",
)
@click.option("--force", is_flag=True, help="Also repeat evaluations that are up to date.")
@model_options
@json_option
@click.pass_obj
def evaluate(
    settings: Settings, chosen: Selection, only: tuple[Kind, ...], force: bool, models: Models, as_json: bool
) -> int:
    """Evaluate published question sets.

    closed_book: can a model answer the questions without the documents? retrieval: does a search of the corpus find the
    document and the evidence? answers: can a model answer from the document? labels (only if named): which passages of the
    corpus answer? panel (only if named): the same as `qagen panel`. Questions that were evaluated before are not evaluated again. Every report is kept.
    """
    space = Workspace(settings)
    published = chosen.published(space)
    kinds = only or USUAL
    due, failures = _due(space, published, kinds, models, force=force)
    with Progress(Terminal(stderr=True), quiet=as_json) as progress:
        if due:
            failures += [*_materialize(space, due, models.fields, progress), *_unheard(space, due)]
        else:
            progress.note("nothing can be evaluated" if failures else "everything is up to date")
    _print_evaluations(space, published, kinds, failures, as_json)
    return fail(failures)


def _panel(**options: Any) -> int:
    return click.get_current_context().invoke(evaluate, only=(Kind.PANEL,), **options)


panel = click.Command(
    "panel",
    callback=_panel,
    params=[one for one in evaluate.params if one.name != "only"],
    help="Let several answerers answer published questions.\n\nThe embedded reader answers from what different searches find, and "
    "so does each model of the profile, which also answers without documents. For each question: the share that is right, its "
    "discrimination, whether its published answer is suspected to be wrong, whether it is leaked.",
)


def report(space: Workspace, combination: Combination, kinds: tuple[Kind, ...]) -> dict[str, Any]:
    """The evaluations of a combination in the store: their numbers, and the paths of the whole reports."""
    row: dict[str, Any] = {"combination": combination.key}
    for kind in kinds:
        found = latest_report(space.store, combination, kind)
        if found is None:
            continue
        key = EvaluationReport.key(combination, kind)
        row[kind.value] = found.model_dump(mode="json", exclude={"questions"}) | {
            "questions": len(found.questions),
            "failed": found.failed,
            "asked_again": found.unheard,
            "intervals": {
                name: one.model_dump(mode="json") for name, one in report_intervals(found.questions).items()
            },
            "report": space.store.path(key),
        }
        if kind is Kind.CLOSED_BOOK:
            guessed = [answer for answer in found.questions if isinstance(answer, ClosedBookAnswer)]
            row[kind.value]["leaked_questions"] = [answer.question_id for answer in guessed if answer.leaked]
        if kind is Kind.PANEL:
            suspects = sorted(found.questions, key=lambda one: (-one.suspicion, one.question_id))
            shown = {"question_id", "question", "answer", "other", "suspicion", "suspected"}
            row[kind.value]["suspects"] = [one.model_dump(include=shown) for one in suspects if one.suspicion]
    return row


def _due(
    space: Workspace, combinations: list[Combination], kinds: tuple[Kind, ...], models: Models, *, force: bool
) -> tuple[dict[Combination, list[Kind]], list[str]]:
    """The evaluations that are due, by combination, and a line for each combination that cannot be evaluated."""
    due: dict[Combination, list[Kind]] = {}
    failures: list[str] = []
    for combination in combinations:
        try:
            opened = open_evaluation(space, combination, RunMark("", ""), *models)
            due[combination] = [kind for kind in kinds if force or not is_evaluated(opened, kind)]
        except StoreError as error:
            failures.append(f"{combination.key}: {error}")
    return {combination: wanted for combination, wanted in due.items() if wanted}, failures


def _materialize(
    space: Workspace, due: dict[Combination, list[Kind]], fields: dict[str, Any], progress: Progress
) -> list[str]:
    """Make first the search indexes that the evaluations need, then the evaluations. Returns a line for each failure."""
    searched = dict.fromkeys(
        combination.corpus for combination, kinds in due.items() if {*SEARCHING} & {*kinds}
    )
    indexes = [key for key in searched if not is_indexed(space, key)]
    failures: list[str] = []
    with open_quietly(space, progress) as graph:
        progress.begin(len(indexes) + len(due) + 1)
        for key in indexes:
            failures += graph.make(Product.INDEX, partition=key, fields=fields)
        for combination, kinds in due.items():
            failures += graph.make(*map(Product, kinds), partition=combination.key, fields=fields)
        failures += graph.catalog()
    return failures


def _unheard(space: Workspace, due: dict[Combination, list[Kind]]) -> Iterator[str]:
    """A line for each evaluation in which no question got a usable reply."""
    for combination, kind in ((one, kind) for one, kinds in due.items() for kind in kinds):
        found = latest_report(space.store, combination, kind)
        why = found.questions[0].failure if found and 0 < found.unheard == len(found.questions) else ""
        if why and not why.startswith("BudgetExhausted"):
            yield f"{combination.key}: {kind.value}: no usable reply, so all questions are asked again: {why}"


def _print_evaluations(
    space: Workspace,
    combinations: list[Combination],
    kinds: tuple[Kind, ...],
    failures: list[str],
    as_json: bool,
) -> None:
    reports = [report(space, combination, kinds) for combination in combinations]
    if as_json:
        print_json({"ok": not failures, "failures": failures, "combinations": reports})
        return
    shown = [column for column in _COLUMNS if column[1] in kinds]
    table = Table(title="Evaluations", box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("combination", overflow="fold")
    for name, _, _ in shown:
        table.add_column(name, justify="right")
    for row in reports:
        table.add_row(slashed(row["combination"]), *(_cell(row, kind, metric) for _, kind, metric in shown))
    Terminal().print(table)
    for one in (one for row in reports for one in row.get(Kind.PANEL.value, {}).get("suspects", ())):
        if one["suspected"]:
            echo(f"{one['question_id']} {one['question']} Published: {one['answer']} Panel: {one['other']}")


def _cell(row: dict[str, Any], kind: Kind, metric: str) -> str:
    """The value of a metric with its interval, or only its bounds if some questions were not measured, or `-` if there is no value."""
    found = row.get(kind.value, {})
    metrics, interval = found.get("metrics", {}), found.get("intervals", {}).get(metric)
    value, low, high = (metrics.get(f"{metric}{end}") for end in ("", "_lower", "_upper"))
    if value is None or (kind is Kind.CLOSED_BOOK and not metrics.get("tried", 1)):
        return "-"
    if low != high:
        return f"{low:.2f} to\n{high:.2f}"
    return f"{value:.3f}" + (f"\n{interval['low']:.2f}-{interval['high']:.2f}" if interval else "")


_FILE = click.Path(path_type=Path)


@click.command()
@click.option(
    "--answers",
    type=_FILE,
    required=True,
    help="JSON Lines file; each line has the id of a question and answer, passages or both.",
)
@click.option(
    "--set",
    "keys",
    metavar="CORPUS/SCENARIO/MODE",
    multiple=True,
    required=True,
    help="The published set with the questions. Can be repeated.",
)
@click.option("--against", type=_FILE, help="The same file of a second system, to compare it with the first.")
@click.option(
    "--system-model",
    default="",
    metavar="NAME",
    help="The model of the system, to tell whether a model of its family wrote questions.",
)
@click.option("--against-model", default="", metavar="NAME", help="The same for the second system.")
@click.option(
    "--plan",
    "difference",
    metavar="DIFFERENCE",
    type=click.FloatRange(0, 1, min_open=True),
    help="Also say how many questions and documents show such a difference of two systems, e. g. 0.05.",
)
@click.option(
    "--output", type=OUTPUT, callback=file_to_write, help="Write the report as Markdown to this file, too."
)
@model_options
@json_option
@click.pass_obj
def score(
    settings: Settings,
    answers: Path,
    keys: tuple[str, ...],
    against: Path | None,
    system_model: str,
    against_model: str,
    difference: float | None,
    output: Path | None,
    models: Models,
    as_json: bool,
) -> int:
    """Score another system on published questions.

    Code compares each answer with the published answer. The profile's judge decides what code cannot decide; without a judge
    such answers stay undecided. Passages are compared with the evidence. A row that cannot be used is reported and left out.
    """
    space = Workspace(settings)
    judge = command_judge(space, models.profile or settings.profile, models.budget)
    sets = [read_published(space.store, _combination(key)) for key in dict.fromkeys(keys)]
    known = [question.id for published in sets for question in published]
    files = [(answers, system_model)] + ([] if against is None else [(against, against_model)])
    outputs = [read_output(file, known).model_copy(update={"model": name}) for file, name in files]
    report = score_systems(sets, outputs, judge, difference)
    if output is not None:
        write_output(output, score_markdown(report).encode())
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        _print_score(report)
    warn((*own_questions(report.systems), *_undecided(report)))
    empty = (one.system for one in report.systems if not one.overall.measures)
    nothing = (f"{name}: it answers no question of the sets" for name in empty)
    return fail((*(fault for scores in report.systems for fault in scores.faults), *nothing))


def _combination(key: str) -> Combination:
    """The combination with this key. Raises ConfigError for a text that is not a key."""
    try:
        return Combination.from_key(key)
    except ValueError:
        raise ConfigError(f"{key!r} is not corpus/scenario/mode (--set)") from None


def _undecided(report: ScoreReport) -> list[str]:
    """A line for each system that has undecided answers, with their number and the reason for the first of them."""
    found = [(scores, [each for each in scores.answers if each.failure]) for scores in report.systems]
    return [
        f"{scores.system}: {len(left):,} answers are undecided: {left[0].failure}"
        for scores, left in found
        if left
    ]


def _print_score(report: ScoreReport) -> None:
    table = Table(title="Scores")
    table.add_column("measure", overflow="fold")
    for scores in report.systems:
        table.add_column(escape(scores.system), justify="right")
    overall = [scores.overall for scores in report.systems]
    for row in overall_rows(overall):
        table.add_row(*map(str, row))
    for by in ("type", "mode", "hops"):
        for group in report.systems[0].groups[by]:
            found = [scores.groups[by][group].measures.get("correct") for scores in report.systems]
            if any(found):
                table.add_row(escape(f"correct, {by} {group}"), *map(shown_measure, found))
    Terminal().print(table)
    if any(each.not_measured for totals in overall for each in totals.measures.values()):
        echo(BOUNDS.replace("`", ""))
    echo(effects(report.systems).strip())
    for comparison in report.comparisons:
        echo(
            f"{comparison.measure}: only {report.systems[0].system} {len(comparison.only_first)}, only {report.systems[1].system} "
            f"{len(comparison.only_second)}, both {comparison.both}, neither {comparison.neither}, left out {comparison.left_out}; p = {comparison.p_value:.4f} (exact, by document), "
            f"{comparison.corrected_p_value or 0:.4f} by Holm"
        )
    for plan in report.plans:
        echo(planned(plan))
