"""The page in a browser: decisions by keyboard, and hostile text."""

from __future__ import annotations

from pathlib import Path

from qagen_dagster.loop.review.decisions import decisions_of
from tests.support.chromium import Tab, chromium, needs_chromium
from tests.support.reviewed import KEY, page, report, reviewed

DECISIONS = 50


def count(tab: Tab) -> str:
    return tab.run("byId('progress').textContent")


@needs_chromium
def test_decisions_by_keyboard_survive_a_restart(tmp_path: Path) -> None:
    space = reviewed(tmp_path / "project", documents=20)
    with chromium(tmp_path / "browser") as tab:
        with page(space) as address:
            tab.open(address)
            for done in range(1, DECISIONS - 1):
                tab.press("a")
                tab.wait(f"byId('progress').textContent.startsWith('{done} judged') && !sending")
            tab.press("e")
            tab.wait("byId('edit-dialog').open")
            tab.run("byId('edit-answer').select()")
            tab.type("eleven bar")
            tab.press("Enter", ctrl=True)
            tab.wait(f"byId('progress').textContent.startsWith('{DECISIONS - 1} judged') && !sending")
            tab.press("r")
            tab.wait("byId('reason-dialog').open")
            tab.press("3")
            tab.press("Enter", ctrl=True)
            tab.wait(f"byId('progress').textContent.startsWith('{DECISIONS} judged') && !sending")
        with page(space) as address:
            tab.open(address)
            assert count(tab) == "50 judged by you, 50 of 60 by anyone"
            tab.press("u")
            tab.wait("byId('progress').textContent.startsWith('49 judged')")
            assert tab.run("stateOf(list.row)") == "unreviewed"
    last = [some[-1] for some in decisions_of(space, KEY.key).values()]
    assert [one.new_answer for one in last if one.new_answer] == ["eleven bar"]
    assert sorted({one.action.value for one in last}) == ["accept", "edit", "undo"]
    rejected = [
        one for some in decisions_of(space, KEY.key).values() for one in some if one.action.value == "reject"
    ]
    assert [one.reason for one in rejected] == ["ambiguous"]


@needs_chromium
def test_hostile_text_stays_text_also_in_a_report(tmp_path: Path) -> None:
    space = reviewed(tmp_path / "project")
    file = tmp_path / "report.html"
    file.write_text(report(space), encoding="utf-8")
    with chromium(tmp_path / "browser") as tab, page(space) as address:
        for opened in (address, file.as_uri()):
            tab.open(opened)
            tab.run("list.reset(); list.select(list.shown.findIndex((row) => row.outcome === 'rejected'))")
            tab.wait("document.querySelector('mark')")
            shown = tab.run("byId('detail').textContent")
            assert "</script><img src=x onerror=alert(1)> \\u202eevil\\u202c" in shown
            assert "\u202e" not in shown
            assert tab.run("document.querySelectorAll('#detail a, #detail img').length") == 0
        assert tab.run("byId('actions').hidden") is True
