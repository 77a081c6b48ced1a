"""Assets of problem sets: one set worked by models on a server, and what the UI shows of it."""

from __future__ import annotations

import base64
import re
from collections.abc import Generator
from pathlib import Path

import dagster as dg
import pytest
from lxml import etree

from qagen_dagster.catalog.database import snapshot
from qagen_dagster.defs.problems.assets import STAGES
from qagen_dagster.defs.problems.metadata import card
from qagen_dagster.loop.catalog import catalog_file, rebuild_catalog
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.problems.result import BankItem, BankOption
from tests.support.graph import GraphRun, checks, metadata, version
from tests.support.problems.board import PROFILE, ProblemBoard
from tests.support.problems.files import picture, write_set
from tests.support.problems.play import item
from tests.support.project import Project
from tests.support.wire_server import WireServer

ASSETS = ("problem_sources", *STAGES, "problem_bank")
WISHES = """\
  - {file: photo.png, kind: subjective}
variants: [numerical, context]
alternates: 1
conversions: [integer]
combine: [[problems-01, problems-02]]
"""


class Worked:
    def __init__(self, graph: GraphRun, board: ProblemBoard, space: Workspace) -> None:
        self.graph, self.board, self.space = graph, board, space
        self.result = graph.materialize("motion", *ASSETS)


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Generator[Worked]:
    project = Project.make(tmp_path_factory.mktemp("problems") / "project")
    folder = write_set(project.corpora, more=WISHES)
    (folder / "sources" / "photo.png").write_bytes(picture())
    board = ProblemBoard()
    with WireServer(board) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", "")  # no TeX engine, wherever this runs
        project.profile("remote", PROFILE.format(url=server.url("openai_compatible")))
        with GraphRun(project, profile="remote") as graph:
            yield Worked(graph, board, Workspace(project.settings(profile="remote")))


def test_a_set_is_worked_from_sources_to_bank(worked: Worked) -> None:
    assert worked.result.success
    shown = metadata(worked.result, "problem_bank")
    assert (shown["problems"], shown["accepted"]) == (5, 5)  # three items, a picture, and two as one
    assert shown["items_by_kind"] == {"original": 4, "numerical": 4, "context": 4, "integer": 4, "multi": 1}
    assert set(shown["exports"]) >= {"tex/main.tex", "items.jsonl", "moodle.xml"}
    assert {name: passed for name, (passed, _) in checks(worked.result).items()} == {
        "properties_hold": True, "no_duplicates": False, "latex_compiles": True, "nothing_is_flagged": True, "harmless": True,
        "up_to_date": True,
    }  # fmt: skip
    calls = len(worked.board.received)
    again = worked.graph.materialize("motion", *ASSETS)
    assert again.success
    assert len(worked.board.received) == calls
    assert version(again, "problem_bank") == version(worked.result, "problem_bank")
    assert metadata(again, "scans")["problems_with_new_results"] == 0
    assert metadata(again, "problem_bank")["changed"] == []


def test_the_bank_is_in_the_catalog_with_what_it_cost(worked: Worked) -> None:
    rebuild_catalog(worked.space.store)
    with catalog_file(worked.space.store) as file, snapshot(file) as connection:
        items = connection.execute(
            "SELECT problem_id, outcome, cardinality(variants) FROM problem_items ORDER BY position"
        ).fetchall()
        stages = connection.execute("SELECT DISTINCT stage FROM problem_tasks WHERE current").fetchall()
        calls = connection.execute("SELECT sum(calls) FROM problem_costs").fetchone()
        run = connection.execute("SELECT DISTINCT status, combination FROM runs").fetchall()
    assert [(name, outcome) for name, outcome, _ in items] == [
        (name, "accepted") for name in ("problems-01", "problems-02", "problems-03", "photo", "multi-1")
    ]
    assert [variants for *_, variants in items] == [2, 2, 2, 2, 1]
    assert {stage for (stage,) in stages} >= {"classify", "scan", "idea", "variant", "convert"}
    assert calls == (len(worked.board.received),)
    assert run == [("success", None)]


