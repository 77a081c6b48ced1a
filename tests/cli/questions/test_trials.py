"""Trials: the first documents only, free models over a paid set, and a paid profile that does not work."""

from __future__ import annotations

from tests.cli.conftest import Command
from tests.support import waterworks
from tests.support.wire_server import Fault, Seen, Step, WireServer

KEY = "water/facts/textual"
NAMES = ("dale", "ford", "glen")
PAID = """\
roles:
  generator: {{provider: openai_compatible, model: asker, base_url: "{url}", {price}}}
  validator: {{provider: openai_compatible, model: judge, base_url: "{url}", {price}}}
  deduplicator: {{provider: openai_compatible, model: judge, base_url: "{url}", {price}}}
"""
PRICE = "usd_per_million_input: 1, usd_per_million_output: 2"


def corpus(qagen: Command) -> None:
    text = {f"{name}.txt": waterworks.notes(name) for name in NAMES}
    qagen.project.corpus("water", waterworks.corpus(1), text)


def sources(qagen: Command) -> list[str]:
    return [one["source_document"] for one in qagen.project.published(KEY)["questions"]]


def test_a_trial_makes_a_set_of_the_first_documents_and_the_next_run_the_rest(qagen: Command) -> None:
    corpus(qagen)
    estimated = qagen("estimate", "--num-documents", "2", "--json")
    assert estimated.value["combinations"][0]["documents"] == 2
    assert qagen("run", "--num-documents", "2").code == 0
    assert sources(qagen) == ["documents/dale.txt", "documents/ford.txt"]
    assert qagen("run", "--num-documents", "2").errors == ["everything is up to date"]
    assert qagen("status", "--json").value["states"] == {KEY: "stale"}
    assert qagen("run").code == 0
    assert sources(qagen) == [f"documents/{name}.txt" for name in NAMES]


def test_a_trial_replaces_a_larger_set_only_when_told_to(qagen: Command) -> None:
    corpus(qagen)
    assert qagen("run").code == 0
    before, runs = qagen.project.stored("published"), set(qagen.project.stored("runs"))
    kept = qagen("run", "--num-documents", "1")
    assert kept.code == 1
    assert kept.errors == [
        "nothing can be run",
        f"qagen: error: {KEY}: not run: the published set covers 3 documents, and the run would cover 1 "
        "(--replace replaces the set)",
    ]
    assert qagen.project.stored("published") == before
    assert set(qagen.project.stored("runs")) == runs
    assert qagen("run", "--num-documents", "1", "--replace").code == 0
    assert sources(qagen) == ["documents/dale.txt"]


def test_free_models_replace_a_paid_set_only_when_told_to(qagen: Command) -> None:
    corpus(qagen)
    with WireServer(waterworks.answer) as server:
        qagen.project.profile("paid", PAID.format(url=server.url("openai_compatible"), price=PRICE))
        assert qagen("run", "--profile", "paid").code == 0
    before = qagen.project.stored("published")
    free = qagen("run", "--json")
    assert free.code == 1
    assert free.value["failures"] == [
        f"{KEY}: not run: openai_compatible:asker made the published set, and profile dry_run has no such model "
        "(choose a profile, or replace the set with --replace)"
    ]
    assert qagen.project.stored("published") == before
    assert qagen("run", "--replace").code == 0
    assert qagen.project.stored("published") != before


def test_each_paid_model_is_probed_once_before_a_run(qagen: Command) -> None:
    corpus(qagen)
    with WireServer(waterworks.answer) as server:
        url = server.url("openai_compatible")
        qagen.project.profile("paid", PAID.format(url=url, price=PRICE))
        assert qagen("run", "--profile", "paid", "--max-calls", "0").code == 0
        assert server.requests == []
        assert qagen("run", "--profile", "paid", "--num-documents", "1").code == 0
        probed = [one.body["model"] for one in server.requests if waterworks.is_probe(one)]
        assert sorted(probed) == ["asker", "judge"]
        assert qagen("run", "--profile", "paid").code == 0
        assert sum(map(waterworks.is_probe, server.requests)) == 2


def test_a_free_server_is_not_probed(qagen: Command) -> None:
    corpus(qagen)
    with WireServer(waterworks.answer) as server:
        free = PRICE.replace("1", "0").replace("2", "0")
        qagen.project.profile("own", PAID.format(url=server.url("openai_compatible"), price=free))
        assert qagen("run", "--profile", "own").code == 0
        assert not any(map(waterworks.is_probe, server.requests))


def test_a_refused_key_ends_the_run_before_it_begins(qagen: Command) -> None:
    corpus(qagen)
    with WireServer(then=Fault(401, {"error": {"message": "no such key"}})) as server:
        qagen.project.profile("paid", PAID.format(url=server.url("openai_compatible"), price=PRICE))
        refused = qagen("run", "--profile", "paid")
    assert refused.code == 2
    assert refused.errors == [
        "qagen: error: "
        + "; ".join(
            f"openai_compatible:{model}: the server refuses the key (HTTP 401: no such key): "
            "set api_key_env to the variable of its key"
            for model in ("asker", "judge")
        )
    ]
    assert not (qagen.project.assets / "runs").exists()


def test_a_busy_server_is_left_to_the_retries_of_the_run(qagen: Command) -> None:
    corpus(qagen)

    def busy(seen: Seen, number: int) -> Step:
        return (
            Fault(503, {"error": {"message": "busy"}})
            if waterworks.is_probe(seen)
            else waterworks.answer(seen, number)
        )

    with WireServer(busy) as server:
        qagen.project.profile("paid", PAID.format(url=server.url("openai_compatible"), price=PRICE))
        assert qagen("run", "--profile", "paid").code == 0
    assert len(sources(qagen)) == 3
