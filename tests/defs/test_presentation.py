"""Owners, tags, groups and links of the assets as the UI shows them."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest
from dagster._core.remote_representation.external_data import RepositorySnap
from dagster_shared.serdes import serialize_value

from qagen_dagster.definitions import defs
from qagen_dagster.defs.presentation import MODELS, OWNER, PUBLISHED
from qagen_dagster.loop.product_table import ROWS


def test_every_asset_has_an_owner_its_cost_and_a_page_of_the_documentation() -> None:
    graph = defs().resolve_asset_graph()
    for key in graph.materializable_asset_keys:
        node = graph.get(key)
        assert list(node.owners) == [OWNER]
        assert node.tags["cost"] == ("models" if MODELS in node.kinds else "free")
        found = node.metadata["dagster/code_references"]
        assert isinstance(found, dg.CodeReferencesMetadataValue)
        (link,) = found.code_references
        assert isinstance(link, dg.LocalFileCodeReference)
        assert link.line_number
        assert "def " in "".join(Path(link.file_path).read_text().splitlines()[link.line_number - 1 :][:20])
        page = Path(str(node.metadata["docs"].value))
        assert page.is_file()
        assert (node.description or "").endswith(f"\n\nSee docs/{page.name}.")


def test_groups_are_in_the_order_of_the_work_and_the_results_of_products_are_marked() -> None:
    graph = defs().resolve_asset_graph()
    groups = {key.to_user_string(): graph.get(key).group_name for key in graph.get_all_asset_keys()}
    assert set(groups.values()) == {row.group for row in ROWS}
    order = ("parsed_documents", "candidate_qa", "answer_baseline", "item_bank", "problem_bank", "catalog")
    assert [groups[name] for name in order] == sorted(groups[name] for name in order)
    marked = {key.to_user_string() for key in graph.get_all_asset_keys() if PUBLISHED in graph.get(key).kinds}
    assert marked == {"corpus_json", "item_bank", "problem_bank"}


@pytest.mark.filterwarnings("ignore:Property `ScheduleDefinition.environment_vars`:DeprecationWarning")
def test_the_ui_can_load_the_graph() -> None:
    """Dagster serializes it for the UI and refuses values of types that it does not know."""
    assert serialize_value(RepositorySnap.from_def(defs().get_repository_def()))
