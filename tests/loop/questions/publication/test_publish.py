from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from qagen_dagster.agents.questions.mix import hops
from qagen_dagster.errors import StoreError
from qagen_dagster.loop.grading.grade_set import RunMark, grade_set
from qagen_dagster.loop.questions.plan import RunOptions, collect, plan
from qagen_dagster.loop.questions.publication.publish import is_up_to_date, publish, why_outdated
from qagen_dagster.loop.questions.validated_set import validate_set
from qagen_dagster.records.document import CorpusIndex, Document
from qagen_dagster.records.questions.published import CorpusGenerationResult, LatestVersion
from qagen_dagster.records.questions.results import Evidence, RejectionReason, ValidatedSet
from tests.loop.conftest import COMBINATION, PROFILE, PlayedWorkspace, put_documents, texts
from tests.support.play import Outcome, Play
from tests.support.shards import run_shard

PIECE = [Outcome.ACCEPTED, Outcome.WRONG, Outcome.ACCEPTED, Outcome.ACCEPTED, Outcome.EXHAUSTED]
JSON = CorpusGenerationResult.file_key(COMBINATION, "corpus.json")


def apart(questions: Sequence[str]) -> NDArray[np.float32]:
    """Only equal words are near."""
    known = list(dict.fromkeys(questions))
    return np.stack([np.eye(len(known), dtype=np.float32)[known.index(one)] for one in questions])


def make(workspace: PlayedWorkspace, run_id: str = "run-1", options: RunOptions | None = None) -> None:
    """Everything up to the validated set."""
    workspace.plays.append(Play(PIECE))
    planned = plan(workspace, COMBINATION, options or RunOptions())
    run_shard(workspace, planned, [entry.id for entry in planned.documents], run_id)
    collect(workspace, planned, run_id=run_id, started="2024-01-01T00:00:00Z", ended="2024-01-02T00:00:00Z")
    validate_set(workspace, COMBINATION, apart)


def finish(workspace: PlayedWorkspace) -> None:
    """Grade and publish what `make` made."""
    grade_set(workspace, COMBINATION, RunMark("run-1", "launch-1"))
    publish(workspace, COMBINATION, "run-1")


def published(workspace: PlayedWorkspace) -> Any:
    return json.loads(workspace.store.read_bytes(JSON))


def test_repeats_across_documents_are_removed_before_publishing(workspace: PlayedWorkspace) -> None:
    make(workspace)
    validated = validate_set(workspace, COMBINATION, apart)
    assert [pair.document_id for pair in validated.questions] == ["a.txt", "a.txt"]
    assert [one.document_id for one in validated.removed] == ["b.txt", "b.txt", "c.txt", "c.txt"]
    assert {one.rejection_reason for one in validated.removed} == {RejectionReason.DUPLICATE}
    publish(workspace, COMBINATION, "run-1")
    assert [one["id"] for one in published(workspace)["questions"]] == [one.id for one in validated.questions]


def test_the_published_set_is_the_described_json(workspace: PlayedWorkspace) -> None:
    make(workspace)
    result = publish(workspace, COMBINATION, "run-1")
    found = published(workspace)
    assert (found["corpus_name"], found["scenario"], found["mode"]) == ("Probe manuals", "service", "textual")
    assert set(found["questions"][0]) == {
        "id",
        "question",
        "answer",
        "source_document",
        "category",
        "content_refs",
        "generation_metadata",
        "evidence",
        "document_id",
        "text_path",
        "row",
        "mode",
        "question_type",
        "hops",
        "visuals",
        "verdict",
        "grade",
        "answerable",
        "no_answer",
    }
    assert set(found["questions"][0]["evidence"][0]) == {"quote", "start_line", "end_line", "page", "visual"}
    assert workspace.store.path(JSON) in result.paths
    assert "corpus.json" in result.changed


