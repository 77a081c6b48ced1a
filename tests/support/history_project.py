"""A project with a history: one combination made three times with other models, then a changed document and a failed run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from qagen_dagster.loop.catalog import CATALOG, rebuild_catalog
from qagen_dagster.store import Store
from tests.support import waterworks
from tests.support.graph import DOCUMENTS, QUESTIONS, GraphRun
from tests.support.once import once
from tests.support.project import Project
from tests.support.wire_reader import read
from tests.support.wire_server import Fault, Reply, Seen, Step, WireServer

CORPUS = "town_records"  # as in the samples, so that the queries of the documentation fit
COMBINATION = f"{CORPUS}/rag_eval/textual"
PROFILE = """\
roles:
  generator: {{provider: openai_compatible, model: {generator}, base_url: "{url}", usd_per_million_input: 1, usd_per_million_output: 2}}
  validator: {{provider: openai_compatible, model: {validator}, base_url: "{url}"}}
  deduplicator: {{provider: openai_compatible, model: twin, base_url: "{url}"}}
"""


@dataclass(frozen=True)
class History:
    """The project and its runs of the combination, in order; the last one failed."""

    project: Project
    runs: tuple[str, ...]

    @property
    def catalog(self) -> Path:
        return self.project.assets / CATALOG

    @property
    def store(self) -> Store:
        return Store(str(self.project.assets))


def history(factory: pytest.TempPathFactory) -> History:
    """The project, made once. Tests leave it as it is."""
    folder = once(factory, "history", _make)
    return History(Project(folder), tuple(json.loads((folder / "runs.json").read_text())))


def answer(seen: Seen, number: int) -> Step:
    """What the models of the runs do.

    `strict` knows the intake valves without a document, `harsh` all valves of the ridge station except one;
    `backwards` asks about the last valve first.
    """
    asked = read(seen)
    if asked.model == "broken" and asked.role == "generator":
        return Fault(400, {"error": {"message": "the model is gone"}})
    step = waterworks.answer(seen, number)
    trivial = {"strict": "intake" in asked.user, "harsh": "ridge" in asked.user and "purge" not in asked.user}
    if asked.role == "guesser" and trivial.get(asked.model):
        valve, station = waterworks.asked_about(asked.user)
        bar = waterworks.pressure(station, valve)
        return waterworks.call("submit_closed_book_answer", answer=f"{bar} bar", confidence=1)
    if asked.model == "backwards" and asked.role == "generator":
        return _backwards(seen, step)
    return step


def _backwards(seen: Seen, step: Step) -> Step:
    if isinstance(step, Reply) and step.calls and step.calls[0].name == "submit_qa":
        return waterworks.propose(read(seen), backwards=True)
    return step


def _make(folder: Path) -> None:
    project = Project.make(folder)
    stations = {f"{name}.txt": waterworks.notes(name) for name in ("ridge", "quay")}
    project.corpus(
        CORPUS,
        waterworks.corpus(2)
        .replace("facts:", "rag_eval:")
        .replace("closed_book: false", "closed_book: true"),
        stations,
    )
    with WireServer(answer) as server:
        runs = _runs(project, server.url("openai_compatible"))
    (folder / "runs.json").write_text(json.dumps(runs))
    rebuild_catalog(Store(str(project.assets)))


def _runs(project: Project, url: str) -> list[str]:
    bind = partial(PROFILE.format, url=url)
    runs: list[str] = []

    def run(profile: str, generator: str, validator: str, *, fails: bool = False) -> None:
        project.profile(profile, bind(generator=generator, validator=validator))
        with GraphRun(project, profile=profile) as graph:
            assert graph.materialize(CORPUS, *DOCUMENTS).success
            made = graph.materialize(COMBINATION, *QUESTIONS)
        assert made.success is not fails
        runs.append(made.run_id)

    run("remote", "asker", "judge")
    run("remote", "asker", "strict")
    run("careful", "backwards", "harsh")
    (project.corpora / CORPUS / "documents" / "quay.txt").write_text(waterworks.notes("quay", ["drain"]))
    run("remote", "broken", "judge", fails=True)
    return runs
