from __future__ import annotations

import threading
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from qagen_dagster.errors import ConfigError, PermanentModelError, StoreError, TransientModelError
from qagen_dagster.loop.parallel import WorkOutcome
from qagen_dagster.loop.questions.combination_run import STOP_AFTER
from qagen_dagster.loop.questions.plan import (
    CombinationPlan,
    RunOptions,
    check_usable,
    collect,
    plan,
    plan_without_documents,
    results_of,
    unfinished,
)
from qagen_dagster.models.messages import Request
from qagen_dagster.records.document import CorpusIndex
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.results import CandidateSet, DocumentEnd, GenerationResult
from tests.loop.conftest import COMBINATION, PROFILE, PlayedWorkspace, put_documents, texts
from tests.support.play import Outcome, Play
from tests.support.shards import run_shard

PIECE = [Outcome.ACCEPTED, Outcome.WRONG, Outcome.ACCEPTED, Outcome.ACCEPTED, Outcome.EXHAUSTED]
PLAIN = RunOptions()


class Killed(Exception):
    """The process died here."""


def run(
    workspace: PlayedWorkspace, play: Play, options: RunOptions = PLAIN, ids: list[str] | None = None
) -> tuple[WorkOutcome[str], CombinationPlan]:
    workspace.plays.append(play)
    planned = plan(workspace, COMBINATION, options)
    wanted = ids if ids is not None else [entry.id for entry in planned.documents]
    return run_shard(workspace, planned, wanted, "run-1"), planned


def gather(workspace: PlayedWorkspace, planned: CombinationPlan, run_id: str = "run-1") -> CandidateSet:
    return collect(workspace, planned, run_id=run_id, started="2024-01-01", ended="2024-01-02")


def asked_about(play: Play) -> set[str]:
    return {name for name in texts(12) for _, request in play.log if f"file: {name}" in request}


def failing(names: set[str], error: Exception) -> Play:
    def before(_role: str, request: Request) -> None:
        if any(f"file: {name}" in request.canonical() for name in names):
            raise error

    return Play(PIECE, before)


def test_every_document_gives_a_durable_result(workspace: PlayedWorkspace) -> None:
    outcome, planned = run(workspace, Play(PIECE))
    assert sorted(outcome.finished) == ["a.txt", "b.txt", "c.txt"]
    assert (outcome.reused, outcome.failed) == ([], {})
    for entry in planned.documents:
        result = workspace.store.read(planned.result_key(entry), GenerationResult)
        assert (result.document_id, result.run_id, result.end) == (
            entry.id,
            "run-1",
            DocumentEnd.TARGET_REACHED,
        )
        assert len(result.accepted) == 2
        assert result.finished
    assert unfinished(workspace, planned) == []


def test_results_of_a_set_are_read_one_at_a_time(workspace: PlayedWorkspace) -> None:
    candidates = gather(workspace, run(workspace, Play(PIECE))[1])
    results = results_of(workspace, candidates)
    assert next(results).document_id == "a.txt"
    workspace.store.remove(str(candidates.documents[1].result_key))
    with pytest.raises(StoreError, match="is missing"):
        next(results)


def test_what_is_done_is_never_done_again(workspace: PlayedWorkspace) -> None:
    run(workspace, Play(PIECE), ids=["a.txt"])
    again = Play(PIECE)
    outcome, planned = run(workspace, again)
    assert outcome.reused == ["a.txt"]
    assert sorted(outcome.finished) == ["b.txt", "c.txt"]
    assert asked_about(again) == {"b.txt", "c.txt"}
    nothing = Play(PIECE)
    assert run(workspace, nothing)[0].reused == ["a.txt", "b.txt", "c.txt"]
    assert nothing.log == []
    assert unfinished(workspace, planned) == []


