"""Money over HTTP: a run stops at its limit, publishes what it has, and the next run ends as if there had been none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support import waterworks
from tests.support.project import Ended, Project
from tests.support.wire_server import WireServer

STATIONS = ("ridge", "quay", "mill", "weir", "dune", "moor")
KEY = "water/facts/textual"
CALL = 0.025  # dollars: 20 tokens out at 1250 dollars a million, and no more are allowed
ROLE = (
    '  {role}: {{provider: openai_compatible, model: {model}, base_url: "{url}", '
    "max_output_tokens: 20, usd_per_million_input: 0, usd_per_million_output: 1250}}\n"
)
MODELS = {"generator": "asker", "validator": "judge", "deduplicator": "twin"}


def _project(root: Path, url: str) -> Project:
    project = Project.make(root)
    documents = {f"{name}.txt": waterworks.notes(name) for name in STATIONS}
    project.corpus("water", waterworks.corpus(3), documents)
    roles = "".join(ROLE.format(role=role, model=model, url=url) for role, model in MODELS.items())
    project.profile("priced", f"roles:\n{roles}")
    return project


def _questions(project: Project) -> list[dict[str, Any]]:
    return project.published(KEY)["questions"]


def _run(project: Project, *words: str) -> Ended:
    return project.qagen("run", "--json", "--profile", "priced", *words)


def test_a_dollar_is_a_dollar_and_what_it_bought_is_published(tmp_path: Path) -> None:
    with WireServer(waterworks.answer) as server:
        project = _project(tmp_path / "limited", server.url("openai_compatible"))
        stopped = _run(project, "--max-usd", "1.00")
        paid = len(server.requests)
        assert stopped.code == 0
        assert paid == round(1.00 / CALL), "all that the dollar pays, and nothing in flight beyond it"
        (report,) = stopped.value["combinations"]
        assert report["outcomes"]["budget_exhausted"] > 0
        kept = _questions(project)
        assert len(kept) == report["accepted"] > 0
        finished = _run(project)
        assert finished.code == 0
        assert finished.value["combinations"][0]["outcomes"] == {"target_reached": 6}
    asked = [json.dumps(body, sort_keys=True) for body in server.bodies]
    assert len(asked) == len(set(asked)), "nothing was paid twice"
    assert [(one["question"], one["answer"]) for one in _questions(project)] == _expected()
    assert {one["id"] for one in kept} <= {one["id"] for one in _questions(project)}


def _expected() -> list[tuple[str, str]]:
    """What a run without a limit gives."""
    return [
        (
            f"At what pressure does the {valve} valve of the {station} station open?",
            f"{waterworks.pressure(station, valve)} bar",
        )
        for station in sorted(STATIONS)
        for valve in waterworks.VALVES[:3]
    ]


def test_a_limit_in_money_without_prices_is_refused(tmp_path: Path) -> None:
    project = _project(tmp_path / "unpriced", "http://127.0.0.1:9/v1")
    text = (
        (project.profiles / "priced.yaml")
        .read_text()
        .replace("usd_per_million_output: 1250", "temperature: 0")
    )
    project.profile("unpriced", text)
    refused = project.qagen("run", "--profile", "unpriced", "--max-usd", "1")
    assert refused.code == 2
    assert "max_usd needs prices" in refused.err
