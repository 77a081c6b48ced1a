"""`qagen review`: a page in the browser on which a person looks at questions and decides on them."""

from __future__ import annotations

import contextlib
import getpass

import click

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.loopback import HOST, listen
from qagen_dagster.cli.options import combination_options
from qagen_dagster.errors import StoreError
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.review import PAGE_PORT
from qagen_dagster.settings import Settings
from qagen_dagster.web.server import ReviewServer
from qagen_dagster.web.sets import chosen_sets


@click.command()
@combination_options
@click.option("--read-only", is_flag=True, help="Show the questions; nothing can be decided.")
@click.option("--reviewer", help="Name under which decisions are stored. Default: the name of the user.")
@click.option(
    "--port", type=click.IntRange(1, 65_535), default=PAGE_PORT, show_default=True, help="Port of the page."
)
@click.pass_obj
def review(
    settings: Settings,
    corpus: str | None,
    scenario: str | None,
    mode: Mode | None,
    read_only: bool,
    reviewer: str | None,
    port: int,
) -> None:
    """Review published questions, exam items and problems in the browser.

    The page shows each question beside its evidence. With --corpus, --scenario or --mode it shows only question sets. Accept, edit, reject, flag and comment with the keyboard; the key ? lists
    the keys. Decisions are stored at once. Only this machine can reach the page. Ctrl-C ends the command.
    """
    space = Workspace(settings)
    sets = chosen_sets(space, corpus, scenario, mode)
    with listen(port) as listening:
        if not [one.rows for one in sets.all()]:  # they are read now, so that the page opens at once
            raise StoreError("nothing is published yet: `qagen run` makes question sets")
        server = ReviewServer(sets, reviewer=reviewer or getpass.getuser(), port=port, read_only=read_only)
        echo(f"Review page: http://{HOST}:{port} (store {settings.assets}); Ctrl-C ends it", err=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.run(listening)
