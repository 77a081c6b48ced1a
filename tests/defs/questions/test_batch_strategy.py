"""The batch strategy through the whole graph: the mix as declared, what is missing with its reason, a clear refusal."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.support import waterworks
from tests.support.graph import DOCUMENTS, QUESTIONS, GraphRun, checks, metadata
from tests.support.project import Project

KEY = "water/facts/textual"
CORPUS = """\
name: Waterworks
corpus_context: Notes on the stations of an invented waterworks.
scenarios:
  facts:
    name: Facts
    description: Facts that hang together.
    modes: [textual]
    strategy: batch
    batch: {mix: {multi_hop: 3, causal: 2}}
"""


def project(root: Path) -> Project:
    made = Project.make(root / "project")
    documents = {
        "ridge.txt": waterworks.notes("ridge"),
        "quay.txt": waterworks.notes("quay"),
        "mill.txt": waterworks.notes("mill", waterworks.VALVES[:2]),
    }
    made.corpus("water", CORPUS, documents)
    return made


def test_each_document_gives_its_mix_or_says_what_is_missing(tmp_path: Path) -> None:
    made = project(tmp_path)
    with GraphRun(made) as graph:
        assert graph.materialize("water", *DOCUMENTS).success
        run = graph.materialize(KEY, *QUESTIONS)
        assert run.success
        shown = metadata(run, "candidate_qa")
        again = metadata(graph.materialize(KEY, *QUESTIONS), "candidate_qa")
    assert (shown["accepted_before_deduplication"], shown["missing"]) == (12, 3)
    assert [row.split(" | ")[:4] for row in shown["missing_by_type"].splitlines()[2:]] == [
        ["| mill.txt", "multi_hop", "3", "2"],
        ["| mill.txt", "causal", "2", "0"],
    ]
    assert "Every line with enough words has been asked." in shown["missing_by_type"]
    assert set(shown["models"]) == {"generator", "validator", "deduplicator", "answerer"}
    found = made.published(KEY)["questions"]
    by_document = Counter(one["source_document"] for one in found)
    assert by_document == {"documents/ridge.txt": 5, "documents/quay.txt": 5, "documents/mill.txt": 2}
    assert all(one["evidence"][0]["start_line"] for one in found)
    assert {name: passed for name, (passed, _) in checks(run).items() if not passed} == {}
    assert (again["documents_reused"], again["accepted_before_deduplication"]) == (3, 12)


def test_a_profile_that_follows_rules_is_refused_before_any_work(tmp_path: Path) -> None:
    made = project(tmp_path)
    ended = made.qagen("run", "--profile", "embedded")
    assert ended.code == 2
    assert ended.errors == [
        "qagen: error: strategy: batch needs a model that writes; profile embedded has none for generator"
    ]
    with GraphRun(made, profile="embedded") as graph:
        assert graph.materialize("water", *DOCUMENTS).success
        assert not graph.materialize(KEY, *QUESTIONS).success
        assert graph.observe() == {}
