from __future__ import annotations

import pytest

from qagen_dagster.loop.unfinished import QUESTIONS, mark
from qagen_dagster.store import Store
from tests.cli.conftest import Command
from tests.support import waterworks

KEY = "waterworks_of_the_northern_district/maintenance_training/textual"


def test_status_fits_80_columns_and_shows_what_is_stale(
    qagen: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    corpus, scenario, _ = KEY.split("/")
    config = waterworks.corpus(1).replace("facts:", f"{scenario}:")
    folder = qagen.project.corpus(corpus, config, {"ridge.txt": waterworks.notes("ridge")})
    assert qagen("run").code == 0
    assert _states(qagen) == {KEY: "up to date"}
    (folder / "documents/quay.txt").write_text(waterworks.notes("quay"))
    assert _states(qagen) == {KEY: "stale"}
    qagen.project.corpus("rail", waterworks.corpus(1), {"lock.txt": waterworks.notes("lock")})
    store = Store(qagen.project.assets)
    mark(store, KEY, begun=QUESTIONS)
    assert _states(qagen) == {KEY: "unfinished", "rail/facts/textual": "never run"}
    (folder / "corpus.yaml").write_text(config.replace("facts", "dates").replace(scenario, "dates"))
    assert _states(qagen)[KEY] == "not configured"
    shown = qagen("status")
    assert (shown.code, shown.err) == (0, "")
    assert max(map(len, shown.out.splitlines())) <= 80
    for text in ("not configured", "never run", "1/1 documents", "dry_run"):
        assert text in shown.out


def _states(qagen: Command) -> dict[str, str]:
    return qagen("status", "--json").value["states"]
