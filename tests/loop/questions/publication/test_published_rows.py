from __future__ import annotations

from qagen_dagster.loop.questions.publication.published_rows import set_facts
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.results import (
    CandidateSet,
    DocumentEnd,
    GenerationMetadata,
    GenerationResult,
    QAPair,
    Shortfall,
    ValidatedSet,
)
from tests.loop.conftest import PlayedWorkspace
from tests.loop.questions.test_result import WORK, empty_result

KEYS = {
    "corpus": "probes",
    "scenario": "service",
    "mode": Mode.TEXTUAL,
    "run_id": "run-1",
    "fingerprint": "f",
}


def result(*types: str, wanted: dict[str, int]) -> GenerationResult:
    pairs = tuple(
        QAPair(
            id=f"q-{number}", question="?", answer="a", source_document="d", document_id="d", category=Mode.TEXTUAL,
            question_type=kind, evidence=(),
            generation_metadata=GenerationMetadata(generator_model="g", validator_model="v", attempt_number=1),
        )
        for number, kind in enumerate(types)
    )  # fmt: skip
    missing = tuple(
        Shortfall(question_type=kind, wanted=count, accepted=types.count(kind), reason="")
        for kind, count in wanted.items()
    )
    made = empty_result(DocumentEnd.MAX_ATTEMPTS, "")
    return made.model_copy(update={"accepted": pairs, "shortfalls": missing})


def test_the_plan_of_a_type_is_what_was_given_and_what_is_missing(workspace: PlayedWorkspace) -> None:
    file = workspace.settings.corpora / "probes" / "corpus.yaml"
    file.write_text(file.read_text().replace("target_count: 2", "strategy: batch", 1))
    candidates = CandidateSet.model_validate(
        {**KEYS, "profile": "mine", "models": {}, "prompts": {}, "configuration": "c", "target_count": 3}
        | {"started": "", "ended": ""}
    )
    validated = ValidatedSet.model_validate({**KEYS, "questions": (), "removed": ()})
    results = [
        result("causal", "causal", wanted={"temporal": 1}),
        result("causal", wanted={"causal": 2}),
        empty_result(DocumentEnd.NOT_USABLE, "corrupt"),
    ]
    facts = set_facts(workspace, candidates, validated, results)
    assert facts.planned_by_type == {"causal": 4, "temporal": 1}
    assert facts.planned == 2 * WORK.limits.target_count


def test_the_plan_of_a_mix_is_told_for_each_kind(workspace: PlayedWorkspace) -> None:
    candidates = CandidateSet.model_validate(
        {**KEYS, "profile": "mine", "models": {}, "prompts": {}, "configuration": "c", "target_count": 3}
        | {"started": "", "ended": ""}
    )
    validated = ValidatedSet.model_validate({**KEYS, "questions": (), "removed": ()})
    planned = {"causal": 1, "one_passage": 2, "table": 0}
    results = [
        result("causal", "numeric", wanted={"one_passage": 2}).model_copy(update={"planned": planned}),
        result("causal", wanted={"unanswerable": 1}).model_copy(update={"planned": planned}),
    ]
    facts = set_facts(workspace, candidates, validated, results)
    assert facts.planned_by_type == {"causal": 2, "one_passage": 4, "table": 0, "unanswerable": 1}
    assert facts.shortfalls[0].startswith("2 one_passage of ")
