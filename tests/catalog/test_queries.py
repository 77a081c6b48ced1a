from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic_core import to_json

from qagen_dagster.catalog import queries
from qagen_dagster.catalog.database import rebuild
from qagen_dagster.errors import StoreError
from qagen_dagster.records.questions.results import RejectionReason, ValidatedSet
from qagen_dagster.records.questions.run_results import RunDocument
from tests.catalog.conftest import Source


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "catalog.duckdb"


def test_a_combination_in_figures(path: Path, make_world) -> None:
    rebuild(make_world(size=3).source(), path)
    (found,) = queries.combinations(path)
    assert found.combination == "c/s/textual"
    assert (found.documents, found.documents_done) == (3, 4)
    assert found.outcomes == {"target_reached": 3, "model_error": 1}
    assert (found.candidates, found.accepted, found.rejected) == (9, 4, 5)
    assert found.rejected_by_reason == {"trivial": 3, "duplicate": 2}
    assert (found.validated, found.pass_rate) == (9, pytest.approx(6 / 9))
    assert (found.calls, found.input_tokens, found.output_tokens) == (20, 2_000, 200)
    assert (found.usd, found.unknown_price_share) == (10.0, 0.0)
    assert (found.run_id, found.run_status, found.profile) == ("r1", "success", "embedded")
    assert json.loads(to_json(found))["run_started"] == "2026-01-02T03:04:05Z"


def test_a_request_is_paid_once(path: Path, make_world) -> None:
    world = make_world(size=1)
    world.results.append(world.result(0, run_id="r2", later=9))
    rebuild(world.source(), path)
    (found,) = queries.combinations(path)
    assert (found.calls, found.replayed_calls, found.input_tokens, found.usd) == (6, 6, 600, 3.0)
    (role,) = found.roles
    assert (role.role, role.calls, role.output_tokens, role.usd) == ("generator", 6, 60, 3.0)


def test_unknown_prices_stay_unknown(path: Path, make_world) -> None:
    rebuild(make_world(usd=None).source(), path)
    (found,) = queries.combinations(path)
    assert (found.usd, found.unknown_price_share) == (None, 1.0)
    assert b"NaN" not in to_json(queries.status(path))


def test_nothing_was_validated_or_called(path: Path, make_world) -> None:
    world = make_world(size=1)
    row = world.result(0)
    bare = row.result.model_copy(update={"verdicts": (), "calls": (), "accepted": (), "rejected": ()})
    rebuild(Source(results=[row.model_copy(update={"result": bare})]), path)
    (found,) = queries.combinations(path)
    assert found.pass_rate is None
    assert (found.usd, found.calls, found.outcomes) == (0.0, 0, {"target_reached": 1})
    assert (found.rejected_by_reason, found.run_id) == ({}, None)


@pytest.mark.parametrize(
    ("reason", "share"), [(RejectionReason.NOT_MULTI_HOP, 1 / 3), (RejectionReason.DUPLICATE, 2 / 3)]
)
def test_a_candidate_that_a_control_rejected_has_not_passed(
    path: Path, make_world, reason: RejectionReason, share: float
) -> None:
    row = make_world(size=1).result(0)
    controlled = row.result.rejected[0].model_copy(update={"attempt_number": 3, "rejection_reason": reason})
    result = row.result.model_copy(
        update={"accepted": row.result.accepted[:1], "rejected": (*row.result.rejected, controlled)}
    )
    rebuild(Source(results=[row.model_copy(update={"result": result})]), path)
    (found,) = queries.combinations(path)
    assert found.pass_rate == pytest.approx(share)
    assert RunDocument.made("r1", result).passed == round(3 * share)


def test_status(path: Path, make_world) -> None:
    rebuild(make_world(size=3).source(), path)
    found = queries.status(path)
    assert found.questions == 4
    (corpus,) = found.corpora
    assert (corpus.documents, corpus.outcomes, corpus.visuals, corpus.pages) == (3, {"parsed": 3}, 6, 0)
    assert found.built_at.tzinfo is not None


def test_lineage_is_complete(path: Path, make_world) -> None:
    world = make_world(size=3)
    rebuild(world.source(), path)
    wanted = world.result(1).result.accepted[0]
    found = queries.question(path, wanted.id)
    missing = {name for name, value in found.items() if value is None} - {"leaked"}  # never evaluated
    assert missing == set()
    assert found.evidence == wanted.evidence
    assert found.content_refs == ["Table 1"]
    assert found.document_version == f"{1:064d}"[:16] + "+text-1"
    assert (found.document_sha256, found.document_unchanged) == (f"{1:064d}", True)
    assert (found.generator_model, found.validator_model, found.deduplicator_model) == (
        "e:gen", "e:val", "e:dedup",
    )  # fmt: skip
    assert found.prompt_hashes == {"generate": "abc"}
    assert (found.fingerprint, found.run_id, found.run_status) == ("fp", "r1", "success")
    assert (found.calls, found.input_tokens, found.usd) == (2, 200, 1.0)
    assert (found.document_calls, found.document_usd) == (7, 3.5)
    assert (found.blind_answer, found.verdict_passed) == ("42!", True)
    assert [call.request_key for call in found.model_calls] == ["k-1-1-0", "k-1-1-1"]


def test_lineage_of_every_question(path: Path, make_world) -> None:
    world = make_world(size=4)
    rebuild(world.source(), path)
    for n in range(4):
        accepted = world.result(n).result.accepted[0]
        assert queries.question(path, accepted.id).question == accepted.question
    repeated = queries.question(path, world.result(0).result.accepted[1].id)
    assert repeated.attempt == 3


def test_lineage_survives_a_changed_document_and_missing_records(path: Path, make_world) -> None:
    world = make_world(size=1)
    row = world.result(0)
    older = row.result.model_copy(update={"document_version": "old+text-0"})
    source = world.source()
    rebuild(
        Source(
            documents=source.documents, results=[row.model_copy(update={"result": older})], sets=source.sets
        ),
        path,
    )
    found = queries.question(path, row.result.accepted[0].id)
    assert (found.document_version, found.document_sha256, found.document_unchanged) == (
        "old+text-0", None, False,
    )  # fmt: skip
    assert (found.profile, found.run_started) == (None, None)
    rebuild(Source(sets=world.source().sets), path)
    alone = queries.question(path, row.result.accepted[0].id)
    assert (alone.run_id, alone.set_run_id, alone.calls, alone.usd) == (None, "r1", 0, 0.0)


def test_a_beginning_of_the_id_will_do(path: Path, make_world) -> None:
    world = make_world(size=2)
    rebuild(world.source(), path)
    wanted = world.result(0).result.accepted[0].id
    assert queries.question(path, wanted[:10]).question_id == wanted
    with pytest.raises(StoreError, match="more than one"):
        queries.question(path, "q-")
    for unknown in ("q-ffffffffffffffff", "", "%"):
        with pytest.raises(StoreError, match="there is no question"):
            queries.question(path, unknown)


def test_an_exact_id_wins_over_longer_ones(path: Path, make_world) -> None:
    world = make_world(size=1)
    accepted = world.result(0).result.accepted[0]
    longer = accepted.model_copy(update={"id": accepted.id + "0", "question": "longer"})
    validated = ValidatedSet(
        corpus="c", scenario="s", mode=accepted.category, fingerprint="fp", run_id="r1",
        questions=(longer, accepted), removed=(),
    )  # fmt: skip
    rebuild(Source(sets=[validated]), path)
    assert queries.question(path, accepted.id).question == accepted.question
