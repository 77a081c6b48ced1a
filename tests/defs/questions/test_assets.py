from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import ModuleType

import dagster as dg
import pytest
import yaml
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.execution.api import execute_run
from dagster._core.execution.retries import RetryMode
from dagster._core.executor.in_process import InProcessExecutor
from dagster._core.snap import JobSnap
from dagster._core.snap.snap_to_yaml import default_values_yaml_from_type_snap

from qagen_dagster.defs.questions.assets import PlanConfig, published_results, validated_results
from qagen_dagster.loop.questions.publication.publish import publish
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.questions.set_files import CORPUS_FILE
from qagen_dagster.records.document import Document
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.questions.results import (
    CandidateDocument,
    CandidateSet,
    DocumentEnd,
    Evidence,
    GenerationMetadata,
    GenerationResult,
    GenerationStats,
    QAPair,
    ValidatedSet,
    VerdictRecord,
)
from tests.defs.conftest import TEXTUAL, VISUAL, Made
from tests.support import waterworks
from tests.support.graph import DOCUMENTS, QUESTIONS, GraphRun, checks, metadata, version
from tests.support.project import Project
from tests.support.wire_reader import read
from tests.support.wire_server import Fault, Seen, Step, WireServer

STATIONS = ("ridge", "quay", "mill")
REMOTE = """\
roles:
  generator: {{provider: openai_compatible, model: asker, base_url: "{url}", usd_per_million_input: 1, usd_per_million_output: 2}}
  validator: {{provider: openai_compatible, model: judge, base_url: "{url}"}}
  deduplicator: {{provider: openai_compatible, model: twin, base_url: "{url}"}}
"""
WHERE = Combination.from_key("water/facts/textual")
LINES = waterworks.notes("ridge").split("\n")
QUOTES = [line for line in LINES if "opens" in line]