def test_only_a_changed_document_is_worked_again(workspace: PlayedWorkspace) -> None:
    run(workspace, Play(PIECE))
    put_documents(workspace, texts(3) | {"b.txt": texts(3)["b.txt"] + "\nMore."})
    again = Play(PIECE)
    outcome, _ = run(workspace, again)
    assert (outcome.finished, outcome.reused) == (["b.txt"], ["a.txt", "c.txt"])
    assert asked_about(again) == {"b.txt"}


def test_documents_are_worked_side_by_side(workspace: PlayedWorkspace) -> None:
    together = threading.Barrier(3, timeout=60)
    begun: set[int] = set()

    def before(role: str, _request: Request) -> None:
        thread = threading.get_ident()
        if role == "generator" and thread not in begun:
            begun.add(thread)
            together.wait()

    outcome, _ = run(workspace, Play(PIECE, before))
    assert len(outcome.finished) == 3


@pytest.mark.parametrize("error", [PermanentModelError("bad key"), TransientModelError("busy")])
def test_a_document_whose_model_fails_costs_itself_alone(
    workspace: PlayedWorkspace, error: Exception
) -> None:
    outcome, planned = run(workspace, failing({"b.txt"}, error))
    assert outcome.failed == {"b.txt": str(error)}
    assert sorted(outcome.finished) == ["a.txt", "c.txt"]
    assert unfinished(workspace, planned) == ["b.txt"]
    candidates = gather(workspace, planned)
    assert [(one.document_id, one.end.value, one.accepted) for one in candidates.documents] == [
        ("a.txt", "target_reached", 2),
        ("b.txt", "model_error", 0),
        ("c.txt", "target_reached", 2),
    ]
    assert candidates.documents[1].result_key is None
    assert [result.document_id for result in results_of(workspace, candidates)] == ["a.txt", "c.txt"]
    again = Play(PIECE)
    assert run(workspace, again)[0].finished == ["b.txt"]
    assert asked_about(again) == {"b.txt"}


def test_a_model_that_fails_for_good_is_not_asked_about_every_document(workspace: PlayedWorkspace) -> None:
    put_documents(workspace, texts(12))
    one_by_one = replace(workspace, settings=replace(workspace.settings, document_workers=1))
    tried: list[str] = []

    def before(_role: str, request: Request) -> None:
        tried.append(request.canonical())
        raise PermanentModelError("bad key")

    outcome, _ = run(one_by_one, Play(PIECE, before))
    assert len(outcome.failed) == 12
    assert len(tried) == STOP_AFTER
    not_tried = [
        why for why in outcome.failed.values() if why == f"not tried: {STOP_AFTER} documents failed for good"
    ]
    assert len(not_tried) == 12 - STOP_AFTER


def test_after_a_success_no_failure_stops_the_others(workspace: PlayedWorkspace) -> None:
    put_documents(workspace, texts(12))
    one_by_one = replace(workspace, settings=replace(workspace.settings, document_workers=1))
    broken = set(texts(12)) - {"a.txt", "l.txt"}
    outcome, _ = run(one_by_one, failing(broken, PermanentModelError("too long")))
    assert sorted(outcome.finished) == ["a.txt", "l.txt"]
    assert set(outcome.failed.values()) == {"too long"}


def test_a_process_that_died_goes_on_where_it_was(workspace: PlayedWorkspace, tmp_path: Path) -> None:
    """The final set equals that of a process that lived."""
    lived = replace(workspace, settings=replace(workspace.settings, assets=str(tmp_path / "lived")))
    put_documents(lived, texts(3))
    run(lived, Play(PIECE))
    expected = [
        result.accepted for result in results_of(lived, gather(lived, plan(lived, COMBINATION, PLAIN)))
    ]

    count = iter(range(1_000))

    def before(_role: str, _request: Request) -> None:
        first_has_ended = bool(workspace.store.list("candidates"))
        if first_has_ended and next(count) == 5:
            raise Killed

    one_by_one = replace(workspace, settings=replace(workspace.settings, document_workers=1))
    dying = Play(PIECE, before, {})
    with pytest.raises(Killed):
        run(one_by_one, dying)
    resumed = Play(PIECE, paid={})
    outcome, planned = run(one_by_one, resumed)
    assert outcome.reused
    assert outcome.finished
    found = [result.accepted for result in results_of(workspace, gather(workspace, planned))]
    assert found == expected
    finished_steps = set(dying.log) & set(resumed.log)
    # Those of the step that was broken off, and of a conversation that a mended candidate continues.
    assert len(finished_steps) <= 5


