from __future__ import annotations

from qagen_dagster.catalog.rows.history import run_document
from qagen_dagster.catalog.source import RunDocumentRow
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.questions.history import RunDocument
from qagen_dagster.records.questions.results import DocumentEnd, RejectedQA, RejectionReason


def removed(reason: RejectionReason) -> RejectedQA:
    return RejectedQA(
        question="Who?",
        answer="she",
        rejection_reason=reason,
        rejection_detail="",
        question_type="factual",
    )


def test_an_edited_question_counts_as_accepted_in_the_place_of_the_original() -> None:
    row = RunDocumentRow(
        run_id="run",
        combination=Combination.from_key("corpus/scenario/textual"),
        document=RunDocument(
            document_id="d",
            document_version="v",
            end=DocumentEnd.TARGET_REACHED,
            accepted=5,
            rejected=1,
            rejected_by_reason={"trivial": 1},
            accepted_by_type={"factual": 5},
        ),
        removed=(
            removed(RejectionReason.EDITED_BY_REVIEWER),
            removed(RejectionReason.EDITED_BY_REVIEWER),
            removed(RejectionReason.WRONG_ANSWER),  # one of the edited ones
            removed(RejectionReason.REJECTED_BY_REVIEWER),
        ),
    )
    found = run_document(row)
    assert (found["accepted"], found["rejected"], found["accepted_by_type"]) == (3, 5, {"factual": 3})
    assert found["rejected_by_reason"]["edited_by_reviewer"] == 2
