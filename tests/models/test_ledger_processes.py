"""The ledger in use by several processes at once, some of which are killed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from qagen_dagster.settings import PROJECT_ROOT


def use(folder: Path, task: str, *words: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.ledger_processes", task, str(folder), *words],
        cwd=PROJECT_ROOT,
        stdout=subprocess.PIPE,
        timeout=120,
        check=True,
    )
    return json.loads(done.stdout)


def test_what_writers_finished_before_half_of_them_were_killed_is_readable(tmp_path: Path) -> None:
    counts = use(tmp_path, "write", "--processes", "8", "--writes", "150")
    assert counts["killed"] == 4
    assert counts["finished_by_survivors"] == 4 * 150
    assert counts["readable"] == counts["finished"] >= 4 * 150
    assert counts["corrupt"] == 0


def test_processes_that_ask_the_same_pay_once(tmp_path: Path) -> None:
    assert use(tmp_path, "ask", "--processes", "4") == {"paid": 1, "answered": 4, "answers": 1, "locks": 0}


def test_a_process_that_dies_while_it_pays_frees_the_request_for_one_other(tmp_path: Path) -> None:
    counts = use(tmp_path, "ask", "--processes", "4", "--kill")
    assert counts == {"paid": 2, "answered": 3, "answers": 1, "locks": 0}