def test_a_higher_target_goes_on_from_the_journal(workspace: PlayedWorkspace) -> None:
    short = Play(PIECE)
    run(workspace, short)
    more = Play(PIECE)
    outcome, planned = run(workspace, more, RunOptions(target_count=3))
    assert sorted(outcome.finished) == ["a.txt", "b.txt", "c.txt"]
    assert not set(short.log) & set(more.log)
    assert [one.accepted for one in gather(workspace, planned).documents] == [3, 3, 3]
    lower = Play(PIECE)
    assert len(run(workspace, lower)[0].reused) == 3
    assert lower.log == []


def test_progress_is_told_of_each_document(workspace: PlayedWorkspace) -> None:
    seen: list[tuple[str, int]] = []

    def note(document_id: str, result: GenerationResult | None) -> None:
        seen.append((document_id, len(result.accepted) if result else -1))

    workspace.plays.append(Play(PIECE))
    planned = plan(workspace, COMBINATION, PLAIN)
    run_shard(workspace, planned, ["a.txt", "c.txt", "nowhere.txt"], "r", note)
    assert sorted(seen) == [("a.txt", 2), ("c.txt", 2)]


def test_the_candidate_set_says_what_made_it(workspace: PlayedWorkspace) -> None:
    _, planned = run(workspace, Play(PIECE))
    found = gather(workspace, planned, "run-7")
    assert workspace.store.read(CandidateSet.key(COMBINATION), CandidateSet) == found
    assert workspace.store.read(CandidateSet.run_key("run-7", COMBINATION), CandidateSet) == found
    assert (found.profile, found.target_count, found.run_id) == ("mine", 2, "run-7")
    assert found.models["generator"] == "scripted:writer"
    assert set(found.prompts) == {
        "generator_textual",
        "validator_textual",
        "validator_compare",
        "validator_pair",
        "deduplicator",
        "answer_document",
        "closed_book",
        "same_answer",
    }
    assert found.configuration == plan_without_documents(workspace, COMBINATION, RunOptions()).configuration
    assert found.fingerprint == planned.fingerprint


def test_the_profile_is_the_runs_then_the_scenarios_then_the_default(workspace: PlayedWorkspace) -> None:
    exam = Combination(corpus="probes", scenario="exam", mode=Mode.TEXTUAL)
    assert plan(workspace, COMBINATION, PLAIN).profile_name == "mine"
    assert plan(workspace, exam, PLAIN).profile_name == "other"
    assert plan(workspace, exam, RunOptions(profile="mine")).profile_name == "mine"


def test_limits_are_the_scenarios_but_for_the_runs_target(workspace: PlayedWorkspace) -> None:
    usual = plan(workspace, COMBINATION, PLAIN).limits
    assert (usual.target_count, usual.max_consecutive_failures, usual.max_attempts) == (2, 9, 10)
    more = plan(workspace, COMBINATION, RunOptions(target_count=30)).limits
    assert (more.target_count, more.max_attempts) == (30, 120)


def test_a_result_belongs_to_one_version_of_its_document(workspace: PlayedWorkspace) -> None:
    planned = plan(workspace, COMBINATION, PLAIN)
    entry = planned.documents[0]
    others = [
        entry.model_copy(update=changed)
        for changed in ({"parser": "text-2"}, {"source_sha256": "0" * 64}, {"text_sha256": "0" * 64})
    ]
    assert len({planned.result_key(one) for one in (entry, *others)}) == 4
    assert planned.result_key(
        entry.model_copy(update={"seconds": 9.0, "options": "x"})
    ) == planned.result_key(entry)


