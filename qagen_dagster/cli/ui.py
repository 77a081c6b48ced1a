"""`qagen ui`: starts the Dagster UI on the instance of the store."""

from __future__ import annotations

import os
import runpy
import sys
import warnings
from dataclasses import replace

import click

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.loopback import HOST, listen
from qagen_dagster.loop.instance_home import open_home
from qagen_dagster.settings import PROJECT_ROOT, Settings, apply, export
from qagen_dagster.store import Store


@click.command()
@click.option(
    "--port", type=click.IntRange(1, 65_535), default=3000, show_default=True, help="Port of the UI."
)
@click.pass_obj
def ui(settings: Settings, port: int) -> None:
    """Open the Dagster UI on the store.

    The UI shows the runs of this command line and starts runs itself. Ctrl-C ends it.
    """
    home = open_home(settings)
    listen(port).close()
    echo(f"Dagster UI: http://{HOST}:{port} (store {settings.assets})", err=True)
    local = Store(settings.assets).local_path("")
    assets = settings.assets if local is None else str(local)
    apply({**export(replace(settings, assets=assets)), "DAGSTER_HOME": str(home)})
    os.chdir(home)  # in another folder, Dagster would read a file .env, whose DAGSTER_HOME wins
    warnings.filterwarnings(
        "ignore", "Function `dev_command` is superseded"
    )  # Dagster's advice to its developers
    workspace = str(PROJECT_ROOT / "workspace.yaml")
    sys.argv = ["dagster", "dev", "-w", workspace, "-h", HOST, "-p", str(port)]
    runpy.run_module("dagster", run_name="__main__")