@pytest.fixture(scope="module")
def parsed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a project with parsed documents. Tests copy it."""
    project = Project.make(tmp_path_factory.mktemp("parsed") / "project")
    documents = {f"{station}.txt": waterworks.notes(station) for station in STATIONS}
    project.corpus("water", waterworks.corpus(), documents)
    with GraphRun(project) as graph:
        assert graph.materialize("water", *DOCUMENTS).success
    return project.root


@pytest.fixture
def project(parsed: Path, tmp_path: Path) -> Project:
    return Project(shutil.copytree(parsed, tmp_path / "project"))


def test_candidates_show_documents_questions_reasons_and_cost(made: Made) -> None:
    assert made.runs["textual"].success
    shown = metadata(made.runs["textual"], "candidate_qa")
    assert (
        shown["accepted_before_deduplication"],
        shown["rejected_before_deduplication"],
        shown["documents_reused"],
    ) == (6, 0, 0)
    assert (shown["profile"], shown["usd"]) == ("dry_run", "nothing was paid")
    assert shown["models"]["validator"] == "scripted:cloze-check"
    assert shown["model_calls"] >= 4 * 6
    assert "usd_per_accepted" not in shown
    ends = {
        row.split("|")[1].strip(): row.split("|")[2].strip() for row in shown["documents"].splitlines()[2:]
    }
    assert ends == {
        "mill.pdf": "target_reached",
        "quay.txt": "target_reached",
        "ridge.txt": "target_reached",
        "scan.pdf": "not_usable",
    }
    assert shown["accepted_questions"].count("\n") == 1 + 6


def test_a_check_has_a_result_of_its_own_for_each_partition(made: Made) -> None:
    instance = made.graph.instance
    for asset, check in (
        ("validated_qa", "pass_rate"),
        ("corpus_json", "evidence_in_document"),
        ("grounding_report", "grade"),
    ):
        key = dg.AssetCheckKey(dg.AssetKey(asset), check)
        found = instance.event_log_storage.get_asset_check_partition_info([key])
        assert {one.partition_key for one in found} == {TEXTUAL, VISUAL}, check


def test_the_validated_and_published_sets_are_shown_and_checked(made: Made) -> None:
    run = made.runs["textual"]
    validated, published = metadata(run, "validated_qa"), metadata(run, "corpus_json")
    assert validated["dagster/partition_row_count"] == published["dagster/partition_row_count"] == 6
    assert validated["removed"] == 0
    assert published["folder"] == f"published/{TEXTUAL}"
    address, _, command = published["review"].partition(")")
    assert address.startswith("[Open](http://127.0.0.1:3100/#set=")
    assert command.endswith("`qagen review --corpus water --scenario facts --mode textual`")
    assert published["changed"] == f"{CORPUS_FILE}, questions.jsonl, rejected.jsonl, retired.jsonl, README.md"
    for question in made.project.published(TEXTUAL)["questions"]:
        assert question["id"] in published["questions"]
    found = checks(run)
    current, behind = found.pop("up_to_date")
    assert not current
    assert behind["01 questions water/facts/visual"] == "it was never made"
    assert found == {
        "no_duplicates": (True, {"questions": 6, "failing": 0}),
        "validator_differs": (True, {"questions": 6, "failing": 0}),
        "pass_rate": (True, {"validated": 6, "accepted": 6, "minimum": 0.5, "pass_rate": 1.0}),
        "evidence_in_document": (True, {"questions": 6, "failing": 0}),
        "grade": found["grade"],  # the next two are told by test_grounding
        "measured": found["measured"],
    }


def test_a_set_without_questions_is_published_and_passes(made: Made) -> None:
    """The script of dry_run has nothing to ask about pictures."""
    assert made.runs["visual"].success
    assert made.project.published(VISUAL)["questions"] == []
    found = checks(made.runs["visual"])
    assert {name: passed for name, (passed, _) in found.items()} == dict.fromkeys(found, True)
    assert "pass_rate" not in found["pass_rate"][1]  # nothing was validated: there is no rate


def test_a_run_again_reuses_every_document_and_keeps_data_versions(made: Made) -> None:
    before = made.project.stored("published")
    again = made.graph.materialize(TEXTUAL, *QUESTIONS)
    assert again.success
    assert metadata(again, "candidate_qa")["documents_reused"] == 4
    assert metadata(again, "corpus_json")["changed"] == "none"
    assert made.project.stored("published") == before
    for asset in QUESTIONS:
        assert version(again, asset) == version(made.runs["textual"], asset)


@pytest.mark.parametrize(("size", "ops"), [(2, 2), (None, 3)])
def test_documents_are_split_into_ops_of_the_wanted_size(
    project: Project, size: int | None, ops: int
) -> None:
    with GraphRun(project, shard_size=size) as graph:
        run = graph.materialize(TEXTUAL, "candidate_qa")
    assert run.success
    steps = [event for event in run.all_node_events if event.is_step_success]
    assert len([event for event in steps if "run_documents[" in (event.step_key or "")]) == ops


def test_ops_of_several_machines_hand_on_their_outputs_in_the_store(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = ModuleType("dagster_celery")
    schema = dict.fromkeys(("broker", "backend", "config_source"), dg.Permissive())
    create = dg.ExecutorDefinition(
        "celery", schema, executor_creation_fn=lambda _: InProcessExecutor(RetryMode.DISABLED)
    )
    vars(package)["celery_executor"] = create
    monkeypatch.setitem(sys.modules, "dagster_celery", package)
    monkeypatch.setenv("QAGEN_EXECUTOR", "celery")
    with WireServer(waterworks.answer) as server, GraphRun(project, shard_size=1, profile="remote") as graph:
        project.profile("remote", REMOTE.format(url=server.url("openai_compatible")))
        job = graph.definitions.resolve_job_def("question_set")
        run = graph.instance.create_run_for_job(job, tags={"dagster/partition": TEXTUAL})
        assert execute_run(InMemoryJob(job), run, graph.instance).success
    assert len(project.published(TEXTUAL)["questions"]) == 2 * len(STATIONS)
    assert (project.assets / "outputs" / run.run_id).is_dir()


class Stubborn:
    """Refuses to generate on one station while told so."""

    def __init__(self, station: str) -> None:
        self.station: str | None = station

    def __call__(self, seen: Seen, number: int) -> Step:
        asked = read(seen)
        if asked.role == "generator" and self.station in waterworks.stations(asked, STATIONS):
            return Fault(400, {"error": {"message": "the picture is too odd for us"}})
        return waterworks.answer(seen, number)


def test_a_document_that_fails_is_named_and_a_rerun_tries_only_that_one(project: Project) -> None:
    script = Stubborn("quay")
    with WireServer(script) as server, GraphRun(project, profile="remote") as graph:
        project.profile("remote", REMOTE.format(url=server.url("openai_compatible")))
        failed = graph.materialize(TEXTUAL, *QUESTIONS)
        sent = len(server.requests)
        script.station = None
        rerun = graph.materialize(TEXTUAL, *QUESTIONS)
        tried = {
            station
            for seen in server.requests[sent:]
            if len(found := waterworks.stations(read(seen), STATIONS)) == 1
            for station in found
        }
    assert not failed.success
    (failure,) = [event for event in failed.all_events if event.is_step_failure]
    told = failure.step_failure_data.user_failure_data
    assert told is not None
    assert "1 of 3 documents failed; the others are kept" in str(told.description)
    assert {
        name: "the picture is too odd for us" in str(value.value) for name, value in told.metadata.items()
    } == {"quay.txt": True}
    assert rerun.success
    assert tried == {"quay"}
    assert metadata(rerun, "candidate_qa")["documents_reused"] == 2
    stations = [q["source_document"] for q in project.published(TEXTUAL)["questions"]]
    assert stations == sorted(f"documents/{name}.txt" for name in STATIONS for _ in range(2))


def test_what_finished_before_a_failure_is_durable(project: Project) -> None:
    with WireServer(Stubborn("quay")) as server, GraphRun(project, profile="remote", shard_size=1) as graph:
        project.profile("remote", REMOTE.format(url=server.url("openai_compatible")))
        assert not graph.materialize(TEXTUAL, *QUESTIONS).success
    kept = {key.split("/")[4] for key in project.stored("candidates")}
    assert kept == {"ridge.txt", "mill.txt"}
    assert not (project.assets / "published").exists()


def test_cost_is_unknown_when_a_price_is(project: Project) -> None:
    with WireServer(waterworks.answer) as server, GraphRun(project, profile="remote") as graph:
        project.profile("remote", REMOTE.format(url=server.url("openai_compatible")))
        run = graph.materialize(TEXTUAL, *QUESTIONS)
        calls = len(server.requests)
    candidates, validated = metadata(run, "candidate_qa"), metadata(run, "validated_qa")
    assert candidates["usd"] == "unknown"
    assert candidates["model_calls"] + validated["model_calls"] == calls
    assert candidates["input_tokens"] == 100 * candidates["model_calls"]


def test_a_set_whose_proof_is_no_longer_in_the_document_is_not_published(project: Project) -> None:
    with GraphRun(project) as graph:
        assert graph.materialize(TEXTUAL, "candidate_qa", "validated_qa").success
        text = project.assets / "documents/water/ridge.txt/text.txt"
        whole = text.read_text()
        text.write_text(whole.replace("opens at a pressure", "bursts at a pressure"))
        refused = graph.materialize(TEXTUAL, "corpus_json")
        assert not (project.assets / "published").exists()
        text.write_text(whole)
        taken = graph.materialize(TEXTUAL, "corpus_json")
    assert not refused.success
    (failure,) = [event for event in refused.all_events if event.is_step_failure]
    error = failure.step_failure_data.error
    assert error is not None
    assert error.cause is not None
    assert "not published: the evidence of q-" in error.cause.message
    assert taken.success
    assert checks(taken)["evidence_in_document"] == (True, {"questions": 6, "failing": 0})


def test_the_launchpad_can_ask_for_another_profile_and_target(project: Project) -> None:
    project.profile(
        "other",
        "roles: {generator: {provider: scripted, model: cloze}, validator: {provider: scripted, model: cloze-compare}, deduplicator: {provider: scripted, model: cloze}}",
    )
    wishes = {"profile": "other", "target_count": 1}
    with GraphRun(project) as graph:
        run = graph.definitions.resolve_implicit_global_asset_job_def().execute_in_process(
            instance=graph.instance,
            asset_selection=[dg.AssetKey("candidate_qa")],
            partition_key=TEXTUAL,
            run_config={"ops": {"candidate_qa": {"ops": {"plan_shards": {"config": wishes}}}}},
        )
    shown = metadata(run, "candidate_qa")
    assert (shown["profile"], shown["accepted_before_deduplication"]) == ("other", 3)
    assert shown["models"]["validator"] == "scripted:cloze-compare"


def test_the_launchpad_offers_what_people_change_and_its_defaults_mean_as_configured(made: Made) -> None:
    job = JobSnap.from_job_def(made.graph.definitions.resolve_job_def("question_set"))
    schema, root = job.config_schema_snapshot, job.mode_def_snaps[0].root_config_key
    shown = yaml.safe_load(default_values_yaml_from_type_snap(schema, schema.get_config_snap(str(root))))
    offered = shown["ops"]["candidate_qa"]["ops"]["plan_shards"]["config"]
    assert offered == {"profile": "", "target_count": 0, "num_documents": 0, "replace": False}
    assert PlanConfig(**offered) == PlanConfig(profile=None, target_count=None, num_documents=None)


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    project = Project.make(tmp_path / "project")
    project.corpus("water", waterworks.corpus(), {"ridge.txt": "\n".join(LINES)})
    space = Workspace(project.settings())
    space.store.write_bytes(Document.text_key("water", "ridge.txt"), "\n".join(LINES).encode())
    return space


def test_repeated_words_and_self_validation_fail(space: Workspace) -> None:
    good = [_pair(0), _pair(1)]
    _candidates(space, accepted=good, verdicts=2)
    assert _verdicts(validated_results(space, WHERE, _set(*good))) == {
        "no_duplicates": True,
        "validator_differs": True,
        "pass_rate": True,
    }
    shouted = good[0].model_copy(update={"id": "q-2", "question": good[0].question.upper() + " "})
    assert not _verdicts(validated_results(space, WHERE, _set(*good, shouted)))["no_duplicates"]
    alone = GenerationMetadata(generator_model="a:Model", validator_model="a:model", attempt_number=1)
    own = good[0].model_copy(update={"generation_metadata": alone})
    assert not _verdicts(validated_results(space, WHERE, _set(own)))["validator_differs"]


@pytest.mark.parametrize(
    ("accepted", "verdicts", "passed"), [(1, 3, False), (1, 2, True), (0, 0, True), (0, 1, False)]
)
def test_a_low_pass_rate_warns(space: Workspace, accepted: int, verdicts: int, passed: bool) -> None:
    pairs = [_pair(number) for number in range(accepted)]
    _candidates(space, accepted=pairs, verdicts=verdicts)
    found = {result.check_name: result for result in validated_results(space, WHERE, _set(*pairs))}[
        "pass_rate"
    ]
    assert found.passed is passed
    assert found.severity is dg.AssetCheckSeverity.WARN
    assert found.metadata["validated"].value == verdicts
    assert ("pass_rate" in found.metadata) == bool(verdicts)


def test_proof_that_moved_fails(space: Workspace) -> None:
    pairs = [_pair(0), _pair(1)]
    space.store.write(ValidatedSet.key(WHERE), _set(*pairs))
    published = publish(space, WHERE, "run-1")
    (good,) = published_results(space, WHERE, published)
    assert (good.passed, good.metadata["questions"].value) == (True, 2)
    text = "\n".join(LINES).replace(QUOTES[1], QUOTES[1].replace("bar", "metres"))
    space.store.write_bytes(Document.text_key("water", "ridge.txt"), text.encode())
    (broken,) = published_results(space, WHERE, published)
    assert (broken.passed, broken.metadata["failing"].value) == (False, 1)
    assert broken.metadata["first_failing"].value == pairs[1].id


def _verdicts(results: list[dg.AssetCheckResult]) -> dict[str | None, bool]:
    return {result.check_name: result.passed for result in results}


def _pair(number: int) -> QAPair:
    line = LINES.index(QUOTES[number]) + 1
    return QAPair(
        id=f"q-{number}",
        question=f"At what pressure does the {waterworks.VALVES[number]} valve open?",
        answer=f"{number} bar",
        source_document="documents/ridge.txt",
        document_id="ridge.txt",
        category=WHERE.mode,
        evidence=(Evidence(quote=QUOTES[number], start_line=line, end_line=line),),
        generation_metadata=GenerationMetadata(
            generator_model="a:x", validator_model="b:y", attempt_number=1
        ),
    )


def _set(*pairs: QAPair) -> ValidatedSet:
    return ValidatedSet(
        corpus="water",
        scenario="facts",
        mode=WHERE.mode,
        fingerprint="f",
        run_id="r",
        questions=pairs,
        removed=(),
    )


def _candidates(space: Workspace, *, accepted: list[QAPair], verdicts: int) -> None:
    """A candidate set of one document with so many accepted and judged candidates."""
    verdict = VerdictRecord(
        attempt=1, question="?", proposed_answer="1", blind_answer="1", answerable=True, matches=True,
        non_trivial=True, unambiguous=True, relevant=True, explanation="",
    )  # fmt: skip
    stats = GenerationStats(
        document_path="documents/ridge.txt", mode=WHERE.mode, target_count=2, accepted_count=len(accepted),
        rejected_count=0, total_attempts=verdicts, validation_pass_rate=None, dedup_rejection_rate=None,
        exhausted=False, rejection_reasons={},
    )  # fmt: skip
    result = GenerationResult(
        accepted=tuple(accepted), rejected=(), stats=stats, verdicts=(verdict,) * verdicts
    )
    key = GenerationResult.key(WHERE, "ridge.txt", "f")
    space.store.write(key, result)
    document = CandidateDocument(
        document_id="ridge.txt", document_version="v", result_key=key, end=DocumentEnd.TARGET_REACHED
    )
    candidates = CandidateSet(
        corpus="water", scenario="facts", mode=WHERE.mode, run_id="r", profile="dry_run", models={}, prompts={},
        fingerprint="f", configuration="c", target_count=2, started="", ended="", documents=(document,),
    )  # fmt: skip
    space.store.write(CandidateSet.key(WHERE), candidates)


def test_exports_are_beside_the_published_set(made: Made) -> None:
    run = made.runs["exports"]
    assert run.success
    shown = metadata(run, "exports")
    folder = made.project.assets / "published" / TEXTUAL / "exports"
    assert shown["dagster/uri"] == folder.absolute().as_uri()
    assert shown["dagster/table_name"] == "catalog.main.questions"
    assert shown["dagster/partition_row_count"] == len(made.project.published(TEXTUAL)["questions"])
    assert shown["formats"].count("\n") == 1 + 14
    stored = made.project.stored("published")
    assert f"published/{TEXTUAL}/exports/ragas/testset.jsonl" in stored
    again = made.graph.materialize(TEXTUAL, "exports")
    assert version(again, "exports") == version(run, "exports")
    assert made.project.stored("published") == stored