def test_the_configuration_changes_with_what_a_combination_uses(workspace: PlayedWorkspace) -> None:
    exam = Combination(corpus="probes", scenario="exam", mode=Mode.TEXTUAL)
    before = {
        one: plan_without_documents(workspace, one, RunOptions()).configuration for one in (COMBINATION, exam)
    }
    profiles = workspace.settings.profiles
    assert profiles is not None
    (profiles / "other.yaml").write_text(PROFILE.format(generator="poet"))
    after = {one: plan_without_documents(workspace, one, RunOptions()).configuration for one in before}
    assert [one for one in before if before[one] != after[one]] == [exam]
    file = workspace.settings.corpora / "probes" / "corpus.yaml"
    file.write_text(file.read_text().replace("target_count: 2", "target_count: 4"))
    assert plan_without_documents(workspace, COMBINATION, RunOptions()).configuration != after[COMBINATION]
    assert plan_without_documents(workspace, exam, RunOptions()).configuration == after[exam]


@pytest.mark.parametrize(
    ("combination", "options", "said"),
    [
        (COMBINATION.model_copy(update={"corpus": "bells"}), PLAIN, "there is no corpus 'bells'"),
        (
            COMBINATION.model_copy(update={"scenario": "party"}),
            PLAIN,
            r"corpus\.yaml: there is no scenario 'party' \(there are: service, exam\)",
        ),
        (COMBINATION, RunOptions(profile="nobody"), "there is no profile 'nobody'"),
    ],
)
def test_what_is_not_configured_is_said(
    workspace: PlayedWorkspace, combination: Combination, options: RunOptions, said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        plan(workspace, combination, options)


def test_a_corpus_that_was_not_parsed_is_said(workspace: PlayedWorkspace) -> None:
    workspace.store.remove(CorpusIndex.key("probes"))
    with pytest.raises(StoreError, match="corpus probes has not been parsed"):
        plan(workspace, COMBINATION, PLAIN)


def test_a_profile_without_its_key_is_told_before_any_document_is_looked_at(
    workspace: PlayedWorkspace,
) -> None:
    profiles = workspace.settings.profiles
    assert profiles is not None
    keyless = "roles:\n" + "".join(
        f"  {role}: {{provider: openai, model: {role}, api_key_env: NO_SUCH_KEY}}\n"
        for role in ("generator", "validator", "deduplicator")
    )
    (profiles / "keyless.yaml").write_text(keyless)
    workspace.store.remove(CorpusIndex.key("probes"))
    workspace.plays.append(Play(PIECE))
    check_usable(workspace, COMBINATION, PLAIN)
    with pytest.raises(ConfigError, match="NO_SUCH_KEY"):
        check_usable(workspace, COMBINATION, RunOptions(profile="keyless"))


@pytest.mark.parametrize(
    ("changed", "fits"),
    [
        ({"style": "question"}, True),
        ({"audience": "searcher"}, True),
        ({"style": "keyword"}, False),
        ({"personas": ["A nurse."]}, False),
    ],
)
def test_styles_and_personas_need_a_generator_that_writes(
    workspace: PlayedWorkspace, changed: dict[str, Any], fits: bool
) -> None:
    file = workspace.settings.corpora / "probes" / "corpus.yaml"
    config = yaml.safe_load(file.read_text())
    config["scenarios"]["service"] |= changed
    file.write_text(yaml.safe_dump(config))
    plan_without_documents(workspace, COMBINATION, RunOptions(profile="mine"))
    embedded = RunOptions(profile="embedded")
    with nullcontext() if fits else pytest.raises(ConfigError, match="needs a model that writes"):
        plan_without_documents(workspace, COMBINATION, embedded)
