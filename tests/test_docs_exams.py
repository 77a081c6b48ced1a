"""docs/exams.md against the code: keys of exam.yaml with defaults and flags, stages, files, export formats."""

from __future__ import annotations

import re

import click

from qagen_dagster.cli.exams.commands import run
from qagen_dagster.cli.exams.paper import paper
from qagen_dagster.loop.exams.bank import FILES
from qagen_dagster.publishing.exams.formats import BANK_EXPORTERS
from qagen_dagster.records.exams.bank import DUPLICATE_STAGE, REVIEW_STAGE, ExamItem, Stage
from qagen_dagster.records.exams.config import ExamConfig, StyleThresholds
from qagen_dagster.records.exams.paper import Blueprint
from qagen_dagster.settings import PROJECT_ROOT
from tests.support import markdown
from tests.support.exams.items import bank, hard_item

EXAMS = (PROJECT_ROOT / "docs" / "exams.md").read_text(encoding="utf-8")


def test_keys_of_exam_yaml_are_documented_with_defaults_and_flags() -> None:
    rows = {row[0].strip("`"): row for row in markdown.table(EXAMS, "| key ")}
    assert set(rows) == set(ExamConfig.model_fields)
    for name in ("items", "seed", "max_designer_retries", "max_implementer_retries"):
        assert rows[name][3] == str(ExamConfig.model_fields[name].default)
    weights = ExamConfig(name="x", candidate_profile="y").difficulties.values()
    assert rows["difficulties"][3] == ", ".join(f"{one.weight:g}" for one in weights)
    thresholds = StyleThresholds()
    assert rows["thresholds"][3] == f"{thresholds.least_score}, {thresholds.least_mean:g}"
    flags = {name for one in run.params if isinstance(one, click.Option) for name in one.opts}
    named = {flag for row in rows.values() for flag in re.findall(r"`(--[a-z-]+)`", row[1])}
    assert named <= flags


def test_keys_of_a_blueprint_are_documented_with_their_options() -> None:
    rows = {row[0].strip("`"): row for row in markdown.table(EXAMS, "| key of a blueprint ")}
    assert set(rows) == set(Blueprint.model_fields)
    flags = {name for one in paper.params if isinstance(one, click.Option) for name in one.opts}
    named = {flag for row in rows.values() for flag in re.findall(r"`(--[a-z-]+)`", row[1])}
    assert named == flags - {"--exam", "--blueprint", "--output", "--json"}
    assert set(
        re.findall(r"^- (`[a-z_]+`(?:, `[a-z_]+`)*): ", EXAMS.split("## Read the answers")[1], re.MULTILINE)
    ) == {
        "`wrong_key_suspected`",
        "`negative_discrimination`, `weak_discrimination`",
        "`too_easy`, `too_hard`",
        "`dead_distractor`",
    }


def test_stages_files_and_formats_are_documented() -> None:
    stages = [row[0].strip("`") for row in markdown.table(EXAMS, "| stage ")]
    assert stages == [*(stage.value for stage in Stage), DUPLICATE_STAGE, REVIEW_STAGE]
    files = re.findall(r"^- `([a-z.]+)`:", EXAMS, re.MULTILINE)
    assert files == list(FILES)
    formats = {row[0].strip("`"): row[1].strip("`") for row in markdown.table(EXAMS, "| `--format` ")}
    made = {one.name: next(iter(one.export(bank(hard_item())))) for one in BANK_EXPORTERS}
    assert formats == made
    accepted = next(line for line in EXAMS.split("\n- ") if line.startswith("`accepted.jsonl`"))
    assert set(re.findall(r"`(\w+)`", accepted)) - {"correct_option", "distractor_map"} <= set(
        ExamItem.model_fields
    )
