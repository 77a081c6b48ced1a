"""`qagen estimate` in a project of its own: nothing is asked, nothing is paid, and the numbers are told as ranges."""

from __future__ import annotations

import pytest

from qagen_dagster.cli.questions.estimate import _count, _time, money
from tests.cli.conftest import Command
from tests.support import waterworks
from tests.support.wire_server import WireServer

PROFILE = """\
roles:
  generator: {{provider: openai_compatible, model: asker, base_url: "{url}", usd_per_million_input: 2, usd_per_million_output: 8}}
  validator: {{provider: openai_compatible, model: judge, base_url: "{url}"}}
  deduplicator: {{provider: scripted, model: cloze-compare}}
"""
RANGED = ("calls", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "seconds")


@pytest.fixture
def water(qagen: Command) -> Command:
    texts = {f"{name}.txt": waterworks.notes(name) for name in ("ridge", "quay")}
    qagen.project.corpus("water", waterworks.corpus(2, "textual, visual"), texts)
    return qagen


def test_before_during_and_after(water: Command) -> None:
    first = water("estimate", "--mode", "textual")
    assert first.code == 0
    assert "2 of 2" in first.out
    assert "no past runs: a rough guess" in first.out
    assert not water.project.stored("candidates")
    assert not water.project.stored("ledger")
    assert water("run", "--mode", "textual").code == 0
    more = water("estimate", "--mode", "textual", "--target-count", "3", "--json").value["combinations"][0]
    assert (more["to_do"], more["begun"], more["guessed"]) == (2, 2, False)
    after = water("estimate")
    assert "nothing to do" in after.out
    assert "Documents: 2 finished, which cost nothing; 0 started" in after.out


def test_what_it_says_in_json(water: Command) -> None:
    found = water("estimate", "--json").value
    assert set(found) == {"total", "unknown_prices", "combinations", "budgets"}
    textual, visual = found["combinations"]
    assert (textual["combination"], visual["combination"]) == ("water/facts/textual", "water/facts/visual")
    assert (textual["to_do"], visual["to_do"], visual["without_work"]) == (2, 0, 2)
    for name in RANGED:
        one = textual[name]
        assert one["low"] <= one["expected"] <= one["high"], name
        assert found["total"][name] == one
    assert [role["role"] for role in textual["roles"]] == ["generator", "validator", "deduplicator"]
    assert textual["usd"] == {"low": 0.0, "expected": 0.0, "high": 0.0}


def test_an_unknown_price_is_named_and_no_server_is_asked(water: Command) -> None:
    with WireServer(waterworks.answer) as server:
        water.project.profile("remote", PROFILE.format(url=server.url("openai_compatible")))
        told = water("estimate", "--profile", "remote", "--mode", "textual")
        found = water("estimate", "--profile", "remote", "--mode", "textual", "--json").value
        assert server.requests == []
    assert "unknown" in told.out
    assert "The cost is unknown" in told.out
    assert found["unknown_prices"] == ["openai_compatible:judge"]
    (one,) = found["combinations"]
    assert (one["usd"], found["total"]["usd"]) == (None, None)
    assert one["roles"][0]["usd"]["expected"] > 0


def test_a_budget_and_batches_are_told(water: Command) -> None:
    priced = (
        PROFILE.format(url="http://127.0.0.1:9/v1")
        .replace(
            'judge, base_url: "http://127.0.0.1:9/v1"',
            "judge, api_key_env: K, execution: batch, usd_per_million_input: 2, usd_per_million_output: 8",
        )
        .replace("validator: {provider: openai_compatible", "validator: {provider: openai")
    )
    water.project.profile("priced", priced)
    words = ("estimate", "--profile", "priced", "--mode", "textual")
    told = " ".join(water(*words, "--max-usd", "0.001", "--max-calls", "5000").out.split())
    assert "The budget of $0.001 is enough for about 0 of 2 documents (0 to 0)." in told
    assert "5,000 calls" not in told
    assert "Sent in batches at the lower batch price: validator (openai:judge)." in told
    (end,) = water(*words, "--max-usd", "0.001", "--json").value["budgets"]
    assert (end["scope"], end["limit"], end["allowed"], end["of"]) == ("run", "max_usd", 0.001, 2)
    refused = water("estimate", "--profile", "remote", "--max-usd", "1")
    assert refused.code == 2


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["estimate", "--corpus", "absent"], 2, "there is no corpus 'absent'"),
        (["estimate", "--profile", "absent"], 2, "there is no profile 'absent'"),
        (["estimate", "--target-count", "0"], 2, "0 is not in the range"),
    ],
)
def test_what_cannot_be_estimated_is_one_line(water: Command, words: list[str], code: int, told: str) -> None:
    ended = water(*words)
    assert ended.code == code
    (line,) = ended.errors
    assert told in line


def test_numbers_are_short() -> None:
    assert [_count(value) for value in (0, 7.4, 9_999, 12_345, 999_900, 1_234_567, 2.5e9)] == [
        "0", "7", "9,999", "12.3k", "1.00M", "1.23M", "2.50G",
    ]  # fmt: skip
    assert [money(value) for value in (0, 0.012, 1, 1234.5)] == ["$0.00", "$0.0120", "$1.00", "$1,234.50"]
    assert [_time(value) for value in (0, 89, 600, 9_000)] == ["0 s", "89 s", "10 min", "2.5 h"]