def test_a_row_names_its_text_its_verdict_and_its_grade(workspace: PlayedWorkspace) -> None:
    make(workspace)
    finish(workspace)
    row = published(workspace)["questions"][0]
    folder = Path(workspace.store.path(JSON)).parent
    text = (folder / row["text_path"]).read_text().split("\n")
    (span,) = row["evidence"]
    assert span["quote"] in "\n".join(text[span["start_line"] - 1 : span["end_line"]])
    assert (row["document_id"], row["row"], row["mode"], row["hops"]) == ("a.txt", None, "textual", 1)
    assert row["verdict"]["matches"]
    assert row["verdict"]["blind_answer"] == "my answer"
    assert set(row["grade"]) == {"grade", "confidence", "is_grounded", "decided_by"}


def test_rejected_candidates_are_published_with_reason_and_verdict(workspace: PlayedWorkspace) -> None:
    make(workspace)
    finish(workspace)
    data = workspace.store.read_bytes(CorpusGenerationResult.file_key(COMBINATION, "rejected.jsonl"))
    rows = [json.loads(line) for line in data.splitlines()]
    assert Counter(row["rejection_reason"] for row in rows) == {"wrong_answer": 3, "duplicate": 4}
    wrong = next(row for row in rows if row["rejection_reason"] == "wrong_answer")
    assert (wrong["source_document"], wrong["verdict"]["matches"]) == ("documents/a.txt", False)


def test_a_version_is_named_by_its_questions_and_never_changes(workspace: PlayedWorkspace) -> None:
    make(workspace)
    finish(workspace)
    first = workspace.store.read(LatestVersion.key(COMBINATION), LatestVersion)
    make(workspace, "run-2")
    publish(workspace, COMBINATION, "run-2")
    assert versions(workspace) == {first.content_id}
    kept = workspace.store.read_bytes(
        CorpusGenerationResult.version_key(COMBINATION, first.content_id, "corpus.json")
    )
    assert kept == workspace.store.read_bytes(JSON)
    make(workspace, "run-3", RunOptions(target_count=3))
    publish(workspace, COMBINATION, "run-3")
    latest = workspace.store.read(LatestVersion.key(COMBINATION), LatestVersion)
    assert versions(workspace) == {first.content_id, latest.content_id}
    assert latest.content_id != first.content_id
    assert (
        workspace.store.read_bytes(
            CorpusGenerationResult.version_key(COMBINATION, first.content_id, "corpus.json")
        )
        == kept
    )


def versions(workspace: PlayedWorkspace) -> set[str]:
    keys = workspace.store.list(f"published/{COMBINATION.key}/versions")
    return {key.split("/")[5] for key in keys}


def test_the_same_questions_publish_the_same_bytes(workspace: PlayedWorkspace) -> None:
    make(workspace)
    publish(workspace, COMBINATION, "run-1")
    before = {key: workspace.store.read_bytes(key) for key in workspace.store.list("published")}
    make(workspace, "run-2")
    again = publish(workspace, COMBINATION, "run-2")
    assert again.changed == ()
    assert {key: workspace.store.read_bytes(key) for key in workspace.store.list("published")} == before
    kept = workspace.store.list("history/probes/service/textual/run-2")
    assert {key.rsplit("/", 1)[1] for key in kept} == {"results.json", "removed.json"}  # and no set


def test_a_changed_set_has_a_time_of_its_own(workspace: PlayedWorkspace) -> None:
    make(workspace)
    publish(workspace, COMBINATION, "run-1")
    before = published(workspace) | {"timestamp": "2020-01-02T03:04:05+00:00"}
    workspace.store.write_bytes(JSON, json.dumps(before).encode())
    publish(workspace, COMBINATION, "run-2")
    assert published(workspace)["timestamp"] == before["timestamp"]
    make(workspace, "run-3", RunOptions(target_count=3))
    publish(workspace, COMBINATION, "run-3")
    assert published(workspace)["timestamp"] > "2024"


def test_every_set_that_was_published_is_kept(workspace: PlayedWorkspace) -> None:
    make(workspace)
    publish(workspace, COMBINATION, "run-1")
    first = workspace.store.read_bytes(JSON)
    make(workspace, "run-2", RunOptions(target_count=3))
    assert "corpus.json" in publish(workspace, COMBINATION, "run-2").changed
    assert workspace.store.read_bytes(COMBINATION.history_key("run-1", "corpus.json")) == first
    assert workspace.store.read_bytes(
        COMBINATION.history_key("run-2", "corpus.json")
    ) == workspace.store.read_bytes(JSON)
    assert len(published(workspace)["questions"]) == 3
    kept = {one["id"] for one in json.loads(first)["questions"]}
    assert kept < {one["id"] for one in published(workspace)["questions"]}


