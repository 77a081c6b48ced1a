"""What a materialization shows of questions that are missing."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from qagen_dagster.defs.questions.metadata import (
    COLUMNS,
    MOST_SHOWN,
    log_comparisons,
    of_candidates,
    of_rejected,
    of_validated,
)
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.document import Document
from qagen_dagster.records.ids import Combination, Mode, question_id
from qagen_dagster.records.questions.results import (
    CandidateSet,
    Evidence,
    GenerationMetadata,
    GenerationResult,
    GenerationStats,
    QAPair,
    RejectedQA,
    RejectionReason,
    Shortfall,
    ValidatedSet,
)
from qagen_dagster.settings import Settings
from tests.defs.conftest import VISUAL, Made
from tests.support.graph import plain

WATER = Combination(corpus="water", scenario="facts", mode=Mode.TEXTUAL)
TEXT = "Intake\nThe intake | lies at 12 m.\nIt opened in 1931.\nThe weir is older."


def test_deduplication_logs_how_many_questions_are_compared(capfd: pytest.CaptureFixture[str]) -> None:
    log_comparisons(dg.build_asset_context())(512, 3_902)
    assert "compared 512 of 3,902 questions" in capfd.readouterr().err


def test_what_is_missing_of_the_mix_is_a_row_per_type(tmp_path: Path) -> None:
    stats = GenerationStats(
        document_path="documents/a.txt", mode=Mode.TEXTUAL, target_count=5, accepted_count=3, rejected_count=0,
        total_attempts=3, validation_pass_rate=1.0, dedup_rejection_rate=None, exhausted=True, rejection_reasons={},
    )  # fmt: skip
    gap = Shortfall(question_type="causal", wanted=3, accepted=1, reason="no reasons in it")
    whole = GenerationResult(accepted=(), rejected=(), stats=stats, document_id="a.txt")
    short = whole.model_copy(update={"document_id": "b.txt", "shortfalls": (gap,)})
    found = CandidateSet(
        corpus="c", scenario="s", mode=Mode.TEXTUAL, run_id="r", profile="p", models={}, prompts={}, fingerprint="f",
        configuration="g", target_count=5, started="", ended="",
    )  # fmt: skip
    space = Workspace(Settings(corpora=tmp_path, assets=str(tmp_path / "assets")))
    shown = plain(of_candidates(space, found, [whole, short], 0))
    assert shown["missing"] == 2
    assert shown["missing_by_type"].splitlines()[2:] == ["| b.txt | causal | 3 | 1 | no reasons in it |"]
    assert "missing" not in of_candidates(space, found, [whole], 0)


def test_each_visual_is_shown_once_above_its_questions(made: Made) -> None:
    asked = (
        ("Table 1", "Which?", "the intake"),
        ("Figure 1", "How much?", "2"),
        ("Table 1", "Where?", "[x](y)"),
    )
    pairs = tuple(
        QAPair(
            id=question, question=question, answer=answer, source_document="documents/mill.pdf", document_id="mill.pdf",
            category=Mode.VISUAL, content_refs=(label,), evidence=(),
            generation_metadata=GenerationMetadata(generator_model="a:x", validator_model="b:y", attempt_number=1),
        )
        for label, question, answer in asked
    )  # fmt: skip
    corpus, scenario, _ = VISUAL.split("/")
    found = ValidatedSet(
        corpus=corpus, scenario=scenario, mode=Mode.VISUAL, fingerprint="f", run_id="r", questions=pairs, removed=(),
    )  # fmt: skip
    space = Workspace(Settings(corpora=made.project.corpora, assets=str(made.project.assets)))
    crops = plain(of_validated(space, found))["crops"].split("\n\n---\n\n")
    assert [one.count("](data:image/") for one in crops] == [1, 1]
    assert crops[0].endswith("Which? **the intake**\n\nWhere? **\\[x\\](y)**")
    assert crops[1].endswith("How much? **2**")


def test_the_columns_of_a_set_have_types_of_json() -> None:
    types = {one.name: one.type for one in COLUMNS.columns}
    assert all(one.description for one in COLUMNS.columns)
    assert set(types.values()) == {"string", "integer", "boolean", "array", "object"}
    assert (types["row"], types["category"], types["evidence"]) == ("string", "string", "array")


def test_a_rejection_tells_what_happened_what_was_asked_and_what_the_document_says(tmp_path: Path) -> None:
    space = _space(tmp_path)
    space.store.write_bytes(Document.text_key("water", "ridge.txt"), TEXT.encode())
    wrong, nothing = _rejections()
    shown = of_rejected(space, WATER, (wrong, nothing), "rejected")
    ids = [question_id(WATER, "ridge.txt", each.question, each.answer) for each in (wrong, nothing)]
    assert str(plain(shown)["rejected_questions"]).splitlines()[2:] == [
        f"| {ids[0]} | wrong_answer | How deep is the intake? | ridge.txt, line 2 |",
        f"| {ids[1]} | generation_failed |  | ridge.txt |",
    ]
    report = str(plain(shown)["why_rejected"]).split("\n\n---\n\n")
    assert report[0].split("\n\n") == [
        f"**1. {ids[0]}: The validator read the document and found another answer** (`wrong_answer`)",
        "**Asked:** How deep is the intake?",
        "**Proposed answer:** 21 m",
        "**Finding:** the validator answered '12 m'",
        "**The document says** (ridge.txt, line 2):",
        "> 1 Intake\\\n> **2** The intake \\| lies at 12 m.\\\n> 3 It opened in 1931.",
        f"`qagen questions {ids[0]}`",
    ]
    assert report[1].split("\n\n")[1:] == ["**Finding:** no tool was called", f"`qagen questions {ids[1]}`"]
    links = shown["rejected_lines"]
    assert isinstance(links, dg.CodeReferencesMetadataValue)
    (link,) = links.code_references
    assert link == dg.LocalFileCodeReference(
        file_path=str(space.store.local_path(Document.text_key("water", "ridge.txt"))),
        line_number=2,
        label="1. ridge.txt, line 2",
    )


def test_a_report_of_many_rejections_says_how_to_see_the_others(tmp_path: Path) -> None:
    (_, nothing) = _rejections()
    shown = plain(of_rejected(_space(tmp_path), WATER, [nothing] * (MOST_SHOWN + 2), "removed"))
    assert str(shown["why_removed"]).endswith("... and 2 more: `qagen questions --outcome rejected`")
    assert plain(of_rejected(_space(tmp_path), WATER, [], "removed")) == {"removed_questions": "none"}


def _rejections() -> tuple[RejectedQA, RejectedQA]:
    wrong = RejectedQA(
        question="How deep is the intake?", answer="21 m", document_id="ridge.txt",
        rejection_reason=RejectionReason.WRONG_ANSWER, rejection_detail="the validator answered '12 m'",
        evidence=(Evidence(quote="The intake | lies", start_line=2, end_line=2),),
    )  # fmt: skip
    nothing = RejectedQA(
        question="", answer="", document_id="ridge.txt",
        rejection_reason=RejectionReason.GENERATION_FAILED, rejection_detail="no tool was called",
    )  # fmt: skip
    return wrong, nothing


def _space(folder: Path) -> Workspace:
    return Workspace(Settings(corpora=folder, assets=str(folder / "assets")))
