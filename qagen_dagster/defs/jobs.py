"""What jobs select; they are defined in `definitions.py`, where a reader sees them beside their schedules."""

from __future__ import annotations

import dagster as dg

PARSE_CORPUS = "parse_corpus"
QUESTION_SET = "question_set"
INDEX_CORPUS = "index_corpus"
EVALUATION = "evaluation"
DOCUMENT_ASSETS = dg.AssetSelection.assets("parsed_documents", "visual_manifests")
INDEX_ASSETS = dg.AssetSelection.assets("document_index")
QUESTION_ASSETS = dg.AssetSelection.assets("candidate_qa", "validated_qa", "corpus_json", "grounding_report")
EVALUATION_ASSETS = dg.AssetSelection.assets("closed_book_check", "retrieval_baseline", "answer_baseline")
EXAM_ITEMS = "exam_part"
ITEM_BANK = "exam_bank"
EXAM_ASSETS = dg.AssetSelection.assets("idea_plans", "exam_items")
ITEM_BANK_ASSETS = dg.AssetSelection.assets("item_bank")
PROBLEM_SET = "problem_set"
PROBLEM_ASSETS = dg.AssetSelection.assets(
    "problem_sources",
    "classifications",
    "scans",
    "diagrams",
    "ideas",
    "alternates",
    "variants",
    "conversions",
    "problem_bank",
)
