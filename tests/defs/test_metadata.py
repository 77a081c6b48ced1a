"""Tables and costs as the UI shows them."""

from __future__ import annotations

from typing import Any

from qagen_dagster.defs.metadata import INLINE, MAX_ROWS, cost, markdown_table
from qagen_dagster.records.run import CallSummary
from tests.support.graph import plain


def test_a_table_says_how_much_of_it_is_not_shown_and_an_empty_one_that_there_is_none() -> None:
    rows = [(number, "a | b\n`<i>`") for number in range(MAX_ROWS + 2)]
    shown = (markdown_table(("n", "text"), rows).value or "").splitlines()
    assert shown[:3] == ["| n | text |", "|---|---|", "| 0 | a \\| b '&lt;i&gt;' |"]
    assert (len(shown), shown[-1]) == (2 + MAX_ROWS + 2, "... and 2 more")
    assert markdown_table(("n", "text"), []).value == "none"


def test_the_ui_shows_a_narrow_table_at_once_and_a_wide_one_in_a_dialog() -> None:
    narrow, wide = (markdown_table(header, [header]).value or "" for header in ("abc", "abcd"))
    assert len(narrow) < INLINE <= len(wide)
    assert wide.splitlines()[2] == "| a | b | c | d |"


def call(key: str, usd: float | None = 0.25, role: str = "generator", **more: Any) -> CallSummary:
    return CallSummary(
        request_key=key, role=role, model=f"p:{role}", document_id="d", attempt=1, input_tokens=100,
        output_tokens=10, cached_tokens=40, reasoning_tokens=3, usd=usd, seconds=0.5, retries=1, **more,
    )  # fmt: skip


def shown(calls: list[CallSummary], accepted: int | None = None) -> dict[str, Any]:
    return plain(cost(calls, accepted))


def test_a_replayed_call_is_not_paid_twice() -> None:
    found = shown([call("a"), call("a", replayed=True), call("b", role="validator")], accepted=2)
    by_role = found.pop("cost_by_role").splitlines()
    assert found == {
        "model_calls": 2, "input_tokens": 200, "cached_tokens": 80, "output_tokens": 20, "reasoning_tokens": 6,
        "model_seconds": 1.0, "retries": 2, "usd": 0.5, "usd_per_accepted": 0.25,
    }  # fmt: skip
    assert by_role[2:] == [
        "| generator | p:generator | 1 | 100 | 40 | 10 | 3 | 0.5 | 1 | 0.2500 |",
        "| validator | p:validator | 1 | 100 | 40 | 10 | 3 | 0.5 | 1 | 0.2500 |",
    ]


def test_calls_that_cost_nothing_are_no_numbers_that_the_ui_would_plot() -> None:
    found = shown([call("a", usd=0.0), call("b", usd=0.0)], accepted=2)
    assert found.pop("cost_by_role").splitlines()[2:] == [
        "| generator | p:generator | 2 | 200 | 80 | 20 | 6 | 1.0 | 2 | 0.0000 |"
    ]
    assert found == {"model_calls": 2, "usd": "nothing was paid"}


def test_calls_without_an_address_are_each_their_own() -> None:
    assert shown([call(""), call("")])["model_calls"] == 2


def test_an_unknown_price_makes_the_sum_unknown() -> None:
    found = shown([call("a"), call("b", usd=None, role="validator")], accepted=1)
    assert (found["usd"], found["usd_per_accepted"]) == ("unknown", "unknown")
    assert "| 0.2500 |" in found["cost_by_role"]
    assert "| unknown |" in found["cost_by_role"]


def test_nothing_accepted_has_no_price_per_question() -> None:
    assert "usd_per_accepted" not in shown([call("a")], accepted=0)


def test_what_was_paid_and_not_used_is_named() -> None:
    found = shown([call("a"), call("b", unused=True), call("b", unused=True, replayed=True)])
    assert (found["model_calls"], found["unused_calls"], found["unused_usd"]) == (2, 1, 0.25)
    assert "unused_calls" not in shown([call("a")])
