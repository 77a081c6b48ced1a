"""Assets of exams on results that are in the store: mappings, tables, checks. Runs with models are in tests/e2e."""

from __future__ import annotations

import base64
import re
from collections.abc import Generator
from pathlib import Path

import dagster as dg
import pytest
from lxml import etree

from qagen_dagster.defs.exams.assets import ExamRunConfig
from qagen_dagster.defs.exams.metadata import card
from qagen_dagster.loop.exams.plan import PartPlan
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.records.exams.bank import Proof, ProofStatus, SlotResult, Stage
from tests.support.exams.items import HARD_OPTIONS, HARD_STEM, hard_item, item, question
from tests.support.exams.mini import accepted, rejected, schema_block, store_part, write_exam
from tests.support.graph import GraphRun, checks, metadata, version
from tests.support.project import Project


@pytest.fixture
def graph(tmp_path: Path) -> Generator[GraphRun]:
    project = Project.make(tmp_path / "project")
    folder = write_exam(project.corpora)
    (folder / "schemas.md").write_text(
        "\n".join([schema_block("M1"), schema_block("P2"), "## M9. Broken\nno sections\n"])
    )
    with GraphRun(project, profile="embedded") as run:
        fill(Workspace(project.settings(profile="embedded")))
        yield run


def fill(space: Workspace) -> None:
    def first(plan: PartPlan, slot: int) -> SlotResult:
        return accepted(plan, slot, item(question("One?"), "M1", plan.part.difficulty), Stage.GATES)

    store_part(space, "mini/M1/easy", first)
    store_part(space, "mini/M1/hard", rejected)
    store_part(space, "mini/P2/hard", lambda plan, slot: accepted(plan, slot, hard_item()))


def test_an_exam_maps_to_its_parts_and_back(graph: GraphRun) -> None:
    assets = graph.definitions.resolve_asset_graph()
    ideas, bank = assets.get(dg.AssetKey("idea_plans")), assets.get(dg.AssetKey("item_bank"))
    parts = ["mini/M1/easy", "mini/M1/hard", "mini/P2/easy", "mini/P2/hard"]
    assert ideas.partitions_def is not None
    assert bank.partitions_def is not None
    assert list(ideas.partitions_def.get_partition_keys()) == parts
    exams = bank.partitions_def.subset_with_partition_keys(["mini"])
    down = ideas.partition_mappings[dg.AssetKey("exam_schemas")].get_downstream_partitions_for_partitions(
        exams, bank.partitions_def, ideas.partitions_def
    )
    assert sorted(down.get_partition_keys()) == parts
    up = bank.partition_mappings[
        dg.AssetKey("exam_items")
    ].get_upstream_mapped_partitions_result_for_partitions(exams, bank.partitions_def, ideas.partitions_def)
    assert sorted(up.partitions_subset.get_partition_keys()) == parts


def test_schemas_are_shown_with_what_is_wrong(graph: GraphRun) -> None:
    result = graph.materialize("mini", "exam_schemas")
    assert result.success
    shown = metadata(result, "exam_schemas")
    assert shown["dagster/partition_row_count"] == 2
    assert "| M1 | Hidden Proportionality / Scaling | See the ratio. | 2 | 3 |" in shown["schemas"]
    assert "schemas.md:" in shown["broken_schemas"]
    assert "M9" in shown["broken_schemas"]


def test_the_bank_shows_acceptance_catchers_cost_and_items(graph: GraphRun) -> None:
    result = graph.materialize("mini", "item_bank")
    assert result.success
    shown = metadata(result, "item_bank")
    assert (shown["accepted"], shown["rejected"], shown["dagster/partition_row_count"]) == (2, 1, 2)
    assert shown["dagster/uri"].endswith("/accepted.jsonl")
    assert shown["dagster/table_name"] == "catalog.main.exam_items"
    assert shown["acceptance_rate"] == pytest.approx(2 / 3, abs=1e-4)
    assert "| M1 Hidden Proportionality / Scaling | 1 of 1 | 0 of 1 | 1 of 2 |" in shown["acceptance"]
    assert shown["usd"] == 1.0
    assert shown["usd_per_accepted"] == 0.5
    assert "verifier" in shown["rejected_items"]
    assert "svg" in shown["rejected_by"]
    assert shown["preview"].endswith("exports/preview.html")
    pictures = re.findall(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)", shown["rendered_items"])
    assert len(pictures) == 2
    assert {name for name, (passed, _) in checks(result).items() if passed} == {
        "keys_confirmed", "no_duplicates", "verifier_differs", "up_to_date",
    }  # fmt: skip
    passed, numbers = checks(result)["formulas_can_be_set"]
    assert not passed, "one stem has a command that nobody knows"
    assert numbers["failing"] == 1
    again = graph.materialize("mini", "item_bank")
    assert version(again, "item_bank") == version(result, "item_bank")


def test_a_refuted_key_is_an_error(graph: GraphRun, tmp_path: Path) -> None:
    space = Workspace(Project(tmp_path / "project").settings(profile="embedded"))
    wrong = item(question("Two?"), proof=Proof(status=ProofStatus.REFUTED))
    store_part(space, "mini/M1/easy", lambda plan, slot: accepted(plan, slot, wrong))
    found = checks(graph.materialize("mini", "item_bank"))
    assert not found["keys_confirmed"][0]
    assert found["keys_confirmed"][1]["first_failing"] == wrong.id


def test_a_launch_has_the_options_of_a_run() -> None:
    given = ExamRunConfig(items=4, weights={"hard": 1.0}, max_calls=3, profile="mine")
    assert (given.given.goal, given.given.profile, given.limits) == (True, "mine", Allowance(max_calls=3))
    plain = ExamRunConfig()
    assert (plain.given.goal, plain.profile, plain.limits, plain.model_dump(exclude_defaults=True)) == (
        False,
        None,
        None,
        {"profile": None},
    )


def test_a_card_is_a_picture_that_asks_nobody() -> None:
    text = card(hard_item())
    root = etree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.findall(".//{http://www.w3.org/1998/Math/MathML}mfrac")
    assert len(root.findall(".//{http://www.w3.org/1999/xhtml}li")) == len(HARD_OPTIONS)
    assert not re.search(r"href|src=|url\(|script", text)
    taller = int(root.get("height", "0"))
    assert taller > int(etree.fromstring(card(item(question("Short?")))).get("height", "0"))
    assert len(HARD_STEM) < len(base64.b64encode(text.encode()))
