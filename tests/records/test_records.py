"""What all records have in common, and what each refuses."""

from __future__ import annotations

import importlib
import math
import pkgutil
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

import qagen_dagster.records
from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus_options import CorpusConfig, DocumentOptions, ScenarioConfig
from qagen_dagster.records.document import Document, IndexEntry, Outcome, PageSpan
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.results import GenerationStats, RejectionReason
from qagen_dagster.records.questions.submissions import DuplicateVerdict, SubmitQA

MODULES = [
    importlib.import_module(module.name)
    for module in pkgutil.walk_packages(qagen_dagster.records.__path__, "qagen_dagster.records.")
]
ALL = sorted(
    {
        value
        for module in MODULES
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, BaseModel) and value.__module__ == module.__name__
    },
    key=lambda kind: kind.__name__,
)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_record_is_frozen_and_closed(kind: type[BaseModel]) -> None:
    assert issubclass(kind, Record)
    assert kind.model_config.get("frozen") is True
    assert kind.model_config.get("extra") == "forbid"


def test_a_record_cannot_be_changed_or_extended() -> None:
    span = PageSpan(page=1, start_line=1, end_line=2)
    with pytest.raises(ValidationError, match="frozen"):
        span.page = 2  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(ValidationError, match="Extra inputs"):
        PageSpan.model_validate({"page": 1, "start_line": 1, "end_line": 2, "colour": "red"})


def document(**changed: Any) -> Document:
    values: dict[str, Any] = {
        "id": "d",
        "source": "d.txt",
        "format": "text",
        "outcome": Outcome.PARSED,
        "source_sha256": "ab" * 32,
    }
    return Document(**(values | changed))


SPANS = st.lists(st.integers(0, 4), max_size=6)


@given(SPANS, st.integers(-1, 30))
def test_a_line_is_on_the_page_whose_span_holds_it(sizes: list[int], line: int) -> None:
    spans: list[PageSpan] = []
    at = 1
    for number, size in enumerate(sizes, 1):
        spans.append(PageSpan(page=number, start_line=at, end_line=at + size - 1))
        at += size
    lines = [number for number, size in enumerate(sizes, 1) for _ in range(size)]
    expected = lines[line - 1] if 1 <= line <= len(lines) else None
    assert document(pages=tuple(spans)).page_of(line) == expected


def test_a_version_is_the_source_and_the_parser() -> None:
    assert document(parser="text-2").version == "abababababababab+text-2"
    entry = IndexEntry(
        id="d", source="d", format="text", outcome=Outcome.PARSED, source_sha256="ab" * 32, parser="text-2"
    )
    assert entry.version == document(parser="text-2").version


def test_not_measured_is_null_in_json_and_comes_back_as_none() -> None:
    stats = GenerationStats(
        document_path="d",
        mode=Mode.TEXTUAL,
        target_count=1,
        accepted_count=0,
        rejected_count=0,
        total_attempts=0,
        validation_pass_rate=None,
        dedup_rejection_rate=None,
        exhausted=False,
        rejection_reasons={},
    )
    assert '"validation_pass_rate":null' in stats.model_dump_json()
    assert GenerationStats.model_validate_json(stats.model_dump_json()) == stats


def test_the_six_reasons_of_the_described_system_come_first() -> None:
    assert [reason.value for reason in RejectionReason][:6] == [
        "validation_failed",
        "duplicate",
        "unanswerable",
        "wrong_answer",
        "ambiguous",
        "trivial",
    ]


SCENARIO: dict[str, Any] = {"name": "n", "description": "d"}


def test_a_scenario_needs_two_fields_and_has_defaults() -> None:
    scenario = ScenarioConfig(**SCENARIO)
    assert scenario.modes == (Mode.TEXTUAL, Mode.VISUAL)
    assert (scenario.target_count, scenario.max_consecutive_failures, scenario.max_attempts) == (5, 5, None)


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "  "},
        {"modes": []},
        {"modes": ["textual", "textual"]},
        {"target_count": 0},
        {"target_count": 1001},
        {"max_consecutive_failures": 0},
        {"max_attempts": 0},
        {"min_pass_rate": 1.01},
        {"min_pass_rate": math.nan},
        {"profile": "../x"},
    ],
    ids=str,
)
def test_a_scenario_out_of_its_bounds(changed: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ScenarioConfig(**(SCENARIO | changed))


@pytest.mark.parametrize(
    "changed",
    [
        {"max_megabytes": 0},
        {"max_megabytes": math.inf},
        {"max_megabytes": math.nan},
        {"max_pages": 0},
        {"ocr_languages": "eng; rm"},
        {"ocr_languages": "eng+"},
        {"passwords": {"a.pdf": "not a variable"}},
        {"encoding": "no-such"},
        {"encoding": {"a.txt": "base64"}},
    ],
    ids=str,
)
def test_document_options_out_of_their_bounds(changed: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        DocumentOptions(**changed)


def test_a_corpus_needs_a_scenario_with_a_usable_key() -> None:
    values = {"name": "n", "corpus_context": "c"}
    assert CorpusConfig.model_validate(values | {"scenarios": {"a": SCENARIO}}).scenarios["a"].name == "n"
    for scenarios in ({}, {"a/b": SCENARIO}, {"": SCENARIO}):
        with pytest.raises(ValidationError):
            CorpusConfig.model_validate(values | {"scenarios": scenarios})


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (SubmitQA, {"question": "short?", "answer": "a", "evidence": [{"quote": "q"}]}),
        (SubmitQA, {"question": "long enough?", "answer": "", "evidence": [{"quote": "q"}]}),
        (SubmitQA, {"question": "long enough?", "answer": "a", "evidence": []}),
        (SubmitQA, {"question": "long enough?", "answer": "a", "evidence": [{"quote": "q"}] * 21}),
        (
            SubmitQA,
            {"question": "long enough?", "answer": "a", "evidence": [{"quote": "q", "start_line": 0}]},
        ),
        (DuplicateVerdict, {"verdict": "maybe"}),
        (DuplicateVerdict, {"verdict": "duplicate", "duplicate_of": 0}),
    ],
)
def test_submissions_out_of_their_bounds(kind: type[Record], values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        kind.model_validate(values)
