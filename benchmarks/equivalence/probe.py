"""A script for the Python of a checkout: writes the help of its commands, and what its Dagster instance knows of each asset."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click
import dagster as dg

from qagen_dagster.cli.main import cli

USER_VERSION = "dagster/data_version_is_user_provided"  # other data versions are hashes of run ids
# Assets whose data versions are hashes of results with times in them.
WITH_TIMES = {"exam_items", "grounding_report", "idea_plans", "item_bank"}


def main(folder: Path) -> None:
    """Write `help.txt`, and one file per asset with its materializations, observations and checks, one per line."""
    folder.mkdir()
    lines: dict[str, list[str]] = {}
    (folder / "help.txt").write_text("\n\n".join(_help(cli, click.Context(cli, info_name="qagen"))))
    with dg.DagsterInstance.get() as instance:
        for run in instance.get_runs():
            for entry in instance.all_logs(run.run_id):
                event = entry.dagster_event
                if event is not None and event.asset_key is not None:
                    kept = _event(event)
                    if kept:
                        lines.setdefault(event.asset_key.to_user_string(), []).append(json.dumps(kept))
    for asset, kept in lines.items():
        name = asset.replace("/", "--")
        (folder / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in sorted(kept)))


def _help(command: click.Command, context: click.Context) -> list[str]:
    found = [f"$ {context.command_path}\n{command.get_help(context)}"]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            _, below, _ = command.resolve_command(context, [name])
            if below is not None:
                found += _help(below, click.Context(below, parent=context, info_name=name))
    return found


def _event(event: dg.DagsterEvent) -> dict[str, Any] | None:
    if event.event_type is dg.DagsterEventType.ASSET_CHECK_EVALUATION:
        check = event.asset_check_evaluation_data
        told = {"partition": check.partition, "check": check.check_name, "passed": check.passed}
        told |= {"severity": check.severity.value, "description": check.description}
    elif event.event_type is dg.DagsterEventType.ASSET_MATERIALIZATION:
        check = event.step_materialization_data.materialization
        told = {"partition": check.partition, "description": check.description}
        tags = check.tags or {}
        if USER_VERSION in tags and check.asset_key.to_user_string() not in WITH_TIMES:
            told["data_version"] = tags["dagster/data_version"]
    else:
        return None
    return told | {"metadata": {name: str(value.value) for name, value in check.metadata.items()}}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
