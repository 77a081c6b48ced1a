from __future__ import annotations

import io

import pytest

from qagen_dagster.cli import graph as module
from qagen_dagster.cli.graph import Progress, duration
from qagen_dagster.cli.output import Terminal
from qagen_dagster.models.budget import TALLY, Tally


@pytest.mark.parametrize(("seconds", "told"), [(0.9, "0:00"), (75, "1:15"), (3_675, "1:01:15")])
def test_a_duration_is_minutes_and_seconds(seconds: float, told: str) -> None:
    assert duration(seconds) == told


def test_the_bar_shows_cost_retries_and_remaining_time_and_its_clock_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 1_000.0
    monkeypatch.setattr(module, "TALLY", Tally(calls=40, usd=0.314, retries=2))
    stream = io.StringIO()
    terminal = Terminal(file=stream, width=80, force_terminal=True, color_system=None, get_time=lambda: now)
    with Progress(terminal, quiet=False) as progress:
        progress.begin(1)
        progress.watch(lambda: (4, 12))
        progress.step("waterworks_of_the_northern_district/maintenance_training/textual")
        progress.say("4 of 12: ridge.txt: 3 accepted")
        now += 60
        progress.done()
        now += 30
    shown = stream.getvalue()
    assert "━ 1/1 1:30" in shown
    assert "  4 of 12 documents · about 3:00 left · 40 paid calls, $0.31 · 2 retries · 4 of…" in shown


def test_a_tally_counts() -> None:
    tally = Tally()
    tally.paid(0.5)
    tally.paid(0.25)
    tally.retried()
    assert (tally.calls, tally.usd, tally.retries) == (2, 0.75, 1)
    assert isinstance(TALLY, Tally)
