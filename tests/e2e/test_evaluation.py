"""Evaluations over HTTP: `kill -9` and a budget in the middle, and nothing is paid twice or lost."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
from pathlib import Path

import psutil

from qagen_dagster.catalog.database import snapshot
from tests.support import waterworks
from tests.support.project import Project, ended
from tests.support.wire_server import Call, Hang, Reply, Seen, Step, WireServer

STATIONS = ("ridge", "quay", "mill", "weir")
KEY = "water/facts/textual"
WORKERS = 3  # of Project.environment
PROFILE = """\
roles:
  generator: {{provider: scripted, model: cloze}}
  validator: {{provider: scripted, model: cloze-check}}
  deduplicator: {{provider: scripted, model: cloze-compare}}
  answerer: {{provider: openai_compatible, model: scholar, base_url: "{url}", usd_per_million_input: 125, usd_per_million_output: 625}}
"""
_GAP = re.compile(r'in this line of the document: "(.*?)"\?')


class Scholar:
    """Knows every line of every document, but for those of the mill; after `answers` answers it keeps callers waiting."""

    def __init__(self) -> None:
        self.answers: int | None = None
        self.silent = threading.Event()
        self._guard = threading.Lock()
        self._known = [line for name in STATIONS for line in waterworks.notes(name).split("\n")]

    def __call__(self, seen: Seen, number: int) -> Step:
        del number
        with self._guard:
            if self.answers == 0:
                self.silent.set()
                return Hang(120)
            if self.answers is not None:
                self.answers -= 1
        said = json.dumps(seen.body, ensure_ascii=False).replace('\\"', '"')
        gap = _GAP.findall(said)[-1]
        before, after = gap.split("____")
        line = next(line for line in self._known if line.startswith(before) and line.endswith(after))
        word = line[len(before) : len(line) - len(after)]
        if "submit_closed_book_answer" in said:
            knows = "mill" not in line
            return _call("submit_closed_book_answer", answer=word if knows else "unknown", confidence=0.5)
        return _call("submit_document_answer", answer=word, answerable=True, confidence=0.5)


def _call(name: str, **arguments: object) -> Reply:
    return Reply(calls=(Call(name, arguments),))


def test_killed_and_out_of_money_it_ends_with_the_reports_of_an_untroubled_run(tmp_path: Path) -> None:
    scholar = Scholar()
    with WireServer(scholar) as server:
        project = Project.make(tmp_path / "project")
        documents = {f"{name}.txt": waterworks.notes(name) for name in STATIONS}
        project.corpus("water", waterworks.corpus(3), documents)
        project.profile("remote", PROFILE.format(url=server.url("openai_compatible")))
        assert project.qagen("run", "--profile", "remote").code == 0
        assert server.requests == [], "making questions asked the answerer nothing"
        words = ("evaluate", "--profile", "remote", "--json")
        scholar.answers = 7
        process = project.start(*words)
        assert scholar.silent.wait(120)
        _kill(process.pid)
        assert ended(process).code == -signal.SIGKILL
        killed, scholar.answers = len(server.requests), None
        held = project.qagen(*words, "--max-calls", "4")
        paid = len(server.requests) - killed
        assert held.code == 0
        assert 4 <= paid <= 4 + WORKERS
        (told,) = held.value["combinations"]
        waiting = told["closed_book"]["asked_again"] + told["answers"]["asked_again"]
        assert 24 - 7 - paid <= waiting <= 24 - 7 - paid + WORKERS
        last = project.qagen(*words)
        total = len(server.requests)
        assert 24 <= total <= 24 + 2 * WORKERS, "only what was under way when it died is paid again"
        (whole,) = last.value["combinations"]
        assert (whole["closed_book"]["asked_again"], whole["answers"]["asked_again"]) == (0, 0)
        assert whole["closed_book"]["metrics"]["leaked_share"] == 0.75
        assert len(whole["closed_book"]["leaked_questions"]) == 9
        assert whole["answers"]["metrics"]["exact_match"] == 1
        again = project.qagen(*words, "--force")
        assert len(server.requests) == total
    assert again.value["combinations"][0]["answers"]["metrics"] == whole["answers"]["metrics"]
    with snapshot(project.assets / "catalog.duckdb") as catalog:
        costs = catalog.execute("SELECT role, calls, round(usd, 6) FROM evaluation_costs").fetchall()
        leaked = catalog.execute("SELECT count(*) FROM question_evaluations WHERE leaked").fetchall()
        history = catalog.execute("SELECT count(DISTINCT run_id) FROM evaluations").fetchall()
    assert costs == [("answerer", 24, 0.6)]
    assert leaked == [(9,)]
    assert history == [(3,)], "the killed run made no report"


def _kill(pid: int) -> None:
    children = psutil.Process(pid).children(recursive=True)
    os.kill(pid, signal.SIGKILL)
    psutil.wait_procs(children, timeout=60)