def test_a_picture_stands_beside_its_latex_and_its_look(worked: Worked) -> None:
    assert "photo" in metadata(worked.result, "problem_sources")["pictures"]
    shown = metadata(worked.result, "scans")["rendered_items"]
    cards = [
        base64.b64decode(one) for one in re.findall(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)", shown)
    ]
    assert len(cards) == 4
    for one in cards:
        etree.fromstring(one)
    with_photo = cards[-1].decode()
    assert with_photo.count("<img") == 1
    assert "\\begin{solution}" in with_photo
    assert "<math" in with_photo
    assert "tikzpicture" in metadata(worked.result, "diagrams")["results"]


def test_the_bank_names_its_file_and_its_table(worked: Worked) -> None:
    shown = metadata(worked.result, "problem_bank")
    assert shown["dagster/uri"].endswith("/bank.json")
    assert shown["dagster/table_name"] == "catalog.main.problem_items"


def test_every_stage_says_how_its_tasks_ended(worked: Worked) -> None:
    ends = {name: metadata(worked.result, name)["dagster/partition_row_count"] for name in STAGES}
    assert ends == {
        "classifications": 4, "scans": 4, "diagrams": 4, "ideas": 4, "alternates": 4, "variants": 9, "conversions": 4,
    }  # fmt: skip
    assert metadata(worked.result, "variants")["model_calls"] == 9
    assert "confidence 0.9" in metadata(worked.result, "classifications")["results"]


def test_the_stages_hang_together(worked: Worked) -> None:
    graph = worked.graph.definitions.resolve_asset_graph()
    parents = {
        name: {key.to_user_string() for key in graph.get(dg.AssetKey(name)).parent_keys} for name in ASSETS
    }
    assert parents == {
        "problem_sources": {"problem_config"},
        "classifications": {"problem_sources"},
        "scans": {"classifications"},
        "diagrams": {"scans"},
        "ideas": {"diagrams"},
        "alternates": {"ideas"},
        "variants": {"ideas"},
        "conversions": {"ideas"},
        "problem_bank": {"alternates", "variants", "conversions", "problem_config"},
    }


def test_a_broken_set_is_told_and_the_good_one_works(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    write_set(project.corpora)
    broken = project.corpora / "problems" / "broken"
    (broken / "sources").mkdir(parents=True)
    (broken / "problems.yaml").write_text("name: Broken\nsources: [{file: gone.tex}]\n")
    with GraphRun(project) as graph:
        sources = graph.definitions.resolve_asset_graph().get(dg.AssetKey("problem_sources"))
        assert sources.partitions_def is not None
        assert list(sources.partitions_def.get_partition_keys()) == ["motion"]
        assert "gone.tex" in str(sources.metadata["broken_sets"].value)
        assert graph.materialize("motion", "problem_sources").success
        failed = graph.materialize("motion", "classifications")
        assert not failed.success  # dry_run binds nobody to problems


def test_a_card_is_xml_whatever_the_latex_says() -> None:
    hostile = item() + "<script>&amp;]]>\x00"
    one = BankItem(
        id="p--x",
        problem="p",
        latex=hostile,
        statement="$a < b$ & \\textbf{c}",
        options=(BankOption(text="<b>", right=True),),
        source_path="<p>",
    )
    found = etree.fromstring(card(one, None, None).encode())
    assert found.tag.endswith("svg")
    assert "script" not in {etree.QName(node).localname for node in found.iter() if isinstance(node.tag, str)}


def test_a_card_without_a_picture_has_two_wider_columns() -> None:
    one = BankItem(id="p", problem="p", latex=item(), statement="How fast?", source_path="p.tex")
    widths = [
        re.findall(r'<div style="width:(\d+)px', card(one, picture, "data:,x"))
        for picture in ("data:,y", None)
    ]
    assert widths == [["330"] * 3, ["495"] * 2]
