"""`qagen score`: scores the answers and the retrieved passages of another system on published questions."""

from __future__ import annotations

from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.options import budget_options, json_option, profile_option
from qagen_dagster.cli.output import OUTPUT, Terminal, fail, file_to_write, print_json, warn, write_output
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.evaluation.score import profile_judge, read_output, score_systems
from qagen_dagster.loop.questions.publication.reading import read_published
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.publishing.score_markdown import score_markdown, shown_measure
from qagen_dagster.records.evaluation import ScoreReport
from qagen_dagster.records.ids import Combination
from qagen_dagster.settings import Settings

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
    "--output", type=OUTPUT, callback=file_to_write, help="Write the report as Markdown to this file, too."
)
@budget_options
@profile_option
@json_option
@click.pass_obj
def score(
    settings: Settings,
    answers: Path,
    keys: tuple[str, ...],
    against: Path | None,
    output: Path | None,
    budget: Allowance | None,
    profile: str | None,
    as_json: bool,
) -> int:
    """Score another system on published questions.

    Code compares each answer with the published one. The profile's judge compares where code cannot decide; without a judge
    such answers stay undecided. Passages are compared with the evidence. A row that cannot be used is reported and left out.
    """
    space = Workspace(settings)
    judge = profile_judge(space, profile or settings.profile, budget)
    sets = [read_published(space.store, _combination(key)) for key in dict.fromkeys(keys)]
    known = [question.id for one in sets for question in one]
    files = [answers] if against is None else [answers, against]
    report = score_systems(sets, [read_output(file, known) for file in files], judge)
    if output is not None:
        write_output(output, score_markdown(report).encode())
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        _print(report)
    warn(_undecided(report))
    faults = fail(fault for one in report.systems for fault in one.faults)
    return faults or int(not all(one.overall.measures for one in report.systems))


def _combination(key: str) -> Combination:
    """Raises ConfigError."""
    try:
        return Combination.from_key(key)
    except ValueError:
        raise ConfigError(f"{key!r} is not corpus/scenario/mode (--set)") from None


def _undecided(report: ScoreReport) -> list[str]:
    """A line for each system with undecided answers, with the reason of the first."""
    found = [(one, [each for each in one.answers if each.failure]) for one in report.systems]
    return [
        f"{one.system}: {len(left):,} answers are undecided: {left[0].failure}" for one, left in found if left
    ]


def _print(report: ScoreReport) -> None:
    table = Table(title="Scores")
    table.add_column("measure", overflow="fold")
    for one in report.systems:
        table.add_column(escape(one.system), justify="right")
    overall = [one.overall for one in report.systems]
    for name in dict.fromkeys(name for one in overall for name in one.counts):
        table.add_row(name, *(str(one.counts.get(name, "-")) for one in overall))
    for name in dict.fromkeys(name for one in overall for name in one.measures):
        table.add_row(name, *(shown_measure(one.measures.get(name)) for one in overall))
    for by in ("type", "mode", "hops"):
        for group in report.systems[0].groups[by]:
            found = [one.groups[by][group].measures.get("correct") for one in report.systems]
            if any(found):
                table.add_row(escape(f"correct, {by} {group}"), *map(shown_measure, found))
    Terminal().print(table)
    for one in report.comparisons:
        echo(
            f"{one.measure}: only {report.systems[0].system} {len(one.only_first)}, only {report.systems[1].system} "
            f"{len(one.only_second)}, both {one.both}, neither {one.neither}; p = {one.p_value:.4f} (McNemar, exact)"
        )