def test_nothing_is_published_without_its_proof(workspace: PlayedWorkspace) -> None:
    make(workspace)
    publish(workspace, COMBINATION, "run-1")
    before = workspace.store.read_bytes(JSON)
    workspace.store.write_bytes(Document.text_key("probes", "a.txt"), b"Another text altogether.")
    with pytest.raises(StoreError, match="not published: the evidence of q-"):
        publish(workspace, COMBINATION, "run-2")
    assert workspace.store.read_bytes(JSON) == before


def test_an_empty_set_replaces_questions_only_on_demand(workspace: PlayedWorkspace) -> None:
    make(workspace)
    publish(workspace, COMBINATION, "run-1")
    before = workspace.store.read_bytes(JSON)
    validated = workspace.store.read(ValidatedSet.key(COMBINATION), ValidatedSet)
    workspace.store.write(ValidatedSet.key(COMBINATION), validated.model_copy(update={"questions": ()}))
    with pytest.raises(StoreError, match="the published set of 2 questions is kept"):
        publish(workspace, COMBINATION, "run-2")
    assert workspace.store.read_bytes(JSON) == before
    assert not is_up_to_date(workspace, COMBINATION, RunOptions())
    assert "corpus.json" in publish(workspace, COMBINATION, "run-3", replace=True).changed
    assert published(workspace)["questions"] == []
    assert publish(workspace, COMBINATION, "run-4").changed == ()


@pytest.mark.parametrize("damage", [b"", b"{", b'{"questions": 3}', b"[]"])
def test_a_damaged_publication_is_made_anew(workspace: PlayedWorkspace, damage: bytes) -> None:
    make(workspace)
    publish(workspace, COMBINATION, "run-1")
    workspace.store.write_bytes(JSON, damage)
    assert not is_up_to_date(workspace, COMBINATION, RunOptions())
    assert "corpus.json" in publish(workspace, COMBINATION, "run-2").changed
    assert len(published(workspace)["questions"]) == 2


def test_a_set_that_was_never_validated_is_named(workspace: PlayedWorkspace) -> None:
    with pytest.raises(StoreError, match=r"validated/probes/service/textual/set\.json is missing"):
        publish(workspace, COMBINATION, "run-1")


def change_document(workspace: PlayedWorkspace) -> None:
    put_documents(workspace, texts(3) | {"b.txt": "The probe is new and has another text."})


def add_document(workspace: PlayedWorkspace) -> None:
    put_documents(workspace, texts(4))


def change_model(workspace: PlayedWorkspace) -> None:
    assert workspace.settings.profiles is not None
    (workspace.settings.profiles / "mine.yaml").write_text(PROFILE.format(generator="poet"))


def change_scenario(workspace: PlayedWorkspace) -> None:
    file = workspace.settings.corpora / "probes" / "corpus.yaml"
    file.write_text(file.read_text().replace("Short questions.", "Long questions."))


def rename_corpus(workspace: PlayedWorkspace) -> None:
    file = workspace.settings.corpora / "probes" / "corpus.yaml"
    file.write_text(file.read_text().replace("name: Probe manuals", "name: All probe manuals"))


def lose_publication(workspace: PlayedWorkspace) -> None:
    workspace.store.remove(JSON)


def lose_index(workspace: PlayedWorkspace) -> None:
    workspace.store.remove(CorpusIndex.key("probes"))


def lose_validated(workspace: PlayedWorkspace) -> None:
    workspace.store.remove(ValidatedSet.key(COMBINATION))


