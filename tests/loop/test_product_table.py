from __future__ import annotations

import pytest

from qagen_dagster.definitions import defs
from qagen_dagster.loop.outdated import Task, refresh_fields
from qagen_dagster.loop.product_table import ROWS, TABLE, Product
from qagen_dagster.loop.questions.plan import RunOptions
from qagen_dagster.settings import PROJECT_ROOT
from tests.support.graph import DAGSTER_WARNINGS

GIVEN = RunOptions(profile="mine", target_count=3, max_usd=1.5, replace=True)


def test_every_product_has_one_row_after_those_that_it_needs() -> None:
    assert [row.product for row in ROWS] == list(TABLE)
    assert set(TABLE) == set(Product)
    for number, row in enumerate(ROWS[:-1]):
        assert set(row.needs) <= {one.product for one in ROWS[:number]}


@pytest.mark.filterwarnings(*(mark.args[0] for mark in DAGSTER_WARNINGS))
def test_what_a_row_names_exists() -> None:
    graph = defs().resolve_asset_graph()
    keys = {key.to_user_string() for key in graph.get_all_asset_keys()}
    for row in ROWS:
        assert set(row.assets) <= keys
        assert set(row.ops(GIVEN.given)) <= set(row.assets)
        assert (PROJECT_ROOT / "docs" / row.page).is_file()
        if row.observed is not None:
            assert row.observed.name in keys
            assert set(row.observed.assets) <= set(row.assets)


@pytest.mark.parametrize(
    ("product", "fields"),
    [
        (Product.INDEX, {"profile": "mine", "max_usd": 1.5}),
        (Product.EXAM_PART, {"profile": "mine", "max_usd": 1.5, "refresh": True}),
        (Product.PROBLEMS, {"profile": "mine", "max_usd": 1.5, "refresh": True}),
    ],
)
def test_what_is_out_of_date_is_made_with_the_profile_and_the_budget(
    product: Product, fields: dict[str, object]
) -> None:
    task = Task(product=product, partition="p", due=True, reasons=("it changed",))
    assert refresh_fields(task, GIVEN) == fields
