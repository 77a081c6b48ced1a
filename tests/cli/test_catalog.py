from __future__ import annotations

import duckdb

from qagen_dagster.catalog.database import TABLES, rebuild
from qagen_dagster.loop.catalog import CATALOG
from tests.cli.conftest import Command


def test_every_table_view_and_macro_has_a_line(qagen: Command) -> None:
    _build(qagen)
    shown = qagen("catalog", "describe")
    assert (shown.code, shown.err) == (0, "")
    lines = shown.out.splitlines()
    kinds = {line.split()[1].partition("(")[0]: line.split()[0] for line in lines}
    assert {name for name, kind in kinds.items() if kind == "table"} == {*TABLES, "catalog_info"}
    assert (kinds["run_totals"], kinds["set_difference"]) == ("view", "macro")
    assert "table  checks                The outcome of every asset check in every run." in lines
    value = qagen("catalog", "describe", "--json").value
    assert {one["name"].partition("(")[0]: one["kind"] for one in value} == kinds
    assert all(one["comment"] for one in value)


def test_a_table_is_shown_with_its_columns(qagen: Command) -> None:
    _build(qagen)
    shown = qagen("catalog", "describe", "checks").out
    assert shown.startswith("table checks: The outcome of every asset check in every run.\n")
    lines = {" ".join(line.split()) for line in shown.splitlines()}
    assert "severity VARCHAR WARN or ERROR: how a failure of the check is shown." in lines
    value = qagen("catalog", "describe", "candidates", "--json").value
    assert (value["name"], value["kind"]) == ("candidates", "table")
    assert {"content_refs": "VARCHAR[]", "evidence": "JSON"}.items() <= {
        one["name"]: one["type"] for one in value["columns"]
    }.items()
    assert "VARCHAR[]" in qagen("catalog", "describe", "candidates").out
    assert all(one["comment"] for one in value["columns"])


def test_a_macro_is_shown_with_its_parameters(qagen: Command) -> None:
    _build(qagen)
    shown = qagen("catalog", "describe", "set_difference").out
    assert shown.startswith("macro set_difference(key, earlier, later): The questions that are in only one")


def test_the_texts_are_those_of_the_database(qagen: Command) -> None:
    _build(qagen)
    with duckdb.connect(qagen.project.assets / CATALOG) as connection:
        connection.execute(
            "COMMENT ON TABLE checks IS 'Changed.'; COMMENT ON COLUMN checks.asset IS 'A [b].'"
        )
    value = qagen("catalog", "describe", "checks", "--json").value
    assert value["comment"] == "Changed."
    assert {"name": "asset", "type": "VARCHAR", "comment": "A [b]."} in value["columns"]
    assert "A [b]." in qagen("catalog", "describe", "checks").out  # and no markup of the terminal


def test_an_unknown_table_is_one_line_that_names_the_others(qagen: Command) -> None:
    _build(qagen)
    ended = qagen("catalog", "describe", "absent")
    assert (ended.code, ended.out) == (2, "")
    (line,) = ended.errors
    assert line.startswith("qagen: error: there is no table 'absent' in the catalog (there are: ")
    assert {*TABLES, "run_totals", "set_difference"} <= set(line.partition("are: ")[2].strip(")").split(", "))


def test_without_a_catalog_it_says_how_to_build_one(qagen: Command) -> None:
    ended = qagen("catalog", "describe")
    assert (ended.code, ended.out) == (1, "")
    assert ended.errors == [
        f"qagen: error: there is no catalog at {qagen.project.assets}/{CATALOG}: "
        "`qagen run`, or materializing the asset `catalog`, makes it"
    ]


def _build(qagen: Command) -> None:
    rebuild((), qagen.project.assets / CATALOG)
