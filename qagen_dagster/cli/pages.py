"""The commands that show pages: `qagen ui` (the Dagster UI), `qagen review` (the review page), `qagen report` (the same page as a file).

The servers listen on loopback, so no other machine can reach them.
"""

import contextlib
import getpass
import os
import runpy
import socket
import sys
import warnings
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import click

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.options import Selection, combination_options, json_option
from qagen_dagster.cli.output import OUTPUT, file_to_write, print_json, write_output
from qagen_dagster.errors import ConfigError, StoreError
from qagen_dagster.loop.dagster_home import open_home
from qagen_dagster.loop.judges import LEAST, Proposal, judged_questions, proposals
from qagen_dagster.loop.review_decisions import accepted_by_all, decisions_of, state_of
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.decisions import PAGE_PORT
from qagen_dagster.settings import PROJECT_ROOT, Settings, apply, export
from qagen_dagster.store import Store
from qagen_dagster.web.page import report_page
from qagen_dagster.web.server import ReviewServer
from qagen_dagster.web.sets import Reviews, chosen_sets

HOST = "127.0.0.1"


def listen(port: int) -> socket.socket:
    """A socket bound to the port. Raises ConfigError when the port cannot be used."""
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((HOST, port))
    except OSError as error:
        bound.close()
        raise ConfigError(
            f"port {port} cannot be used ({error.strerror}): choose another with --port"
        ) from None
    return bound


@click.command()
@click.option(
    "--port", type=click.IntRange(1, 65_535), default=3000, show_default=True, help="Port of the UI."
)
@click.pass_obj
def ui(settings: Settings, port: int) -> None:
    """Open the Dagster UI on the store.

    The UI shows the runs of this command line and starts runs itself. Ctrl-C ends it.
    """
    if find_spec("dagster_webserver") is None:
        raise ConfigError("qagen ui needs Dagster's UI: pip install 'qagen-dagster[ui]'")
    home = open_home(settings)
    listen(port).close()
    echo(f"Dagster UI: http://{HOST}:{port} (store {settings.assets})", err=True)
    local = Store(settings.assets).local_path("")
    assets = settings.assets if local is None else str(local)
    apply({**export(replace(settings, assets=assets)), "DAGSTER_HOME": str(home)})
    os.chdir(home)  # in other folders, Dagster might read a file .env, whose DAGSTER_HOME would win
    # Dagster's advice to its developers
    warnings.filterwarnings("ignore", "Function `dev_command` is superseded")
    workspace = str(PROJECT_ROOT / "workspace.yaml")
    sys.argv = ["dagster", "dev", "-w", workspace, "-h", HOST, "-p", str(port)]
    runpy.run_module("dagster", run_name="__main__")


@click.group(invoke_without_command=True)
@combination_options
@click.option("--read-only", is_flag=True, help="Show the questions; nothing can be decided.")
@click.option("--reviewer", help="Name under which decisions are stored. Default: the name of the user.")
@click.option(
    "--port", type=click.IntRange(1, 65_535), default=PAGE_PORT, show_default=True, help="Port of the page."
)
@click.pass_context
def review(
    context: click.Context, chosen: Selection, read_only: bool, reviewer: str | None, port: int
) -> None:
    """Review published questions, exam items and problems in the browser.

    The page shows each question beside its evidence. With --corpus, --scenario or --mode it shows only question sets.
    Accept, edit, reject, flag and comment with the keyboard; the key ? lists the keys. Decisions are stored at once. Only this machine
    can reach the page. Ctrl-C ends the command.
    """
    if context.invoked_subcommand is not None:
        return
    settings: Settings = context.obj
    sets = chosen_sets(Workspace(settings), *chosen)
    with listen(port) as listening:
        read = [question_set.rows for question_set in sets.all()]  # so that the page opens at once
        if not read:
            raise StoreError("nothing is published yet: `qagen run` makes question sets")
        server = ReviewServer(sets, reviewer=reviewer or getpass.getuser(), port=port, read_only=read_only)
        echo(f"Review page: http://{HOST}:{port} (store {settings.assets}); Ctrl-C ends it", err=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.run(listening)


@review.command()
@combination_options
@json_option
@click.pass_obj
def calibrate(settings: Settings, chosen: Selection, as_json: bool) -> None:
    """Propose thresholds that fit the decisions of reviewers, and show the questions that would change.

    It changes nothing: write a threshold that you like to corpus.yaml.
    """
    space, found = Workspace(settings), dict[str, list[Proposal]]()
    for combination in space.corpora.combinations(*chosen):
        reviews = {key: state_of(some) for key, some in decisions_of(space, combination.key).items()}
        if reviews:
            scenario = space.corpus(combination.corpus).scenario(combination.scenario)
            judged = judged_questions(space.store, combination)
            found[combination.key] = list(proposals(scenario, judged, accepted_by_all(reviews)))
    if as_json:
        print_json({key: [one.model_dump() for one in some] for key, some in found.items()})
        return
    if not any(found.values()):
        echo(
            f"Nothing to propose: that needs decisions on {LEAST} accepted and {LEAST} other questions of a set."
        )
    for key, one in ((key, one) for key, some in found.items() for one in some):
        echo(
            f"{key}: {one.key}: {one.present} fits {one.now} of {one.judged} decisions, {one.proposed} fits {one.right}"
        )
        for name, value in sorted(one.changed.items(), key=lambda pair: pair[1]):
            echo(f"  {name} {value:.2f}")


@click.command()
@combination_options
@click.option("--output", type=OUTPUT, required=True, callback=file_to_write, help="The HTML file to write.")
@click.pass_obj
def report(settings: Settings, chosen: Selection, output: Path) -> None:
    """Write the review page as one HTML file.

    The file has all questions, their evidence and the decisions on them. It opens without a server, and can only be read.
    """
    space = Workspace(settings)
    found = list(chosen_sets(space, *chosen).all())
    if not found:
        raise StoreError("nothing is published yet: `qagen run` makes question sets")
    write_output(output, report_page(found, Reviews(space)).encode())
    echo(f"{sum(len(question_set.rows) for question_set in found)} questions: {output}", err=True)
