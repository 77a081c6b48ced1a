"""What a command imports before it works, and the table from which commands are loaded."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from pathlib import Path

import pytest

from qagen_dagster.cli.main import COMMANDS, load_command, main

HEAVY = {
    "anthropic",
    "lxml",
    "onnxruntime",
    "openai",
    "pandas",
    "PIL",
    "pymupdf",
    "scipy",
    "spacy",
    "sympy",
    "tokenizers",
}
OF_ALL_WORK = {"dagster", "duckdb", "fsspec", "numpy", "pydantic", "rich", "yaml"}
SHOW = "import json, sys; print(json.dumps([name for name in sys.modules if '.' not in name]))"
COMMAND = """
from qagen_dagster.cli.main import main
try:
    main([{word!r}])
except SystemExit:
    pass
"""


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        (COMMAND.format(word="--help"), HEAVY | OF_ALL_WORK),
        (COMMAND.format(word="status"), HEAVY - {"PIL"} | {"dagster"}),  # it compares fingerprints
        (COMMAND.format(word="stats"), HEAVY | {"dagster", "numpy"}),
        ("import qagen_dagster.definitions", HEAVY - {"lxml", "PIL"}),
    ],
    ids=["help", "status", "stats", "definitions"],
)
def test_libraries_are_imported_only_where_they_are_used(code: str, unwanted: set[str]) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", code + "\n" + SHOW], capture_output=True, text=True, check=True
    )
    loaded = set(json.loads(ended.stdout.splitlines()[-1]))
    assert loaded & unwanted == set()


def test_a_catalog_is_built_without_pandas(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from qagen_dagster.catalog.database import rebuild
rebuild((), Path(sys.argv[1]))
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "catalog.duckdb")], check=True)


def test_the_table_of_commands_agrees_with_the_commands() -> None:
    loaded = {name: load_command(name) for name in COMMANDS}
    assert {name: (one.name, one.get_short_help_str(1_000)) for name, one in loaded.items()} == {
        name: (name, line) for name, (_, line) in COMMANDS.items()
    }


def test_a_command_looks_for_garbage_less_often_than_python() -> None:
    before = gc.get_threshold()
    try:
        with pytest.raises(SystemExit):
            main(["--version"])
        assert gc.get_threshold()[0] > 10 * 700
    finally:
        gc.set_threshold(*before)