CHANGES = [
    change_document,
    add_document,
    change_model,
    change_scenario,
    rename_corpus,
    lose_publication,
    lose_index,
    lose_validated,
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_combination_is_up_to_date_until_something_changes(
    workspace: PlayedWorkspace, change: Callable[[PlayedWorkspace], None]
) -> None:
    assert not is_up_to_date(workspace, COMBINATION, RunOptions())
    make(workspace)
    assert not is_up_to_date(workspace, COMBINATION, RunOptions())
    finish(workspace)
    assert is_up_to_date(workspace, COMBINATION, RunOptions())
    change(workspace)
    assert not is_up_to_date(workspace, COMBINATION, RunOptions())


@pytest.mark.parametrize("options", [RunOptions(target_count=3), RunOptions(profile="other")])
def test_another_wish_is_another_set(workspace: PlayedWorkspace, options: RunOptions) -> None:
    make(workspace)
    finish(workspace)
    assert not is_up_to_date(workspace, COMBINATION, options)


def test_the_same_models_under_another_name_are_recorded_anew(workspace: PlayedWorkspace) -> None:
    assert workspace.settings.profiles is not None
    (workspace.settings.profiles / "twin.yaml").write_text(PROFILE.format(generator="writer"))
    make(workspace)
    finish(workspace)
    assert is_up_to_date(workspace, COMBINATION, RunOptions(profile="mine"))
    assert not is_up_to_date(workspace, COMBINATION, RunOptions(profile="twin"))


def test_candidates_that_were_not_validated_yet_are_not_up_to_date(workspace: PlayedWorkspace) -> None:
    make(workspace)
    finish(workspace)
    planned = plan(workspace, COMBINATION, RunOptions())
    collect(workspace, planned, run_id="run-2", started="2024-01-01T00:00:00Z", ended="2024-01-02T00:00:00Z")
    assert not is_up_to_date(workspace, COMBINATION, RunOptions())


def test_a_document_that_failed_leaves_the_set_unfinished(workspace: PlayedWorkspace) -> None:
    make(workspace)
    finish(workspace)
    planned = plan(workspace, COMBINATION, RunOptions())
    workspace.store.remove(planned.result_key(planned.documents[1]))
    collect(workspace, planned, run_id="run-1", started="2024-01-01T00:00:00Z", ended="2024-01-02T00:00:00Z")
    assert not is_up_to_date(workspace, COMBINATION, RunOptions())


def test_a_set_with_questions_that_nobody_compared_is_unfinished(workspace: PlayedWorkspace) -> None:
    make(workspace)
    validated = workspace.store.read(ValidatedSet.key(COMBINATION), ValidatedSet)
    assert validated.undecided == 0
    workspace.store.write(ValidatedSet.key(COMBINATION), validated.model_copy(update={"undecided": 1}))
    finish(workspace)
    assert not is_up_to_date(workspace, COMBINATION, RunOptions())


def test_rows_of_a_table_and_its_head_are_one_hop() -> None:
    def place(quote: str, line: int) -> Evidence:
        return Evidence(quote=quote, start_line=line, end_line=line)

    table = [place("| Month | Drift |", 9), place("| May | 0.3 % |", 10), place("| June | 0.8 % |", 14)]
    assert hops(table) == 1
    assert hops([*table, place("Calibrate the probe.", 4)]) == 2
    assert hops([place("Calibrate the probe.", 4), place("Its cable is 12 m long.", 7)]) == 2


def test_a_licence_in_the_configuration_is_published_and_nothing_else_makes_a_set_stale(
    workspace: PlayedWorkspace,
) -> None:
    make(workspace)
    finish(workspace)
    assert why_outdated(workspace, COMBINATION, RunOptions()) == ()
    file = workspace.settings.corpora / "probes" / "corpus.yaml"
    file.write_text(f"licence: CC0-1.0\n{file.read_text()}")
    assert why_outdated(workspace, COMBINATION, RunOptions()) == (
        "the published set is not that of its last run",
    )
    before = published(workspace)
    publish(workspace, COMBINATION, "run-2")
    assert published(workspace) == before
    card = workspace.store.read_bytes(f"published/{COMBINATION.key}/README.md").decode()
    assert "| CC0-1.0 |" in card
    assert why_outdated(workspace, COMBINATION, RunOptions()) == ()
