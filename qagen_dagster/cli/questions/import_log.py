"""`qagen questions import`: questions that people asked become questions of a set, and the gaps of the set are told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.options import (
    asset_config,
    budget_options,
    combination_options,
    json_option,
    profile_option,
)
from qagen_dagster.cli.output import Terminal, fail, print_json, warn
from qagen_dagster.cli.progress import Progress
from qagen_dagster.cli.questions.run import materialize
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.questions.head_start import Work
from qagen_dagster.loop.questions.imported.coverage import keep_log, measure, read_log
from qagen_dagster.loop.questions.plan import RunOptions, check_usable
from qagen_dagster.loop.refresh.products import Scope
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.imported import Coverage
from qagen_dagster.settings import Settings

_SHOWN = 160  # characters of a passage or a reason


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), required=False)
@combination_options
@click.option("--forget", is_flag=True, help="Forget the questions of earlier imports.")
@click.option(
    "--no-run", is_flag=True, help="Only keep the questions, for `qagen estimate` and the next `qagen run`."
)
@budget_options
@profile_option
@json_option
@click.pass_obj
def questions_import(
    settings: Settings,
    file: Path | None,
    corpus: str | None,
    scenario: str | None,
    mode: Mode | None,
    forget: bool,
    no_run: bool,
    budget: Allowance | None,
    profile: str | None,
    as_json: bool,
) -> int:
    """Add questions that people asked to a set, and tell its gaps.

    FILE is JSON Lines or CSV with a question and perhaps an answer in each row. Each question is answered from the documents,
    checked like a generated one, and published with `origin: imported`. Then the command tells which questions no document
    answers, and what people ask that no question of the set covers. The next `qagen run` shows these gaps to the generator.
    Without FILE, the questions of earlier imports are used.
    """
    space, options = Workspace(settings), RunOptions(**asset_config(profile, budget))
    combination = _textual(space, corpus, scenario, mode)
    check_usable(space, combination, options)
    found, faults = ([], []) if file is None else read_log(file)
    log = keep_log(space, combination, found, forget=forget)
    warn(faults)
    if no_run:
        echo(f"{len(log.questions)} imported questions are kept for {combination.key}")
        return 0
    with Progress(Terminal(stderr=True), quiet=as_json) as progress, Work(space) as work:
        failures = materialize(work, Scope((combination,), options), progress)
    coverage = measure(space, combination, log)
    if as_json:
        print_json({"failures": failures, "combination": combination.key, **coverage.model_dump(mode="json")})
    else:
        for line in _lines(coverage):
            echo(line)
    return fail(failures)


def _textual(space: Workspace, corpus: str | None, scenario: str | None, mode: Mode | None) -> Combination:
    """The only textual combination that matches the options. Raises ConfigError."""
    if mode is Mode.VISUAL:
        raise ConfigError("questions are imported into textual sets only: leave out --mode visual")
    found = space.corpora.combinations(corpus, scenario, Mode.TEXTUAL)
    if len(found) > 1:
        raise ConfigError(f"choose one of {', '.join(one.key for one in found)} with --corpus and --scenario")
    return found[0]


def _lines(coverage: Coverage) -> Iterator[str]:
    """The fates of the questions, then the gaps."""
    told = (coverage.published, coverage.refused, coverage.unanswerable)
    yield (
        f"{sum(map(len, told))} imported questions: {len(told[0])} published, {len(told[1])} refused, "
        f"{len(told[2])} that no document answers"
    )
    if coverage.unanswerable:
        yield "\nNo document answers, with the nearest passages:"
    for one in coverage.unanswerable:
        yield f"  {one.question}"
        for place in one.passages:
            where = f"{place.document_id or one.document_id}:{place.start_line}"
            yield f"    {where}  {shortened(place.quote)}"
    if coverage.refused:
        yield "\nRefused, with the reasons:"
    for one in coverage.refused:
        reason = one.reason.value if one.reason else "not tried"
        yield f"  {one.question}\n    {reason}: {shortened(one.detail)}"
    yield f"\n{len(coverage.gaps)} of {coverage.clusters} subjects that people ask about have no question in the set"
    for gap in coverage.gaps:
        more = f" (and {len(gap.questions) - 1} more like it)" if gap.questions[1:] else ""
        yield f"  {gap.document_id}: {gap.questions[0]}{more}"
    if coverage.gaps:
        yield "The next `qagen run` shows these to the generator, which is to write as many questions more."


def shortened(text: str) -> str:
    """One line of at most _SHOWN characters."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}\u2026"
