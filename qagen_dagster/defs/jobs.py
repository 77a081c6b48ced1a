"""What jobs select; they are defined in `definitions.py`, where a reader sees them beside their schedules."""

from __future__ import annotations

import dagster as dg

PARSE_CORPUS = "parse_corpus"
QUESTION_SET = "question_set"
INDEX_CORPUS = "index_corpus"
DOCUMENT_ASSETS = dg.AssetSelection.assets("parsed_documents", "visual_manifests")
INDEX_ASSETS = dg.AssetSelection.assets("document_index")
QUESTION_ASSETS = dg.AssetSelection.assets("candidate_qa", "validated_qa", "corpus_json", "grounding_report")
