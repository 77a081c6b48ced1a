from __future__ import annotations

import pytest

from tests.cli.conftest import Command
from tests.support.history_project import COMBINATION, History, history


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> History:
    return history(tmp_path_factory)


@pytest.fixture
def compare(past: History, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    for name, value in past.project.environment().items():
        if name.startswith(("QAGEN_", "DAGSTER_", "COLUMNS")):
            monkeypatch.setenv(name, value)
    command = Command(past.project, capsys)
    return lambda *words: command("compare", *words)


def test_two_runs(past: History, compare) -> None:
    (found,) = compare(past.runs[0], past.runs[1][:13], "--json").value
    first, second = found["first"], found["second"]
    assert (first["combination"], first["run_id"], first["version"]) == (COMBINATION, past.runs[0], 1)
    assert (first["accepted"], first["rejected"], first["rejected_by_reason"]) == (4, 0, {})
    assert (second["accepted"], second["rejected"], second["rejected_by_reason"]) == (4, 2, {"trivial": 2})
    assert (first["pass_rate"], round(second["pass_rate"], 3)) == (1.0, 0.667)
    assert first["usd"] > 0
    assert ["intake" in one["question"] for one in found["only_in_first"]] == [True, True]
    assert ["bypass" in one["question"] for one in found["only_in_second"]] == [True, True]


def test_profiles_are_their_latest_runs_and_versions_their_sets(past: History, compare) -> None:
    (profiles,) = compare("remote", "careful", "--json").value
    assert (profiles["first"]["run_id"], profiles["second"]["run_id"]) == past.runs[1:3]
    (versions,) = compare(f"{COMBINATION}@2", f"{COMBINATION}@3", "--json").value
    assert versions == profiles


def test_the_table_names_both_sides(past: History, compare) -> None:
    told = compare(f"{COMBINATION}@1", f"{COMBINATION}@2").out
    rows = [line.replace("│", " ").split() for line in told.splitlines()]
    assert ["rejected", "0", "2"] in rows
    assert ["trivial", "0", "2"] in rows
    assert f"only in {COMBINATION}@2: 2" in told
    assert "At what pressure does the bypass valve of the quay station open?" in told


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("nobody", "remote"), "there is no run, profile or version 'nobody'"),
        (("", "remote"), "there is no run, profile or version ''"),
        ((f"{COMBINATION}@9", "remote"), "@9' in the catalog"),
    ],
    ids=["unknown", "empty", "no such version"],
)
def test_what_is_not_there_is_one_line(compare, words: tuple[str, str], why: str) -> None:
    ended = compare(*words)
    assert ended.code == 1
    assert len(ended.errors) == 1
    assert why in ended.err
