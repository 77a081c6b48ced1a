"""Pictures of items for people: nothing that is not allowed reaches the TeX engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster.loop.problems.bank import rendering
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.settings import load_settings
from tests.support.problems.play import item


@pytest.mark.parametrize(("latex", "ran"), [(item(), True), (item() + r"\begin{@@input}/etc/passwd ", False)])
def test_only_allowed_items_are_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, latex: str, ran: bool
) -> None:
    script = tmp_path / "pdflatex"
    script.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo TeX && exit\n: > {tmp_path}/ran\nexit 1\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert rendering(Workspace(load_settings({})), latex, "", ()) is None
    assert (tmp_path / "ran").exists() == ran
