from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from qagen_dagster.defs.questions.checks import published_results, validated_results
from qagen_dagster.loop.questions.publication.publish import publish
from qagen_dagster.loop.workspace import Workspace
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
from tests.support import waterworks
from tests.support.project import Project

WHERE = Combination.from_key("water/facts/textual")
LINES = waterworks.notes("ridge").split("\n")
QUOTES = [line for line in LINES if "opens" in line]


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
