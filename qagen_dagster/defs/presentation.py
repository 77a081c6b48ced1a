"""How the UI presents assets: groups in the order of the work, owner, tags, and a link to the documentation."""

from __future__ import annotations

import dagster as dg

from qagen_dagster.settings import PROJECT_ROOT


class Group:
    """The groups of assets. The UI sorts them by name, so the names begin with numbers."""

    DOCUMENTS = "1_documents"
    QUESTIONS = "2_questions"
    EVALUATION = "3_evaluation"
    EXAMS = "4_exams"
    PROBLEMS = "5_problems"
    CATALOG = "6_catalog"


OWNER = "team:qagen"
MODELS = "models"  # the kind of an asset that asks models of the profile
PUBLISHED = "published"  # the kind of an asset that other programs read: the result of its product
PAGES = {
    Group.DOCUMENTS: "corpora.md",
    Group.QUESTIONS: "how-it-works.md",
    Group.EVALUATION: "evaluation.md",
    Group.EXAMS: "exams.md",
    Group.PROBLEMS: "problems.md",
    Group.CATALOG: "catalog.md",
}
_OTHER_PAGES = {
    "document_index": "search.md",
    "grounding_report": "grading.md",
    "exports": "exports.md",
    "review_decisions": "review.md",
    "corpus_json": "contracts.md",
}


def presented(spec: dg.AssetSpec) -> dg.AssetSpec:
    """The spec with an owner, a tag that tells whether it may cost money, and its page of the documentation."""
    page = _OTHER_PAGES.get(spec.key.to_user_string()) or PAGES[spec.group_name or ""]
    link = dg.LocalFileCodeReference(file_path=str(PROJECT_ROOT / "docs" / page), label=f"docs/{page}")
    text = f"{spec.description}\n\nSee docs/{page}."
    described = spec.replace_attributes(description=text)  # pyright: ignore[reportUnknownMemberType]
    return described.merge_attributes(
        owners=[OWNER],
        tags={"cost": "models" if MODELS in spec.kinds else "free"},
        metadata={"dagster/code_references": dg.CodeReferencesMetadataValue(code_references=[link])},
    )
